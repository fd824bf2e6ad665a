"""The grader for `layer_norm` of chapter *The encoder*, and known mistakes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tformer.norm import layer_norm as right_norm
from tformer_book.check import kit

HINTS = (
    "Over which axis are mean and variance taken, and is the variance divided by D or"
    " by D − 1?",
    "Subtract the mean of the last axis, keep the axis, and take the mean of the "
    "squares. Epsilon stands inside the root. Gain and bias come last.",
    "from_mean = x - x.mean(dim=-1, keepdim=True)",
)

UNBIASED = (
    "You divide the sum of squares by D − 1. The formula divides by D: a layer norm "
    "estimates nothing, it measures the D numbers that it has. In PyTorch, var and std "
    "divide by D − 1 unless you say unbiased=False."
)

OUTSIDE = (
    "Your epsilon stands outside the root: σ + ε. It belongs inside, √(σ² + ε). "
    "Outside, the root itself is infinitely steep for a vector of equal numbers, and "
    "the gradient becomes NaN; and for small vectors the result differs."
)

AXES: dict[str, tuple[Any, str]] = {
    "over-the-positions": (
        -2,
        "You take mean and variance over the positions, so words of one sentence "
        "get mixed. Each vector is normalised by itself: dim=-1, the last axis.",
    ),
    "over-the-batch": (
        0,
        "You take mean and variance over the batch. That is batch norm: what a "
        "sentence gets would depend on its neighbours. Each vector by itself: dim=-1.",
    ),
    "batch-norm": (
        (0, 1),
        "You take mean and variance of each column over all sentences and positions: "
        "that is batch norm, and what a word gets depends on all others. Layer norm "
        "takes them over the numbers of one vector: dim=-1.",
    ),
    "over-the-whole-sentence": (
        (-2, -1),
        "You take one mean and one variance for a whole sentence. Each position has "
        "its own, from its own vector alone: dim=-1.",
    ),
    "over-everything": (
        (0, 1, 2),
        "You take one mean and one variance of the whole batch. Say over what: dim=-1 "
        "(and keepdim=True), so that each vector has its own.",
    ),
}

Measure = Callable[[Tensor], Tensor]


def _mean(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def _variance(x: Tensor) -> Tensor:
    return x.var(-1, correction=0, keepdim=True)


def _square(x: Tensor) -> Tensor:
    return _mean(x.square())


def built(
    x: Tensor,
    gain: Tensor,
    bias: Tensor,
    epsilon: float,
    *,
    enter: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda x, gain, bias: x,
    centre: Measure = _mean,
    spread: Measure = _variance,
    divisor: Callable[[Tensor, float], Tensor] = lambda v, e: (v + e).sqrt(),
    gained: Callable[[Tensor, Tensor], Tensor] = lambda normal, gain: gain * normal,
    shifted: Callable[[Tensor, Tensor], Tensor] = lambda normal, bias: normal + bias,
    leave: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Layer norm in steps, each of which can be exchanged for a wrong one."""
    x = enter(x, gain, bias)
    normal = (x - centre(x)) / divisor(spread(x), epsilon)
    if leave:
        return leave(normal, gain, bias)
    return shifted(gained(normal, gain), bias)


def _zero(x: Tensor) -> Tensor:
    return torch.zeros_like(_mean(x))


def _over(axis: Any) -> list[kit.Function]:
    """Mean and variance over other axes, with PyTorch's spreads."""

    def norm(correction: int, *, outside: bool) -> kit.Function:
        def wrong(x: Tensor, gain: Tensor, bias: Tensor, epsilon: float) -> Tensor:
            spread = x.var(axis, correction=correction, keepdim=True)
            divisor = spread.sqrt() + epsilon if outside else (spread + epsilon).sqrt()
            return gain * (x - x.mean(axis, keepdim=True)) / divisor + bias

        return wrong

    return [norm(c, outside=outside) for c in (0, 1) for outside in (False, True)]


