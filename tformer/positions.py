"""Positions: vectors that tell an order-blind model where each token stands.

Source: Vaswani et al. 2017, section 3.5. Chapter *Positions*.
"""

import torch
from torch import Tensor, nn


def sinusoids(length: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """A table with one row of sines and cosines for each position.

    ``table[p, 2i] = sin(p / base^(2i / D))`` and ``table[p, 2i+1] = cos(same angle)``

    ``i`` counts *pairs* of columns, so the exponent runs from 0 to just under 1, and a
    shift by k positions rotates each pair by a fixed angle.

    Args:
        length: number of positions, from 0.
        d_model: width D, even.
        base: the longest wavelength is just under ``2 pi base`` positions.

    Returns:
        (length, d_model) float32, computed in float64.

    Raises:
        ValueError: d_model is odd or not positive, length < 1, or base <= 1.

    Source: section 3.5.
    """
    if d_model < 2 or d_model % 2:
        raise ValueError(
            f"d_model={d_model} must be even: columns come in sine, cosine pairs"
        )
    if length < 1:
        raise ValueError(f"length={length} must be at least 1")
    if not base > 1:
        raise ValueError(f"base={base} must be greater than 1")
    position = torch.arange(length, dtype=torch.float64)[:, None]
    pair = torch.arange(0, d_model, 2, dtype=torch.float64)  # 2i = 0, 2, 4, …
    angle = position / base ** (pair / d_model)  # (length, D/2)
    table = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (length, D/2, 2)
    return table.flatten(-2).float()  # (length, D)


class Positions(nn.Module):
    """Add a row of a table to the embedding at each position.

    Attributes:
        table: (max_len, D) one row for each position, from 0.
    """

    table: Tensor

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add the table's rows, from ``offset`` on.

        Args:
            x: (B, T, D) scaled embeddings.
            offset: position of the first row; above 0 when decoding with a cache.

        Returns:
            (B, T, D)

        Raises:
            ValueError: the sequence is longer than max_len.
        """
        end, max_len = offset + x.size(-2), self.table.size(0)
        if end > max_len:
            raise ValueError(
                f"a sequence of {end} tokens is longer than max_len={max_len}: "
                "split the text, or build the model with a larger max_len"
            )
        return x + self.table[offset:end].to(x.dtype)


class SinusoidalPositions(Positions):
    """Add the sinusoids of each position to its embedding. Nothing here is learned.

    Args:
        d_model: width D, even.
        max_len: longest sequence to be expected.

    Source: section 3.5.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoids(max_len, d_model), persistent=False)


class LearnedPositions(Positions):
    """Add a learned row, one for each position up to max_len.

    The paper finds "nearly identical results" with either (table 3, row E). A position
    that no training sentence reached keeps its random initial row, which is as large as
    a sinusoid's.

    Args:
        d_model: width D.
        max_len: longest sequence to be expected; there are no rows beyond it.

    Raises:
        ValueError: a size below 1.

    Source: section 3.5; Gehring et al. 2017.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        super().__init__()
        if d_model < 1 or max_len < 1:
            raise ValueError(
                f"d_model={d_model} and max_len={max_len} must be at least 1"
            )
        self.table = nn.Parameter(torch.randn(max_len, d_model) * 0.5**0.5)
