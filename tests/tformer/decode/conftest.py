"""Models that are no Transformer, and one whose answers are known."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn


class Bigram(nn.Module):
    """The least that can be decoded: each piece depends on the one before it alone.

    Args:
        logits: (V, V); row i scores what follows piece i.
    """

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.config = SimpleNamespace(
            vocab_size=len(logits), max_len=32, pad_id=0, bos_id=1, eos_id=2, unk_id=3
        )
        self.logits = nn.Parameter(logits)
        self.calls: list[tuple[int, ...]] = []

    def encode(self, source_ids):
        return source_ids.float()[:, :, None]

    def decode(self, target_ids, memory, source_mask, cache=None):
        assert len(target_ids) == len(memory) == len(source_mask)
        assert cache is None or target_ids.size(1) == 1
        self.calls.append(tuple(target_ids.shape))
        return nn.functional.one_hot(target_ids, len(self.logits)).to(self.logits.dtype)

    def unembed(self, hidden):
        return hidden @ self.logits

    def new_cache(self):
        return SimpleNamespace(select=lambda rows, same_sources: None)


@pytest.fixture
def bigram() -> Callable[..., Bigram]:
    """``bigram(vocab_size=8, seed=0)``: random logits, eos not rare."""

    def bigram(vocab_size: int = 8, seed: int = 0) -> Bigram:
        generator = torch.Generator().manual_seed(seed)
        return Bigram(torch.randn(vocab_size, vocab_size, generator=generator))

    return bigram
