"""The grader for `training_bytes` of chapter *Scale*, and known mistakes."""

from __future__ import annotations

from tformer_book.check._compare import Slip, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_whole, call

COPIES = {"sgd": 2, "momentum": 3, "adam": 4}  # weight, gradient, running averages
NUMBERS = (1, 1000, 63_082_496)

MISTAKES: tuple[tuple[str, str, dict[str, int]], ...] = (
    (
        "gradients-forgotten",
        "The gradients are missing (or the weights themselves). Between the backward "
        "pass and the step, every weight has one, as large as itself.",
        {"sgd": 4, "momentum": 8, "adam": 12},
    ),
    (
        "one-average-for-adam",
        "Adam keeps two averages for each weight, of its gradient and of the square; "
        "you count one.",
        {"sgd": 8, "momentum": 12, "adam": 12},
    ),
    (
        "averages-forgotten",
        "You count weights and gradients only. Momentum keeps one running average for "
        "each weight, and Adam two.",
        {"sgd": 8, "momentum": 8, "adam": 8},
    ),
    (
        "always-adam",
        "You count Adam's averages whatever the optimizer. Plain SGD keeps none, and "
        "momentum one.",
        {"sgd": 16, "momentum": 16, "adam": 16},
    ),
    (
        "numbers-not-bytes",
        "You count numbers. In float32 each takes 4 bytes.",
        COPIES,
    ),
    (
        "half-precision",
        "You count 2 bytes a number. That is half precision; asked for is float32, 4.",
        {name: 2 * copies for name, copies in COPIES.items()},
    ),
)


def _probe(mine: Function) -> None:
    cases = [(n, name) for name in COPIES for n in NUMBERS]
    found = [
        as_whole(
            call(mine, {"n_parameters": n, "optimizer": name}), "a number of bytes"
        )
        for n, name in cases
    ]
    right = [4 * COPIES[name] * n for n, name in cases]
    if found == right:
        return
    recognise(
        found,
        [
            Slip(name, says, [each[optimizer] * n for n, optimizer in cases])
            for name, says, each in MISTAKES
        ],
    )
    i = next(i for i in range(len(found)) if found[i] != right[i])
    n, optimizer = cases[i]
    raise Mistake(
        "wrong-count",
        f"I don't know this mistake. {n:,} parameters with {optimizer} take "
        f"{right[i]:,} bytes, you say {found[i]:,}.",
    )


def training_bytes(mine: Function) -> Result:
    """Grade ``mine(n_parameters, optimizer) -> int``, bytes without activations.

    Args:
        mine: takes a number of parameters and "sgd", "momentum" or "adam".

    Returns:
        True only if every hidden case is right.
    """
    praise = "Weight, gradient, and what each optimizer remembers, in float32."
    return grade("training_bytes", mine, [_probe], praise)
