"""A reader's own pairs: a text file with English, tab, German on each line.

Chapter: 11, Data.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path

from tformer.data.corpus import (
    Corpus,
    DataError,
    Pair,
    components,
    printable,
    split_position,
)

__all__ = ["load"]

LEAST = 10  # groups of pairs, enough for one in valid and one in test
LONGEST_LINE = 1_000_000  # bytes; no sentence has so many
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
    pairs, digest = _read(path)
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
        name=printable(path.stem),
        train=train,
        valid=valid,
        test={"test": test},
        licence="The reader's own.",
        attribution=printable(path.name),
        checksums={printable(path.name): digest},
    )


def _read(path: Path) -> tuple[dict[Pair, None], str]:
    """The distinct pairs of a file, in order, and the SHA-256 of its bytes.

    Lines are read one by one: what is kept is the pairs.
    """
    pairs: dict[Pair, None] = {}
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            lines = iter(lambda: file.readline(LONGEST_LINE + 1), b"")
            for number, line in enumerate(lines, start=1):
                digest.update(line)
                if pair := _pair(line, number):
                    pairs[pair] = None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error
    except DataError as error:
        raise DataError(f"{path}, {error}") from error
    return pairs, digest.hexdigest()


def _pair(line: bytes, number: int) -> Pair | None:
    """A line's English and German, or None if the line is empty.

    Raises:
        DataError: it is not a pair; the message begins with the line's number.
    """
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"line {number}: longer than {LONGEST_LINE:,} bytes; is this a text file "
            "with one pair on each line?"
        )
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"line {number}: not UTF-8 (byte 0x{line[error.start]:02x}); save the file "
            "as UTF-8."
        ) from error
    if not text.strip():
        return None
    english, *rest = (column.strip() for column in text.split("\t", 2))
    if not rest:
        raise DataError(
            f"line {number}: expected English, tab, German; there is no tab in "
            f"{text.strip()[:60]!r}. Put one between the two sentences."
        )
    if not english or not rest[0]:
        side = "German" if english else "English"
        raise DataError(
            f"line {number}: the {side} side is empty. Complete the line or remove it."
        )
    return english, rest[0]
