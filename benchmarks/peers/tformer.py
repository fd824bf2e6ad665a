"""This package, as `tformer.train` and `tformer.decode` use it."""

from __future__ import annotations

from torch import Tensor

from tformer import Transformer, decode
from tformer.loss import projected_cross_entropy


def build(model: Transformer) -> Ours:
    return Ours(model)


class Ours:
    def __init__(self, model: Transformer) -> None:
        self.module = model
        self.hidden = model.hidden
        self.n_labels: int | None = None  # counted, if not known

    def loss(self, source_ids: Tensor, target_ids: Tensor, labels: Tensor) -> Tensor:
        return projected_cross_entropy(
            self.hidden(source_ids, target_ids),
            self.module.output_embedding.weight,
            labels,
            pad_id=self.module.config.pad_id,
            smoothing=0.1,
            n_labels=self.n_labels,
        )

    def greedy(self, source_ids: Tensor, length: int) -> list[list[int]]:
        return decode.greedy(self.module, source_ids, max_len=length)

    def beam(self, source_ids: Tensor, length: int, size: int) -> list[list[int]]:
        return decode.beam_search(
            self.module, source_ids, beam_size=size, max_len=length
        )
