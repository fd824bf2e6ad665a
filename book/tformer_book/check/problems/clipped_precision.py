"""The grader for `clipped_precision` of *Decoding and scoring*, and known slips."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tformer_book.check import kit
from tformer_book.check.problems._bleu import Words, matches_of, ngrams

HINTS = (
    "How often may an n-gram count that the reference has twice and the hypothesis "
    "five times?",
    "Count the n-grams of both sides (`ngrams`, from above). The intersection of two "
    "counters, `&`, takes the smaller count of each.",
    "ours, theirs = ngrams(hypothesis, n), ngrams(reference, n)",
)

REFERENCE, *HYPOTHESES = (
    text.split()
    for text in (
        "der Hund sah den Hund und der Mann sah den See",
        "der der der Hund sah sah sah den See",
        "sah den See und sah den Hund und sah den Mann",
        "Hund der sah den Hund und der Mann",
        "der Hund",
    )
)

CASES = kit.cases(
    "hypothesis reference n",
    *((words, REFERENCE, n) for n, words in enumerate(HYPOTHESES, start=1)),
)
Counts = Callable[[Words, Words, int], int]


def _rule(
    hits: Counts = matches_of, total: Counts = lambda h, r, n: len(ngrams(h, n))
) -> Callable[[Words, Words, int], tuple[int, int]]:
    return lambda h, r, n: (hits(h, r, n), total(h, r, n))


def _as_sets(h: Words, r: Words, n: int) -> int:
    return len(set(ngrams(h, n)) & set(ngrams(r, n)))


def _any_order(h: Words, r: Words, n: int) -> int:
    one, two = (Counter(tuple(sorted(g)) for g in ngrams(x, n)) for x in (h, r))
    return sum((one & two).values())


def _unclipped(h: Words, r: Words, n: int) -> int:
    return matches_of(h, r, n, clipped=False)


SLIPS: kit.Table = {
    "not-clipped": (
        _rule(_unclipped),
        "You count an n-gram as often as the hypothesis repeats it, so saying "
        "“der der der” pays. Count it at most as often as the reference has it.",
    ),
    "each-once": (
        _rule(_as_sets),
        "You count each different n-gram once (a set). Count it as often as both "
        "have it: the smaller of the two counts.",
    ),
    "each-once:2": (
        _rule(_as_sets, lambda h, r, n: len(set(ngrams(h, n)))),
        "Both of your counts are of different n-grams (sets). Repetitions count.",
    ),
    "a-recall": (
        _rule(total=lambda h, r, n: len(ngrams(r, n))),
        "Your total is the reference's. That is a recall; precision divides by the "
        "number of n-grams in the hypothesis.",
    ),
    "total-of-words": (
        _rule(total=lambda h, r, n: len(h)),
        "Your total is the number of words. A text of m words has m − n + 1 n-grams.",
    ),
    "order-ignored": (
        _rule(_any_order),
        "You ignore the order inside an n-gram. “Hund der” is not “der Hund”.",
    ),
    "n-ignored": (
        _rule(
            lambda h, r, n: matches_of(h, r, 1),
            lambda h, r, n: len(h),
        ),
        "You count single words whatever n is.",
    ),
    "negative-total": (
        _rule(total=lambda h, r, n: len(h) - n + 1),
        "A text shorter than n has no n-grams: 0, not a negative number.",
    ),
}


def _pair(found: Any) -> tuple[int, int]:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise kit.Mistake(
            "not-a-pair",
            f"I expect two whole numbers, (matches, total); I got {str(found)[:60]}. "
            "(Over a corpus both are summed before they are divided.)",
        )
    return kit.as_whole(found[0]), kit.as_whole(found[1])


def _unknown(found: Any, wanted: Any, h: Words, r: Words, n: int) -> kit.Mistake:
    return kit.Mistake(
        "wrong-counts",
        f"For “{' '.join(h)}” against “{' '.join(r)}” and n = "
        f"{n} you count {found}; it should be {wanted}. I do not know "
        "this mistake.",
    )


def _probe(mine: kit.Function) -> None:
    kit.judge(mine, CASES, _rule(), SLIPS, take=_pair, otherwise=_unknown)


@kit.grader(_probe)
def clipped_precision(mine: kit.Function) -> str:
    """Grade ``mine(hypothesis, reference, n)``, the counts behind one precision.

    ``mine`` takes two lists of words and n; returns how many n-grams of the
    hypothesis the reference has, each counted at most as often as there, and how
    many n-grams the hypothesis has.
    """
    return "Counted with repetitions, but never more often than the reference has it."
