"""The grader for `error_rate` of chapter *Inside the trained model*."""

from tformer_book.check import kit

HINTS = (
    "Which links count twice in the numerator, and why is a link that is merely "
    "possible free?",
    "Add the links found that are sure and the links found that are possible (the "
    "sure ones are among these). Divide by the number found plus the number of sure "
    "ones, and subtract from 1.",
    "hits = len(found & sure) + len(found & possible)",
)

Links = set[tuple[int, int]]
CASES: list[tuple[Links, Links, Links]] = [
    (
        {(0, 0), (1, 1), (2, 1), (1, 2)},
        {(0, 0), (1, 1)},
        {(0, 0), (1, 1), (2, 1)},
    ),
    ({(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 2), (2, 3)}),
    ({(0, 1)}, {(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1), (2, 2)}),
    ({(0, 0), (3, 1), (3, 2), (4, 4)}, {(0, 0), (3, 2)}, {(0, 0), (3, 1), (3, 2)}),
]


def _hits(found: Links, sure: Links, possible: Links) -> int:
    return len(found & sure) + len(found & possible)


def _right(found: Links, sure: Links, possible: Links) -> float:
    return 1 - _hits(found, sure, possible) / (len(found) + len(sure))


SLIPS: kit.Table = {
    "possible-in-the-denominator": (
        lambda found, sure, possible: (
            1 - _hits(found, sure, possible) / (len(found) + len(possible))
        ),
        "You divide by the number of found and *possible* links. Then an aligner is "
        "fined for every link that it need not have found: divide by |A| + |S|.",
    ),
    "possible-ignored": (
        lambda found, sure, possible: (
            1 - 2 * len(found & sure) / (len(found) + len(sure))
        ),
        "You count sure links only, twice. A found link that is at least possible is "
        "no mistake: it counts in |A ∩ P|.",
    ),
    "sure-counted-once": (
        lambda found, sure, possible: (
            1 - len(found & (sure | possible)) / (len(found) + len(sure))
        ),
        "You count a sure link once. It is possible as well (P includes S), so it "
        "counts in |A ∩ S| and again in |A ∩ P|.",
    ),
    "one-minus-forgotten": (
        lambda found, sure, possible: (
            _hits(found, sure, possible) / (len(found) + len(sure))
        ),
        "That is how much is right. The *error* rate is 1 minus it.",
    ),
    "wrong-links-only": (
        lambda found, sure, possible: 1 - len(found & possible) / len(found),
        "You count the found links that are wrong. Then an aligner that finds nothing "
        "makes no error: sure links that are missing must cost, too.",
    ),
}


def _unknown(
    rate: float, wanted: float, found: Links, sure: Links, possible: Links
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-numbers",
        f"For A = {sorted(found)}, S = {sorted(sure)} and P = {sorted(possible)} "
        f"you return {rate:.3f}; I count {wanted:.3f}.",
    )


def _probe(mine: kit.Function) -> None:
    for case in kit.cases("found sure possible", *CASES):
        kit.judge(mine, [case], _right, SLIPS, take=kit.as_number, otherwise=_unknown)


@kit.grader(_probe)
def error_rate(mine: kit.Function) -> str:
    """Grade a reader's alignment error rate of one sentence.

    ``mine`` is a function ``mine(found, sure, possible)`` of three sets of links, where
    ``possible`` includes ``sure``, as `tformer.evaluate.alignment_error_rate` counts
    them.
    """
    return "Wrong links and missing ones cost; links that are only possible are free."
