"""CTranslate2, an engine in C++ for translating only, with our weights."""

from __future__ import annotations

import tempfile
from typing import Any

import ctranslate2
from torch import Tensor

from tformer import Transformer
from tformer.interop.ctranslate2 import _filled


def build(model: Transformer, kind: str) -> Engine:
    return Engine(model, {"fp32": "float32", "int8": "int8"}[kind])


class Engine:
    def __init__(self, model: Transformer, compute_type: str) -> None:
        self.config = model.config
        with tempfile.TemporaryDirectory() as folder:
            spec(model).save(folder)
            self.engine = ctranslate2.Translator(
                folder,
                device="cpu",
                compute_type=compute_type,
                inter_threads=1,
                intra_threads=1,
            )

    def greedy(self, source_ids: Tensor, length: int) -> list[list[int]]:
        return self.beam(source_ids, length, size=1)

    def beam(self, source_ids: Tensor, length: int, size: int) -> list[list[int]]:
        texts = [
            [str(each) for each in row if each != self.config.pad_id]
            for row in source_ids.tolist()
        ]
        found = self.engine.translate_batch(
            texts,
            beam_size=size,
            min_decoding_length=length,
            max_decoding_length=length,
            length_penalty=0.6,
        )
        return [[int(each) for each in row.hypotheses[0]] for row in found]


def spec(model: Transformer) -> Any:
    """The model as our export describes it; its pieces are called by their ids."""
    config = model.config
    spec = _filled(model)
    pieces = [str(each) for each in range(config.vocab_size)]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    for name in ("bos", "eos", "unk"):
        setattr(spec.config, f"{name}_token", str(getattr(config, f"{name}_id")))
    spec.config.decoder_start_token = spec.config.bos_token
    spec.config.add_source_eos = False
    spec.validate()
    return spec
