"""Hugging Face's ``MarianMTModel`` with its own ``generate``."""

from __future__ import annotations

import logging
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is to be fetched

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import MarianConfig, MarianMTModel

from tformer import Transformer
from tformer.interop.hugging_face import _configuration
from tformer.interop.layout import in_halves, their_name
from tformer.translator.weights import stored_weights

logging.getLogger("transformers").setLevel(logging.ERROR)


def build(model: Transformer) -> Marian:
    return Marian(model)


class Marian:
    def __init__(self, model: Transformer) -> None:
        self.config = config = model.config
        self.module = MarianMTModel(MarianConfig(**_configuration(config)))
        ours = stored_weights(model, torch.float32)
        theirs = {
            their_name(name, tied=config.tie_embeddings): in_halves(name, weight)
            for name, weight in ours.items()
        }
        _, unknown = self.module.load_state_dict(theirs, strict=False)
        assert not unknown, unknown

    def loss(self, source_ids: Tensor, target_ids: Tensor, labels: Tensor) -> Tensor:
        logits = self.module(
            input_ids=source_ids,
            attention_mask=source_ids != self.config.pad_id,
            decoder_input_ids=target_ids,
            use_cache=False,
        ).logits
        return F.cross_entropy(
            logits.flatten(0, 1),
            labels.flatten(),
            ignore_index=self.config.pad_id,
            label_smoothing=0.1,
        )

    def greedy(self, source_ids: Tensor, length: int) -> list[list[int]]:
        return self.beam(source_ids, length, size=1)

    @torch.inference_mode()
    def beam(self, source_ids: Tensor, length: int, size: int) -> list[list[int]]:
        config = self.config
        # As by the others, neither eos nor any other special piece is written.
        never = [config.pad_id, config.bos_id, config.unk_id, config.eos_id]
        self.module.final_logits_bias[:, never] = -torch.inf
        found = self.module.eval().generate(
            input_ids=source_ids,
            attention_mask=source_ids != self.config.pad_id,
            num_beams=size,
            do_sample=False,
            max_new_tokens=length,
        )
        return found[:, 1:].tolist()
