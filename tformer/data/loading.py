"""``load``: a corpus by its name, a mixture of several, or a reader's own file.

Chapter: 11, Data.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tformer.data import grammar, multi30k, tatoeba, tsv
from tformer.data.corpus import Corpus, DataError, DataUnavailable, keys, sentence_key

__all__ = ["load"]

CORPORA: dict[str, Callable[[], Corpus]] = {
    "multi30k": multi30k.load,
    "tatoeba": tatoeba.load,
    "grammar": grammar.load,
}


def load(name: str | os.PathLike[str], *, fallback: bool = False) -> Corpus:
    """Read a corpus: train, valid and test pairs (English, German).

    Args:
        name: "multi30k", "tatoeba", "grammar"; a mixture such as "multi30k+tatoeba" or
            "multi30k*3+tatoeba" (an epoch shows Multi30k three times); or the path of
            a UTF-8 file with English, tab, German on each line.
        fallback: where there are neither data nor a network, take "grammar" instead
            and say so. Never if ``TFORMER_REQUIRE_DATA=1``.

    Raises:
        DataError: an unknown name, or a corpus that cannot be had or is damaged.
    """
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


def _load(name: str | os.PathLike[str]) -> Corpus:
    if isinstance(name, str) and name in CORPORA:
        return CORPORA[name]()
    text = os.fspath(name)
    if Path(text).is_file() or Path(text).suffix.lower() in (".tsv", ".txt"):
        return tsv.load(text)
    if isinstance(name, str) and re.search(r"[+*]", name):
        return _mixture(name)
    raise DataError(
        f"unknown corpus {text!r}; give one of {', '.join(CORPORA)}, a mixture such as "
        "multi30k*3+tatoeba, or the path of a .tsv file."
    )


def _mixture(name: str) -> Corpus:
    """Join corpora; no training sentence of one is in another's valid or test."""
    weights: dict[str, int] = {}
    for term in name.split("+"):
        found = re.fullmatch(r"\s*([^*\s]+)\s*(?:\*\s*(\d+)\s*)?", term)
        if not found or (found[2] is not None and int(found[2]) < 1):
            raise DataError(
                f"cannot read {term!r} in the mixture {name!r}; write names joined by "
                "+, each with a weight of 1 or more if wanted: multi30k*3+tatoeba."
            )
        if found[1] in weights:
            raise DataError(f"{found[1]!r} occurs twice in {name!r}; give it a weight.")
        weights[found[1]] = int(found[2] or 1)
    corpora = [_load(part) for part in weights]
    held_out = [
        keys(corpus.valid).union(*(keys(pairs) for pairs in corpus.test.values()))
        for corpus in corpora
    ]
    parts: list[tuple[Corpus, int]] = []
    notes: list[str] = []
    for i, (corpus, weight) in enumerate(zip(corpora, weights.values(), strict=True)):
        others = set().union(*(held_out[:i] + held_out[i + 1 :]))
        kept = [pair for pair in corpus.train if sentence_key(pair[0]) not in others]
        if n_dropped := len(corpus.train) - len(kept):
            notes.append(
                f"{n_dropped} training pairs of {corpus.name} were left out: their "
                "English is in a validation or test set of the mixture."
            )
        parts.append((replace(corpus, train=kept), weight))
    test: dict[str, list[tuple[str, str]]] = {}
    for corpus in corpora:
        for key, pairs in corpus.test.items():
            test[key if key not in test else f"{corpus.name}_{key}"] = pairs

    def joined(field: str) -> dict:
        return {k: v for corpus in corpora for k, v in getattr(corpus, field).items()}

    return Corpus(
        name=name,
        train=[pair for part, _ in parts for pair in part.train],
        valid=[pair for corpus in corpora for pair in corpus.valid],
        test=test,
        licence="\n".join(dict.fromkeys(corpus.licence for corpus in corpora)),
        attribution="\n".join(dict.fromkeys(corpus.attribution for corpus in corpora)),
        checksums=joined("checksums"),
        tokenised_references=joined("tokenised_references"),
        is_synthetic=any(corpus.is_synthetic for corpus in corpora),
        valid_sets=joined("valid_sets"),
        parts=tuple(parts),
        notes=tuple(notes),
    )
