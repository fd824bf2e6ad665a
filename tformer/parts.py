"""The parts that a model is built from: their names, and where to plug in your own.

A configuration names the parts of its model, and this file is the only one that says
what the names mean. A part is imported only when one is made, so the names can be read
without torch, and a model pays nothing for variants that it doesn't use.

A part of your own needs the interface of the one that it replaces. Pass its class::

    Transformer(config, parts=Parts(norm=MyNorm))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from torch import nn

    from tformer.attention import MultiHeadAttention

Size = Callable[[Any], int]  # of a `tformer.config.TransformerConfig`


@dataclass(frozen=True)
class Part:
    """What a name stands for.

    Attributes:
        home: where its class (or function) is in `tformer`: module and name.
        matrices: how many numbers its matrices have, given the configuration.
        vectors: how many its biases, gains and learned tables have.
        attention: the home of the attention class through which positions act, if they
            act inside self-attention.
    """

    home: str
    matrices: Size = lambda config: 0
    vectors: Size = lambda config: 0
    attention: str = ""

    def __call__(self, *sizes: Any, **settings: Any) -> Any:
        """Make a part of this kind."""
        return _imported(self.home)(*sizes, **settings)


def _imported(home: str) -> Any:
    module, _, name = home.rpartition(".")
    return getattr(import_module(f"tformer.{module}"), name)


NORM_PLACES = ("post", "pre")
POSITIONS = {
    "sinusoidal": Part("positions.SinusoidalPositions"),
    "learned": Part(
        "positions.LearnedPositions", vectors=lambda c: c.max_len * c.d_model
    ),
    "rotary": Part(
        "variants.rotary.NoPositions", attention="variants.rotary.RotaryAttention"
    ),
    "none": Part("variants.rotary.NoPositions"),
}
NORMS = {
    "layer": Part("norm.LayerNorm", vectors=lambda c: 2 * c.d_model),
    "rms": Part("variants.rms_norm.RMSNorm", vectors=lambda c: c.d_model),
}
ATTENTIONS = {
    "multi-head": Part(
        "attention.MultiHeadAttention",
        matrices=lambda c: 4 * c.d_model**2,
        vectors=lambda c: 4 * c.d_model,
    ),
    "grouped": Part(
        "variants.grouped.GroupedAttention",
        matrices=lambda c: 2 * c.d_model * (c.d_model + c.key_width),
        vectors=lambda c: 2 * (c.d_model + c.key_width),
    ),
}
FEED_FORWARDS = {
    "plain": Part(
        "feedforward.FeedForward",
        matrices=lambda c: 2 * c.d_model * c.d_ff,
        vectors=lambda c: c.d_ff + c.d_model,
    ),
    "swiglu": Part(
        "variants.swiglu.SwiGLU", matrices=lambda c: 3 * c.d_model * (2 * c.d_ff // 3)
    ),
}
ACTIVATIONS = ("relu", "gelu", "swish")


@dataclass(frozen=True)
class Parts:
    """How to make each part. Whatever you leave out is as the configuration names it.

    Args:
        norm: called with d_model.
        self_attention: called with d_model and n_heads, in both stacks. The queries
            come from the last of the keys' positions, so a variant knows the position
            of each.
        cross_attention: called with d_model and n_heads.
        feed_forward: called with d_model, d_ff and the activation's name.
        positions: called with d_model and max_len; the result is called with the
            embeddings and the position of the first.
    """

    norm: Callable[[int], nn.Module] = NORMS["layer"]
    self_attention: Callable[[int, int], MultiHeadAttention] = ATTENTIONS["multi-head"]
    cross_attention: Callable[[int, int], MultiHeadAttention] = ATTENTIONS["multi-head"]
    feed_forward: Callable[[int, int, str], nn.Module] = FEED_FORWARDS["plain"]
    positions: Callable[[int, int], nn.Module] = POSITIONS["sinusoidal"]


PAPER = Parts()


def named_by(config: Any, own: Parts = PAPER) -> Parts:
    """The parts that a `TransformerConfig` names, except where you pass your own."""
    attention: Callable[..., Any] = ATTENTIONS[config.attention]
    self_attention = attention
    if inside := POSITIONS[config.positions].attention:
        self_attention = partial(_with_positions, ATTENTIONS[config.attention], inside)
    if config.attention == "grouped":
        attention = partial(attention, n_groups=config.n_groups)
        self_attention = partial(self_attention, n_groups=config.n_groups)
    named = Parts(
        norm=NORMS[config.norm_kind],
        self_attention=self_attention,
        cross_attention=attention,
        feed_forward=FEED_FORWARDS[config.feed_forward],
        positions=POSITIONS[config.positions],
    )
    mine = {each.name: getattr(own, each.name) for each in fields(own)}
    papers = {each.name: each.default for each in fields(own)}
    return replace(named, **{n: x for n, x in mine.items() if x != papers[n]})


def _with_positions(
    part: Part, inside: str, *sizes: int, **settings: Any
) -> MultiHeadAttention:
    """Attention of one class, with positions that act through another class."""
    plain, positions = _imported(part.home), _imported(inside)
    kind = positions
    if not issubclass(positions, plain):
        kind = type(f"{positions.__name__}{plain.__name__}", (positions, plain), {})
    return kind(*sizes, **settings)


class LayerSettings(TypedDict, total=False):
    """What a stack passes on to its layers unread; the layers have the defaults.

    Attributes:
        dropout: on the output of every sub-layer.
        activation: of the feed-forward network.
    """

    dropout: float
    activation: str
