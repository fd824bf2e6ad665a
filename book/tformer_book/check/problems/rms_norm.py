"""The grader for `rms_norm` of chapter *What came after*, and known mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from tformer.variants import rms_norm as right_norm
from tformer_book.check import kit

HINTS = (
    "What is the one step of layer norm that is missing here?",
    "Nothing is subtracted. Take the mean of the squares along the last axis, keep "
    "the axis, add epsilon inside the root, divide, and multiply by the gain.",
    "size = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + epsilon)",
)


def built(
    x: Tensor,
    gain: Tensor,
    epsilon: float,
    *,
    centre: bool = False,
    dim: int | tuple[int, ...] = -1,
    total: bool = False,
    divisor: Callable[[Tensor, float], Tensor] = lambda s, e: (s + e).sqrt(),
    gained: Callable[[Tensor, Tensor], Tensor] = lambda normal, gain: gain * normal,
) -> Tensor:
    """RMSNorm in steps, each of which can be exchanged for a wrong one."""
    if centre:
        x = x - x.mean(-1, keepdim=True)
    square = x.square()
    size = square.sum(dim, keepdim=True) if total else square.mean(dim, keepdim=True)
    return gained(x / divisor(size, epsilon), gain)


def _by_variance(correction: int) -> kit.Function:
    def wrong(x: Tensor, gain: Tensor, epsilon: float) -> Tensor:
        variance = x.var(-1, correction=correction, keepdim=True)
        return gain * x / (variance + epsilon).sqrt()

    return wrong


SLIPS: kit.Table = {
    "layer-norm": (
        {"centre": True},
        "You take the mean away first. That is layer norm; RMSNorm leaves the mean "
        "where it is and only divides by the root of the mean square.",
    ),
    "variance": (
        [_by_variance(0), _by_variance(1)],
        "You divide by the standard deviation, in which the mean is taken away. "
        "RMSNorm divides by the root of the mean square: x.square().mean(dim=-1).",
    ),
    "unit-length": (
        {"total": True},
        "You sum the squares, so that each vector gets length 1. Take their mean: "
        "then each *number* is of size about 1, and the vector of length √D.",
    ),
    "root-forgotten": (
        {"divisor": lambda s, e: s + e},
        "You divide by the mean square itself. Divide by its root.",
    ),
    "epsilon-outside-the-root": (
        {"divisor": lambda s, e: s.sqrt() + e},
        "Your epsilon stands outside the root. It belongs inside, √(mean square + ε): "
        "a vector of zeros then has a gradient, too.",
    ),
    "gain-missing": (
        {"gained": lambda normal, gain: normal},
        "The gain is missing: gain * normalised.",
    ),
    "gain-plus-one": (
        {"gained": lambda normal, gain: (1 + gain) * normal},
        "You multiply by 1 + gain, as some models do. Here the gain begins at 1 "
        "itself: gain * normalised.",
    ),
    "over-the-positions": (
        {"dim": -2},
        "You take the mean over the positions, so words of one sentence get mixed. "
        "Each vector has its own: dim=-1, the last axis.",
    ),
    "over-everything": (
        {"dim": (0, 1, 2)},
        "You take one mean of the whole batch. Say over what: dim=-1, and "
        "keepdim=True, so that each vector has its own.",
    ),
}


def _case(*shape: int, seed: int, epsilon: float) -> kit.Case:
    x = 2 * kit.draw(*shape, seed=seed, dtype=torch.float64) + 1
    gain = 1 + kit.draw(shape[-1], seed=seed + 1, dtype=torch.float64).abs()
    return kit.Case({"x": x, "gain": gain}, {"epsilon": epsilon})


def _probe_numbers(mine: kit.Function) -> None:
    case = _case(3, 5, 4, seed=3, epsilon=0.1)
    found = case.ask(mine)
    for ignored in (0.0, 1e-5, 1e-6, 1e-8):
        if kit.matches(found, right_norm(case["x"], case["gain"], ignored), 1e-9):
            raise kit.Mistake(
                "epsilon-ignored",
                f"Your epsilon is always {ignored:g}. Use the one that you are given.",
            )
    case.compare(
        found,
        right_norm,
        SLIPS,
        built,
        said="for x (3, 5, 4) and epsilon 0.1",
        hint="Begin with one vector: square, mean, root, divide.",
    )


def _probe_shapes(mine: kit.Function) -> None:
    for shape in ((4, 4), (4,), (2, 3, 2, 5)):
        case = _case(*shape, seed=5, epsilon=0.01)
        if not kit.matches(case.ask(mine), case.of(right_norm)):
            raise kit.Mistake(
                "fixed-axes",
                f"Right for (B, T, D), wrong for x of shape {shape}. Count the axis "
                "from the back, dim=-1, and keep it: keepdim=True.",
            )


def _probe_gradient(mine: kit.Function) -> None:
    case = _case(2, 3, 4, seed=7, epsilon=1e-5)
    case["x"][0, 1] = 0.0  # its root is 0
    case.learn(mine, right_norm)


@kit.grader(_probe_numbers, _probe_shapes, _probe_gradient)
def rms_norm(mine: kit.Function) -> str:
    """Grade a reader's RMSNorm.

    ``mine`` is a function ``mine(x, gain, epsilon)`` with x (..., D) and gain (D,), as
    `tformer.variants.rms_norm`; epsilon is passed by name.
    """
    return (
        "The mean stays, the length goes, epsilon stands inside the root; for any "
        "number of axes, and with a gradient even for a vector of zeros."
    )
