"""What a corpus is: sentence pairs in splits, with their licences and sources.

Chapter *Data*.
"""

from __future__ import annotations

import hashlib
import random
import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tformer.common.text import visible

Pair = tuple[str, str]  # (English, German)


class DataError(ValueError):
    """A corpus is unavailable, or not what it should be; the message says why."""


class DataUnavailable(DataError):
    """Neither a file nor a network to fetch it: only then is a fallback allowed."""


@dataclass
class Corpus:
    """English–German sentence pairs, split before anything is learned from them.

    Attributes:
        name: as given to ``data.load``.
        train: pairs (English, German) to learn from.
        valid: pairs for making choices: when to stop, which setting.
        test: name → pairs to report on, and for nothing else.
        licence: the terms under which the text may be used.
        attribution: whom to credit, in one line.
        checksums: file → SHA-256 of the bytes that were read.
        tokenised_references: test set → German lines, lower-cased, normalised and
            tokenised as in published tables; empty where there are none.
        alignments: split → for each pair its word alignment (``grammar`` only).
        is_synthetic: True if a program wrote the sentences: scores on them say
            nothing about real German.
        valid_sets: component → its validation pairs; ``valid`` is all of them.
        one_translation_an_epoch: show each English sentence once per epoch, with one of
            its German translations chosen at random.
        parts: components of a mixture, and how often an epoch repeats each.
        notes: what was left out or changed while loading, one sentence each.
    """

    name: str
    train: list[Pair]
    valid: list[Pair]
    test: dict[str, list[Pair]]
    licence: str = ""
    attribution: str = ""
    checksums: dict[str, str] = field(default_factory=dict)
    tokenised_references: dict[str, list[str]] = field(default_factory=dict)
    alignments: dict[str, list] = field(default_factory=dict)
    is_synthetic: bool = False
    valid_sets: dict[str, list[Pair]] = field(default_factory=dict)
    one_translation_an_epoch: bool = False
    parts: tuple[tuple[Corpus, int], ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.valid_sets:
            self.valid_sets = {self.name: self.valid}

    def epoch_pairs(self, epoch: int, seed: int) -> list[Pair]:
        """The training pairs that one epoch shows; the same for equal (epoch, seed).

        All of ``train``, unless sentences have several translations (then one each,
        chosen anew every epoch) or the corpus is a weighted mixture. The order is
        that of the corpus: ``data.batches`` shuffles.
        """
        if self.parts:
            return [
                pair
                for part, weight in self.parts
                for repeat in range(weight)
                for pair in part.epoch_pairs(epoch * weight + repeat, seed)
            ]
        if not self.one_translation_an_epoch:
            return list(self.train)
        translations: dict[str, list[str]] = {}
        for english, german in self.train:
            translations.setdefault(english, []).append(german)
        draw = random.Random(f"{self.name}/{seed}/{epoch}")
        return [
            (english, germans[0] if len(germans) == 1 else draw.choice(germans))
            for english, germans in translations.items()
        ]

    def trained_on(self) -> dict[str, int | str]:
        """How many training pairs there are, and the SHA-256 of their text.

        Two corpora with the same name and the same files can still differ: in how they
        were split, or by pairs that somebody added.
        """
        digest = hashlib.sha256()
        for english, german in self.train:
            digest.update(f"{english}\t{german}\n".encode("utf-8", "surrogatepass"))
        return {"pairs": len(self.train), "sha256": digest.hexdigest()}

    def __str__(self) -> str:
        tests = ", ".join(
            f"{'' if name == 'test' else name + ' '}{len(pairs):,}"
            for name, pairs in self.test.items()
        )
        return (
            f"{self.name}: train {len(self.train):,}, valid {len(self.valid):,}, "
            f"test {tests} pairs" + (" (generated)" if self.is_synthetic else "")
        )

    def __repr__(self) -> str:
        return f"<Corpus {self}>"


def vocabulary_for(corpus: Corpus) -> int:
    """How many pieces to learn from a corpus: one per hundred words of its text.

    A piece is learned from the sentences that contain it. More pieces make sentences
    shorter, but most pieces rarer; one per hundred words leaves even the rare ones
    some dozen sentences. Never fewer than 600, of which the 256 bytes and the special
    ids take 260, nor more than 8,000, beyond which only the table grows.

    Args:
        corpus: with training pairs.

    Returns:
        A ``vocab_size``, in round numbers.
    """
    n_words = sum(len(side.split()) for pair in corpus.train for side in pair)
    return min(max(round(n_words / 10_000) * 100, 600), 8000)


def sentence_key(sentence: str) -> str:
    """The sentence without case, punctuation and spacing, for comparison.

    "It's late!" and "it's late." have the same key, so they go to the same split. A
    sentence of nothing but punctuation is its own key.
    """
    folded = unicodedata.normalize("NFKC", sentence).casefold()
    bare = folded.replace("'", "").replace("’", "")
    return re.sub(r"[\W_]+", " ", bare).strip() or folded.strip()


def split_position(sentence: str) -> float:
    """A number in [0, 1) that depends on the sentence's key alone.

    Splits based on it are the same on every machine and for every edition of a corpus:
    a sentence that was in the test set stays there when others are added.
    """
    digest = hashlib.sha256(sentence_key(sentence).encode("utf-8")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def components(pairs: Sequence[Pair]) -> list[str]:
    """For each pair, the name of the group that must stay in one split.

    Two pairs belong together if their English is equal or their German is (by
    ``sentence_key``), and so does whatever is linked to them in the same way: "Go!" and
    "Walk!" are both "Geh!", so a model trained on one has seen the answer to the
    other. The groups are the connected components of a graph in which each pair links
    its two sentences. A group is named after the first of its English keys in
    alphabetical order; ``split_position`` of that name says where the group goes.

    Args:
        pairs: (English, German).

    Returns:
        A name for each pair, in order; the same whatever the order of the pairs.
    """
    numbers, names = groups(pairs)
    return [names[number] for number in numbers]


def groups(pairs: Sequence[Pair]) -> tuple[array[int], list[str]]:
    """`components` for millions of pairs: a number for each, and each number's name.

    Keys are compared by their 64-bit hashes and not stored.
    """
    english = _numbered(key for key, _ in pairs)
    german = _numbered(key for _, key in pairs)
    parent = array("q", range(len(pairs)))  # English → a smaller one of its group
    english_of = array("q", [-1]) * len(
        pairs
    )  # German → the English first seen with it

    def top(node: int) -> int:
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]  # halves the path for the next
        return node

    for one, side in zip(english, german, strict=True):
        if english_of[side] < 0:
            english_of[side] = one
        here, there = top(one), top(english_of[side])
        parent[max(here, there)] = min(here, there)
    names: list[str] = []
    numbers = array("q")
    number_of = array("q", [-1]) * len(pairs)
    for node, (sentence, _) in zip(english, pairs, strict=True):
        group, key = top(node), sentence_key(sentence)
        if number_of[group] < 0:
            number_of[group] = len(names)
            names.append(key)
        number = number_of[group]
        names[number] = min(names[number], key)
        numbers.append(number)
    return numbers, names


def _numbered(sentences: Iterable[str]) -> array[int]:
    """A number for each sentence, equal for equal keys, and below their count."""
    hashes = np.fromiter((hash(sentence_key(each)) for each in sentences), np.int64)
    return array("q", np.unique(hashes, return_inverse=True)[1].tobytes())


def shared(pairs: Iterable[Pair], others: Iterable[Pair]) -> list[Pair]:
    """The pairs whose English, or whose German, is among those of the others."""
    english, german = set(), set()
    for one, other in others:
        english.add(sentence_key(one))
        german.add(sentence_key(other))
    return [
        pair
        for pair in pairs
        if sentence_key(pair[0]) in english or sentence_key(pair[1]) in german
    ]


def printable(name: str) -> str:
    r"""A file's name as one line that any file or terminal can hold.

    Bytes that are not UTF-8 (Python keeps them as lone surrogates) become ``\udcff``
    and the like, as do characters that are not seen.
    """
    return visible(name).replace("\n", r"\n")


def keys(pairs: Iterable[Pair], side: int = 0) -> set[str]:
    """The keys of the English sides, or (``side`` 1) of the German ones."""
    return {sentence_key(pair[side]) for pair in pairs}
