"""Tatoeba: everyday sentences, short, many with several German translations.

The pairs that manythings.org selects from tatoeba.org, in the edition of 2018-05-13
as a public repository keeps it (the file at the original address is replaced in place).
Splits are made by groups of pairs that share a sentence, never by pair: otherwise the
model would have seen a test sentence with another translation, or another with its own.
Chapter *Data*.
"""

import io
import zipfile
from pathlib import Path

from tformer.data.corpus import Corpus, DataError, Pair, components, split_position
from tformer.data.files import Remote, obtain

COMMIT = "de48b7027f7318d77010a6e08ed928c10748c23d"
URL = f"https://raw.githubusercontent.com/rioyshky/translation/{COMMIT}/deu-eng.zip"
FILE = "deu-eng.zip"
SIZE = 4012023
SHA256 = "b7688f84f99fa33c17397c14d8bd9cef1fdeb2ee0bf50074767023aee8926e28"
LICENCE = (
    "Tatoeba's sentences are under CC BY 2.0 FR, this selection under CC BY 2.0 "
    "(http://creativecommons.org/licenses/by/2.0)."
)
ATTRIBUTION = "Tatoeba pairs: www.manythings.org/anki and tatoeba.org, CC BY 2.0."
HELD_OUT = 0.012  # share of the groups of pairs in valid, and as many in test


def load() -> Corpus:
    """Read Tatoeba: about 164,000 training pairs, valid and test about 2,000 each.

    An epoch shows each English sentence once, with one of its translations.

    Raises:
        DataError: the file is unavailable or damaged.
    """
    file = Remote(FILE, URL, SIZE, SHA256)
    paths, checksums = obtain("tatoeba", [file], terms=f"{LICENCE}\n{ATTRIBUTION}")
    train: list[Pair] = []
    valid: list[Pair] = []
    test: list[Pair] = []
    pairs = _pairs(paths[FILE])
    for pair, name in zip(pairs, components(pairs), strict=True):
        position = split_position(name)
        if position < HELD_OUT:
            test.append(pair)
        elif position < 2 * HELD_OUT:
            valid.append(pair)
        else:
            train.append(pair)
    return Corpus(
        name="tatoeba",
        train=train,
        valid=valid,
        test={"tatoeba": test},
        licence=LICENCE,
        attribution=ATTRIBUTION,
        checksums=checksums,
        one_translation_an_epoch=True,
    )


def _pairs(path: Path) -> list[Pair]:
    """Distinct pairs of ``deu.txt``: the first two of its columns."""
    pairs: dict[Pair, None] = {}
    try:
        with zipfile.ZipFile(path) as archive, archive.open("deu.txt") as file:
            for number, line in enumerate(io.TextIOWrapper(file, "utf-8"), start=1):
                columns = [column.strip() for column in line.split("\t", 2)[:2]]
                if len(columns) < 2 or not (columns[0] and columns[1]):
                    raise DataError(
                        f"{path}, deu.txt, line {number}: expected English, tab, "
                        "German; mend or remove the line."
                    )
                pairs[columns[0], columns[1]] = None
    except DataError:
        raise
    except (OSError, KeyError, zipfile.BadZipFile, ValueError, EOFError) as error:
        raise DataError(
            f"{path} is damaged or holds no deu.txt ({error}); replace or remove it."
        ) from error
    return list(pairs)
