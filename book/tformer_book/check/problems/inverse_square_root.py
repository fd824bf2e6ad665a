"""The grader for `inverse_square_root` of chapter *Training*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

from tformer.schedule import inverse_square_root as right_rate
from tformer_book.check._compare import Slip, matches, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    call,
)


def _run_rate(mine: Function, step: int, d: int, warmup: int, scale: float) -> float:
    rate = call(
        mine, {"step": step}, {"d_model": d, "warmup_steps": warmup, "scale": scale}
    )
    try:
        return float(rate)
    except (TypeError, ValueError):
        raise Mistake(
            "not-a-number", f"Your rate is a {type(rate).__name__}, not a number."
        ) from None


Rate = Callable[[int, int, int], float]
WRONG_RATES: tuple[tuple[str, str, Rate], ...] = (
    (
        "max",
        "You take the larger of the two arms. Before the peak the straight line is the "
        "smaller, after it the root: use min.",
        lambda s, d, w: d**-0.5 * max(s**-0.5, s * w**-1.5),
    ),
    (
        "no-warm-up",
        "Your rate falls from the first step on: there is no climb. The second arm is "
        "step · warmup_steps^-1.5.",
        lambda s, d, w: d**-0.5 * s**-0.5,
    ),
    (
        "no-decay",
        "Your rate climbs for ever: the other arm is step^-0.5.",
        lambda s, d, w: d**-0.5 * s * w**-1.5,
    ),
    (
        "warmup-exponent",
        "The exponent of warmup_steps is −1.5: only then do the two arms meet at step "
        "= warmup_steps.",
        lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-0.5),
    ),
    (
        "linear-warm-up-to-one",
        "Your climb ends at 1, not where the root begins: step / warmup_steps is "
        "missing the factor warmup_steps^-0.5.",
        lambda s, d, w: d**-0.5 * min(s**-0.5, s / w),
    ),
    (
        "flat-after-warm-up",
        "Your rate climbs and then stays at its top. After the peak it falls, with the "
        "root of the step: the other arm is step^-0.5.",
        lambda s, d, w: d**-0.5 * min(w**-0.5, s * w**-1.5),
    ),
    (
        "warm-up-fixed",
        "4000 warm-up steps, the paper's, are written into your code. Take "
        "warmup_steps as it is given.",
        lambda s, d, w: d**-0.5 * min(s**-0.5, s * 4000**-1.5),
    ),
    (
        "whole-division",
        "You divide step // warmup_steps, without a remainder, so the climb goes in "
        "stairs and begins at 0. Write /.",
        lambda s, d, w: d**-0.5 * min(s**-0.5, s // w * w**-0.5),
    ),
    (
        "no-width",
        "The factor d_model^-0.5 is missing.",
        lambda s, d, w: min(s**-0.5, s * w**-1.5),
    ),
    (
        "width-upside-down",
        "You multiply by the root of d_model; the paper divides: d_model^-0.5.",
        lambda s, d, w: d**0.5 * min(s**-0.5, s * w**-1.5),
    ),
    (
        "step-from-zero",
        "You count steps from 0, or add 1 to them. The first step is step 1.",
        lambda s, d, w: d**-0.5 * min((s + 1) ** -0.5, (s + 1) * w**-1.5),
    ),
    (
        "inverse-not-root",
        "After the peak your rate falls with 1/step; it should fall with 1/√step.",
        lambda s, d, w: d**-0.5 * min(w**0.5 / s, s * w**-1.5),
    ),
    (
        "inverse-not-root",
        "One arm falls with 1/step; it should fall with 1/√step: step^-0.5.",
        lambda s, d, w: d**-0.5 * min(1 / s, s * w**-1.5),
    ),
)
RATE_CASES = ((1, 64, 10), (7, 64, 10), (10, 32, 10), (400, 16, 10), (3, 128, 50))


def _rates(mine: Function) -> None:
    found = [_run_rate(mine, *case, 1.0) for case in RATE_CASES]
    wanted = [right_rate(s, d_model=d, warmup_steps=w) for s, d, w in RATE_CASES]

    if matches(found, wanted):
        return
    for name, says, wrong in WRONG_RATES:
        recognise(found, [Slip(name, says, [wrong(*case) for case in RATE_CASES])])
    i = next(
        i
        for i, (a, b) in enumerate(zip(found, wanted, strict=True))
        if not math.isclose(a, b, rel_tol=1e-6)
    )
    step, d, warmup = RATE_CASES[i]
    raise Mistake(
        "wrong-numbers",
        f"At step {step} with d_model {d} and warm-up {warmup} your rate is "
        f"{found[i]:.4g} and should be {wanted[i]:.4g}; I don't know this mistake. "
        "Compute both arms for this step by hand.",
    )


def _scale(mine: Function) -> None:
    if not math.isclose(
        _run_rate(mine, 7, 64, 10, 2.5),
        2.5 * right_rate(7, d_model=64, warmup_steps=10),
        rel_tol=1e-6,
    ):
        raise Mistake(
            "scale-ignored", "Right for scale=1; `scale` must multiply the whole curve."
        )


def inverse_square_root(mine: Callable[..., float]) -> Result:
    """Grade your own ``inverse_square_root(step, *, d_model, warmup_steps, scale=1)``.

    Prints what a teacher would say.

    Args:
        mine: your function; it returns the learning rate of a step, from 1.

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """
    return grade(
        "learning rate",
        mine,
        (_rates, _scale),
        """It is the paper's equation 3: up in a straight line, down with the root of
        the step, and the peak at step = warmup_steps.""",
    )
