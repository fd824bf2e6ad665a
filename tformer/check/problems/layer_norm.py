"""The grader for chapter 08's `layer_norm`, and the mistakes that it knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tformer.check._compare import (
    CLOSE,
    Known,
    Slip,
    compare,
    matches,
)
from tformer.check._grade import Function, Mistake, Result, grade
from tformer.check._run import (
    Stopped,
    as_tensor,
    call,
    probe_gradients,
)
from tformer.norm import layer_norm as right_norm


def _norm_inputs(*shape: int, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = 2 * torch.randn(shape, generator=generator, dtype=torch.float64) + 1
    gain = 1 + torch.rand(shape[-1], generator=generator, dtype=torch.float64)
    bias = torch.randn(shape[-1], generator=generator, dtype=torch.float64)
    return x, gain, bias


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
UNBIASED = (
    "You divide the sum of squares by D − 1. The formula divides by D: a layer norm "
    "estimates nothing, it measures the D numbers that it has. In PyTorch, var and std "
    "divide by D − 1 unless you say unbiased=False."
)
OUTSIDE = (
    "Your epsilon stands outside the root: σ + ε. It belongs inside, √(σ² + ε). "
    "Outside, a vector of equal numbers has an infinite slope, and its gradient "
    "becomes NaN; and for small vectors the result is another one."
)


def _wrong_norms(x: Tensor, gain: Tensor, bias: Tensor, epsilon: float) -> Known:
    mean = x.mean(-1, keepdim=True)
    from_mean = x - mean
    variance = from_mean.square().mean(-1, keepdim=True)
    unbiased = x.var(-1, keepdim=True)
    square = x.square().mean(-1, keepdim=True)
    root = (variance + epsilon).sqrt()
    plain = from_mean / root

    yield Slip(
        "unbiased-variance",
        UNBIASED,
        gain * from_mean / (unbiased + epsilon).sqrt() + bias,
    )
    yield Slip(
        "epsilon-outside-the-root",
        OUTSIDE,
        gain * from_mean / (variance.sqrt() + epsilon) + bias,
    )
    yield Slip(
        "std-plus-epsilon",
        "x.std() + epsilon makes two mistakes at once. "
        + UNBIASED
        + " And: "
        + OUTSIDE,
        gain * from_mean / (unbiased.sqrt() + epsilon) + bias,
    )
    yield Slip(
        "root-forgotten",
        "You divide by the variance. Divide by its root: the variance is in squares.",
        gain * from_mean / (variance + epsilon) + bias,
    )
    yield Slip(
        "mean-not-taken-away",
        "You divide by the root but never take the mean away: x − mean goes on top.",
        gain * x / root + bias,
    )
    yield Slip(
        "rms-norm",
        "You divide by the root of the mean square, without taking the mean away. That "
        "is RMSNorm, which many later models use. Layer norm takes the mean away "
        "first.",
        gain * x / (square + epsilon).sqrt() + bias,
    )
    yield Slip(
        "variance-about-zero",
        "Your variance is the mean of x². The variance is the mean of (x − mean)²: "
        "take the mean away before you square.",
        gain * from_mean / (square + epsilon).sqrt() + bias,
    )
    yield Slip(
        "gain-and-bias-missing",
        "You normalise and stop there. Scale and shift the result: gain * … + bias. "
        "Without them the norm would fix every vector's size for good.",
        plain,
    )
    yield Slip(
        "gain-missing", "The gain is missing: gain * normalised + bias.", plain + bias
    )
    yield Slip(
        "bias-missing", "The bias is missing: gain * normalised + bias.", gain * plain
    )
    yield Slip(
        "gain-and-bias-swapped",
        "Gain and bias have changed places: gain multiplies, bias is added.",
        bias * plain + gain,
    )
    yield Slip(
        "bias-before-gain",
        "You add the bias first and multiply both by the gain. Gain first, then bias: "
        "gain * normalised + bias.",
        gain * (plain + bias),
    )
    yield Slip(
        "gain-before-the-norm",
        "You multiply by the gain (or add the bias) before normalising, and the norm "
        "takes it out again. Both come last.",
        right_norm(
            gain * x + bias, torch.ones_like(gain), torch.zeros_like(bias), epsilon
        ),
    )
    for name, (axis, message) in AXES.items():
        if isinstance(axis, tuple) and max(axis) >= x.dim():
            continue
        wrong_mean = x.mean(axis, keepdim=True)
        for correction in (0, 1):
            spread = x.var(axis, correction=correction, keepdim=True)
            for divisor in ((spread + epsilon).sqrt(), spread.sqrt() + epsilon):
                yield Slip(name, message, gain * (x - wrong_mean) / divisor + bias)


def _run_norm(
    mine: Function, given: tuple[Tensor, Tensor, Tensor], epsilon: float
) -> Tensor:
    names = ("x", "gain", "bias")
    inputs = dict(zip(names, given, strict=True))
    return as_tensor(call(mine, inputs, {"epsilon": epsilon}))


def _probe_norm(mine: Function) -> None:
    # Three axes of different sizes, and an epsilon large enough to show.
    given = _norm_inputs(3, 5, 4)
    try:
        found = _run_norm(mine, given, 0.1)
    except Stopped as stopped:
        if "must match the size" in stopped.message:
            raise Mistake(
                "keepdim-forgotten",
                "It stops because the mean has lost its last axis, (3, 5) against "
                "(3, 5, 4): torch then lays it along the wrong one. Keep the axis: "
                "x.mean(dim=-1, keepdim=True), and the same for the variance.",
            ) from None
        raise
    wanted = right_norm(*given, 0.1)
    x, gain, bias = given
    for ignored in (0.0, 1e-5, 1e-6, 1e-8, 1e-12):
        if matches(found, right_norm(*given, ignored), 1e-9):
            if ignored:
                raise Mistake(
                    "epsilon-fixed",
                    f"Your epsilon is always {ignored:g}. Use the one that you are "
                    "given: models differ in it.",
                )
            raise Mistake(
                "epsilon-forgotten",
                "Epsilon is missing. For a vector of equal numbers the variance is 0, "
                "and 0 ÷ 0 is NaN. Put it inside the root: √(variance + epsilon).",
            )
    compare(
        found,
        wanted,
        _wrong_norms(x, gain, bias, 0.1),
        said="for x (3, 5, 4) and epsilon 0.1",
        hint="Go through “By hand” step by step with one vector.",
    )


def _probe_norm_square(mine: Function) -> None:
    # As many positions as numbers: a lost axis raises no error here.
    for shape in ((4, 4), (4,), (2, 3, 2, 5)):
        given = _norm_inputs(*shape, seed=1)
        wanted = right_norm(*given, 0.01)
        try:
            found = _run_norm(mine, given, 0.01)
        except Stopped as stopped:
            raise Mistake(
                "fixed-axes",
                f"Right for (B, T, D), but it stops on x of shape {shape}. Count axes "
                f"from the back, dim=-1, and it works for any. {stopped.message}",
            ) from None
        if not matches(found, wanted, CLOSE):
            raise Mistake(
                "fixed-axes",
                f"Right for (B, T, D), wrong for x of shape {shape}: do you count axes "
                "from the front, or keep no axis (keepdim=True)? Count from the back: "
                "dim=-1.",
            )


def _probe_norm_gradient(mine: Function) -> None:
    x, gain, bias = _norm_inputs(2, 3, 4, seed=2)
    x[0, 1] = 3.0  # all equal: variance 0
    leaves = {"x": x, "gain": gain, "bias": bias}
    try:
        probe_gradients(
            mine,
            lambda: _run_norm(mine, (x, gain, bias), 1e-5),
            lambda: right_norm(x, gain, bias, 1e-5),
            leaves,
        )
    except Mistake as mistake:
        if mistake.diagnosis == "gradient-not-finite":
            raise Mistake("epsilon-outside-the-root", OUTSIDE) from None
        raise


def layer_norm(mine: Callable[..., Tensor]) -> Result:
    """Grade a reader's layer norm.

    Args:
        mine: a function ``mine(x, gain, bias, epsilon)`` with x (..., D), gain and bias
            (D,), as `tformer.norm.layer_norm`; epsilon is passed by name.

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "layer_norm",
        mine,
        (_probe_norm, _probe_norm_square, _probe_norm_gradient),
        """Each vector has its own mean and variance, epsilon stands inside the root,
        gain and bias come last; for any number of axes, and the gradient is finite even
        for a vector of equal numbers.""",
    )
