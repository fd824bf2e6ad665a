"""The graders for chapter 08: layer norm, feed-forward network, encoder layer."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from tformer.attention import MultiHeadAttention
from tformer.check._grade import (
    Function,
    Known,
    Mistake,
    Result,
    Stopped,
    as_tensor,
    call,
    grade,
    matches,
    recognise,
)
from tformer.feedforward import FeedForward
from tformer.norm import LayerNorm
from tformer.norm import layer_norm as right_norm

CLOSE = 1e-5


def _compare(found: Tensor, wanted: Tensor, mistakes: Known) -> None:
    """Raise the known mistake that gives these numbers, else say where they differ."""
    if matches(found, wanted, CLOSE):
        return
    recognise(found, mistakes, partial(matches, tolerance=CLOSE))
    if found.shape != wanted.shape:
        raise Mistake(
            "shape",
            f"Your result has shape {tuple(found.shape)}; it must be "
            f"{tuple(wanted.shape)}, like x: no part of the encoder changes the shape.",
        )
    flat = int((found - wanted).abs().nan_to_num(torch.inf).argmax())
    raise Mistake(
        "wrong-numbers",
        "The shape is right but the numbers are not, and I do not know this mistake. "
        f"For example, one number should be {float(wanted.flatten()[flat]):.4f} and is "
        f"{float(found.flatten()[flat]):.4f}. Go through “By hand” step by step with "
        "one vector.",
    )


def _gradient_flows(
    mine: Function, inputs: list[Any], keywords: dict[str, Any]
) -> None:
    leaves = [
        each.clone().requires_grad_() if isinstance(each, Tensor) else each
        for each in inputs
    ]
    output = mine(*leaves, **keywords)
    tensors = [each for each in leaves if isinstance(each, Tensor)]
    if not output.requires_grad or any(
        gradient is None
        for gradient in torch.autograd.grad(
            output.square().sum(), tensors, allow_unused=True
        )
    ):
        raise Mistake(
            "gradient-cut",
            "The numbers are right, but no gradient gets back to all inputs, so "
            "nothing could be learned. Look for detach, .data, .item(), "
            "torch.tensor(…) or no_grad.",
        )


# --- layer norm -------------------------------------------------------------------


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

    yield (
        "unbiased-variance",
        UNBIASED,
        gain * from_mean / (unbiased + epsilon).sqrt() + bias,
    )
    yield (
        "epsilon-outside-the-root",
        OUTSIDE,
        gain * from_mean / (variance.sqrt() + epsilon) + bias,
    )
    yield (
        "std-plus-epsilon",
        "x.std() + epsilon makes two mistakes at once. "
        + UNBIASED
        + " And: "
        + OUTSIDE,
        gain * from_mean / (unbiased.sqrt() + epsilon) + bias,
    )
    yield (
        "root-forgotten",
        "You divide by the variance. Divide by its root: the variance is in squares.",
        gain * from_mean / (variance + epsilon) + bias,
    )
    yield (
        "mean-not-taken-away",
        "You divide by the root but never take the mean away: x − mean goes on top.",
        gain * x / root + bias,
    )
    yield (
        "rms-norm",
        "You divide by the root of the mean square, without taking the mean away. That "
        "is RMSNorm, which many later models use. Layer norm takes the mean away "
        "first.",
        gain * x / (square + epsilon).sqrt() + bias,
    )
    yield (
        "variance-about-zero",
        "Your variance is the mean of x². The variance is the mean of (x − mean)²: "
        "take the mean away before you square.",
        gain * from_mean / (square + epsilon).sqrt() + bias,
    )
    yield (
        "gain-and-bias-missing",
        "You normalise and stop there. Scale and shift the result: gain * … + bias. "
        "Without them the norm would fix every vector's size for good.",
        plain,
    )
    yield "gain-missing", "The gain is missing: gain * normalised + bias.", plain + bias
    yield "bias-missing", "The bias is missing: gain * normalised + bias.", gain * plain
    yield (
        "gain-and-bias-swapped",
        "Gain and bias have changed places: gain multiplies, bias is added.",
        bias * plain + gain,
    )
    yield (
        "bias-before-gain",
        "You add the bias first and multiply both by the gain. Gain first, then bias: "
        "gain * normalised + bias.",
        gain * (plain + bias),
    )
    yield (
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
                yield name, message, gain * (x - wrong_mean) / divisor + bias


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
    _compare(found, wanted, _wrong_norms(x, gain, bias, 0.1))


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
    leaf = x.clone().requires_grad_()
    output = as_tensor(mine(leaf, gain, bias, epsilon=1e-5))
    if output.requires_grad:
        output.square().sum().backward()
        if leaf.grad is not None and leaf.grad.isnan().any():
            raise Mistake("epsilon-outside-the-root", OUTSIDE)
    _gradient_flows(mine, [x, gain, bias], {"epsilon": 1e-5})


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


# --- feed-forward -----------------------------------------------------------------


class _Weights:
    """Two layers of random weights, in the paper's orientation."""

    def __init__(self, d_model: int, d_ff: int, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)

        def random(*size: int) -> Tensor:
            return torch.randn(size, generator=generator, dtype=torch.float64)

        self.x = random(2, 3, d_model)
        self.w_1, self.b_1 = random(d_model, d_ff), random(d_ff)
        self.w_2, self.b_2 = random(d_ff, d_model), random(d_model)

    @property
    def inputs(self) -> dict[str, Tensor]:
        return dict(vars(self))

    def right(self) -> Tensor:
        return (self.x @ self.w_1 + self.b_1).relu() @ self.w_2 + self.b_2


