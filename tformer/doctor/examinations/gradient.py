"""What a gradient says of a word's vector is what happens when that vector moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from tformer.doctor import _anatomy
from tformer.doctor._patient import AMPLIFIED, SEED, Patient, Skip
from tformer.doctor._watch import storage
from tformer.doctor.report import Finding

CHAPTER = "Training"
STEP = 0.01  # of the vectors' size
TRIES = 2  # directions
Slopes = list[tuple[float, float]]  # each as measured, and as the gradient says
APART = 0.1  # of a slope: bends stay below
COARSE = 1e-5  # no slope can be measured with such rounding


class Nudge(TorchFunctionMode):
    """Adds something to the vectors of these ids, where they are looked up.

    Attributes:
        tables: those in which they were.
    """

    def __init__(self, ids: Tensor, by: Tensor | None) -> None:
        super().__init__()
        self.ids, self.by = ids.flatten().tolist(), by
        self.tables: list[Tensor] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if func is not F.embedding or args[0].flatten().tolist() != self.ids:
            return out
        self.tables.append(args[1] if len(args) > 1 else kwargs["weight"])
        return out if self.by is None else out + self.by.view_as(out)


def examine(patient: Patient) -> Iterator[Finding]:
    """Move the vectors of one side's words a little, and compare loss and gradient."""
    patient.has_numbers()
    if patient.epsilon > COARSE:
        raise Skip("the model computes too coarsely to measure a slope")
    judged = 0
    sides = (("source", patient.source()), ("target", patient.target()))
    measured = [(side, _slopes(patient, ids)) for side, ids in sides if ids is not None]
    for side, slopes in [*measured, ("output", _output_slopes(patient))]:
        if slopes is None:
            continue
        judged += 1
        least = AMPLIFIED * patient.noise * float(patient.plain.std())
        if all(abs(a - b) > max(least, APART * max(abs(a), abs(b))) for a, b in slopes):
            is_none = not any(b for _, b in slopes)
            a, b = slopes[0]
            yield Finding(
                code="gradient-cut",
                title=f"the {side}'s words get "
                + ("no gradient" if is_none else "only a part of their gradient"),
                tried=f"moved the vectors of the {side}'s words in {TRIES} directions, "
                "and compared the loss with its gradient.",
                seen=f"along the first the loss rises by {a:.2g} a step, and the "
                f"gradient says {b:.2g}.",
                means="a table that is shared learns from its other uses alone."
                if is_none or side == "output"
                else "training goes another way than downhill.",
                look="detach(), .data, torch.no_grad(), or a new tensor made of old "
                "numbers, between the look-up and the logits.",
                design=""
                if is_none or side == "output"
                else "That is right where a gradient is cut on purpose, or where a "
                'choice of experts jumps (accept=["gradient-cut"]).',
            )
            return
    if not judged:
        raise Skip(
            "no look-up of words that are trained was seen, or the loss bends there"
        )


def _slopes(patient: Patient, ids: Tensor) -> Slopes | None:
    """Measured slopes of the loss, and the gradient's; None if these say nothing."""
    seen = Nudge(ids, None)
    with seen:
        patient.logits(patient.source(), patient.target())
    if len(seen.tables) != 1 or not seen.tables[0].requires_grad:
        return None
    [table] = seen.tables
    by = table.new_zeros(ids.numel(), table.size(1)).requires_grad_()
    with torch.enable_grad():
        gradient, own = torch.autograd.grad(
            _loss(patient, ids, by), [by, table], allow_unused=True
        )
    if own is None:
        return None  # another examination names a table without any gradient
    size = STEP * float(table.detach().std())
    return _compared(lambda way: _loss(patient, ids, way), by, gradient, size)


def _output_slopes(patient: Patient) -> Slopes | None:
    """The same for the table of words as output projection, if it is both."""
    ops, _ = patient.watch(patient.source(), patient.target())
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    tables = {storage(each.op.inputs[0].tensor) for each in patient.lookups()}
    if last is not None:
        tables &= {storage(each.tensor) for each in last.inputs}
    own = [each for each in patient.model.parameters() if storage(each) in tables]
    if last is None or len(own) != 1 or not own[0].requires_grad:
        return None
    [table] = own
    kept = table.detach().clone()

    def loss(way: Tensor) -> Tensor:
        with torch.no_grad():
            table.add_(way)
        value = _loss(patient, patient.target(), None)
        with torch.no_grad():
            table.copy_(kept)
        return value

    with torch.enable_grad():
        value = _loss(patient, patient.target(), None)
        (gradient,) = torch.autograd.grad(value, table, allow_unused=True)
    return _compared(loss, table, gradient, STEP * float(kept.std()))


def _compared(
    loss: Callable[[Tensor], Tensor], at: Tensor, gradient: Tensor | None, size: float
) -> Slopes | None:
    """The slopes along some directions; None if the loss bends too much there."""
    gradient = torch.zeros_like(at) if gradient is None else gradient
    generator = torch.Generator().manual_seed(SEED)
    slopes = []
    for _ in range(TRIES):
        way = size * torch.randn(at.shape, generator=generator).to(at)
        with torch.no_grad():
            up, half, less, down = (float(loss(way * s)) for s in (1, 0.5, -0.5, -1))
        if abs(up - down - 2 * (half - less)) > APART / 3 * abs(up - down):
            return None
        slopes.append(((up - down) / 2, float((gradient * way).sum())))
    return slopes


def _loss(patient: Patient, ids: Tensor, by: Tensor | None) -> Tensor:
    patient.model.eval()
    torch.manual_seed(SEED)
    with Nudge(ids, by):
        logits = patient.run(patient.source(), patient.target()).double()
    labels = patient.words(patient.n_target, seed=51).to(logits.device)
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())
