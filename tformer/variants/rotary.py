"""Rotary positions: queries and keys are turned, so scores see offsets only.

Source: Su et al. 2021. Chapter *What came after*.
"""

import torch
from torch import Tensor, nn

from tformer.attention import MultiHeadAttention


def rotate_pairs(x: Tensor, first: int = 0, *, base: float = 10_000.0) -> Tensor:
    """Turn pair i of columns (2i, 2i+1) by ``position / base^(2i / Dh)`` radians.

    x is (..., T, Dh), Dh even; its first row stands at position ``first``.
    """
    pair = torch.arange(0, x.size(-1), 2, device=x.device)
    position = torch.arange(first, first + x.size(-2), device=x.device)
    angle = position[:, None] / base ** (pair / x.size(-1))  # (T, Dh/2)
    sine, cosine = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = [even * cosine - odd * sine, even * sine + odd * cosine]
    return torch.stack(turned, dim=-1).flatten(-2)


class RotaryAttention(MultiHeadAttention):
    """Turns queries and keys by their positions. A part for ``self_attention``."""

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None
    ) -> Tensor:
        """As `MultiHeadAttention.attend`; with a cache, queries are the newest."""
        query = rotate_pairs(query, first=key.size(-2) - query.size(-2))
        return super().attend(query, rotate_pairs(key), value, mask=mask)


class NoPositions(nn.Module):
    """Adds nothing to the embeddings. A part for ``positions``."""

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """(B, T, D) -> the same."""
        return x
