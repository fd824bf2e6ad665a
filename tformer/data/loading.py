"""``load``: a corpus by its name, a mixture of several, or a reader's own file.

Chapter *Data*.
"""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tformer.data import grammar, multi30k, tatoeba, tsv
from tformer.data.corpus import Corpus, DataError, DataUnavailable, Pair, shared

LARGEST_WEIGHT = 100  # an epoch is a list in memory
CORPORA: dict[str, Callable[[], Corpus]] = {
    "multi30k": multi30k.load,
    "tatoeba": tatoeba.load,
    "grammar": grammar.load,
}


def load(
    name: str | os.PathLike[str],
    *,
    columns: tsv.Columns | None = None,
    fallback: bool = False,
) -> Corpus:
    """Read a corpus: train, valid and test pairs (English, German).

    Args:
        name: "multi30k", "tatoeba", "grammar"; a mixture such as "multi30k+tatoeba" or
            "multi30k*3+tatoeba" (an epoch shows Multi30k three times); or the path of
            a UTF-8 file with English, tab, German on each line; or the paths of two
            such files with a comma between them, English first, each with a sentence
            on each line: "mine.en,mine.de".
        columns: where English and German are in a file with tabs, if not in the first
            two columns: numbers from 1, or names from the file's first line.
        fallback: if there are neither data nor a network, use "grammar" instead and
            say so. Never with ``TFORMER_REQUIRE_DATA=1``.

    Raises:
        TypeError: not a name.
        DataError: an unknown name, or a corpus that is unavailable or damaged.
    """
    if not isinstance(name, str | os.PathLike):
        raise TypeError(f"name={name!r} must be the name of a corpus, or a file's path")
    if columns is not None:
        if isinstance(name, str) and not os.path.isfile(name) and _is_no_file(name):
            raise DataError(
                f"columns are for one file with tabs, not for {name!r}; leave out "
                "columns=… (--columns)."
            )
        return tsv.load(name, columns)
    try:
        return _load(name)
    except DataUnavailable as error:
        if not fallback:
            raise
        if os.environ.get("TFORMER_REQUIRE_DATA", "") not in ("", "0"):
            raise DataError(
                f"{error} (TFORMER_REQUIRE_DATA=1 forbids the generated corpus.)"
            ) from error
        print(
            f"NOTICE: {name} is not here and cannot be downloaded; the generated "
            "corpus 'grammar' is used instead.\n"
            "        Scores on it say nothing about real text.\n"
            f"        ({error})",
            file=sys.stderr,
        )
        return grammar.load()


def _is_no_file(name: str) -> bool:
    """Whether it is the name of a corpus, or of several."""
    return name in CORPORA or re.search("[+*,]", name) is not None


def _load(name: str | os.PathLike[str]) -> Corpus:
    if isinstance(name, str) and name in CORPORA:
        return CORPORA[name]()
    text = os.fspath(name)
    if os.path.isfile(text):
        return tsv.load(text)
    if isinstance(name, str) and text.count(",") == 1 and not re.search(r"[+*]", text):
        return tsv.load_parallel(*text.split(","))
    if isinstance(name, str) and re.search(r"[+*]", name):
        return _mixture(name)
    if Path(text).suffix.lower() in (".tsv", ".txt"):
        return tsv.load(text)  # which reports that it is missing
    raise DataError(
        f"unknown corpus {text!r}; give one of {', '.join(CORPORA)}, a mixture such as "
        "multi30k*3+tatoeba, the path of a .tsv file, or two paths: mine.en,mine.de."
    )


def _mixture(name: str) -> Corpus:
    """Join corpora; no held-out sentence of one is trained on in another."""
    weights = _weights(name)
    corpora = [_load(part) for part in weights]
    names = [corpus.name for corpus in corpora]
    for each in names:
        if names.count(each) > 1:
            raise DataError(
                f"two parts of {name!r} are called {each!r}; rename a file."
            )
    tests = [
        pair for corpus in corpora for pairs in corpus.test.values() for pair in pairs
    ]
    notes: list[str] = []

    def apart(corpus: Corpus, kind: str, held_out: list[Pair], what: str) -> list[Pair]:
        """The pairs of a split that share no sentence with the held-out ones."""
        pairs = corpus.train if kind == "training" else corpus.valid
        dropped = set(shared(pairs, held_out))
        kept = [pair for pair in pairs if pair not in dropped]
        if n := len(pairs) - len(kept):
            notes.append(
                f"{n} of {len(pairs):,} {kind} pairs of {corpus.name} were "
                f"left out: they share a sentence with a {what} set of the mixture."
            )
        return kept

    for i, corpus in enumerate(corpora):
        valid = apart(corpus, "validation", tests, "test")
        corpora[i] = replace(corpus, valid=valid, valid_sets={})
    held_out = tests + [pair for corpus in corpora for pair in corpus.valid]
    for i, corpus in enumerate(corpora):
        train = apart(corpus, "training", held_out, "held-out")
        corpora[i] = replace(corpus, train=train)
    test: dict[str, list[tuple[str, str]]] = {}
    for corpus in corpora:
        for key, pairs in corpus.test.items():
            test[key if key not in test else f"{corpus.name}_{key}"] = pairs

    def joined(field: str) -> dict:
        return {k: v for corpus in corpora for k, v in getattr(corpus, field).items()}

    return Corpus(
        name=name,
        train=[pair for corpus in corpora for pair in corpus.train],
        valid=[pair for corpus in corpora for pair in corpus.valid],
        test=test,
        licence="\n".join(dict.fromkeys(corpus.licence for corpus in corpora)),
        attribution="\n".join(dict.fromkeys(corpus.attribution for corpus in corpora)),
        checksums=joined("checksums"),
        tokenised_references=joined("tokenised_references"),
        is_synthetic=any(corpus.is_synthetic for corpus in corpora),
        valid_sets=joined("valid_sets"),
        parts=tuple(zip(corpora, weights.values(), strict=True)),
        notes=tuple(notes),
    )


def _weights(name: str) -> dict[str, int]:
    """The parts of a mixture, and how often an epoch repeats each."""
    weights: dict[str, int] = {}
    for term in name.split("+"):
        found = re.fullmatch(r"\s*([^*\s]+)\s*(?:\*\s*([0-9]+)\s*)?", term)
        weight = found and (found[2] or "1").lstrip("0")
        if not found or not weight:
            raise DataError(
                f"cannot read {term!r} in the mixture {name!r}; write names joined by "
                "+, each with a weight of 1 or more if wanted: multi30k*3+tatoeba."
            )
        if len(weight) > len(str(LARGEST_WEIGHT)) or int(weight) > LARGEST_WEIGHT:
            raise DataError(
                f"the weight {weight} of {found[1]!r} is too large; give 1 to "
                f"{LARGEST_WEIGHT}."
            )
        if found[1] in weights:
            raise DataError(f"{found[1]!r} occurs twice in {name!r}; give it a weight.")
        weights[found[1]] = int(weight)
    return weights
