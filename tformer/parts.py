"""The parts that layers are built from: the paper's, and where to plug in others.

A variant is a part with the same interface as the paper's. Pass it to the model by
name, and the stacks pass it down to their layers unchanged::

    Transformer(config, parts=Parts(norm=RMSNorm))
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from torch import nn

from tformer.attention import MultiHeadAttention
from tformer.feedforward import FeedForward
from tformer.norm import LayerNorm


@dataclass(frozen=True)
class Parts:
    """How to make each part; `PAPER` makes those of the paper.

    Args:
        norm: called with d_model.
        self_attention: called with d_model and n_heads, in both stacks. Queries are the
            newest of the keys' positions, so a variant can tell where each stands.
        cross_attention: called with d_model and n_heads.
        feed_forward: called with d_model, d_ff and the activation's name.
        positions: called with d_model and max_len; the result is called with the
            embeddings and the first one's position. None for what the configuration
            says.
    """

    norm: Callable[[int], nn.Module] = LayerNorm
    self_attention: Callable[[int, int], MultiHeadAttention] = MultiHeadAttention
    cross_attention: Callable[[int, int], MultiHeadAttention] = MultiHeadAttention
    feed_forward: Callable[[int, int, str], nn.Module] = FeedForward
    positions: Callable[[int, int], nn.Module] | None = None


PAPER = Parts()


class LayerSettings(TypedDict, total=False):
    """What a stack passes on to its layers unread; the defaults are theirs.

    Attributes:
        dropout: on the output of every sub-layer.
        activation: of the feed-forward network.
    """

    dropout: float
    activation: str
