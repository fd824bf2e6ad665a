"""What every way to decode shares: a batch of growing hypotheses, step by step.

Chapter 13.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
from torch import Tensor

from tformer import masks


class Seq2Seq(Protocol):
    """What decoding asks of a model. `tformer.Transformer` is one, and so is yours."""

    training: bool

    @property
    def config(self) -> Any:
        """Read of it: vocab_size, max_len, pad_id, bos_id, eos_id, unk_id."""

    def encode(self, source_ids: Tensor) -> Tensor:
        """Read the source once: (B, S) ids -> memory, its first axis B."""

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        source_mask: Tensor,
        cache: Any | None = None,
    ) -> Tensor:
        """(B, T) bos + pieces -> (B, T, D); with a cache, the one newest column."""

    def unembed(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V) logits."""

    def new_cache(self) -> Any:
        """What `decode` extends; has ``select(rows, same_sources=…)``."""

    def train(self, mode: bool = True) -> Any:
        """As every PyTorch module."""

    def eval(self) -> Any:
        """As every PyTorch module."""


class Stepper:
    """A batch of growing hypotheses and the model's view of what comes next.

    Args:
        model: any `Seq2Seq`.
        source_ids: (B, S) int64, pieces + eos, padded on the right.
        use_cache: whether the model keeps what it computed for earlier positions.

    Attributes:
        tokens: (rows, 1 + length) bos and the pieces so far.
    """

    def __init__(self, model: Seq2Seq, source_ids: Tensor, use_cache: bool) -> None:
        config = model.config
        self.model = model
        self.memory = model.encode(source_ids)
        self.source_mask = masks.source_mask(source_ids, config.pad_id)
        self.cache = model.new_cache() if use_cache else None
        self.tokens = torch.full_like(source_ids[:, :1], config.bos_id)
        self.never = torch.tensor(
            [config.pad_id, config.bos_id, config.unk_id], device=source_ids.device
        )

    @property
    def length(self) -> int:
        """Pieces in each hypothesis."""
        return self.tokens.size(1) - 1

    def log_probabilities(self) -> Tensor:
        """(rows, V) log p of each next piece; -infinity for what is never chosen."""
        tokens = self.tokens if self.cache is None else self.tokens[:, -1:]
        hidden = self.model.decode(tokens, self.memory, self.source_mask, self.cache)
        logits = self.model.unembed(hidden[:, -1]).float()
        return logits.log_softmax(dim=-1).index_fill(1, self.never, -torch.inf)

    def extend(self, rows: list[int], pieces: list[int], *, same_sources: bool) -> None:
        """Keep these rows, in this order, each with one more piece.

        Args:
            rows: which old row each new row continues.
            pieces: its next piece.
            same_sources: whether row i still translates what row i did before, which
                spares a copy of the memory.
        """
        device = self.tokens.device
        kept = torch.tensor(rows, dtype=torch.int64, device=device)
        column = torch.tensor(pieces, dtype=torch.int64, device=device)[:, None]
        self.tokens = torch.cat([self.tokens[kept], column], dim=1)
        if not same_sources:
            self.memory, self.source_mask = self.memory[kept], self.source_mask[kept]
        if self.cache is not None:
            self.cache.select(kept, same_sources=same_sources)


def check_call(model: Seq2Seq, source_ids: Tensor, max_len: int) -> int:
    """Check what came in; return the longest translation that also fits the model.

    Raises:
        TypeError: source_ids are not int64.
        ValueError: wrong shape, ids out of range, a row without a visible token,
            or max_len < 1.
    """
    config = model.config
    masks.check_ids(source_ids, vocab_size=config.vocab_size, pad_id=config.pad_id)
    if max_len < 1:
        raise ValueError(f"max_len={max_len} must be at least 1")
    return min(max_len, config.max_len - 1)


@contextmanager
def inference(model: Seq2Seq) -> Iterator[None]:
    """No gradients and no dropout, whatever mode the model is in; then as before."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)
