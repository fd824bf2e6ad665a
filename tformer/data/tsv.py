"""A reader's own pairs: a text file with English, tab, German on each line.

Chapter: 11, Data.
"""

from __future__ import annotations

import os
from pathlib import Path

from tformer.data.corpus import Corpus, DataError, Pair, sentence_key, split_position
from tformer.data.files import sha256

__all__ = ["load"]

LEAST = 10  # distinct English sentences


def load(path: str | os.PathLike[str]) -> Corpus:
    """Read pairs from a UTF-8 file; columns after the second are ignored.

    Split 90/5/5 by a hash of the English sentence (without case and punctuation):
    always the same, and no English sentence is in two splits. Empty lines are skipped,
    repeated pairs kept once.

    Raises:
        DataError: no such file, not UTF-8, a line without two columns (its number is
            named), or fewer than 10 distinct English sentences.
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
    english = {sentence_key(pair[0]): pair[0] for pair in pairs}
    if len(english) < LEAST:
        raise DataError(
            f"{path} has {len(english)} distinct English sentences; at least {LEAST} "
            "are needed to split it into train, valid and test (some thousands to "
            "learn anything)."
        )
    ranked = sorted(english, key=lambda key: (split_position(english[key]), key))
    n_held_out = max(1, round(0.05 * len(ranked)))
    split = dict.fromkeys(ranked, 0)
    split.update(dict.fromkeys(ranked[:n_held_out], 1))
    split.update(dict.fromkeys(ranked[n_held_out : 2 * n_held_out], 2))
    parts: tuple[list[Pair], ...] = ([], [], [])
    for pair in pairs:
        parts[split[sentence_key(pair[0])]].append(pair)
    train, valid, test = parts
    return Corpus(
        name=path.stem,
        train=train,
        valid=valid,
        test={"test": test},
        licence="The reader's own.",
        attribution=path.name,
        checksums={path.name: sha256(path)},
    )
