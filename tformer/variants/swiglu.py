"""SwiGLU: a feed-forward network whose wide layer has a gate.

Source: Shazeer 2020. Chapter *What came after*.
"""

import torch.nn.functional as F
from torch import Tensor, nn


class SwiGLU(nn.Module):
    """``(swish(x W_g) * (x W_1)) W_2``: one product opens or closes the other.

    Three matrices instead of two, so the inner width is 2/3 of ``d_ff`` and the number
    of parameters stays about the same. A part for ``feed_forward``; the activation is
    always swish.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "swish") -> None:
        super().__init__()
        inner = 2 * d_ff // 3
        self.gate = nn.Linear(d_model, inner, bias=False)
        self.expand = nn.Linear(d_model, inner, bias=False)
        self.contract = nn.Linear(inner, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.contract(F.silu(self.gate(x)) * self.expand(x))
