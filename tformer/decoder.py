"""The decoder: each target position looks back at the target and across to the source.

Source: Vaswani et al. 2017, section 3.1. Chapter *The decoder*.
"""

from typing import Unpack

from torch import Tensor, nn

from tformer.fast.cache import Cache, LayerCache, needed
from tformer.parts import PAPER, LayerSettings, Parts
from tformer.residual import Residual


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward; each with a residual.

    In cross-attention, queries come from the decoder's stream; each layer projects its
    own keys and values from the encoder's memory. Lengths may differ: there is one
    output row per query.

    Args: as in `tformer.encoder.EncoderLayer`.
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
        self.cross_attention = parts.cross_attention(d_model, n_heads)
        self.cross_attention_residual = residual()
        self.feed_forward = parts.feed_forward(d_model, d_ff, activation)
        self.feed_forward_residual = residual()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """Let each position gather from the target so far, then from the source.

        Args:
            x: (B, T, D); with a cache, only the positions that are new.
            memory: (B, S, D) the encoder's output.
            target_mask: bool, broadcasts to (B, H, T, keys); True = may attend.
            source_mask: bool, broadcasts to (B, H, T, S); True = may attend.
            cache: keys and values of earlier positions; it is extended in place.

        Returns:
            (B, T, D)
        """

        def look_back(h: Tensor) -> Tensor:
            query, key, value = self.self_attention.project(h)
            if cache is not None:
                key, value = cache.extend(key, value)
            return self.self_attention.attend(query, key, value, mask=target_mask)

        def look_across(h: Tensor) -> Tensor:
            attention, mask = self.cross_attention, source_mask
            if cache is None:
                keys, values = attention.project_memory(memory)
            else:
                if cache.memory is None:
                    cache.memory = attention.project_memory(memory)
                    cache.source_mask = needed(source_mask)
                (keys, values), mask = cache.memory, cache.source_mask
            queries = h.reshape(len(keys), -1, h.size(-1))  # all queries to one source
            query = attention.project_query(queries)
            return attention.attend(query, keys, values, mask=mask).view_as(h)

        x = self.self_attention_residual(x, look_back)
        x = self.cross_attention_residual(x, look_across)
        return self.feed_forward_residual(x, self.feed_forward)


class Decoder(nn.Module):
    """A stack of decoder layers; with pre-norm, a final norm ends the stream.

    Args: as in `tformer.encoder.Encoder`.
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
            DecoderLayer(d_model, n_heads, d_ff, norm=norm, parts=parts, **settings)
            for _ in range(n_layers)
        )
        self.final_norm = parts.norm(d_model) if norm == "pre" else nn.Identity()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """(B, T, D) embedded target and (B, S, D) memory -> (B, T, D)."""
        for number, layer in enumerate(self.layers):
            kept = None if cache is None else cache.layers[number]
            x = layer(x, memory, target_mask, source_mask, kept)
        return self.final_norm(x)
