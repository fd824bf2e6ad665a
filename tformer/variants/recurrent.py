"""The predecessor: a recurrent encoder–decoder with additive attention.

A GRU reads the source in both directions; another writes the target and looks at the
source again before each piece. Even in training it must go one position at a time:
that is what the Transformer did away with. It has the same methods as the Transformer,
so training, decoding and scoring work on it unchanged.

Axes: B batch, S source length, T target length, D d_model, Dh d_hidden, V vocabulary.

Source: Bahdanau et al. 2015, section 3 and appendix A; Cho et al. 2014 for the GRU.
Chapter *Transduction*.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tformer import masks
from tformer.config import ModelConfig
from tformer.embedding import ScaledEmbedding
from tformer.fast.dropout import Dropout
from tformer.variants.additive import AdditiveAttention


@dataclass(frozen=True)
class RecurrentConfig(ModelConfig):
    """Everything that determines the shape of a `RecurrentSeq2Seq`.

    Args:
        d_model: width D of embeddings and of what is unembedded.
        d_hidden: width Dh of each GRU's state and of the attention's hidden layer.
        dropout: on embeddings and on what is unembedded, in [0, 1).
        vocab_size, max_len, pad_id, bos_id, eos_id, unk_id: as in `TransformerConfig`.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value that breaks a rule; the message names both.
    """

    vocab_size: int = 6000
    d_model: int = 192
    d_hidden: int = 320
    dropout: float = 0.1
    max_len: int = 256
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    unk_id: int = 3

    def __post_init__(self) -> None:
        self.check("vocab_size d_model d_hidden max_len")

    @property
    def n_parameters(self) -> int:
        """Numbers that a model of this configuration learns, without building one."""
        width, hidden = self.d_model, self.d_hidden

        def gru(d_input: int) -> int:
            return 3 * hidden * (d_input + hidden + 2)

        encoder = 2 * gru(width) + hidden * hidden + hidden  # both ways, and to_state
        attention = hidden * hidden + 2 * hidden * hidden + hidden
        decoder = gru(width + 2 * hidden)
        to_output = (3 * hidden + width + 1) * width
        return self.vocab_size * width + encoder + attention + decoder + to_output

    @property
    def n_kept(self) -> int:
        """Numbers of each token that a training step keeps at least, for gradients.

        The states of the GRUs and their inputs; attention keeps more.
        """
        return 2 * self.d_model + 8 * self.d_hidden


class RecurrentCache:
    """What the decoder need not recompute while a translation grows.

    Attributes:
        state: (B, Dh) the decoder's state after the last piece: its whole memory.
        keys: (B, S, Dh) the memory, projected for the attention.
        length: target positions so far.
    """

    def __init__(self) -> None:
        self.state: Tensor | None = None
        self.keys: Tensor | None = None
        self.length = 0

    def select(self, rows: Tensor, *, same_sources: bool = False) -> None:
        """Keep (and reorder) rows of the batch, as a beam does after each step."""
        if self.state is not None:
            self.state = self.state[rows]
        if self.keys is not None and not same_sources:
            self.keys = self.keys[rows]


class RecurrentSeq2Seq(nn.Module):
    """A bidirectional GRU encoder, additive attention, and a GRU decoder.

    At each target position t, with embedding ``y`` and the state ``s`` so far::

        c_t = attention(s_{t-1}, memory)              look at the source
        s_t = GRU([y_t; c_t], s_{t-1})                remember
        logits = E tanh(W [s_t; c_t; y_t])            say the next piece

    One table E serves source, target and output, as in `tformer.Transformer`. The
    paper's maxout layer before the output is a tanh here.

    Args:
        config: a validated `RecurrentConfig`.

    Attributes:
        attention: its ``weights`` probe shows (B, 1, 1, S), once for each position.

    Source: section 3 and appendix A.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        d_model, d_hidden = config.d_model, config.d_hidden
        self.output_embedding = ScaledEmbedding(config.vocab_size, d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.GRU(d_model, d_hidden, batch_first=True, bidirectional=True)
        self.to_state = nn.Linear(d_hidden, d_hidden)
        self.attention = AdditiveAttention(d_hidden, 2 * d_hidden, d_hidden)
        self.decoder = nn.GRUCell(d_model + 2 * d_hidden, d_hidden)
        self.to_output = nn.Linear(3 * d_hidden + d_model, d_model)

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """Score every next piece at every target position, one after another.

        Args:
            source_ids: (B, S) int64, pieces + eos, padded on the right.
            target_ids: (B, T) int64, bos + pieces, padded on the right.

        Returns:
            logits: (B, T, V); row t scores the piece that follows ``target_ids[:, t]``.

        Raises:
            TypeError, ValueError: as `tformer.Transformer`.
        """
        return self.unembed(self.hidden(source_ids, target_ids))

    def hidden(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """What `forward` computes before the vocabulary projection: (B, T, D)."""
        source_mask = masks.source_mask(source_ids, self.config.pad_id)
        memory = self.encode(source_ids, source_mask)
        return self.decode(target_ids, memory, source_mask)

    def encode(self, source_ids: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Read the source from both ends: (B, S) int64 ids -> (B, S, 2 Dh) memory.

        Each direction stops at the end of its own sentence, so padding changes nothing.

        Args:
            source_ids: (B, S) int64, pieces + eos, padded on the right.
            source_mask: that of source_ids, if you have it already.
        """
        if source_mask is None:
            source_mask = masks.source_mask(source_ids, self.config.pad_id)
        self._check(source_ids)
        lengths = source_mask.flatten(1).sum(dim=1).cpu()
        x = self.dropout(self.output_embedding(source_ids))
        packed = pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        memory, _ = pad_packed_sequence(
            self.encoder(packed)[0], batch_first=True, total_length=source_ids.size(1)
        )
        return memory

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        source_mask: Tensor,
        cache: RecurrentCache | None = None,
    ) -> Tensor:
        """Run the decoder; the vocabulary projection is left to `unembed`.

        Args:
            target_ids: (B, T) int64, bos + pieces. With a cache: the one new column.
            memory: (B, S, 2 Dh) from `encode`.
            source_mask: (B, 1, 1, S) bool, from `tformer.masks.source_mask`.
            cache: from `new_cache`, extended in place.

        Returns:
            (B, T, D), ready for `unembed`.

        Raises:
            ValueError: with a cache, more than one new column; without, another number
                of targets than of sources.
        """
        if cache is None:
            masks.padding_mask(target_ids, self.config.pad_id)  # checks the ids
            self._check(target_ids)
            masks.check_pairs(target_ids, memory)
            cache = RecurrentCache()  # the steps below need an initial state
        elif target_ids.size(1) != 1:
            raise ValueError(
                "with a cache, decode takes one new column of ids at a time, got "
                f"{tuple(target_ids.shape)}"
            )
        if cache.state is None or cache.keys is None:
            backward = memory[:, 0, self.config.d_hidden :]  # has read all, to the left
            cache.state = torch.tanh(self.to_state(backward))
            cache.keys = self.attention.to_key(memory)
        embedded = self.dropout(self.output_embedding(target_ids))
        seen = []
        for y in embedded.unbind(dim=1):  # (B, D), one position at a time
            query = cache.state[:, None]  # (B, 1, Dh)
            context = self.attention.attend(
                query, cache.keys, memory, mask=source_mask
            )[:, 0]  # (B, 2 Dh)
            cache.state = self.decoder(torch.cat([y, context], dim=-1), cache.state)
            seen.append(torch.cat([cache.state, context, y], dim=-1))
        cache.length += len(seen)
        return self.dropout(torch.tanh(self.to_output(torch.stack(seen, dim=1))))

    def unembed(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V) logits."""
        return self.output_embedding.unembed(hidden)

    def new_cache(self) -> RecurrentCache:
        """An empty cache for `decode`."""
        return RecurrentCache()

    def n_parameters(self) -> int:
        """Number of learned parameters."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _check(self, ids: Tensor) -> None:
        """Check what the making of a mask, which checks the rest, cannot know."""
        config = self.config
        masks.check_fit(ids, vocab_size=config.vocab_size, max_len=config.max_len)
