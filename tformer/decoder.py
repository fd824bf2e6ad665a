"""The decoder: each target position looks back at the target and across to the source.

Source: Vaswani et al. 2017, section 3.1. Chapter *The decoder*.
"""

from typing import Unpack

import torch
from torch import Tensor, nn

from tformer.parts import PAPER, LayerSettings, Parts
from tformer.residual import Residual


class LayerCache:
    """What one decoder layer need not compute twice while a translation grows.

    Attributes:
        memory: keys and values of the source, each (B, H, S, Dh); made at first use.
        target: keys and values of the target so far, each (B, H, T, Dh).
    """

    def __init__(self) -> None:
        self.memory: tuple[Tensor, Tensor] | None = None
        self.target: tuple[Tensor, Tensor] | None = None

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append the new positions' keys and values; return those of all so far."""
        if self.target is not None:
            key = torch.cat([self.target[0], key], dim=-2)
            value = torch.cat([self.target[1], value], dim=-2)
        self.target = (key, value)
        return self.target

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep (and reorder) rows of the batch, as a beam does after each step.

        Args:
            rows: (rows,) int64, which old row each new one continues.
            same_sources: the rows' sources stay where they are, so memory may stay.
        """
        if self.memory is not None and not same_sources:
            self.memory = (self.memory[0][rows], self.memory[1][rows])
        if self.target is not None:
            self.target = (self.target[0][rows], self.target[1][rows])


class Cache:
    """The key/value cache of a whole decoder: one `LayerCache` a layer.

    Args:
        n_layers: number of decoder layers.

    """

    def __init__(self, n_layers: int) -> None:
        self.layers = [LayerCache() for _ in range(n_layers)]

    @property
    def length(self) -> int:
        """Target positions already in the cache."""
        target = self.layers[0].target
        return 0 if target is None else target[0].size(-2)

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep (and reorder) rows of the batch in every layer."""
        for layer in self.layers:
            layer.select(rows, same_sources=same_sources)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention, feed-forward; each beside the stream.

    In cross-attention queries come from the decoder's stream; keys and values are
    projected, by each layer for itself, from the encoder's memory. Lengths may differ:
    output rows follow the queries.

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
            attention = self.cross_attention
            if cache is None:
                keys, values = attention.project_memory(memory)
            else:
                if cache.memory is None:
                    cache.memory = attention.project_memory(memory)
                keys, values = cache.memory
            query = attention.project_query(h)
            return attention.attend(query, keys, values, mask=source_mask)

        x = self.self_attention_residual(x, look_back)
        x = self.cross_attention_residual(x, look_across)
        return self.feed_forward_residual(x, self.feed_forward)


class Decoder(nn.Module):
    """A stack of decoder layers; with pre-norm, one last norm closes the stream.

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