SLIPS: kit.Table = {
    **{name: (_over(axis), says) for name, (axis, says) in AXES.items()},
    "unbiased-variance": (
        {"spread": lambda x: x.var(-1, keepdim=True)},
        UNBIASED,
    ),
    "epsilon-outside-the-root": ({"divisor": lambda v, e: v.sqrt() + e}, OUTSIDE),
    "std-plus-epsilon": (
        {
            "spread": lambda x: x.var(-1, keepdim=True),
            "divisor": lambda v, e: v.sqrt() + e,
        },
        f"x.std() + epsilon makes two mistakes at once. {UNBIASED} And: {OUTSIDE}",
    ),
    "root-forgotten": (
        {"divisor": lambda v, e: v + e},
        "You divide by the variance. Divide by its root: the variance is in squares.",
    ),
    "mean-not-taken-away": (
        {"centre": _zero},
        "You divide by the root but never take the mean away: x − mean goes on top.",
    ),
    "rms-norm": (
        [
            {"centre": _zero, "spread": _square},
            {
                "centre": _zero,
                "spread": _square,
                "leave": lambda normal, gain, bias: gain * normal,
            },
        ],
        "You divide by the root of the mean square, without taking the mean away. That "
        "is RMSNorm, which many later models use (without a bias). Layer norm takes "
        "the mean away first.",
    ),
    "variance-about-zero": (
        {"spread": _square},
        "Your variance is the mean of x². The variance is the mean of (x − mean)²: "
        "take the mean away before you square.",
    ),
    "absolute-deviation": (
        [
            {
                "spread": lambda x: _mean((x - _mean(x)).abs()),
                "divisor": lambda v, e: v + e,
            },
            {"spread": lambda x: _mean((x - _mean(x)).abs())},
        ],
        "You divide by the mean of the absolute distances from the mean. The norm "
        "squares them: √(mean of (x − mean)² + ε).",
    ),
    "unit-length": (
        [
            {
                "spread": lambda x: (x - _mean(x)).norm(dim=-1, keepdim=True),
                "divisor": lambda v, e: v + e,
            },
            {"spread": lambda x: (x - _mean(x)).square().sum(-1, keepdim=True)},
        ],
        "You bring each vector to length 1: the squares are summed. The variance is "
        "their mean, so that each number, not the whole vector, is of size 1.",
    ),
    "minimum-and-maximum": (
        {
            "centre": lambda x: x.amin(-1, keepdim=True),
            "spread": lambda x: x.amax(-1, keepdim=True) - x.amin(-1, keepdim=True),
            "divisor": lambda v, e: v + e,
        },
        "You stretch each vector to the range 0 to 1, from its smallest number to its "
        "largest. The norm uses mean and variance.",
    ),
    "median": (
        {"centre": lambda x: x.median(-1, keepdim=True).values},
        "You take the median away; the norm takes the mean away.",
    ),
    "gain-and-bias-missing": (
        {"leave": lambda normal, gain, bias: normal},
        "You normalise and stop there. Scale and shift the result: gain * … + bias. "
        "Without them the norm would fix every vector's size for good.",
    ),
    "gain-missing": (
        {"gained": lambda normal, gain: normal},
        "The gain is missing: gain * normalised + bias.",
    ),
    "bias-missing": (
        {"shifted": lambda normal, bias: normal},
        "The bias is missing: gain * normalised + bias.",
    ),
    "bias-subtracted": (
        {"shifted": lambda normal, bias: normal - bias},
        "You subtract the bias; it is added.",
    ),
    "gain-divides": (
        {"gained": lambda normal, gain: normal / gain},
        "You divide by the gain; it multiplies.",
    ),
    "gain-and-bias-swapped": (
        {"leave": lambda normal, gain, bias: bias * normal + gain},
        "Gain and bias have changed places: gain multiplies, bias is added.",
    ),
    "bias-before-gain": (
        {"leave": lambda normal, gain, bias: gain * (normal + bias)},
        "You add the bias first and multiply both by the gain. Gain first, then bias: "
        "gain * normalised + bias.",
    ),
    "gain-plus-one": (
        {"gained": lambda normal, gain: (1 + gain) * normal},
        "You multiply by 1 + gain, as some later models do. Here the gain begins at 1 "
        "itself: gain * normalised + bias.",
    ),
    "gain-before-the-norm": (
        {
            "enter": lambda x, gain, bias: gain * x + bias,
            "leave": lambda normal, gain, bias: normal,
        },
        "You multiply by the gain (or add the bias) before normalising, and the norm "
        "takes it out again. Both come last.",
    ),
}


