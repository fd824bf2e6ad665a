"""A step of training empties the gradients, and moves the weights."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.doctor._keep import as_found
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

ARGUMENT = "train_step"
APART = 0.5  # of the gradient: noise of dropout stays below


def examine(patient: Patient) -> Iterator[Finding]:
    """Make one step twice from the same weights, the second with old gradients."""
    if patient.train_step is None or patient.batches is None:
        missing = "train_step=…" if patient.train_step is None else "batches=…"
        raise Skip(f"{missing} was not given")
    parameters: list[Tensor] = list(patient.model.parameters())
    for each in parameters:
        each.grad = None
    left, moved = _step(patient, parameters)
    if not moved:
        yield Finding(
            code="step-moves-nothing",
            title="a step of training doesn't change the weights",
            tried="made one step and compared the weights.",
            seen="each is what it was.",
            means="nothing is learned.",
            look="backward() and optimizer.step(), a learning rate of 0 in the first "
            "step, an optimizer made for another model.",
            chapter="Training",
        )
    if not any(each is not None and bool(each.any()) for each in left):
        return  # emptied after the step, which is as good
    size = float(_flat(left).norm())
    with torch.random.fork_rng():
        torch.manual_seed(7)
        noise = [torch.randn_like(each) for each in parameters]
    scale = 10 * size / float(_flat(noise).norm())
    for each, other in zip(parameters, noise, strict=True):
        each.grad = other * scale
    again, _ = _step(patient, parameters)
    alike = float(torch.cosine_similarity(_flat(left), _flat(again), dim=0))
    for each in parameters:
        each.grad = None
    if alike < APART:
        yield Finding(
            code="gradients-never-zeroed",
            title="the gradients are never set to zero",
            tried="made one step, put other numbers in .grad, and made it once more.",
            seen="the gradients of the second step still have the old numbers in them "
            f"(their direction agrees by {alike:.0%}).",
            means="every step goes on in the direction of all earlier ones.",
            look="optimizer.zero_grad(), once for each step, before backward().",
            chapter="Training",
        )


def _step(
    patient: Patient, parameters: list[Tensor]
) -> tuple[list[Tensor | None], bool]:
    """The gradients that a step leaves, and whether it moved anything.

    Weights and the optimizer's state are put back.
    """
    assert patient.train_step is not None and patient.batches is not None
    optimizer: Any = patient.optimizer
    state = None if optimizer is None else copy.deepcopy(optimizer.state_dict())
    before = [each.detach().clone() for each in parameters]
    given = [each.grad for each in parameters]
    with as_found(patient.model):
        for each, grad in zip(parameters, given, strict=True):
            each.grad = grad
        patient.model.train()
        torch.manual_seed(3)
        batch = tuple(each.clone() for each in patient.batches[0])
        with torch.enable_grad():
            patient.train_step(patient.model, batch)
        left = [None if e.grad is None else e.grad.clone() for e in parameters]
        moved = any(
            not torch.equal(one, other)
            for one, other in zip(before, parameters, strict=True)
        )
    if optimizer is not None:
        optimizer.load_state_dict(state)
    return left, moved


def _flat(tensors: list[Any]) -> Tensor:
    return torch.cat([e.flatten().float() for e in tensors if e is not None])
