"""Embedding: a row for each piece of the vocabulary, read on the way in and out.

Source: Vaswani et al. 2017, section 3.4; Press and Wolf 2017 for the tying. Chapter
*Embeddings*.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ScaledEmbedding(nn.Module):
    """Turn token ids into vectors, and vectors back into scores over tokens.

    On the way in ``x = E[id] * sqrt(D)``, on the way out ``logits = h E^T``. Rows start
    with variance 1/D, so logits start with variance near 1; the factor sqrt(D) puts the
    inputs on the scale of the positions that are added to them. One table can serve as
    source, target and output embedding: the paper's three-way tying.

    Args:
        vocab_size: number of rows V.
        d_model: width D.
        output_bias: add a learned bias to the score of each token on the way out.

    Attributes:
        output_bias: (V,), or None.

    Source: section 3.4.
    """

    output_bias: nn.Parameter | None

    def __init__(
        self, vocab_size: int, d_model: int, *, output_bias: bool = False
    ) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model)
        self.table = nn.Embedding(vocab_size, d_model)
        nn.init.normal_(self.table.weight, std=d_model**-0.5)
        bias = nn.Parameter(torch.zeros(vocab_size)) if output_bias else None
        self.register_parameter("output_bias", bias)

    @property
    def weight(self) -> Tensor:
        """The table E, (V, D)."""
        return self.table.weight

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) int64 ids -> (B, T, D) scaled vectors."""
        return self.table(ids) * self.scale

    def unembed(self, hidden: Tensor) -> Tensor:
        """(..., D) hidden vectors -> (..., V) logits, by the unscaled table."""
        return F.linear(hidden, self.table.weight, self.output_bias)
