"""Runs that are over in a second, and how to compare two of them."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import torch
from torch.testing import assert_close

from tformer import TransformerConfig, train
from tformer.common.files import load_tensors
from tformer.data import Corpus

WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]


def word_corpus(task: str = "copy", n: int = 1500) -> Corpus:
    """Up to four number words, to be repeated or said backwards; none in two splits."""
    draw = random.Random(7)
    lengths = (draw.choice((1, 2, 3, 4, 4)) for _ in range(n))
    sentences = list(dict.fromkeys(tuple(draw.choices(WORDS, k=k)) for k in lengths))
    sentences.sort(key=len)  # the longest, all different, are held out
    step = 1 if task == "copy" else -1
    pairs = [(" ".join(words), " ".join(words[::step])) for words in sentences]
    held_out = draw.sample(pairs[-200:], 60)
    return Corpus(
        name=task,
        train=[pair for pair in pairs if pair not in held_out],
        valid=held_out[:30],
        test={"test": held_out[30:]},
        checksums={"words": "0"},
    )


def small(**changes) -> TransformerConfig:
    return replace(TransformerConfig(310, 16, 2, 32, 1, 1, max_len=32), **changes)


def quick(**changes) -> train.Recipe:
    values = {"max_tokens": 128, "warmup_steps": 20, "eval_every": 10}
    return train.Recipe(**(values | changes))


def quick_fit(tokenizer, folder, **options):
    settings = {
        "config": small(),
        "corpus": word_corpus(n=300),
        "steps": 20,
        "device": "cpu",
        "folder": folder,
        "tokenizer": tokenizer,
        "recipe": quick(),
        "progress": "none",
    } | options
    return train.fit(settings.pop("config"), settings.pop("corpus"), **settings)


def without_time(history: list[dict]) -> list[dict]:
    """The history as it must repeat: all but the clock."""
    clock = {"seconds", "tokens_per_second"}
    return [{k: v for k, v in row.items() if k not in clock} for row in history]


def stopped_run_ends_in_the_same_bits(
    precision: str, tokenizer, folder: Path, device: str, steps: int = 40
) -> None:
    """Whether it is stopped halfway or not."""
    options = {"config": small(dropout=0.3), "recipe": quick(precision=precision)}
    options |= {"device": device}
    whole = quick_fit(tokenizer, folder / "a", steps=steps, **options)
    quick_fit(tokenizer, folder / "b", steps=steps // 2, **options)
    parts = quick_fit(tokenizer, folder / "b", steps=steps, **options)
    assert_same_weights(weights_of(whole), weights_of(parts))


def weights_of(run_or_folder) -> dict[str, torch.Tensor]:
    folder = getattr(run_or_folder, "folder", run_or_folder)
    return load_tensors(Path(folder) / "model.safetensors")[0]


def assert_same_weights(a: dict, b: dict) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert_close(a[name], b[name], rtol=0, atol=0)
