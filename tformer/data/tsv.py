"""A reader's own pairs: a text file with columns, or two files with matching lines.

Chapter *Data*.
"""

import hashlib
import os
import re
from collections.abc import Iterator
from heapq import nsmallest
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from tformer.common.text import stray
from tformer.data.corpus import (
    Corpus,
    DataError,
    Pair,
    groups,
    printable,
    split_position,
)

LEAST = 10  # groups of pairs: enough to put one in valid and one in test
LONGEST_LINE = 1_000_000  # bytes; no sentence has that many
LARGEST = 0.2  # share of the pairs: a larger group is always trained on


# The words of which the names of columns are made, and what they mean.
NAMES = {
    **dict.fromkeys(["english", "en", "eng", "englisch", "source", "src"], "en"),
    **dict.fromkeys(["german", "de", "deu", "ger", "deutsch", "target", "tgt"], "de"),
    **dict.fromkeys(["id", "ids", "nr", "no", "number", "index", "key"], "id"),
    **dict.fromkeys(["text", "sentence", "sentences", "translation", "side"], ""),
    **dict.fromkeys(["score", "language", "lang", "file", "split"], "other"),
}
NO_SENTENCE = re.compile(r"\S*\d\S*( \d\d:\d\d\S*)?")  # a number, identifier, time
Columns = tuple[int, int] | tuple[str, str]
NAMING = "columns=…, or --columns ENGLISH GERMAN"


def load(path: str | os.PathLike[str], columns: Columns = (1, 2)) -> Corpus:
    """Read pairs from a UTF-8 file with columns separated by tabs.

    Split 90/5/5 by a hash, in groups of pairs that share a sentence (ignoring case and
    punctuation): always the same, and no sentence of either language is in two splits.
    A group with more than a fifth of all pairs is trained on. Empty lines are skipped,
    and repeated pairs kept once.

    Args:
        path: the file.
        columns: where English and German are: numbers from 1, or names from the
            file's first line.

    Raises:
        DataError: no such file, not UTF-8, a line without these columns (its number is
            named), or fewer than 10 such groups.
    """
    path = Path(path)
    digest = hashlib.sha256()
    lines = _lines(path, digest)
    first, second = _places(path, columns, lines)
    pairs: dict[Pair, None] = {}
    for number, text in lines:
        if text.strip():
            pairs[_pair(f"{path}, line {number}", text, first, second)] = None
    _check_columns(path, list(pairs), columns)
    return _split(list(pairs), path.stem, {path.name: digest.hexdigest()}, str(path))


def _check_columns(path: Path, pairs: list[Pair], columns: Columns) -> None:
    """Reject columns that are no sentences: identifiers, or names in the first line.

    A few lines may be whatever they like: the one that names the columns, for example.
    """
    for side, column in enumerate(columns):
        n = sum(NO_SENTENCE.fullmatch(pair[side]) is not None for pair in pairs)
        if pairs and n >= 0.9 * len(pairs):
            raise DataError(
                f"{path}: column {column} holds nothing but numbers or identifiers, "
                f"such as {pairs[-1][side][:40]!r}; put English and German first, or "
                f"name their columns ({NAMING})."
            )
        if len(pairs) >= LEAST and len({pair[side] for pair in pairs}) == 1:
            raise DataError(
                f"{path}: column {column} is {pairs[0][side][:40]!r} in every line; "
                f"put English and German first, or name their columns ({NAMING})."
            )
    if pairs and all(text[0] == text[-1] == '"' for pair in pairs for text in pair):
        raise DataError(
            f"{path}: all sentences are in quotes, as spreadsheets write them; save "
            "the file as tab-separated text without quotes."
        )
    if pairs and _is_header(pairs[0]):
        raise DataError(
            f"{path}: its first line names the columns {pairs[0]}; remove it, or give "
            f"the names ({NAMING})."
        )


def _is_header(cells: Pair) -> bool:
    """Whether they name columns: "id" and "English", "sentence_en" and "sentence_de".

    A dictionary may well say that "German" is "Deutsch".
    """
    words = [re.findall(r"[^\W\d_]+", cell.casefold()) for cell in cells]
    if not all(words) or any(word not in NAMES for both in words for word in both):
        return False
    first, second = ({NAMES[word] for word in both} - {""} for both in words)
    return words[0] != words[1] and (first != second or not first)


def load_parallel(english: str, german: str) -> Corpus:
    """Read pairs from two UTF-8 files: line by line, one the translation of the other.

    Split as in `load`. Lines that are empty in both are skipped.

    Raises:
        DataError: as `load`; files of different lengths, or a line that is empty in one
            file only.
    """
    paths = Path(english.strip()), Path(german.strip())
    if not english.strip() or not german.strip():
        raise DataError(
            f"{english},{german} names one file; give two with a comma between them, "
            "English first: mine.en,mine.de."
        )
    if all(path.is_file() for path in paths) and paths[0].samefile(paths[1]):
        raise DataError(f"{english},{german} names one file twice; give two.")
    digests = hashlib.sha256(), hashlib.sha256()
    both = zip_longest(*map(_lines, paths, digests))
    pairs: dict[Pair, None] = {}
    for there, here in both:
        if there is None or here is None:
            longer, n = (paths[0], there[0]) if there else (paths[1], here[0])
            more = n + sum(1 for _ in both)
            raise DataError(
                f"{longer} has {more:,} lines and the other file {n - 1:,}: line by "
                f"line, {paths[1]} must be the translation of {paths[0]}."
            )
        sides = there[1].strip(), here[1].strip()
        if any(sides):
            pairs[_checked(f"{paths[0]} and {paths[1]}, line {there[0]}", *sides)] = (
                None
            )
    if pairs and _is_header(next(iter(pairs))):
        raise DataError(
            f"{paths[0]} and {paths[1]}: their first lines are names, "
            f"{next(iter(pairs))}; remove both."
        )
    names = {
        path.name: digest.hexdigest()
        for path, digest in zip(paths, digests, strict=True)
    }
    return _split(list(pairs), paths[0].stem, names, f"{english},{german}")


