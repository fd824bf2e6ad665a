"""A trained `tformer.Transformer`, written flat: the same numbers, sooner.

The matrices are prepared once (`tformer.fast.products`), queries, keys and values are
one product, and plain functions take the place of modules. `tformer.fast.compiled` says
which models can be written so. Chapter *Decoding and scoring*.

Axes: R rows of the stream (B sentences, or hypotheses, times T positions), D d_model,
H heads, G heads of keys (H unless grouped), Dh width of a head.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tformer.fast.cache import Cache, LayerCache, needed
from tformer.fast.products import Prepare, Product, prepared, stacked

Around = Callable[[Tensor, Product], Tensor]


class Unfit(Exception):
    """Why a model is not decoded by a flat form: a sentence without its full stop."""


def kind_of(part: Any, *known: str) -> str:
    """The name of a part's class, which must be one of these (derived ones are not)."""
    kind = f"{type(part).__module__}.{type(part).__qualname__}".removeprefix("tformer.")
    if kind not in known:
        raise Unfit(f"{type(part).__name__} is a part without a flat form")
    return kind


class FlatTransformer:
    """What decoding needs of a model (`tformer.decode.Seq2Seq`), and nothing else.

    Args:
        model: a `tformer.Transformer` of known parts.
        prepare: makes its products.
    """

    def __init__(self, model: Any, prepare: Prepare) -> None:
        kind_of(model, "model.Transformer")
        kind_of(model.dropout, "fast.dropout.Dropout")
        self.config = model.config
        encoder, decoder = model.encoder, model.decoder
        kind_of(encoder, "encoder.Encoder")
        kind_of(decoder, "decoder.Decoder")
        table = table_of(model.positions)
        self.enter = Entry(model.source_embedding, table)
        self.reenter = Entry(model.target_embedding, table)
        self.encoder = [EncoderLayer(each, prepare) for each in encoder.layers]
        self.decoder = [DecoderLayer(each, prepare) for each in decoder.layers]
        self.norms = norm_of(encoder.final_norm), norm_of(decoder.final_norm)
        output = model.output_embedding
        self.unembed = prepared(prepare, output.weight, output.output_bias)

    def encode(self, source_ids: Tensor) -> Tensor:
        """As `tformer.Transformer.encode`: (B, S) -> (B, S, D)."""
        mask = needed((source_ids != self.config.pad_id)[:, None, None])
        x = self.enter(source_ids, 0)
        for layer in self.encoder:
            x = layer(x, len(source_ids), mask)
        return self.norms[0](x).view(*source_ids.shape, -1)

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor, cache: Cache
    ) -> Tensor:
        """As `tformer.Transformer.decode` with a cache: (B, 1) -> (B, 1, D)."""
        x = self.reenter(target_ids, cache.length)
        for layer, kept in zip(self.decoder, cache.layers, strict=True):
            x = layer(x, memory, source_mask, kept)
        return self.norms[1](x)[:, None]

    def new_cache(self) -> Cache:
        """An empty cache, like the model's own."""
        return Cache(len(self.decoder))


class Entry:
    """Scaled embeddings plus positions: (B, T) ids -> (B T, D)."""

    def __init__(self, embedding: Any, table: Tensor | None) -> None:
        kind_of(embedding, "embedding.ScaledEmbedding")
        kind_of(embedding.table, "torch.nn.modules.sparse.Embedding")
        self.weight, self.scale = embedding.weight.detach(), embedding.scale
        self.table = table

    def __call__(self, ids: Tensor, offset: int) -> Tensor:
        """Ids (B, T), the first at position ``offset`` -> (R, D)."""
        x = F.embedding(ids, self.weight)
        if self.table is None:
            return (x * self.scale).flatten(0, 1)
        places = self.table[offset : offset + ids.size(1)]
        return torch.add(places, x, alpha=self.scale).flatten(0, 1)


def table_of(positions: Any) -> Tensor | None:
    """A row for each position, if any is added to the embeddings."""
    none = "variants.rotary.NoPositions"
    tables = "positions.SinusoidalPositions", "positions.LearnedPositions"
    if kind_of(positions, none, *tables) == none:
        return None
    return positions.table.detach()


class Layer:
    """What layers of both stacks have, on (R, D)."""

    def __init__(self, layer: Any, prepare: Prepare) -> None:
        self.attention = Attention(layer.self_attention, prepare)
        self.around_attention = around(layer.self_attention_residual)
        self.feed_forward = feed_forward_of(layer.feed_forward, prepare)
        self.around_feed_forward = around(layer.feed_forward_residual)


class EncoderLayer(Layer):
    """As `tformer.encoder.EncoderLayer`."""

    def __init__(self, layer: Any, prepare: Prepare) -> None:
        kind_of(layer, "encoder.EncoderLayer")
        super().__init__(layer, prepare)

    def __call__(self, x: Tensor, n: int, mask: Tensor | None) -> Tensor:
        """(R, D), of n sentences -> (R, D)."""

        def look(h: Tensor) -> Tensor:
            return self.attention.attend(*self.attention.project(h, n), mask)

        x = self.around_attention(x, look)
        return self.around_feed_forward(x, self.feed_forward)


