"""What the first released model was trained on: Tatoeba as it was split at first.

That split went by the English sentence alone. Today's (``tformer.data.tatoeba``) keeps
pairs together that share either sentence. For the first model, some of today's test
pairs were therefore not new; this module tells which.
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


def first_learned_from() -> list[Pair]:
    """Every pair that training may have shown to the first released model."""
    return by_english(data.load("tatoeba"))["train"] + data.load("multi30k").train


def untouched(pairs: list[Pair]) -> list[Pair]:
    """Those of Tatoeba's pairs of whose group the first model learned nothing."""
    learned = first_learned_from()
    everything = all_pairs(data.load("tatoeba")) + learned
    names = components(everything)
    known = set(names[-len(learned) :])
    group = dict(zip(everything, names, strict=True))
    return [pair for pair in pairs if group[pair] not in known]


def all_pairs(corpus: Corpus) -> list[Pair]:
    """The pairs of all splits of a corpus."""
    tests = [pair for pairs in corpus.test.values() for pair in pairs]
    return corpus.train + corpus.valid + tests
