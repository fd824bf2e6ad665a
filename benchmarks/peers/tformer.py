"""This package, as `tformer.train` and `tformer.decode` use it."""

from __future__ import annotations

from torch import Tensor

from tformer import Transformer, decode
from tformer.fast.training import faster_products
from tformer.loss import projected_cross_entropy


def build(model: Transformer, kind: str = "fp32") -> Ours:
    if kind == "plain":  # a model that is watched decodes by its modules
        model.register_forward_hook(lambda *given: None)
    return Ours(model, "int8" if kind == "int8" else "float32")


class Ours:
    def __init__(self, model: Transformer, precision: str) -> None:
        self.module, self.precision = model, precision
        self.hidden = model.hidden
        self.n_labels: int | None = None  # counted, if not known

    def loss(self, source_ids: Tensor, target_ids: Tensor, labels: Tensor) -> Tensor:
        with faster_products(self.module, source_ids.numel())():
            return projected_cross_entropy(
                self.hidden(source_ids, target_ids),
                self.module.output_embedding.weight,
                labels,
                pad_id=self.module.config.pad_id,
                smoothing=0.1,
                n_labels=self.n_labels,
            )

    def greedy(self, source_ids: Tensor, length: int) -> list[list[int]]:
        return decode.greedy(
            self.module, source_ids, max_len=length, precision=self.precision
        )

    def beam(self, source_ids: Tensor, length: int, size: int) -> list[list[int]]:
        return decode.beam_search(
            self.module,
            source_ids,
            beam_size=size,
            max_len=length,
            precision=self.precision,
        )