def _wrong_feed_forward(w: _Weights) -> Known:
    hidden = w.x @ w.w_1
    wide = hidden + w.b_1
    right = w.right()
    straight = wide @ w.w_2 + w.b_2
    yield (
        "relu-missing",
        "There is no ReLU between the two layers. Two linear maps in a row are one "
        "linear map: the wide middle would be for nothing. max(0, x W₁ + b₁) first.",
        straight,
    )
    yield (
        "relu-after-the-second-layer",
        "Your ReLU stands after the second layer. It belongs between the two; after "
        "the second one it would let the network only ever add to the stream, never "
        "take away.",
        straight.relu(),
    )
    yield (
        "relu-twice",
        "There is a ReLU after the second layer, too. What the network adds to the "
        "stream must be free to be negative: only one, in the middle.",
        right.relu(),
    )
    yield (
        "relu-before-the-bias",
        "You cut at 0 before adding b₁. The bias decides from where on a hidden number "
        "counts: add it first, max(0, x W₁ + b₁).",
        (hidden.relu() + w.b_1) @ w.w_2 + w.b_2,
    )
    yield (
        "relu-on-the-input",
        "You cut the input at 0. The ReLU acts on the wide middle: max(0, x W₁ + b₁).",
        (w.x.relu() @ w.w_1 + w.b_1) @ w.w_2 + w.b_2,
    )
    for name, activation in (
        ("gelu", nn.functional.gelu),
        ("gelu", lambda each: nn.functional.gelu(each, approximate="tanh")),
        ("sigmoid", torch.sigmoid),
        ("tanh", torch.tanh),
        ("silu", nn.functional.silu),
        ("leaky_relu", nn.functional.leaky_relu),
        ("softmax", lambda each: each.softmax(-1)),
    ):
        yield (
            "other-activation",
            f"You use {name}. It may well work (GELU came later and is common), but "
            f"the paper's network is max(0, …): ReLU.",
            activation(wide) @ w.w_2 + w.b_2,
        )
    yield (
        "absolute-value",
        "You take the absolute value. max(0, z) sets what is negative to 0.",
        wide.abs() @ w.w_2 + w.b_2,
    )
    yield "first-bias-missing", "b₁ is missing.", hidden.relu() @ w.w_2 + w.b_2
    yield "second-bias-missing", "b₂ is missing.", wide.relu() @ w.w_2
    yield "biases-missing", "Both biases are missing.", hidden.relu() @ w.w_2
    yield (
        "residual-inside",
        "You add x at the end. That is the residual connection's work, one level "
        "higher; inside, x would be counted twice.",
        right + w.x,
    )


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


