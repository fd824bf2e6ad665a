"""The grader for `feed_forward` of chapter *The encoder*, and known mistakes."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tformer_book.check._compare import (
    Known,
    Slip,
    Switches,
    compare,
    matches,
    slips,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    as_tensor,
    call,
    probe_gradients,
)

Bend = Callable[[Tensor], Tensor]


class _Weights:
    """Two layers of random weights, in the paper's orientation."""

    def __init__(self, d_model: int, d_ff: int, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)

        def random(*size: int) -> Tensor:
            return torch.randn(size, generator=generator)

        self.x = random(2, 3, d_model)
        self.w_1, self.b_1 = random(d_model, d_ff), random(d_ff)
        self.w_2, self.b_2 = random(d_ff, d_model), random(d_model)

    @property
    def inputs(self) -> dict[str, Tensor]:
        return dict(vars(self))

    def right(self) -> Tensor:
        return self.built()

    def built(
        self,
        *,
        enter: Bend = lambda x: x,
        bend_first: Bend = lambda hidden: hidden,
        b_1: float = 1.0,
        bend: Bend = torch.relu,
        b_2: float = 1.0,
        bend_last: Bend = lambda output: output,
        leave: Callable[[Tensor, Tensor], Tensor] = lambda x, output: output,
    ) -> Tensor:
        """The network in steps, each of which can be exchanged for a wrong one."""
        hidden = bend_first(enter(self.x) @ self.w_1) + b_1 * self.b_1
        output = bend(hidden) @ self.w_2 + b_2 * self.b_2
        return leave(self.x, bend_last(output))


def _straight(hidden: Tensor) -> Tensor:
    return hidden


ACTIVATIONS: dict[str, Bend] = {
    "gelu": functional.gelu,
    "gelu, its approximation,": lambda z: functional.gelu(z, approximate="tanh"),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": functional.silu,
    "leaky_relu": functional.leaky_relu,
    "elu": functional.elu,
    "softplus": functional.softplus,
    "softmax": lambda z: z.softmax(-1),
    "relu6": functional.relu6,
    "the square of relu": lambda z: z.relu().square(),
}
SLIPS: Switches = {
    "relu-missing": (
        {"bend": _straight},
        "There is no ReLU between the two layers. Two linear maps in a row are one "
        "linear map: the wide middle would be for nothing. max(0, x W₁ + b₁) first.",
    ),
    "relu-after-the-second-layer": (
        {"bend": _straight, "bend_last": torch.relu},
        "Your ReLU stands after the second layer. It belongs between the two; after "
        "the second one it would let the network only ever add to the stream, never "
        "take away.",
    ),
    "relu-twice": (
        {"bend_last": torch.relu},
        "There is a ReLU after the second layer, too. What the network adds to the "
        "stream must be free to be negative: only one, in the middle.",
    ),
    "relu-before-the-bias": (
        {"bend_first": torch.relu, "bend": _straight},
        "You cut at 0 before adding b₁. The bias decides from where on a hidden number "
        "counts: add it first, max(0, x W₁ + b₁).",
    ),
    "relu-on-the-input": (
        {"enter": torch.relu, "bend": _straight},
        "You cut the input at 0. The ReLU acts on the wide middle: max(0, x W₁ + b₁).",
    ),
    **{
        f"other-activation:{name}": (
            {"bend": each},
            f"You use {name}. It may well work (GELU came later and is common), but "
            "the paper's network is max(0, …): ReLU.",
        )
        for name, each in ACTIVATIONS.items()
    },
    "absolute-value": (
        {"bend": torch.abs},
        "You take the absolute value. max(0, z) sets what is negative to 0.",
    ),
    "sign": (
        [
            {"bend": lambda z: z.clamp(max=0)},
            {"bend": lambda z: (-z).relu()},
        ],
        "You keep what is negative and cut off what is positive: max(0, z), not "
        "min(0, z).",
    ),
    "steps": (
        {"bend": lambda z: (z > 0).to(z.dtype)},
        "Your hidden numbers are 0 or 1. Where z is positive, z itself goes on.",
    ),
    "first-bias-missing": ({"b_1": 0.0}, "b₁ is missing."),
    "second-bias-missing": ({"b_2": 0.0}, "b₂ is missing."),
    "biases-missing": ({"b_1": 0.0, "b_2": 0.0}, "Both biases are missing."),
    "residual-inside": (
        {"leave": lambda x, output: x + output},
        "You add x at the end. That is the residual connection's work, one level "
        "higher; inside, x would be counted twice.",
    ),
    "norm-inside": (
        [
            {"leave": lambda x, output: _normal(output)},
            {"enter": lambda x: _normal(x)},
            {"leave": lambda x, output: _normal(x + output)},
        ],
        "There is a layer norm in it. The norm belongs to the residual connection, "
        "one level higher; the network itself is max(0, x W₁ + b₁) W₂ + b₂.",
    ),
}


