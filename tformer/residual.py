"""The residual connection, and where the norm goes.

Source: Vaswani et al. 2017, sections 3.1 and 5.4; Xiong et al. 2020. Chapter *The
encoder*.
"""

from collections.abc import Callable

from torch import Tensor, nn

from tformer.fast.dropout import Dropout
from tformer.norm import LayerNorm
from tformer.parts import NORM_PLACES


class Residual(nn.Module):
    """Add a sub-layer's output to the residual stream.

    - ``norm="post"``, the paper: ``LayerNorm(x + Dropout(sublayer(x)))``
    - ``norm="pre"``, most later models: ``x + Dropout(sublayer(LayerNorm(x)))``

    Args:
        d_model: width D of the stream.
        dropout: probability of zeroing an entry of the sub-layer's output.
        norm: "post" or "pre".
        make_norm: makes a norm for a given width.

    Raises:
        ValueError: unknown value of norm.

    Source: section 3.1 (post-norm), section 5.4 (dropout).
    """

    def __init__(
        self,
        d_model: int,
        dropout: float,
        norm: str = "post",
        *,
        make_norm: Callable[[int], nn.Module] = LayerNorm,
    ) -> None:
        super().__init__()
        if norm not in NORM_PLACES:
            raise ValueError(f"norm={norm!r} is neither 'post' nor 'pre'")
        self.is_pre = norm == "pre"
        self.norm = make_norm(d_model)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Run the sub-layer and add its output to the stream.

        Args:
            x: (B, T, D) the stream.
            sublayer: (B, T, D) -> (B, T, D).

        Returns:
            (B, T, D)
        """
        if self.is_pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))