def _probe_feed_forward(mine: Function) -> None:
    w = _Weights(4, 6)
    try:
        found = _run_feed_forward(mine, w)
    except Stopped as stopped:
        _explain_stop(mine, stopped)
        raise
    if not matches(found, _run_feed_forward(mine, w)):
        raise Mistake(
            "random",
            "Two runs on the same inputs differ. Is there dropout in it? The paper has "
            "it on the network's output, outside.",
        )
    known = [*_wrong_feed_forward(w)]
    if not any(matches(found, each, CLOSE) for _, _, each in known):
        _mixing(mine, w, found)
    _compare(found, w.right(), iter(known))


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
        if (first or second) and matches(found, wide.relu() @ w_2 + square.b_2, CLOSE):
            raise Mistake(
                "weights-transposed",
                "It runs only where everything is square: a weight is transposed. Here "
                "W₁ is (D, F) and W₂ is (F, D), as in the paper, so x @ w_1 + b_1. "
                "(nn.Linear and F.linear keep weights the other way round.)",
            )


def _probe_feed_forward_gradient(mine: Function) -> None:
    w = _Weights(6, 4, seed=3)  # narrower in the middle: no size may be assumed
    _compare(_run_feed_forward(mine, w), w.right(), _wrong_feed_forward(w))
    _gradient_flows(mine, list(w.inputs.values()), {})


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


# --- encoder layer ----------------------------------------------------------------


