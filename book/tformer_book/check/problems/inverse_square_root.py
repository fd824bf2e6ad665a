"""The grader for `inverse_square_root` of chapter *Training*, and known mistakes."""

from collections.abc import Callable

from tformer.schedule import inverse_square_root as right_rate
from tformer_book.check import kit

HINTS = (
    "Which of the two terms is smaller at first, and at which step do they meet?",
    "`step * warmup_steps**-1.5` rises, `step**-0.5` falls, and the smaller one "
    "counts. Multiply it by the width to the power −0.5, and by `scale`.",
    "return scale * d_model**-0.5 * min(…)",
)


def _number(rate: object) -> float:
    try:
        return float(rate)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise kit.Mistake(
            "not-a-number", f"Your rate is a {type(rate).__name__}, not a number."
        ) from None


def _rate(formula: Callable[[int, int, int], float]) -> kit.Function:
    def rate(
        step: int, *, d_model: int, warmup_steps: int, scale: float = 1.0
    ) -> float:
        return scale * formula(step, d_model, warmup_steps)

    return rate


def _arms(of: Callable[[float, float, float, float], float]) -> kit.Function:
    """From what is made of the two arms, the width's factor and the scale."""

    def rate(
        step: int, *, d_model: int, warmup_steps: int, scale: float = 1.0
    ) -> float:
        return of(step**-0.5, step * warmup_steps**-1.5, d_model**-0.5, scale)

    return rate


SLIPS: kit.Table = {
    "scale-ignored": (
        _arms(lambda root, line, width, scale: width * min(root, line)),
        "Right for scale=1; `scale` must multiply the whole curve.",
    ),
    "scale-on-one-arm": (
        [
            _arms(lambda root, line, width, scale: width * min(scale * root, line)),
            _arms(lambda root, line, width, scale: width * min(root, scale * line)),
            _arms(
                lambda root, line, width, scale: (
                    width * (line * scale if line < root else root)
                )
            ),
            _arms(
                lambda root, line, width, scale: (
                    width * (line if line < root else root * scale)
                )
            ),
        ],
        "`scale` multiplies one of the two arms only. It must multiply the whole "
        "curve: both arms, or what min makes of them.",
    ),
    "width-on-one-arm": (
        [
            _arms(lambda root, line, width, scale: scale * min(width * root, line)),
            _arms(lambda root, line, width, scale: scale * min(root, width * line)),
        ],
        "The factor d_model^-0.5 multiplies one of the two arms only. It stands before "
        "min, and so multiplies both.",
    ),
    "max": (
        _rate(lambda s, d, w: d**-0.5 * max(s**-0.5, s * w**-1.5)),
        "You take the larger of the two arms. Before the peak the straight line is the "
        "smaller, after it the root: use min.",
    ),
    "no-warm-up": (
        _rate(lambda s, d, w: d**-0.5 * s**-0.5),
        "Your rate falls from the first step on: there is no climb. The second arm is "
        "step · warmup_steps^-1.5.",
    ),
    "no-decay": (
        _rate(lambda s, d, w: d**-0.5 * s * w**-1.5),
        "Your rate climbs for ever: the other arm is step^-0.5.",
    ),
    "warmup-exponent": (
        _rate(lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-0.5)),
        "The exponent of warmup_steps is −1.5: only then do the two arms meet at step "
        "= warmup_steps.",
    ),
    "linear-warm-up-to-one": (
        _rate(lambda s, d, w: d**-0.5 * min(s**-0.5, s / w)),
        "Your climb ends at 1, not where the root begins: step / warmup_steps is "
        "missing the factor warmup_steps^-0.5.",
    ),
    "flat-after-warm-up": (
        _rate(lambda s, d, w: d**-0.5 * min(w**-0.5, s * w**-1.5)),
        "Your rate climbs and then stays at its top. After the peak it falls, with the "
        "root of the step: the other arm is step^-0.5.",
    ),
    "warm-up-fixed": (
        _rate(lambda s, d, w: d**-0.5 * min(s**-0.5, s * 4000**-1.5)),
        "4000 warm-up steps, the paper's, are written into your code. Take "
        "warmup_steps as it is given.",
    ),
    "whole-division": (
        _rate(lambda s, d, w: d**-0.5 * min(s**-0.5, s // w * w**-0.5)),
        "You divide step // warmup_steps, without a remainder, so the climb goes in "
        "stairs and begins at 0. Write /.",
    ),
    "no-width": (
        _rate(lambda s, d, w: min(s**-0.5, s * w**-1.5)),
        "The factor d_model^-0.5 is missing.",
    ),
    "width-upside-down": (
        _rate(lambda s, d, w: d**0.5 * min(s**-0.5, s * w**-1.5)),
        "You multiply by the root of d_model; the paper divides: d_model^-0.5.",
    ),
    "step-from-zero": (
        [
            _rate(lambda s, d, w: d**-0.5 * min((s + 1) ** -0.5, (s + 1) * w**-1.5)),
            _rate(
                lambda s, d, w: d**-0.5 * min(max(1, s - 1) ** -0.5, (s - 1) * w**-1.5)
            ),
        ],
        "You count steps from 0, or add 1 to them, or take 1 off. The first step is "
        "step 1, and its rate is not 0.",
    ),
    "inverse-not-root": (
        _rate(lambda s, d, w: d**-0.5 * min(w**0.5 / s, s * w**-1.5)),
        "After the peak your rate falls with 1/step; it should fall with 1/√step.",
    ),
    "inverse-not-root:2": (
        _rate(lambda s, d, w: d**-0.5 * min(1 / s, s * w**-1.5)),
        "One arm falls with 1/step; it should fall with 1/√step: step^-0.5.",
    ),
}


def _case(step: int, d_model: int, warmup_steps: int, scale: float = 1.0) -> kit.Case:
    keywords = {"d_model": d_model, "warmup_steps": warmup_steps, "scale": scale}
    return kit.Case({"step": step}, keywords)


CASES = [
    _case(*sizes)
    for sizes in (
        *((1, 64, 10), (7, 64, 10), (10, 32, 10), (400, 16, 10), (3, 128, 50)),
        *((7, 64, 10, 2.5), (400, 16, 10, 2.5), (3, 128, 50, 0.2), (90, 32, 10, 0.2)),
    )
]


def _unknown(
    found: float,
    wanted: float,
    step: int,
    d_model: int,
    warmup_steps: int,
    scale: float,
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-numbers",
        f"At step {step} with d_model {d_model}, warm-up {warmup_steps} and scale "
        f"{scale} your rate is {found:.6g} and should be {wanted:.6g}; I don't "
        "know this mistake. Compute both arms for this step by hand.",
    )


def _rates(mine: kit.Function) -> None:
    kit.judge(mine, CASES, right_rate, SLIPS, take=_number, otherwise=_unknown)


@kit.grader(_rates, part="learning rate")
def inverse_square_root(mine: kit.Function) -> str:
    """Grade your own ``inverse_square_root(step, *, d_model, warmup_steps, scale=1)``.

    ``mine`` returns the learning rate of a step, from 1.
    """
    return (
        "It is the paper's equation 3: up in a straight line, down with the root of "
        "the step, and the peak at step = warmup_steps."
    )
