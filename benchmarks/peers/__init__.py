"""The programs that are compared, each behind the same four calls.

A peer is made from the same `Transformer`, so all hold equal weights; `make` builds one
by its name and imports nothing of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol

import torch
from torch import Tensor, nn

from tformer import Transformer

NAMES = {  # as printed; the order is that of the tables
    "torch_nn": "torch.nn.Transformer",
    "marian": "Hugging Face Marian",
    "ctranslate2_fp32": "CTranslate2, fp32",
    "ctranslate2_int8": "CTranslate2, int8",
    "tformer_plain": "tformer, as modules",
    "tformer": "tformer",
    "tformer_int8": "tformer, int8",
}
KINDS = ("fp32", "int8", "plain")  # the other half of some peers' names
TRAINED = ("torch_nn", "marian", "tformer")
SEARCHES = {  # who has which; torch.nn brings no search, so it gets the plain loop
    "greedy": tuple(NAMES),
    "beam": tuple(name for name in NAMES if name != "torch_nn"),
}


class Searcher(Protocol):
    """What translates: the same sources, exactly ``length`` pieces each."""

    def greedy(self, source_ids: Tensor, length: int) -> list[list[int]]:
        """The best piece at every step."""

    def beam(self, source_ids: Tensor, length: int, size: int) -> list[list[int]]:
        """The best hypothesis of a beam search."""


class Trainee(Protocol):
    """What learns: ``loss`` is differentiated, ``module`` holds the parameters."""

    module: nn.Module

    def loss(self, source_ids: Tensor, target_ids: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy with label smoothing, the mean over real labels."""


def make(name: str, model: Transformer):
    """The peer of this name, with the model's weights where it translates.

    Raises:
        ImportError: its package is not installed; `make bench` installs it.
    """
    module, _, kind = name.rpartition("_")
    if kind not in KINDS:
        return import_module(f"benchmarks.peers.{name}").build(model)
    return import_module(f"benchmarks.peers.{module}").build(model, kind)


class Learning:
    """One step of Adam at a time, the same for every peer."""

    def __init__(self, trainee: Trainee) -> None:
        self.trainee = trainee
        self.parameters = [*trainee.module.parameters()]
        self.adam = torch.optim.Adam(self.parameters, betas=(0.9, 0.98), fused=True)
        trainee.module.train()

    def step(self, source_ids: Tensor, target_ids: Tensor, labels: Tensor) -> Tensor:
        loss = self.trainee.loss(source_ids, target_ids, labels)
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        self.adam.step()
        return loss.detach()
