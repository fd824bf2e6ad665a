"""The grader for `length_penalised` of *Decoding and scoring*, and known slips."""

import math

from tformer.decode import length_penalty_of
from tformer_book.check import kit

HINTS = (
    "Is `log_p` positive or negative, and does dividing it by more make the score "
    "better or worse?",
    "The penalty is ((5 + length) / 6) to the power α; divide `log_p` by it.",
    "return log_p / …",
)

CASES = kit.cases(
    "log_p length alpha",
    *((-3.0, 7, 0.6), (-5.5, 13, 1.0), (-2.0, 1, 2.0), (-4.0, 9, 0.0)),
)
SLIPS: kit.Table = {
    "multiplied": (
        lambda s, n, a: s * length_penalty_of(n, a),
        "You multiply by the penalty. Log-probabilities are negative, so this "
        "makes long translations worse still: divide.",
    ),
    "plain-mean": (
        lambda s, n, a: s / n,
        "You divide by the length itself. The paper's penalty is ((5 + n) / 6)^alpha.",
    ),
    "power-of-the-length": (
        lambda s, n, a: s / n**a,
        "You divide by n^alpha. The paper's penalty is ((5 + n) / 6)^alpha, which "
        "is gentler with short translations.",
    ),
    "brackets": (
        [lambda s, n, a: s / (5 + n / 6) ** a, lambda s, n, a: s / 5 + n / 6**a],
        "Brackets are missing: / and ** bind more closely than +. The 6 divides the "
        "whole sum: ((5 + n) / 6) ** alpha.",
    ),
    "six-forgotten": (
        lambda s, n, a: s / (5 + n) ** a,
        "You divide by (5 + n)^alpha; the 6 is missing. (The ranking is the same, "
        "the scores are not.)",
    ),
    "alpha-times": (
        lambda s, n, a: s / (a * (5 + n) / 6) if a else math.inf,
        "You multiply by alpha. It is an exponent.",
    ),
    "alpha-ignored": (
        lambda s, n, a: s / ((5 + n) / 6),
        "Your alpha has no effect. It is the exponent of (5 + n) / 6.",
    ),
    "power-before-the-quotient": (
        lambda s, n, a: s / ((5 + n) ** a / 6),
        "The power covers only the 5 + n. It belongs to the whole quotient: "
        "((5 + n) / 6) ** alpha.",
    ),
    "end-counted-twice": (
        lambda s, n, a: s / length_penalty_of(n + 1, a),
        "You add 1 to the length. It counts the end sign already.",
    ),
    "end-forgotten": (
        lambda s, n, a: s / length_penalty_of(n - 1, a),
        "You take 1 off the length. The end sign counts as well: the model has to "
        "choose it like any other piece, and log_p holds its probability.",
    ),
    "subtracted": (
        lambda s, n, a: s - length_penalty_of(n, a),
        "You subtract the penalty. The paper divides by it.",
    ),
    "nothing-done": (lambda s, n, a: s, "The log-probability comes back as it was."),
}


def _right(log_p: float, length: int, alpha: float) -> float:
    return log_p / length_penalty_of(length, alpha)


def _unknown(
    found: float, wanted: float, log_p: float, n: int, a: float
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-score",
        f"For a log-probability of {log_p}, {n} pieces and alpha "
        f"{a} you say {found:.4f}; it should be {wanted:.4f}. I do not "
        "know this mistake.",
    )


def _probe(mine: kit.Function) -> None:
    kit.judge(mine, CASES, _right, SLIPS, take=kit.as_number, otherwise=_unknown)


@kit.grader(_probe)
def length_penalised(mine: kit.Function) -> str:
    """Grade ``mine(log_p, length, alpha)``, by which beam search ranks.

    ``mine`` takes a log-probability, the number of pieces (the end sign counted)
    and alpha; returns ``log_p / ((5 + length) / 6) ** alpha``.
    """
    return "Divided by ((5 + n) / 6)^alpha; with alpha = 0 nothing changes."
