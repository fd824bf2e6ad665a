"""What the tests of the command line share: a corpus and a run of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tformer import cli

WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]
ENGLISH = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
TINY = [
    *("--vocab-size", "320", "--tokenizer", "bpe", "--d-model", "16", "--heads", "2"),
    *("--d-ff", "32", "--encoder-layers", "1", "--decoder-layers", "1"),
    *("--max-len", "128", "--max-tokens", "256", "--eval-every", "10"),
    *("--warmup-steps", "20", "--device", "cpu"),
]


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory) -> Path:
    draw = random.Random(3)
    lines = set()
    while len(lines) < 400:
        numbers = draw.choices(range(8), k=draw.randint(1, 4))
        english = " ".join(ENGLISH[n] for n in numbers)
        lines.add(f"{english}\t{' '.join(WORDS[n] for n in numbers)}\n")
    path = tmp_path_factory.mktemp("corpus") / "numbers.tsv"
    path.write_text("".join(sorted(lines)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def run(pairs_file, tmp_path_factory) -> Path:
    """A run that a test may look at, but not change."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    arguments = ["train", "--corpus", str(pairs_file), "--out", str(folder)]
    assert cli.main([*arguments, "--steps", "20", "--quiet", *TINY]) == 0
    return folder