class _Attend:
    """Self-attention to hand to a reader: it tells what it was given wrongly."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        self.attention = attention

    def __call__(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        for each in (key, value):
            if isinstance(each, Tensor) and each.dtype == torch.bool:
                raise Mistake(
                    "mask-as-key",
                    "You pass the mask by position, so attention takes it for the "
                    "keys. Pass it by name: self_attention(x, mask=source_mask).",
                )
        output: Tensor = self.attention(query, key, value, mask=mask)
        return output


class _Layer:
    """The parts of a post-norm encoder layer, with norms that differ."""

    def __init__(self, seed: int = 0) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.attention = MultiHeadAttention(8, 2).double().eval()
            self.think = FeedForward(8, 16).double().eval()
            self.norm_1, self.norm_2 = LayerNorm(8).double(), LayerNorm(8).double()
            for norm in (self.norm_1, self.norm_2):
                nn.init.normal_(norm.gain, mean=1.0, std=0.5)
                nn.init.normal_(norm.bias)
            self.x = torch.randn(2, 5, 8, dtype=torch.float64)
        real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
        self.mask = real[:, None, None, :]

    def attend(self, x: Tensor, masked: bool = True) -> Tensor:
        output: Tensor = self.attention(x, mask=self.mask if masked else None)
        return output

    @property
    def inputs(self) -> dict[str, Any]:
        return {
            "x": self.x,
            "source_mask": self.mask,
            "self_attention": _Attend(self.attention),
            "feed_forward": self.think,
            "norm_1": self.norm_1,
            "norm_2": self.norm_2,
        }

    def right(self) -> Tensor:
        x = self.norm_1(self.x + self.attend(self.x))
        output: Tensor = self.norm_2(x + self.think(x))
        return output


def _wrong_layers(layer: _Layer) -> Known:
    x, attend, think = layer.x, layer.attend, layer.think
    one, two = layer.norm_1, layer.norm_2
    first = one(x + attend(x))  # right so far
    pre = x + attend(one(x))

    yield (
        "mask-not-passed",
        "The mask is not used: padding is read like any word. "
        "self_attention(x, mask=source_mask).",
        two((h := one(x + attend(x, False))) + think(h)),
    )
    yield (
        "no-residual",
        "Both residual connections are missing: each sub-layer replaces the stream "
        "instead of adding to it. norm(x + sublayer(x)).",
        two(think(one(attend(x)))),
    )
    yield (
        "attention-residual-missing",
        "The residual around attention is missing: norm_1(x + self_attention(…)).",
        two((h := one(attend(x))) + think(h)),
    )
    yield (
        "feed-forward-residual-missing",
        "The residual around the feed-forward network is missing: "
        "norm_2(x + feed_forward(x)).",
        two(think(first)),
    )
    pre_norm = (
        "That is pre-norm: you normalise what each sub-layer reads. It is a good "
        "layer, and our released model's, but the paper normalises after the addition: "
        "norm(x + sublayer(x))."
    )
    yield "pre-norm", pre_norm, pre + think(two(pre))
    yield (
        "norm-on-the-news",
        "You normalise only what the sub-layer says, and add that to x. The norm goes "
        "round the sum: norm(x + sublayer(x)).",
        (h := x + one(attend(x))) + two(think(h)),
    )
    yield (
        "norm-in-the-stream-first",
        "You normalise x and go on with that alone, in the stream, too. Then the sum "
        "at the end has no norm: norm(x + sublayer(x)).",
        (g := two((h := one(x)) + attend(h))) + think(g),
    )
    yield (
        "one-norm-for-both",
        "norm_1 is used twice. Each sub-layer has a norm with gain and bias of its "
        "own.",
        one(first + think(first)),
    )
    yield (
        "one-norm-for-both",
        "norm_2 is used twice. Each sub-layer has a norm with gain and bias of its "
        "own.",
        two((h := two(x + attend(x))) + think(h)),
    )
    yield (
        "norms-swapped",
        "The two norms have changed places: norm_1 belongs to attention.",
        one((h := two(x + attend(x))) + think(h)),
    )
    yield (
        "first-norm-missing",
        "There is no norm behind attention.",
        two((h := x + attend(x)) + think(h)),
    )
    yield (
        "second-norm-missing",
        "There is no norm behind the feed-forward network.",
        first + think(first),
    )
    yield (
        "norms-missing",
        "Both norms are missing.",
        (h := x + attend(x)) + think(h),
    )
    yield (
        "in-parallel",
        "Your feed-forward network reads the x from before attention. It should read "
        "what attention has left in the stream.",
        two(first + think(x)),
    )
    yield (
        "residual-from-the-start",
        "Your second residual adds the x from the very beginning, so what attention "
        "has said gets lost. Add the stream as it is before the second sub-layer.",
        two(x + think(first)),
    )
    yield (
        "feed-forward-first",
        "The order is the other way round: attention first, then the feed-forward "
        "network.",
        two((h := one(x + think(x))) + attend(h)),
    )
    yield (
        "feed-forward-first",
        "The order is the other way round: attention first, then the feed-forward "
        "network.",
        one((h := two(x + think(x))) + attend(h)),
    )
    yield "feed-forward-missing", "The feed-forward network is missing.", first
    yield "attention-missing", "Attention is missing.", two(x + think(x))


def _probe_layer(mine: Function) -> None:
    layer = _Layer()
    try:
        found = as_tensor(call(mine, layer.inputs, {}))
    except Stopped as stopped:
        if isinstance(stopped.problem, Mistake):
            raise stopped.problem from None
        raise
    with torch.no_grad():
        known = _wrong_layers(layer)
        _compare(found.detach(), layer.right(), known)


def _probe_layer_again(mine: Function) -> None:
    layer = _Layer(seed=1)
    layer.x = layer.x[:1, :3]
    layer.mask = layer.mask[:1, ..., :3]
    with torch.no_grad():
        _compare(
            as_tensor(call(mine, layer.inputs, {})), layer.right(), _wrong_layers(layer)
        )
    x, *rest = layer.inputs.values()
    _gradient_flows(lambda x: mine(x, *rest), [x], {})


def encoder_layer(mine: Callable[..., Tensor]) -> Result:
    """Grade a reader's encoder layer, post-norm as in the paper, without dropout.

    Args:
        mine: a function ``mine(x, source_mask, self_attention, feed_forward, norm_1,
            norm_2)`` with x (B, S, D), a bool mask, and four parts to call:
            ``self_attention(x, mask=source_mask)``, the others on one tensor. It
            returns (B, S, D).

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "encoder_layer",
        mine,
        (_probe_layer, _probe_layer_again),
        """Attention with the mask, then the feed-forward network; each beside the
        stream, each with its own norm round the sum, as in the paper.""",
    )
