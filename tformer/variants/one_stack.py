"""One stack instead of two: an encoder alone, or a decoder alone.

Source: Devlin et al. 2019 (BERT); Radford et al. 2018 (GPT). Chapter *What came after*.
"""

from torch import Tensor, nn

from tformer import masks
from tformer.config import TransformerConfig
from tformer.embedding import ScaledEmbedding
from tformer.encoder import Encoder
from tformer.fast.dropout import Dropout
from tformer.model import start_afresh
from tformer.parts import PAPER, Parts, named_by


class OneStack(nn.Module):
    """A stack of encoder layers between an embedding and its transpose.

    The mask alone decides what it is. If every piece sees every other, it can fill
    gaps; if every piece sees only what stands before it, it can go on writing.

    Args:
        config: the sizes; ``n_encoder_layers`` is the depth, the decoder's is unused.
        causal: whether pieces see only what stands before them.
        parts: parts of your own, in place of those that the configuration names.
    """

    def __init__(
        self, config: TransformerConfig, *, causal: bool, parts: Parts = PAPER
    ) -> None:
        super().__init__()
        self.config, self.causal = config, causal
        parts = named_by(config, parts)
        self.embedding = ScaledEmbedding(config.vocab_size, config.d_model)
        self.positions = parts.positions(config.d_model, config.max_len)
        self.dropout = Dropout(config.dropout)
        self.stack = Encoder(
            config.n_encoder_layers,
            config.d_model,
            config.n_heads,
            config.d_ff,
            norm=config.norm,
            parts=parts,
            dropout=config.dropout,
            activation=config.activation,
        )
        start_afresh(self.stack)

    def hidden(self, ids: Tensor) -> Tensor:
        """(B, T) int64 ids, padded on the right -> (B, T, D), a vector for each."""
        make_mask = masks.target_mask if self.causal else masks.source_mask
        x = self.dropout(self.positions(self.embedding(ids)))
        return self.stack(x, make_mask(ids, self.config.pad_id))

    def forward(self, ids: Tensor) -> Tensor:
        """(B, T) int64 ids -> (B, T, V) logits."""
        return self.embedding.unembed(self.hidden(ids))