class DecoderLayer(Layer):
    """As `tformer.decoder.DecoderLayer`, for the newest position of each row."""

    def __init__(self, layer: Any, prepare: Prepare) -> None:
        kind_of(layer, "decoder.DecoderLayer")
        super().__init__(layer, prepare)
        self.cross = CrossAttention(layer.cross_attention, prepare)
        self.around_cross = around(layer.cross_attention_residual)

    def __call__(
        self, x: Tensor, memory: Tensor, source_mask: Tensor, cache: LayerCache
    ) -> Tensor:
        """(R, D), memory (B, S, D) -> (R, D); the cache grows."""

        def look_back(h: Tensor) -> Tensor:
            query, keys, values = self.attention.project(h, len(h))
            return self.attention.attend(query, *cache.extend(keys, values), None)

        def look_across(h: Tensor) -> Tensor:
            if cache.memory is None:
                cache.memory = self.cross.project_memory(memory)
                cache.source_mask = needed(source_mask)
            query = self.cross.to_query(h)
            return self.cross.attend(query, *cache.memory, cache.source_mask)

        x = self.around_attention(x, look_back)
        x = self.around_cross(x, look_across)
        return self.around_feed_forward(x, self.feed_forward)


class Attention:
    """Multi-head attention, or grouped: heads that share keys are further queries."""

    def __init__(self, attention: Any, prepare: Prepare) -> None:
        kind_of(
            attention,
            "attention.MultiHeadAttention",
            "variants.grouped.GroupedAttention",
        )
        for probe in (attention.weights, attention.heads):
            kind_of(probe, "attention.Probe")
        self.width = attention.to_query.out_features // attention.n_heads
        self.n_groups = attention.to_key.out_features // self.width
        self.sizes = [attention.to_query.out_features, attention.to_key.out_features]
        self.to_output = stacked(prepare, attention.to_output)
        self._project(attention, prepare)

    def _project(self, attention: Any, prepare: Prepare) -> None:
        three = attention.to_query, attention.to_key, attention.to_value
        self.product = stacked(prepare, *three)

    def project(self, x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """(R, D) -> queries (R, H Dh); keys, values (n, G, R / n, Dh)."""
        query, keys, values = self.product(x).split([*self.sizes, self.sizes[1]], 1)
        return query, self.split(keys, n), self.split(values, n)

    def split(self, x: Tensor, n: int) -> Tensor:
        """(R, G Dh) -> (n, G, R / n, Dh)."""
        return x.view(n, -1, self.n_groups, self.width).transpose(1, 2)

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Queries (R, H Dh), R / n to each of n rows of keys (n, G, T, Dh): (R, D)."""
        n_rows, n, n_groups = len(query), len(keys), self.n_groups
        query = query.view(n, n_rows // n, n_groups, -1, self.width).transpose(1, 2)
        found = F.scaled_dot_product_attention(
            query.flatten(2, 3), keys, values, attn_mask=mask
        )
        found = found.view(n, n_groups, n_rows // n, -1, self.width).transpose(1, 2)
        return self.to_output(found.reshape(n_rows, -1))


class CrossAttention(Attention):
    """Queries of the newest position; keys and values of the source, made once."""

    def _project(self, attention: Any, prepare: Prepare) -> None:
        self.to_query = stacked(prepare, attention.to_query)
        self.product = stacked(prepare, attention.to_key, attention.to_value)

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) -> keys, values, each (B, G, S, Dh)."""
        keys, values = self.product(memory.flatten(0, 1)).chunk(2, 1)
        return self.split(keys, len(memory)), self.split(values, len(memory))


def around(residual: Any) -> Around:
    """As `tformer.residual.Residual`."""
    kind_of(residual, "residual.Residual")
    kind_of(residual.dropout, "fast.dropout.Dropout")
    norm = norm_of(residual.norm)
    if residual.is_pre:
        return lambda x, sublayer: x + sublayer(norm(x))
    return lambda x, sublayer: norm(sublayer(x).add_(x))


def norm_of(norm: Any) -> Product:
    """Layer norm, RMSNorm, or none."""
    none, rms = "torch.nn.modules.linear.Identity", "variants.rms_norm.RMSNorm"
    kind = kind_of(norm, "norm.LayerNorm", rms, none)
    if kind == none:
        return lambda x: x
    gain, epsilon = norm.gain.detach(), norm.epsilon
    if kind == rms:
        return lambda x: F.rms_norm(x, gain.shape, gain, epsilon)
    bias = norm.bias.detach()
    return lambda x: F.layer_norm(x, gain.shape, gain, bias, epsilon)


def feed_forward_of(part: Any, prepare: Prepare) -> Product:
    """As `tformer.feedforward.FeedForward` or `tformer.variants.swiglu.SwiGLU`."""
    kind = kind_of(part, "feedforward.FeedForward", "variants.swiglu.SwiGLU")
    contract = stacked(prepare, part.contract)
    if kind == "feedforward.FeedForward":
        expand, activation = stacked(prepare, part.expand), part.activation
        return lambda x: contract(activation(expand(x)))
    widen = stacked(prepare, part.gate, part.expand)

    def gated(x: Tensor) -> Tensor:
        gate, value = widen(x).chunk(2, 1)
        return contract(F.silu(gate) * value)

    return gated
