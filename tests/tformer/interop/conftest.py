"""What the tests of exports share: small models with tokenizers, and real sentences."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test asks a host for anything

import pytest
import torch

from tformer import TransformerConfig, data, load_pretrained
from tformer.model import Transformer
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer_book.press.chapters import ROOT

TEXTS = [
    "A man is riding a horse.",
    "Two dogs play in the snow, and nobody sees them!",
    "Größe, naïve café – “quoted” …",
    "  blanks   and\ttabs ",
    "emoji 🙂 and 漢字",
    "What looks like </s> or <pad> is only text.",
    "ﬁ ligature; 3½ metres; it's (not) 50 %.",
]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return TEXTS


@pytest.fixture(scope="session")
def translator_of(randomise) -> Callable[..., Translator]:
    """``translator_of(**fields)``: a small random model with a tokenizer of its own."""

    def translator_of(*, algorithm: str = "bpe", **fields: object) -> Translator:
        tokenizer = Tokenizer.train(TEXTS * 3, 330, algorithm=algorithm)
        small = {"d_model": 32, "n_heads": 4, "d_ff": 48, "max_len": 64}
        depth = {"n_encoder_layers": 2, "n_decoder_layers": 3}
        config = TransformerConfig(330, **{**small, **depth, **fields})
        return Translator(randomise(Transformer(config)).eval(), tokenizer)

    return translator_of


@pytest.fixture(scope="session")
def released() -> Translator:
    return load_pretrained()


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """A hundred English sentences: some that people typed, others of the grammar."""
    kept = json.loads((ROOT / "results/typed-sentences.json").read_text("utf-8"))
    typed = [each["source"] for each in kept["aims"] + kept["typed"]]
    made = [english for english, _ in data.load("grammar").valid]
    return [*typed, *made[: 100 - len(typed)]]


@pytest.fixture(scope="session")
def random_batch() -> Callable[..., tuple[torch.Tensor, torch.Tensor]]:
    """``random_batch(config)``: sources and targets, padded on the right."""

    def random_batch(config, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        generator = torch.Generator().manual_seed(seed)

        def rows(lengths: list[int]) -> torch.Tensor:
            shape = (len(lengths), max(lengths))
            ids = torch.randint(4, config.vocab_size, shape, generator=generator)
            beyond = torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]
            return ids.masked_fill(beyond, config.pad_id)

        source, target = rows([9, 3, 14, 1]), rows([7, 12, 1, 5])
        target[:, 0] = config.bos_id
        return source, target

    return random_batch
