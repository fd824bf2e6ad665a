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
from torch import Tensor, nn

from tformer.fast.cache import Cache, LayerCache, needed
from tformer.fast.products import Prepare, Product

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
        model: a `tformer.Transformer`.
        prepare: makes its products.

    Raises:
        Unfit: it has a part that is not known here.
    """

    def __init__(self, model: Any, prepare: Prepare) -> None:
        kind_of(model, "model.Transformer")
        kind_of(model.dropout, "fast.dropout.Dropout")
        encoder, decoder, output = model.encoder, model.decoder, model.output_embedding
        kind_of(encoder, "encoder.Encoder")
        kind_of(decoder, "decoder.Decoder")
        self.config = model.config
        self.enter = entry_of(model.source_embedding, model.positions)
        self.enter_again = entry_of(model.target_embedding, model.positions)
        self.encoder = [Layer(each, prepare) for each in encoder.layers]
        self.decoder = [DecoderLayer(each, prepare) for each in decoder.layers]
        self.norms = norm_of(encoder.final_norm), norm_of(decoder.final_norm)
        bias = output.output_bias
        self.unembed = prepare(
            output.weight.detach(), None if bias is None else bias.detach()
        )

    def encode(self, source_ids: Tensor) -> Tensor:
        """(B, S) -> (B, S, D)."""
        mask = needed((source_ids != self.config.pad_id)[:, None, None])
        x = self.enter(source_ids, 0)
        for layer in self.encoder:
            x = layer.read(x, len(source_ids), mask)
        return self.norms[0](x).view(*source_ids.shape, -1)

    def decode(
        self, target_ids: Tensor, memory: Tensor, source_mask: Tensor, cache: Cache
    ) -> Tensor:
        """The newest column, (B, 1) -> (B, 1, D)."""
        x = self.enter_again(target_ids, cache.length)
        for layer, kept in zip(self.decoder, cache.layers, strict=True):
            x = layer.write(x, memory, source_mask, kept)
        return self.norms[1](x)[:, None]

    def new_cache(self) -> Cache:
        """An empty cache, like the model's own."""
        return Cache(len(self.decoder))


def entry_of(embedding: Any, positions: Any) -> Callable[[Tensor, int], Tensor]:
    """Scaled embeddings plus positions, from an offset on: (B, T) ids -> (R, D)."""
    kind_of(embedding, "embedding.ScaledEmbedding")
    kind_of(embedding.table, "torch.nn.modules.sparse.Embedding")
    weight, scale = embedding.weight.detach(), embedding.scale
    none = "variants.rotary.NoPositions"
    added = "positions.SinusoidalPositions", "positions.LearnedPositions"
    if kind_of(positions, none, *added) == none:
        return lambda ids, offset: F.embedding(ids, weight).flatten(0, 1) * scale
    table = positions.table.detach()

    def entry(ids: Tensor, offset: int) -> Tensor:
        places = table[offset : offset + ids.size(1)]
        x = torch.add(places, F.embedding(ids, weight), alpha=scale)
        return x.flatten(0, 1)

    return entry


class Layer:
    """As `tformer.encoder.EncoderLayer`."""

    KIND = "encoder.EncoderLayer"

    def __init__(self, layer: Any, prepare: Prepare) -> None:
        kind_of(layer, self.KIND)
        self.attention = Attention(layer.self_attention, prepare)
        self.around_attention = around(layer.self_attention_residual)
        self.feed_forward = feed_forward_of(layer.feed_forward, prepare)
        self.around_feed_forward = around(layer.feed_forward_residual)

    def read(self, x: Tensor, n: int, mask: Tensor | None) -> Tensor:
        """All positions of n sentences, (R, D) -> (R, D)."""

        def look(h: Tensor) -> Tensor:
            return self.attention.attend(*self.attention.project(h, n), mask)

        x = self.around_attention(x, look)
        return self.around_feed_forward(x, self.feed_forward)


