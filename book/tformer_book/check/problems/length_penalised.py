"""The grader for `length_penalised` of *Decoding and scoring*, and known slips."""

from __future__ import annotations

import math

from tformer.decode import length_penalty_of
from tformer_book.check._compare import Slip, matches, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_number, call

CASES = ((-3.0, 7, 0.6), (-5.5, 13, 1.0), (-2.0, 1, 2.0), (-4.0, 9, 0.0))


def _known() -> list[Slip]:
    def all_cases(score: object) -> list[float]:
        return [score(*case) for case in CASES]  # type: ignore[operator]

    return [
        Slip(
            "multiplied",
            "You multiply by the penalty. Log-probabilities are negative, so this "
            "makes long translations worse still: divide.",
            all_cases(lambda s, n, a: s * length_penalty_of(n, a)),
        ),
        Slip(
            "plain-mean",
            "You divide by the length itself. The paper's penalty is "
            "((5 + n) / 6)^alpha.",
            all_cases(lambda s, n, a: s / n),
        ),
        Slip(
            "power-of-the-length",
            "You divide by n^alpha. The paper's penalty is ((5 + n) / 6)^alpha, which "
            "is gentler with short translations.",
            all_cases(lambda s, n, a: s / n**a),
        ),
        Slip(
            "six-forgotten",
            "You divide by (5 + n)^alpha; the 6 is missing. (The ranking is the same, "
            "the scores are not.)",
            all_cases(lambda s, n, a: s / (5 + n) ** a),
        ),
        Slip(
            "alpha-times",
            "You multiply by alpha. It is an exponent.",
            all_cases(lambda s, n, a: s / (a * (5 + n) / 6) if a else math.inf),
        ),
        Slip(
            "alpha-ignored",
            "Your alpha has no effect. It is the exponent of (5 + n) / 6.",
            all_cases(lambda s, n, a: s / ((5 + n) / 6)),
        ),
        Slip(
            "power-before-the-quotient",
            "The power covers only the 5 + n. It belongs to the whole quotient: "
            "((5 + n) / 6) ** alpha.",
            all_cases(lambda s, n, a: s / ((5 + n) ** a / 6)),
        ),
        Slip(
            "end-counted-twice",
            "You add 1 to the length. It counts the end sign already.",
            all_cases(lambda s, n, a: s / length_penalty_of(n + 1, a)),
        ),
        Slip(
            "subtracted",
            "You subtract the penalty. The paper divides by it.",
            all_cases(lambda s, n, a: s - length_penalty_of(n, a)),
        ),
        Slip(
            "nothing-done",
            "The log-probability comes back as it was.",
            all_cases(lambda s, n, a: s),
        ),
    ]


def _probe(mine: Function) -> None:
    found = []
    for log_p, length, alpha in CASES:
        given = {"log_p": log_p, "length": length, "alpha": alpha}
        found.append(as_number(call(mine, given)))
    wanted = [s / length_penalty_of(n, a) for s, n, a in CASES]
    if matches(found, wanted):
        return
    recognise(found, _known())
    i = next(i for i in range(len(CASES)) if not matches(found[i], wanted[i]))
    raise Mistake(
        "wrong-score",
        f"For a log-probability of {CASES[i][0]}, {CASES[i][1]} pieces and alpha "
        f"{CASES[i][2]} you say {found[i]:.4f}; it should be {wanted[i]:.4f}. I do not "
        "know this mistake.",
    )


def length_penalised(mine: Function) -> Result:
    """Grade ``mine(log_p, length, alpha)``, by which beam search ranks.

    Args:
        mine: takes a log-probability, the number of pieces (the end sign counted) and
            alpha; returns ``log_p / ((5 + length) / 6) ** alpha``.

    Returns:
        The verdict; the message is printed.
    """
    praise = "Divided by ((5 + n) / 6)^alpha; with alpha = 0 nothing changes."
    return grade("length_penalised", mine, [_probe], praise)
