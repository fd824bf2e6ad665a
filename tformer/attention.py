"""Attention: a soft look-up, and several of them side by side.

Axes: B batch, H heads, Tq queries, Tk keys, D d_model, Dh = D / H width of a head.

Source: Vaswani et al. 2017, section 3.2. Chapters *Attention* and *Multi-head
attention*.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest

import torch
from torch import Tensor, nn

from tformer.fast.attention import fused_attention, stacked


def attention(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Mix the values, weighted by how well each query matches each key.

    Computes ``softmax(Q K^T / sqrt(Dh)) V``.

    Args:
        query: (..., Tq, Dh)
        key: (..., Tk, Dh)
        value: (..., Tk, Dv)
        mask: bool, broadcasts to (..., Tq, Tk); True = may attend. Every query must
            see a key.

    Returns:
        output: (..., Tq, Dv)
        weights: (..., Tq, Tk); rows sum to 1, masked entries are exactly 0.

    Raises:
        TypeError: mask is not bool, so its polarity is unknown.
        ValueError: the shapes do not fit together.

    Source: section 3.2.1, equation 1.
    """
    check_attention_shapes(query, key, value, mask)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))  # (..., Tq, Tk)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def check_attention_shapes(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> None:
    """Raise unless the four shapes fit one attention; no values are read."""
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError(
            "query, key and value need at least two axes (length, width), got "
            f"{tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "query and key must have the same width for a dot product, got "
            f"{query.size(-1)} and {key.size(-1)}"
        )
    if key.size(-2) != value.size(-2):
        raise ValueError(
            "every key needs one value, got "
            f"{key.size(-2)} keys and {value.size(-2)} values"
        )
    leading = {tensor.shape[:-2] for tensor in (query, key, value)}
    if len(leading) > 1 and not _broadcast(*leading):
        raise ValueError(
            "query, key and value must have the same batch size and heads, got "
            f"{tuple(query.shape)}, {tuple(key.shape)}, {tuple(value.shape)}"
        )
    if mask is None:
        return
    check_is_bool(mask)
    expected = (query.size(-2), key.size(-2))
    pairs = zip(reversed(mask.shape), reversed(expected), strict=False)
    fits = all(have in (1, want) for have, want in pairs)
    if not fits or not _broadcast(mask.shape[:-2], *leading):
        raise ValueError(
            f"mask {tuple(mask.shape)} does not broadcast to (..., Tq, Tk) = "
            f"{(*query.shape[:-2], *expected)}"
        )


def check_is_bool(mask: Tensor) -> None:
    """Raise a TypeError unless a mask is bool: else its polarity is unknown."""
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be bool with True = may attend, got {mask.dtype}: "
            "write mask.bool() if 1 means 'may attend', (mask == 0) if 0 does"
        )


def _broadcast(*shapes: Sequence[int]) -> bool:
    """Whether shapes broadcast: aligned at the right, one size besides 1 per axis."""
    axes = zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1)
    return all(len({*sizes} - {1}) <= 1 for sizes in axes)


class Probe(nn.Identity):
    """An identity with a name, so that a forward hook can read or change a value.

    Layers keep no state for inspection. To inspect a value, register a hook on its
    probe (as `tformer.analysis.trace` does), and remove it afterwards.
    """

    @property
    def is_watched(self) -> bool:
        """Whether a hook is registered here."""
        return bool(self._forward_hooks)


