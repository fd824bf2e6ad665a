"""Layer normalisation, from its formula.

Source: Ba, Kiros and Hinton 2016; Vaswani et al. 2017, section 3.1. Chapter *The
encoder*.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, epsilon: float = 1e-5) -> Tensor:
    """Bring each vector to mean 0 and variance 1, then scale and shift it.

    ``gain * (x - mean) / sqrt(variance + epsilon) + bias``, where mean and variance
    (divided by D, not D-1) are taken over the last axis, for each vector by itself.
    Epsilon is *inside* the root: outside, a constant vector's gradient would be NaN.

    Args:
        x: (..., D)
        gain: (D,)
        bias: (D,)
        epsilon: keeps the root away from 0.

    Returns:
        (..., D)
    """
    mean = x.mean(dim=-1, keepdim=True)
    variance = (x - mean).pow(2).mean(dim=-1, keepdim=True)
    return gain * (x - mean) / torch.sqrt(variance + epsilon) + bias


class LayerNorm(nn.Module):
    """`layer_norm` with learned gain and bias, by PyTorch's fused kernel.

    Tests check that the kernel and the formula agree, gradients included.

    Args:
        d_model: width D of the vectors.
        epsilon: added to the variance, under the root.
    """

    def __init__(self, d_model: int, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, self.epsilon)