class DecoderLayer(Layer):
    """As `tformer.decoder.DecoderLayer`, with a cache."""

    KIND = "decoder.DecoderLayer"

    def __init__(self, layer: Any, prepare: Prepare) -> None:
        super().__init__(layer, prepare)
        self.cross = CrossAttention(layer.cross_attention, prepare)
        self.around_cross = around(layer.cross_attention_residual)

    def write(
        self, x: Tensor, memory: Tensor, source_mask: Tensor, cache: LayerCache
    ) -> Tensor:
        """The newest position of each row, (R, D) -> (R, D)."""

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
        grouped = "variants.grouped.GroupedAttention"
        kind_of(attention, "attention.MultiHeadAttention", grouped)
        for probe in (attention.weights, attention.heads):
            kind_of(probe, "attention.Probe")
        n_queries, n_keys = (
            each.out_features for each in (attention.to_query, attention.to_key)
        )
        self.sizes = [n_queries, n_keys, n_keys]
        self.width = n_queries // attention.n_heads
        self.n_groups = n_keys // self.width
        self.to_output = stacked(prepare, attention.to_output)
        self._project(attention, prepare)

    def _project(self, attention: Any, prepare: Prepare) -> None:
        three = attention.to_query, attention.to_key, attention.to_value
        self.product = stacked(prepare, *three)

    def project(self, x: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """(R, D) -> queries (R, H Dh); keys, values (n, G, R / n, Dh)."""
        query, keys, values = self.product(x).split(self.sizes, dim=1)
        return query, self.split(keys, n), self.split(values, n)

    def split(self, x: Tensor, n: int) -> Tensor:
        """(R, G Dh) -> (n, G, R / n, Dh)."""
        return x.view(n, -1, self.n_groups, self.width).transpose(1, 2)

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Queries (R, H Dh), R / n to each of n rows of keys (n, G, T, Dh): (R, D)."""
        n_rows, n = len(query), len(keys)
        look = F.scaled_dot_product_attention
        if n_rows == n:  # one query each: nothing to be put elsewhere
            query = query.view(n, self.n_groups, -1, self.width)
            return self.to_output(look(query, keys, values, mask).view(n, -1))
        shape = n, n_rows // n, self.n_groups, -1, self.width
        query = query.view(shape).transpose(1, 2).flatten(2, 3)
        found = look(query, keys, values, mask)
        found = found.view(n, self.n_groups, n_rows // n, -1, self.width)
        return self.to_output(found.transpose(1, 2).reshape(n_rows, -1))


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
    shape = gain.shape
    return lambda x: torch.layer_norm(x, shape, gain, bias, epsilon)


def feed_forward_of(part: Any, prepare: Prepare) -> Product:
    """As `tformer.feedforward.FeedForward` or `tformer.variants.swiglu.SwiGLU`."""
    kind = kind_of(part, "feedforward.FeedForward", "variants.swiglu.SwiGLU")
    contract = stacked(prepare, part.contract)
    if kind == "feedforward.FeedForward":
        activation = part.activation
        if activation is F.relu:
            expand = stacked(prepare, part.expand, relu=True)
            return lambda x: contract(expand(x))
        widen = stacked(prepare, part.expand)
        return lambda x: contract(activation(widen(x)))
    widen = stacked(prepare, part.gate, part.expand)

    def gated(x: Tensor) -> Tensor:
        gate, value = widen(x).chunk(2, 1)
        return contract(F.silu(gate) * value)

    return gated


def stacked(prepare: Prepare, *maps: nn.Linear, relu: bool = False) -> Product:
    """Several linear maps of the same input as one product, results side by side."""
    for each in maps:
        kind_of(each, "torch.nn.modules.linear.Linear")
    weight = torch.cat([each.weight.detach() for each in maps])
    biases = [each.bias.detach() for each in maps if each.bias is not None]
    if len(biases) not in (0, len(maps)):
        raise Unfit("maps of the same input differ in having a bias")
    return prepare(weight, torch.cat(biases) if biases else None, relu=relu)
