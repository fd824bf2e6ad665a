"""The feed-forward network: the same two-layer perceptron at every position.

Source: Vaswani et al. 2017, section 3.3. Chapter *The encoder*.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from tformer.parts import ACTIVATIONS


class FeedForward(nn.Module):
    """Widen each position, apply the activation, narrow it again.

    ``FFN(x) = max(0, x W_1 + b_1) W_2 + b_2``. No position sees another.

    Args:
        d_model: width D of input and output.
        d_ff: hidden width F; 4 D in the paper.
        activation: "relu" as in the paper, or "gelu" or "swish".

    Raises:
        ValueError: unknown activation.

    Source: section 3.3, equation 2.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu") -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"activation={activation!r} is none of: {known}")
        self.expand = nn.Linear(d_model, d_ff)
        name = "silu" if activation == "swish" else activation  # PyTorch's other name
        self.activation = getattr(F, name)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D), through (B, T, F)."""
        return self.contract(self.activation(self.expand(x)))