def _normal(x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:])


def _wrong_feed_forward(w: _Weights) -> Known:
    for name, says, gives in slips(w.built, SLIPS):
        yield Slip(name.split(":")[0], says, gives)


def _run_feed_forward(mine: Function, w: _Weights) -> Tensor:
    return as_tensor(call(mine, w.inputs, {}))


def _mixing(mine: Function, w: _Weights, found: Tensor) -> None:
    """No position may look at another, and no sentence either."""
    other = _Weights(w.x.size(-1), w.b_1.numel())
    vars(other).update(w.inputs)
    for where, what in (((0, 1), "position"), ((1,), "sentence")):
        other.x = w.x.clone()
        other.x[where] += 1.0
        moved = _run_feed_forward(mine, other)
        if moved.shape != w.x.shape or found.shape != w.x.shape:
            return
        keep = torch.ones(w.x.shape[:2], dtype=torch.bool)
        keep[where] = False
        if not matches(moved[keep], found[keep]):
            raise Mistake(
                "mixes-positions" if what == "position" else "mixes-sentences",
                f"Change one {what}, and others move, too. The feed-forward network "
                "sees each position alone; only attention mixes. Leave all axes but "
                "the last alone: no mean, no softmax over positions, no reshape.",
            )


def _compare_feed_forward(found: Tensor, w: _Weights) -> None:
    compare(
        found,
        w.right(),
        _wrong_feed_forward(w),
        said=f"for x {tuple(w.x.shape)} and w_1 {tuple(w.w_1.shape)}",
        hint="Go through “By hand” step by step with one vector.",
    )


def _probe_feed_forward(mine: Function) -> None:
    w = _Weights(4, 6)
    try:
        found = _run_feed_forward(mine, w)
    except Stopped as stopped:
        _explain_stop(mine, stopped)
        raise
    if not any(matches(found, each.gives) for each in _wrong_feed_forward(w)):
        _mixing(mine, w, found)
    _compare_feed_forward(found, w)


def _explain_stop(mine: Function, stopped: Stopped) -> None:
    """With square weights a transposed one goes through; then its numbers tell."""
    square = _Weights(4, 4, seed=1)
    try:
        found = _run_feed_forward(mine, square)
    except Mistake:
        return
    for first, second in itertools.product((False, True), repeat=2):
        w_1 = square.w_1.T if first else square.w_1
        w_2 = square.w_2.T if second else square.w_2
        wide = square.x @ w_1 + square.b_1
        if (first or second) and matches(found, wide.relu() @ w_2 + square.b_2):
            raise Mistake(
                "weights-transposed",
                "It runs only where everything is square: a weight is transposed. Here "
                "W₁ is (D, F) and W₂ is (F, D), as in the paper, so x @ w_1 + b_1. "
                "(nn.Linear and F.linear keep weights the other way round.)",
            )


def _probe_feed_forward_gradient(mine: Function) -> None:
    lone = _Weights(4, 6, seed=4)
    lone.x = lone.x[:1, :1].clone()
    _compare_feed_forward(_run_feed_forward(mine, lone), lone)
    w = _Weights(6, 4, seed=3)  # narrower in the middle: no size may be assumed
    _compare_feed_forward(_run_feed_forward(mine, w), w)
    probe_gradients(mine, lambda: _run_feed_forward(mine, w), w.right, w.inputs)


def feed_forward(mine: Callable[..., Tensor]) -> Result:
    """Grade a reader's feed-forward network.

    Args:
        mine: a function ``mine(x, w_1, b_1, w_2, b_2)`` with x (B, T, D), w_1 (D, F),
            b_1 (F,), w_2 (F, D), b_2 (D,), that returns (B, T, D); equation 2 of the
            paper.

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "feed_forward",
        mine,
        (_probe_feed_forward, _probe_feed_forward_gradient),
        """max(0, x W₁ + b₁) W₂ + b₂, at each position alone, for any widths; gradients
        reach every weight.""",
    )
