"""RMSNorm: a norm that sets a vector's length and leaves its mean alone.

Source: Zhang and Sennrich 2019. Chapter *What came after*.
"""

import torch
from torch import Tensor, nn


def rms_norm(x: Tensor, gain: Tensor, epsilon: float = 1e-6) -> Tensor:
    """Divide each vector by the root of its mean square, then scale it.

    ``gain * x / sqrt(mean(x²) + epsilon)``, for x (..., D) and gain (D,).
    """
    mean_square = x.pow(2).mean(dim=-1, keepdim=True)
    return gain * x / torch.sqrt(mean_square + epsilon)


class RMSNorm(nn.Module):
    """`rms_norm` with a learned gain; there is no bias. A part for ``norm``."""

    def __init__(self, d_model: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.gain = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return rms_norm(x, self.gain, self.epsilon)
