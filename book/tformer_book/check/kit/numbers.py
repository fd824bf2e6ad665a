"""Random numbers for hidden cases."""

from __future__ import annotations

import torch
from torch import Tensor


def draw(*shape: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Normal random numbers, without touching the reader's generator."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
