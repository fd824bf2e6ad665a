"""Several small batches give the gradient of one large batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tformer.doctor._labels import asked
from tformer.doctor._patient import Patient, Skip
from tformer.doctor._watch import name_of_op
from tformer.doctor.examinations.loss import not_averaged, summed
from tformer.doctor.report import Finding

CHAPTER = "Training"
ARGUMENT = "gradients"


def examine(patient: Patient) -> Iterator[Finding]:
    """Accumulate two unequal halves of a batch, then the whole, and compare."""
    if patient.gradients is None or patient.batches is None:
        missing = "gradients=…" if patient.gradients is None else "batches=…"
        raise Skip(f"{missing} was not given")
    patient.has_numbers()
    batch = patient.batches[0]
    words = asked(patient, batch[-1]).sum(dim=1)
    half = len(words) // 2
    if half == 0:
        raise Skip("the first batch has a single row")
    order = words.argsort()
    short = tuple(each[order[:half]] for each in batch)
    long = tuple(each[order[-half:]] for each in batch)
    whole = tuple(torch.cat(both) for both in zip(short, long, strict=True))
    at_once, again = (_gradient(patient, [whole], seed) for seed in (1, 2))
    if float((at_once - again).norm()) > max(1e-4, patient.epsilon) * float(
        at_once.norm()
    ):
        raise Skip("the gradients vary by chance (is dropout on?)")
    parts = _gradient(patient, [short, long], 1)
    times = float(parts @ at_once / (at_once @ at_once))
    apart = float((parts - times * at_once).norm() / parts.norm())
    counts = f"{int(words[order[:half]].sum())} and {int(words[order[-half:]].sum())}"
    last = _gradient(patient, [long], 1)
    share = float(torch.cosine_similarity(parts, last, dim=0))
    limit = max(1e-3, 30 * patient.epsilon)
    tried = f"accumulated two halves of a batch, with {counts} words, and the whole."
    if apart > limit and share > 1 - limit**2:
        yield Finding(
            code="accumulation-keeps-last",
            title="of several small batches only the last one counts",
            tried=tried,
            seen="the gradient of the halves has the direction of the second one's.",
            means="all but the last batch are computed for nothing.",
            look="backward() inside the loop over the small batches, and zero_grad() "
            "before it, once.",
        )
    elif (grows := not_averaged(patient)) is not None and times < 0.9:
        yield dataclasses.replace(summed(*grows), design="")
    elif apart > limit and abs(times - 2) > 0.2:
        yield _not_weighted(patient, tried, apart)
    elif abs(times - 1) > 0.02:
        yield Finding(
            code="accumulation-not-averaged",
            title="accumulating changes the size of the gradient",
            tried=tried,
            seen=f"the gradient of the halves is {times:.2f} times that of the whole.",
            because=("loss-not-averaged",),
            means="steps change with the number of parts. Adam evens that out; plain "
            "gradient descent and clipping don't.",
            look="divide each loss by the number of parts, or by all words."
            if times > 1
            else "what is divided twice: by all words, and by the number of parts.",
        )


def _not_weighted(patient: Patient, tried: str, apart: float) -> Finding:
    grows = not_averaged(patient)
    is_sum = grows is not None
    seen = f"the two gradients differ in direction, by {apart:.1%} of their length."
    if grows is not None:
        seen += f" With twice the rows the loss is {grows[0]:.2g} times as large, with"
        seen += f" rows twice as long {grows[1]:.2g} times."
    return Finding(
        code="loss-not-averaged" if is_sum else "accumulation-not-weighted",
        title="the loss is no mean over words, and its parts are weighted as if it were"
        if is_sum
        else "accumulated batches are not weighted by their words",
        tried=tried,
        seen=seen,
        means="a sum has as many terms as there are words: weighted by words once "
        "more, long batches count twice."
        if is_sum
        else "a mean of means: words in short batches count more than words in long "
        "ones, and the result depends on how the batches are cut.",
        look='reduction="mean" in the loss, or sums and one division at the end.'
        if is_sum
        else "sum the losses and divide by the words of all parts together.",
        because=(
            "batch-leak", "heads-split-wrongly", "heads-merged-wrongly",
            "norm-wrong-axis", "positions-along-batch", "mask-of-another-row",
            "loss-over-padding", "loss-misaligned", "loss-wrong-axis",
        ),
    )  # fmt: skip


class NoDropout(TorchDispatchMode):
    """Nothing is struck out, whatever the mode of the model."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = name_of_op(func)
        if name == "bernoulli_" and len(args) > 1:
            return args[0].fill_(args[1])  # by which the mask is then divided
        if name == "native_dropout":
            return args[0].clone(), torch.ones_like(args[0], dtype=torch.bool)
        if name == "native_dropout_backward":
            return args[0].clone()
        return func(*args, **(kwargs or {}))


def _gradient(patient: Patient, parts: list[tuple[Tensor, ...]], seed: int) -> Tensor:
    assert patient.gradients is not None
    model = patient.model.eval()  # `gradients` may switch to training itself
    for each in model.parameters():
        each.grad = None
    torch.manual_seed(seed)
    with torch.enable_grad(), NoDropout():
        patient.gradients(model, [tuple(e.clone() for e in part) for part in parts])
    grads = [p.grad.flatten().double() for p in model.parameters()
             if p.grad is not None]  # fmt: skip
    for each in model.parameters():
        each.grad = None
    if not grads:
        raise Skip("gradients(model, batches) left nothing in .grad")
    return torch.cat(grads)