def _case(*shape: int, epsilon: float, seed: int = 0) -> kit.Case:
    generator = torch.Generator().manual_seed(seed)
    x = 2 * torch.randn(shape, generator=generator, dtype=torch.float64) + 1
    gain = 1 + torch.rand(shape[-1], generator=generator, dtype=torch.float64)
    bias = torch.randn(shape[-1], generator=generator, dtype=torch.float64)
    return kit.Case({"x": x, "gain": gain, "bias": bias}, {"epsilon": epsilon})


def _probe_norm(mine: kit.Function) -> None:
    # Three axes of different sizes, and an epsilon large enough to show.
    case = _case(3, 5, 4, epsilon=0.1)
    try:
        found = case.ask(mine)
    except kit.Stopped as stopped:
        if "must match the size" in stopped.message:
            raise kit.Mistake(
                "keepdim-forgotten",
                "It stops because the mean has lost its last axis, (3, 5) against "
                "(3, 5, 4): torch then lays it along the wrong one. Keep the axis: "
                "x.mean(dim=-1, keepdim=True), and the same for the variance.",
            ) from None
        raise
    for ignored in (0.0, 1e-5, 1e-6, 1e-8, 1e-12):
        if kit.matches(
            found, kit.Case(case.inputs, {"epsilon": ignored}).of(right_norm), 1e-9
        ):
            if ignored:
                raise kit.Mistake(
                    "epsilon-fixed",
                    f"Your epsilon is always {ignored:g}. Use the one that you are "
                    "given: models differ in it.",
                )
            raise kit.Mistake(
                "epsilon-forgotten",
                "Epsilon is missing. For a vector of equal numbers the variance is 0, "
                "and 0 ÷ 0 is NaN. Put it inside the root: √(variance + epsilon).",
            )
    case.compare(
        found,
        right_norm,
        SLIPS,
        built,
        said="for x (3, 5, 4) and epsilon 0.1",
        hint="Go through “By hand” step by step with one vector.",
    )


def _probe_norm_square(mine: kit.Function) -> None:
    # As many positions as numbers: a lost axis raises no error here.
    for shape in ((4, 4), (4,), (2, 3, 2, 5), (1, 1, 6)):
        case = _case(*shape, epsilon=0.01, seed=1)
        with kit.if_it_stops(
            "fixed-axes",
            f"Right for (B, T, D), but it stops on x of shape {shape}. Count axes "
            "from the back, dim=-1, and it works for any.",
        ):
            found = case.ask(mine)
        if not kit.matches(found, case.of(right_norm)):
            raise kit.Mistake(
                "fixed-axes",
                f"Right for (B, T, D), wrong for x of shape {shape}: do you count axes "
                "from the front, or keep no axis (keepdim=True)? Count from the back: "
                "dim=-1.",
            )


def _probe_norm_gradient(mine: kit.Function) -> None:
    case = _case(2, 3, 4, epsilon=1e-5, seed=2)
    case["x"][0, 1] = 3.0  # all equal: variance 0
    try:
        case.learn(mine, right_norm)
    except kit.Mistake as mistake:
        if mistake.diagnosis == "gradient-not-finite":
            raise kit.Mistake("epsilon-outside-the-root", OUTSIDE) from None
        raise


@kit.grader(_probe_norm, _probe_norm_square, _probe_norm_gradient)
def layer_norm(mine: kit.Function) -> str:
    """Grade a reader's layer norm.

    ``mine`` is a function ``mine(x, gain, bias, epsilon)`` with x (..., D), gain and
    bias (D,), as `tformer.norm.layer_norm`; epsilon is passed by name.
    """
    return (
        "Each vector has its own mean and variance, epsilon stands inside the root, "
        "gain and bias come last; for any number of axes, and the gradient is finite "
        "even for a vector of equal numbers."
    )
