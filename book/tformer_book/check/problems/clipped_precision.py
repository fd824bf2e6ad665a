"""The grader for `clipped_precision` of *Decoding and scoring*, and known slips."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tformer_book.check._compare import Slip, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_whole, call
from tformer_book.check.problems._bleu import Words, matches_of, ngrams

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
CASES: list[tuple[Words, Words, int]] = [
    (words, REFERENCE, n) for n, words in enumerate(HYPOTHESES, start=1)
]


def _rule(
    hits: Callable[[Words, Words, int], int] = matches_of,
    total: Callable[[Words, Words, int], int] = lambda h, r, n: len(ngrams(h, n)),
) -> list[tuple[int, int]]:
    return [(hits(*case), total(*case)) for case in CASES]


def _known() -> list[Slip]:
    def as_sets(h: Words, r: Words, n: int) -> int:
        return len(set(ngrams(h, n)) & set(ngrams(r, n)))

    def any_order(h: Words, r: Words, n: int) -> int:
        one, two = (Counter(tuple(sorted(g)) for g in ngrams(x, n)) for x in (h, r))
        return sum((one & two).values())

    def unclipped(h: Words, r: Words, n: int) -> int:
        return matches_of(h, r, n, clipped=False)

    return [
        Slip(
            "not-clipped",
            "You count an n-gram as often as the hypothesis repeats it, so saying "
            "“der der der” pays. Count it at most as often as the reference has it.",
            _rule(unclipped),
        ),
        Slip(
            "each-once",
            "You count each different n-gram once (a set). Count it as often as both "
            "have it: the smaller of the two counts.",
            _rule(as_sets),
        ),
        Slip(
            "each-once",
            "Both of your counts are of different n-grams (sets). Repetitions count.",
            _rule(as_sets, lambda h, r, n: len(set(ngrams(h, n)))),
        ),
        Slip(
            "a-recall",
            "Your total is the reference's. That is a recall; precision divides by the "
            "number of n-grams in the hypothesis.",
            _rule(total=lambda h, r, n: len(ngrams(r, n))),
        ),
        Slip(
            "total-of-words",
            "Your total is the number of words. A text of m words has m − n + 1 "
            "n-grams.",
            _rule(total=lambda h, r, n: len(h)),
        ),
        Slip(
            "order-ignored",
            "You ignore the order inside an n-gram. “Hund der” is not “der Hund”.",
            _rule(any_order),
        ),
        Slip(
            "n-ignored",
            "You count single words whatever n is.",
            _rule(
                lambda h, r, n: matches_of(h, r, 1),
                lambda h, r, n: len(h),
            ),
        ),
        Slip(
            "negative-total",
            "A text shorter than n has no n-grams: 0, not a negative number.",
            _rule(total=lambda h, r, n: len(h) - n + 1),
        ),
    ]


def _pair(found: Any) -> tuple[int, int]:
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Mistake(
            "not-a-pair",
            f"I expect two whole numbers, (matches, total); I got {str(found)[:60]}. "
            "(Over a corpus both are summed before they are divided.)",
        )
    return as_whole(found[0]), as_whole(found[1])


def _probe(mine: Function) -> None:
    found = []
    for hypothesis, reference, n in CASES:
        given = {"hypothesis": hypothesis, "reference": reference, "n": n}
        found.append(_pair(call(mine, given)))
    wanted = _rule()
    if found == wanted:
        return
    recognise(found, _known())
    i = next(i for i in range(len(CASES)) if found[i] != wanted[i])
    raise Mistake(
        "wrong-counts",
        f"For “{' '.join(CASES[i][0])}” against “{' '.join(REFERENCE)}” and n = "
        f"{CASES[i][2]} you count {found[i]}; it should be {wanted[i]}. I do not know "
        "this mistake.",
    )


def clipped_precision(mine: Function) -> Result:
    """Grade ``mine(hypothesis, reference, n)``, the counts behind one precision.

    Args:
        mine: takes two lists of words and n; returns how many n-grams of the hypothesis
            the reference has, each counted at most as often as there, and how many
            n-grams the hypothesis has.

    Returns:
        The verdict; the message is printed.
    """
    praise = "Counted with repetitions, but never more often than the reference has it."
    return grade("clipped_precision", mine, [_probe], praise)
