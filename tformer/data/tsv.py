"""A reader's own pairs: a text file with English, tab, German on each line.

Chapter: 11, Data.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from tformer.data.corpus import (
    Corpus,
    DataError,
    Pair,
    components,
    split_position,
)
from tformer.data.files import sha256

__all__ = ["load"]

LEAST = 10  # groups of pairs, enough for one in valid and one in test
LARGEST = 0.2  # share of the pairs: a group with more of them is always trained on


def load(path: str | os.PathLike[str]) -> Corpus:
    """Read pairs from a UTF-8 file; columns after the second are ignored.

    Split 90/5/5 by a hash, in groups of pairs that share a sentence (case and
    punctuation aside): always the same, and no sentence of either language is in two
    splits. A group with more than a fifth of all pairs is trained on. Empty lines are
    skipped, repeated pairs kept once.

    Raises:
        DataError: no such file, not UTF-8, a line without two columns (its number is
            named), or fewer than 10 such groups.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file {path}.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path}, line {number}: not UTF-8 (byte 0x{data[error.start]:02x}); save "
            "the file as UTF-8."
        ) from error
    pairs: dict[Pair, None] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        columns = [column.strip() for column in line.split("\t")]
        if len(columns) < 2:
            raise DataError(
                f"{path}, line {number}: expected English, tab, German; there is no "
                f"tab in {line.strip()[:60]!r}."
            )
        if not columns[0] or not columns[1]:
            side = "German" if columns[0] else "English"
            raise DataError(f"{path}, line {number}: the {side} side is empty.")
        pairs[columns[0], columns[1]] = None
    groups = components(list(pairs))
    sizes = Counter(groups)
    if len(sizes) < LEAST:
        raise DataError(
            f"{path} falls into {len(sizes)} groups of pairs that share a sentence; at "
            f"least {LEAST} are needed to split it into train, valid and test (some "
            "thousands to learn anything). Add pairs with new sentences on both sides."
        )
    splittable = [name for name, size in sizes.items() if size <= LARGEST * len(pairs)]
    splittable.sort(key=lambda name: (split_position(name), name))
    n_held_out = max(1, round(0.05 * len(sizes)))
    valid_names = set(splittable[:n_held_out])
    test_names = set(splittable[n_held_out : 2 * n_held_out])
    train: list[Pair] = []
    valid: list[Pair] = []
    test: list[Pair] = []
    for pair, name in zip(pairs, groups, strict=True):
        split = valid if name in valid_names else test if name in test_names else train
        split.append(pair)
    return Corpus(
        name=path.stem,
        train=train,
        valid=valid,
        test={"test": test},
        licence="The reader's own.",
        attribution=path.name,
        checksums={path.name: sha256(path)},
    )
