"""The grader for `error_rate` of chapter *Inside the trained model*."""

from __future__ import annotations

from tformer_book.check._compare import Known, Slip, matches, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_number, call

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


def _right(found: Links, sure: Links, possible: Links) -> float:
    hits = len(found & sure) + len(found & possible)
    return 1 - hits / (len(found) + len(sure))


def _known(found: Links, sure: Links, possible: Links) -> Known:
    hits = len(found & sure) + len(found & possible)
    yield Slip(
        "possible-in-the-denominator",
        "You divide by the number of found and *possible* links. Then an aligner is "
        "fined for every link that it need not have found: divide by |A| + |S|.",
        1 - hits / (len(found) + len(possible)),
    )
    yield Slip(
        "possible-ignored",
        "You count sure links only, twice. A found link that is at least possible is "
        "no mistake: it counts in |A ∩ P|.",
        1 - 2 * len(found & sure) / (len(found) + len(sure)),
    )
    yield Slip(
        "one-minus-forgotten",
        "That is how much is right. The *error* rate is 1 minus it.",
        hits / (len(found) + len(sure)),
    )
    yield Slip(
        "wrong-links-only",
        "You count the found links that are wrong. Then an aligner that finds nothing "
        "makes no error: sure links that are missing must cost, too.",
        1 - len(found & possible) / len(found),
    )


def _probe(mine: Function) -> None:
    for found, sure, possible in CASES:
        given = {"found": set(found), "sure": set(sure), "possible": set(possible)}
        rate = as_number(call(mine, given))
        wanted = _right(found, sure, possible)
        if matches(rate, wanted):
            continue
        recognise(rate, _known(found, sure, possible))
        raise Mistake(
            "wrong-numbers",
            f"For A = {sorted(found)}, S = {sorted(sure)} and P = {sorted(possible)} "
            f"you return {rate:.3f}; I count {wanted:.3f}.",
        )


def error_rate(mine: Function) -> Result:
    """Grade a reader's alignment error rate of one sentence.

    Args:
        mine: a function ``mine(found, sure, possible)`` of three sets of links, where
            ``possible`` includes ``sure``, as `tformer.evaluate.alignment_error_rate`
            counts them.

    Returns:
        The verdict; the message is printed.
    """
    praise = "Wrong links and missing ones cost; links that are only possible are free."
    return grade("error_rate", mine, [_probe], praise)
