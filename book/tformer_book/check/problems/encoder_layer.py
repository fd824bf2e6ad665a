"""The grader for `encoder_layer` of chapter *The encoder*, and known mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tformer.attention import MultiHeadAttention
from tformer.feedforward import FeedForward
from tformer.norm import LayerNorm
from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    as_tensor,
    call,
    probe_gradients,
)


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
            self.attention = MultiHeadAttention(8, 2).eval()
            self.think = FeedForward(8, 16).eval()
            self.norm_1, self.norm_2 = LayerNorm(8), LayerNorm(8)
            for norm in (self.norm_1, self.norm_2):
                nn.init.normal_(norm.gain, mean=1.0, std=0.5)
                nn.init.normal_(norm.bias)
            self.x = torch.randn(2, 5, 8)
        real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype=torch.bool)
        self.mask = real[:, None, None, :]

    def attend(self, x: Tensor) -> Tensor:
        output: Tensor = self.attention(x, mask=self.mask)
        return output

    def without_mask(self, x: Tensor) -> Tensor:
        output: Tensor = self.attention(x)
        return output

    def with_flipped_mask(self, x: Tensor) -> Tensor:
        output: Tensor = self.attention(x, mask=~self.mask)
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


MASKS = {
    "mask-not-passed": "The mask is not used: padding is read like any word. "
    "self_attention(x, mask=source_mask).",
    "mask-flipped": "The mask is the wrong way round: True means may attend, for "
    "self_attention, too. Pass it as it is, without ~.",
}


def _wrong_layers(layer: _Layer) -> Known:
    """Known mistakes, single ones first, then with a mask that is wrong as well."""
    masked = {
        "mask-not-passed": layer.without_mask,
        "mask-flipped": layer.with_flipped_mask,
    }
    for name, attend in masked.items():
        first = layer.norm_1(layer.x + attend(layer.x))
        yield Slip(name, MASKS[name], layer.norm_2(first + layer.think(first)))
    yield from _wrong_order(layer, layer.attend)
    for name, attend in masked.items():
        for slip in _wrong_order(layer, attend):
            says = f"{MASKS[name]} And there is a second slip: {slip.says}"
            yield Slip(name, says, slip.gives)


def _wrong_order(layer: _Layer, attend: Callable[[Tensor], Tensor]) -> Known:
    x, think = layer.x, layer.think
    one, two = layer.norm_1, layer.norm_2
    first = one(x + attend(x))
    pre = x + attend(one(x))

    yield Slip(
        "no-residual",
        "Both residual connections are missing: each sub-layer replaces the stream "
        "instead of adding to it. norm(x + sublayer(x)).",
        two(think(one(attend(x)))),
    )
    yield Slip(
        "attention-residual-missing",
        "The residual around attention is missing: norm_1(x + self_attention(…)).",
        two((h := one(attend(x))) + think(h)),
    )
    yield Slip(
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
    yield Slip("pre-norm", pre_norm, pre + think(two(pre)))
    yield Slip(
        "norm-on-the-news",
        "You normalise only what the sub-layer says, and add that to x. The norm goes "
        "round the sum: norm(x + sublayer(x)).",
        (h := x + one(attend(x))) + two(think(h)),
    )
    yield Slip(
        "norm-in-the-stream-first",
        "You normalise x and go on with that alone, in the stream, too. Then the sum "
        "at the end has no norm: norm(x + sublayer(x)).",
        (g := two((h := one(x)) + attend(h))) + think(g),
    )
    yield Slip(
        "one-norm-for-both",
        "norm_1 is used twice. Each sub-layer has a norm with gain and bias of its "
        "own.",
        one(first + think(first)),
    )
    yield Slip(
        "one-norm-for-both",
        "norm_2 is used twice. Each sub-layer has a norm with gain and bias of its "
        "own.",
        two((h := two(x + attend(x))) + think(h)),
    )
    yield Slip(
        "norms-swapped",
        "The two norms have changed places: norm_1 belongs to attention.",
        one((h := two(x + attend(x))) + think(h)),
    )
    yield Slip(
        "first-norm-missing",
        "There is no norm after attention.",
        two((h := x + attend(x)) + think(h)),
    )
    yield Slip(
        "second-norm-missing",
        "There is no norm after the feed-forward network.",
        first + think(first),
    )
    yield Slip(
        "norms-missing",
        "Both norms are missing.",
        (h := x + attend(x)) + think(h),
    )
    yield Slip(
        "in-parallel",
        "Your feed-forward network reads the x from before attention. It should read "
        "what attention has left in the stream.",
        two(first + think(x)),
    )
    yield Slip(
        "residual-from-the-start",
        "Your second residual adds the x from the very beginning, so what attention "
        "has said gets lost. Add the stream as it is before the second sub-layer.",
        two(x + think(first)),
    )
    yield Slip(
        "feed-forward-first",
        "The order is the other way round: attention first, then the feed-forward "
        "network.",
        two((h := one(x + think(x))) + attend(h)),
    )
    yield Slip(
        "feed-forward-first",
        "The order is the other way round: attention first, then the feed-forward "
        "network.",
        one((h := two(x + think(x))) + attend(h)),
    )
    yield Slip(
        "relu-after",
        "There is a ReLU after the feed-forward network. Its own ReLU is inside; what "
        "it adds to the stream must be free to be negative.",
        two(first + think(first).relu()),
    )
    for both in (True, False):
        h = one(x * attend(x)) if both else first
        yield Slip(
            "multiplied",
            "You multiply the stream by what a sub-layer says. A residual connection "
            "adds: x + sublayer(x).",
            two(h * think(h)),
        )
    yield Slip(
        "subtracted",
        "You subtract what a sub-layer says. A residual connection adds.",
        two((h := one(x - attend(x))) - think(h)),
    )
    yield Slip(
        "halved",
        "You average the stream and what a sub-layer says in the residual connection; "
        "they are added. (The norm hides the factor, but not beside its epsilon.)",
        two(((h := one((x + attend(x)) / 2)) + think(h)) / 2),
    )
    yield Slip(
        "one-residual-for-both",
        "There is one residual connection around both sub-layers. Each has its own: "
        "x + self_attention(…), then norm, then x + feed_forward(x).",
        two(x + think(one(attend(x)))),
    )
    yield Slip("feed-forward-missing", "The feed-forward network is missing.", first)
    yield Slip("attention-missing", "Attention is missing.", two(x + think(x)))


def _probe_layer(mine: Function) -> None:
    _judge(mine, _Layer())


def _judge(mine: Function, layer: _Layer) -> None:
    found = as_tensor(call(mine, layer.inputs))
    with torch.no_grad():
        compare(
            found,
            layer.right(),
            _wrong_layers(layer),
            said=f"for x {tuple(layer.x.shape)}",
            hint="Write the two lines of the paper: x = norm(x + sublayer(x)), twice.",
        )


def _probe_layer_again(mine: Function) -> None:
    layer = _Layer(seed=1)
    layer.x = layer.x[:1, :3].clone()
    layer.mask = layer.mask[:1, ..., :3]
    _judge(mine, layer)
    probe_gradients(
        mine,
        lambda: as_tensor(call(mine, layer.inputs)),
        layer.right,
        {"x": layer.x},
    )


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
