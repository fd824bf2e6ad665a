"""The encoder: every source position learns about every other.

Source: Vaswani et al. 2017, section 3.1. Chapter *The encoder*.
"""

from typing import Unpack

from torch import Tensor, nn

from tformer.parts import PAPER, LayerSettings, Parts
from tformer.residual import Residual


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each with a residual connection.

    Args:
        d_model: width D of the stream.
        n_heads: number of heads H.
        d_ff: width F of the feed-forward network.
        dropout: on the output of both sub-layers.
        norm: "post" (the paper) or "pre".
        activation: of the feed-forward network.
        parts: the parts that the layer is built from.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm: str = "post",
        activation: str = "relu",
        parts: Parts = PAPER,
    ) -> None:
        super().__init__()

        def residual() -> Residual:
            return Residual(d_model, dropout, norm, make_norm=parts.norm)

        self.self_attention = parts.self_attention(d_model, n_heads)
        self.self_attention_residual = residual()
        self.feed_forward = parts.feed_forward(d_model, d_ff, activation)
        self.feed_forward_residual = residual()

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Let each position gather from all others, then process it by itself.

        Args:
            x: (B, S, D)
            source_mask: bool, broadcasts to (B, H, S, S); True = may attend.

        Returns:
            (B, S, D)
        """
        x = self.self_attention_residual(
            x, lambda h: self.self_attention(h, mask=source_mask)
        )
        return self.feed_forward_residual(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of encoder layers; with pre-norm, a final norm ends the stream.

    The paper's post-norm stack ends in a norm already and needs no other.

    Args:
        n_layers: number of layers N; the rest as in `EncoderLayer`.
    """

    def __init__(
        self,
        n_layers: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        norm: str = "post",
        parts: Parts = PAPER,
        **settings: Unpack[LayerSettings],
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, n_heads, d_ff, norm=norm, parts=parts, **settings)
            for _ in range(n_layers)
        )
        self.final_norm = parts.norm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """(B, S, D) embedded source -> (B, S, D) memory."""
        for layer in self.layers:
            x = layer(x, source_mask)
        return self.final_norm(x)
