"""The whole Transformer: embeddings, positions, encoder, decoder, logits.

Axes: B batch, S source length, T target length, D d_model, V vocabulary.

Source: Vaswani et al. 2017, figure 1. Chapter *The whole Transformer*.
"""

from typing import Any

from torch import Tensor, nn

from tformer import masks
from tformer.config import TransformerConfig
from tformer.decoder import Decoder
from tformer.embedding import ScaledEmbedding
from tformer.encoder import Encoder
from tformer.fast.cache import Cache
from tformer.fast.dropout import Dropout
from tformer.parts import PAPER, Parts, named_by


class Transformer(nn.Module):
    """The encoder–decoder Transformer of *Attention Is All You Need*.

    Args:
        config: a validated `TransformerConfig`.
        parts: parts of your own, in place of those that the configuration names.

    Example:
        >>> model = Transformer(TransformerConfig())
        >>> logits = model(source_ids, target_ids)  # (B, S), (B, T) -> (B, T, V)
    """

    def __init__(self, config: TransformerConfig, *, parts: Parts = PAPER) -> None:
        super().__init__()
        self.config, self.own_parts = config, parts
        parts = named_by(config, parts)
        layer: dict[str, Any] = {
            "d_model": config.d_model,
            "n_heads": config.n_heads,
            "d_ff": config.d_ff,
            "dropout": config.dropout,
            "norm": config.norm,
            "activation": config.activation,
            "parts": parts,
        }
        sizes, bias = (config.vocab_size, config.d_model), config.output_bias
        if config.tie_embeddings:
            self.source_embedding = ScaledEmbedding(*sizes, output_bias=bias)
            self.target_embedding = self.output_embedding = self.source_embedding
        else:
            self.source_embedding = ScaledEmbedding(*sizes)
            self.target_embedding = ScaledEmbedding(*sizes)
            self.output_embedding = ScaledEmbedding(*sizes, output_bias=bias)
        self.positions = parts.positions(config.d_model, config.max_len)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config.n_encoder_layers, **layer)
        self.decoder = Decoder(config.n_decoder_layers, **layer)
        for stack in (self.encoder, self.decoder):
            start_afresh(stack)

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Score every next piece at every target position, in one parallel pass.

        Args:
            source_ids: (B, S) int64, pieces + eos, padded on the right.
            target_ids: (B, T) int64, bos + pieces, padded on the right.

        Returns:
            logits: (B, T, V); row t scores the piece that follows ``target_ids[:, t]``.

        Raises:
            TypeError: ids are not int64 tensors.
            ValueError: wrong shape, unequal batch sizes, longer than max_len; on the
                CPU also ids out of range and rows without a visible token.
        """
        return self.unembed(self.hidden(source_ids, target_ids))

    def hidden(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """What `forward` computes before the vocabulary projection: (B, T, D)."""
        source_mask = masks.source_mask(source_ids, self.config.pad_id)
        memory = self.encode(source_ids, source_mask)
        return self.decode(target_ids, memory, source_mask)

    def encode(self, source_ids: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Read the source once: (B, S) int64 ids -> (B, S, D) memory.

        Args:
            source_ids: (B, S) int64, pieces + eos, padded on the right.
            source_mask: that of source_ids, if you have it already.
        """
        if source_mask is None:
            source_mask = masks.source_mask(source_ids, self.config.pad_id)
        self._check(source_ids)
        x = self.positions(self.source_embedding(source_ids))
        return self.encoder(self.dropout(x), source_mask)

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        source_mask: Tensor,
        cache: Cache | None = None,
    ) -> Tensor:
        """Run the decoder; the vocabulary projection is left to `unembed`.

        Args:
            target_ids: (B, T) int64, bos + pieces. With a cache: the one new column.
            memory: (B, S, D) from `encode`.
            source_mask: (B, 1, 1, S) bool, from `tformer.masks.source_mask`.
            cache: from `new_cache`, extended in place.

        Returns:
            (B, T, D) the stream after the last layer.

        Raises:
            ValueError: with a cache, more than one new column; without, another number
                of targets than of sources.
        """
        offset = 0
        target_mask: Tensor | None = None
        if cache is None:
            target_mask = masks.target_mask(target_ids, self.config.pad_id)
            self._check(target_ids)
            masks.check_pairs(target_ids, memory)
        elif target_ids.size(1) == 1:
            offset = cache.length  # one new query: everything cached is its past
        else:
            raise ValueError(
                "with a cache, decode takes one new column of ids at a time, got "
                f"{tuple(target_ids.shape)}"
            )
        x = self.positions(self.target_embedding(target_ids), offset)
        return self.decoder(self.dropout(x), memory, target_mask, source_mask, cache)

    def unembed(self, hidden: Tensor) -> Tensor:
        """(..., D) hidden vectors -> (..., V) logits."""
        return self.output_embedding.unembed(hidden)

    def new_cache(self) -> Cache:
        """An empty key/value cache for `decode`."""
        return Cache(self.config.n_decoder_layers)

    def n_parameters(self) -> int:
        """Number of learned parameters; tied tables count once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _check(self, ids: Tensor) -> None:
        """Check what only the model knows; making a mask checks the rest."""
        config = self.config
        masks.check_fit(ids, vocab_size=config.vocab_size, max_len=config.max_len)


def start_afresh(stack: nn.Module) -> None:
    """Give every linear map of a stack Xavier's random weights, and a bias of 0."""
    for module in stack.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
