"""What the released model was trained on: Tatoeba as it was split at first.

That split went by the English sentence alone. Today's (``tformer.data.tatoeba``) keeps
pairs together that share either sentence; for the model that is released, some of
today's test pairs are therefore not new. This module tells which, until a model is
trained on today's split.
"""

from tformer import data
from tformer.data.corpus import Corpus, Pair, components, split_position
from tformer.data.tatoeba import HELD_OUT


def by_english(tatoeba: Corpus) -> dict[str, list[Pair]]:
    """Tatoeba's pairs as the first split had them: train, valid and test."""
    first: dict[str, list[Pair]] = {"train": [], "valid": [], "test": []}
    for pair in all_pairs(tatoeba):
        position = split_position(pair[0])
        name = "test" if position < HELD_OUT else "valid"
        first["train" if position >= 2 * HELD_OUT else name].append(pair)
    return first


def learned_from() -> list[Pair]:
    """Every pair that training may have shown to the released model."""
    return by_english(data.load("tatoeba"))["train"] + data.load("multi30k").train


def untouched(pairs: list[Pair]) -> list[Pair]:
    """Those of Tatoeba's pairs of whose group the released model learned nothing."""
    learned = learned_from()
    everything = all_pairs(data.load("tatoeba")) + learned
    names = components(everything)
    known = set(names[-len(learned) :])
    group = dict(zip(everything, names, strict=True))
    return [pair for pair in pairs if group[pair] not in known]


def all_pairs(corpus: Corpus) -> list[Pair]:
    """The pairs of all splits of a corpus."""
    tests = [pair for pairs in corpus.test.values() for pair in pairs]
    return corpus.train + corpus.valid + tests
