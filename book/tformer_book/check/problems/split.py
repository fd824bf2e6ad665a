"""The grader for `split` of chapter *Data*, and known mistakes."""

import builtins
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from tformer.data.corpus import sentence_key
from tformer_book.check import kit

HINTS = (
    "On what may the side of a pair depend, if it must not change when other pairs "
    "are added?",
    "Only on its own English sentence, without capitals and punctuation: "
    "`corpora.split_position` turns that into a fixed number between 0 and 1. Compare"
    " it with `share`.",
    "is_test = [corpora.split_position(english) < share for english, _ in pairs]",
)

Pair = tuple[Any, Any]

_SHARE = 0.2


def _corpus(n: int = 600) -> list[Pair]:
    """Sentences with one to four Germans, some twice but for a mark or a capital."""
    pairs: list[Pair] = []
    for i in range(n):
        pairs += [
            (f"Sentence number {i}.", f"Satz {i}, {k}.") for k in range(1 + i % 4)
        ]
        if i % 7 == 0:
            pairs.append((f"sentence number {i}!", f"Satz {i}!"))
    random.Random(0).shuffle(pairs)
    return pairs


def _run_split(mine: kit.Function, pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    returned = kit.call(mine, {"pairs": pairs}, {"share": _SHARE}, chance=True)
    try:
        train, test = ([(str(a), str(b)) for a, b in side] for side in returned)
    except (TypeError, ValueError):
        raise kit.Mistake(
            "not-two-lists",
            "Return two lists of pairs, train and test, in this order.",
        ) from None
    return train, test


def _english(pairs: list[Pair], key: Callable[[str], str] = str) -> set[str]:
    return {key(english) for english, _ in pairs}


def _probe_split(mine: kit.Function) -> None:
    pairs = _corpus()
    train, test = _run_split(mine, pairs)
    together = Counter(train) + Counter(test)
    if twice := (together - Counter(pairs)).total():
        raise kit.Mistake(
            "in-both",
            f"{twice} pairs are in train and in test. Each belongs to one of them.",
        )
    if lost := (Counter(pairs) - together).total():
        raise kit.Mistake(
            "pairs-lost", f"{lost} of {len(pairs)} pairs are in no split."
        )
    lengths = [[len(english) for english, _ in side] for side in (train, test)]
    apart = (
        train
        and test
        and not (
            max(lengths[0]) > min(lengths[1]) and max(lengths[1]) > min(lengths[0])
        )
    )
    if apart:
        raise kit.Mistake(
            "by-length",
            "You split by length: all sentences of one side are at least as long as "
            "those of the other. A test must be like what it stands for, so let chance "
            "(or a hash of the sentence) decide.",
        )
    if leaked := len(_english(train) & _english(test)):
        _by_german(mine, pairs, test)
        raise kit.Mistake(
            "by-pair",
            f"A leak: {leaked} English sentences are in both splits, with different "
            "Germans. You draw pairs; draw English sentences, and let all Germans of "
            "one go with it.",
        )
    if leaked := len(_english(train, sentence_key) & _english(test, sentence_key)):
        raise kit.Mistake(
            "leaks-but-for-a-mark",
            f"A small leak: {leaked} sentences are in both splits, but for a capital "
            "or a mark (“Sentence number 7.”, “sentence number 7!”). Compare them "
            "without case and punctuation: data.corpus.sentence_key does it.",
        )
    share = len(test) / len(pairs)
    if abs(share - (1 - _SHARE)) < 0.06:
        raise kit.Mistake(
            "swapped",
            f"{100 * share:.0f} % are in test, and I asked for {100 * _SHARE:.0f} %: "
            "train and test have changed places.",
        )
    if abs(share - _SHARE) > 0.06:
        raise kit.Mistake(
            "wrong-share",
            f"{100 * share:.0f} % of the pairs are in test; about "
            f"{100 * _SHARE:.0f} % were asked for.",
        )


def _by_german(mine: kit.Function, pairs: list[Pair], test: list[Pair]) -> None:
    """Other English beside the same German, in another order, changes nothing."""
    others = [(f"Another {english}", german) for english, german in reversed(pairs)]
    _, again = _run_split(mine, others)
    if {german for _, german in again} == {german for _, german in test}:
        raise kit.Mistake(
            "by-german",
            "A leak: you let the German sentence decide, and an English one has "
            "several Germans, some in train and some in test. The English is what "
            "comes in, so let that decide.",
        )


def _probe_stays(mine: kit.Function) -> None:
    """The same twice, and for a corpus that grows or comes in another order."""
    asked = 0
    right = builtins.hash

    def watched(value: Any) -> int:
        nonlocal asked
        texts = value if isinstance(value, tuple) else (value,)
        asked += any(isinstance(text, str) for text in texts)
        return right(value)

    pairs = _corpus()
    builtins.hash = watched  # type: ignore[assignment]
    try:
        train, test = _run_split(mine, pairs)
    finally:
        builtins.hash = right
    if asked:
        raise kit.Mistake(
            "salted-hash",
            "hash() of a text is salted: it differs each time Python is started, and "
            "so would your split. Take hashlib (or data.corpus.split_position).",
        )
    _, again = _run_split(mine, pairs)
    if set(again) != set(test):
        raise kit.Mistake(
            "differs-each-time",
            "Two calls give two splits: a model trained after the first has seen test "
            "sentences of the second. Fix the seed, or better, let each sentence "
            "decide by itself, through a hash.",
        )
    more = _corpus(660)
    more_train, more_test = _run_split(mine, more)
    for old, new, was, now in (
        (test, more_train, "test", "training"),
        (train, more_test, "training", "test"),
    ):
        if moved := len(_english(old) & _english(new)):
            raise kit.Mistake(
                "moves-when-it-grows",
                f"I added a tenth to the corpus, and {moved} of {len(_english(old))} "
                f"{was} sentences are {now} sentences now, so a score on "
                "one edition says nothing about the other. Let the place of a "
                "sentence depend on the sentence alone: a hash of it, below the share "
                "or not; neither its place in a list nor how many there are.",
            )


@kit.grader(_probe_split, _probe_stays)
def split(mine: kit.Function) -> str:
    """Grade how a reader splits a corpus.

    ``mine`` is a function ``mine(pairs, share)`` that returns two lists of pairs, train
    and test, of which the second holds about that share.
    """
    return (
        "No English sentence is on both sides, not even with another mark; nothing is "
        "lost; and a sentence stays where it is when the corpus grows."
    )