def _split(
    pairs: list[Pair], name: str, checksums: dict[str, str], origin: str
) -> Corpus:
    """The corpus of a reader's pairs."""
    numbers, names = groups(pairs)
    if len(names) < LEAST:
        raise DataError(
            f"{origin} falls into {len(names)} groups of pairs that share a sentence; "
            f"at least {LEAST} are needed to split it into train, valid and test (some "
            "thousands to learn anything). Add pairs with new sentences on both sides."
        )
    sizes = np.bincount(numbers)
    splittable = np.flatnonzero(sizes <= LARGEST * len(pairs))
    n_held_out = max(1, round(0.05 * len(names)))
    held_out = nsmallest(
        2 * n_held_out, splittable, lambda i: (split_position(names[i]), names[i])
    )
    valid_numbers, test_numbers = set(held_out[:n_held_out]), set(held_out[n_held_out:])
    train: list[Pair] = []
    valid: list[Pair] = []
    test: list[Pair] = []
    for pair, number in zip(pairs, numbers, strict=True):
        is_test = number in test_numbers
        split = valid if number in valid_numbers else test if is_test else train
        split.append(pair)
    return Corpus(
        name=printable(name),
        train=train,
        valid=valid,
        test={"test": test},
        licence="The reader's own.",
        attribution=printable(", ".join(checksums)),
        checksums={printable(file): digest for file, digest in checksums.items()},
    )


def _lines(path: Path, digest: Any) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, from 1; the bytes go into the digest.

    They are read one by one: only the pairs are kept.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file.")
    if not path.is_file():
        raise DataError(f"there is no file {path}.")
    try:
        with path.open("rb") as file:
            lines = iter(lambda: file.readline(LONGEST_LINE + 1), b"")
            for number, line in enumerate(lines, start=1):
                digest.update(line)
                yield number, _text(f"{path}, line {number}", line, number == 1)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from error


def _text(where: str, line: bytes, is_first: bool) -> str:
    if len(line) > LONGEST_LINE:
        raise DataError(
            f"{where}: longer than {LONGEST_LINE:,} bytes; is this a text file "
            "with one sentence on each line?"
        )
    if b"\0" in line:
        raise DataError(f"{where}: holds a zero byte; is this a text file?")
    try:
        text = line.decode("utf-8-sig" if is_first else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: not UTF-8 (byte 0x{line[error.start]:02x}); save the file "
            "as UTF-8."
        ) from error
    text = text.removesuffix("\n").removesuffix("\r")
    if wrong := stray(text):
        raise DataError(f"{where}: holds {wrong}.")
    return text


def _places(
    path: Path, columns: Columns, lines: Iterator[tuple[int, str]]
) -> tuple[int, int]:
    """Which columns hold English and German, from 0; removes the header, if any."""
    try:
        first, second = columns
        is_pair = type(first) is type(second) in (int, str)
        is_pair = is_pair and not isinstance(columns, str)
    except (TypeError, ValueError):
        is_pair = False
    if not is_pair:
        raise DataError(
            f"columns={columns!r} must be two numbers or two names: where English is, "
            "and where German is."
        )
    if isinstance(first, int) and isinstance(second, int):
        if min(first, second) < 1 or first == second:
            raise DataError(f"columns={columns!r} must be two different ones, from 1.")
        return first - 1, second - 1
    _, header = next(lines, (1, ""))
    names: list[int | str] = [each.strip() for each in header.split("\t")]
    for name in (first, second):
        if name not in names:
            raise DataError(
                f"{path} has no column {name!r}: its first line names "
                f"{', '.join(map(repr, names))}."
            )
    return names.index(first), names.index(second)


def _pair(where: str, text: str, first: int, second: int) -> Pair:
    """A line's English and German; ``where`` it stands is for messages."""
    cells = [cell.strip() for cell in text.split("\t")]
    if len(cells) == 1:
        raise DataError(
            f"{where}: expected English, tab, German; there is no tab in "
            f"{text.strip()[:60]!r}. Put one between the two sentences."
        )
    if len(cells) <= max(first, second):
        raise DataError(
            f"{where}: has {len(cells)} columns, but column {max(first, second) + 1} "
            "was requested."
        )
    return _checked(where, cells[first], cells[second])


def _checked(where: str, english: str, german: str) -> Pair:
    if not english or not german:
        side = "German" if english else "English"
        raise DataError(
            f"{where}: the {side} side is empty. Complete the line or remove it."
        )
    for text in (english, german):
        if len(text) > 2 and text[0] == text[-1] == '"' and '""' in text[1:-1]:
            raise DataError(
                f"{where}: {text[:60]!r} is quoted and its own quotes are doubled, as "
                "spreadsheets do; save the file as tab-separated text without quotes."
            )
    return english, german