class MultiHeadAttention(nn.Module):
    """Several attention heads in parallel, each in its own small subspace.

    ``MultiHead(Q, K, V) = Concat(head_1, …, head_H) W_O`` with
    ``head_i = Attention(Q W_Q,i, K W_K,i, V W_V,i)``

    The projections of all heads form one matrix each; if query, key and value come
    from the same tensor, all three are computed in one product. A fused kernel does the
    attention unless ``weights`` has a hook; tests check that both paths agree.

    Args:
        d_model: width D of inputs and output.
        n_heads: number of heads H; must divide d_model.
        bias: whether the four projections add a bias.

    Attributes:
        weights: `Probe` of the attention weights (B, H, Tq, Tk).
        heads: `Probe` of the heads' outputs (B, H, Tq, Dh), before they are merged.

    Raises:
        ValueError: n_heads does not divide d_model.

    Source: section 3.2.2.
    """

    def __init__(self, d_model: int, n_heads: int, *, bias: bool = True) -> None:
        super().__init__()
        if d_model < 1 or n_heads < 1 or d_model % n_heads:
            raise ValueError(
                f"d_model={d_model} must be a positive multiple of n_heads={n_heads}: "
                "each head gets d_model / n_heads dimensions"
            )
        self.n_heads = n_heads
        self.to_query = nn.Linear(d_model, d_model, bias=bias)
        self.to_key = nn.Linear(d_model, d_model, bias=bias)
        self.to_value = nn.Linear(d_model, d_model, bias=bias)
        self.to_output = nn.Linear(d_model, d_model, bias=bias)
        self.weights = Probe()
        self.heads = Probe()

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Let each query position gather from the key and value positions.

        Args:
            query: (B, Tq, D)
            key: (B, Tk, D); the query itself if left out (self-attention).
            value: (B, Tk, D); the key itself if left out.
            mask: bool, broadcasts to (B, H, Tq, Tk); True = may attend.

        Returns:
            (B, Tq, D): as many rows as queries.
        """
        if key is None and value is None:
            return self.attend(*self.project(query), mask=mask)
        key = query if key is None else key
        value = key if value is None else value
        keys, values = self.project_memory(key, value)
        return self.attend(self.project_query(query), keys, values, mask=mask)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of one tensor, by a single matrix product.

        Args:
            x: (B, T, D)

        Returns:
            queries, keys, values: each (B, H, T, Dh).
        """
        projected = stacked(x, self.to_query, self.to_key, self.to_value)
        query, key, value = projected.chunk(3, dim=-1)  # (B, T, 3D) -> 3 x (B, T, D)
        return self.split_heads(query), self.split_heads(key), self.split_heads(value)

    def project_query(self, query: Tensor) -> Tensor:
        """(B, Tq, D) -> (B, H, Tq, Dh)."""
        return self.split_heads(self.to_query(query))

    def project_memory(
        self, key: Tensor, value: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Keys and values of what is attended to: worth caching while decoding.

        Args:
            key: (B, Tk, D)
            value: (B, Tk, D); the key itself if left out.

        Returns:
            keys, values: each (B, H, Tk, Dh).
        """
        if value is None or value is key:
            keys, values = stacked(key, self.to_key, self.to_value).chunk(2, dim=-1)
        else:
            keys, values = self.to_key(key), self.to_value(value)
        return self.split_heads(keys), self.split_heads(values)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None
    ) -> Tensor:
        """Attention of projected queries, keys and values, merged by ``to_output``.

        Args:
            query: (B, H, Tq, Dh)
            key: (B, H, Tk, Dh)
            value: (B, H, Tk, Dh)
            mask: bool, broadcasts to (B, H, Tq, Tk); True = may attend.

        Returns:
            (B, Tq, D)
        """
        if self.weights.is_watched:
            _, weights = attention(query, key, value, mask=mask)
            output = self.weights(weights) @ value  # a hook may have changed them
        else:
            check_attention_shapes(query, key, value, mask)
            output = fused_attention(query, key, value, mask)  # the same, in a kernel
        return self.to_output(self.merge_heads(self.heads(output)))

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, Dh): split the width, then move heads forward."""
        return x.unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)

    def merge_heads(self, x: Tensor) -> Tensor:
        """(B, H, T, Dh) -> (B, T, D): the inverse of `split_heads`."""
        return x.transpose(-3, -2).flatten(-2)
