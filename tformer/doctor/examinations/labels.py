"""Each position is asked for the next word."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare what the decoder reads with the labels, at several distances."""
    if patient.batches is None:
        raise Skip("no batches were given (batches=…)")
    shares = {}
    for distance in (-1, 0, 1, 2):
        same = n = 0
        for batch in patient.batches:
            read, labels = batch[-2].cpu(), batch[-1].cpu()
            length = labels.size(1)
            here = slice(max(0, -distance), length - max(0, distance))
            there = slice(max(0, distance), length + min(0, distance))
            real = labels[:, here] >= 0
            if patient.pad_id is not None:
                real &= labels[:, here] != patient.pad_id
                real &= read[:, there] != patient.pad_id
            same += int((labels[:, here] == read[:, there])[real].sum())
            n += int(real.sum())
        shares[distance] = same / max(n, 1)
    best = max(shares, key=lambda d: shares[d])
    if shares[1] > 0.9 or shares[best] < 0.9:
        if shares[best] < 0.9:
            raise Skip("the labels are not what the decoder reads, shifted")
        best = 1
    ahead = best + _inside(patient)
    if ahead == 1:
        return
    yield Finding(
        code="labels-not-shifted" if ahead == 0 else "labels-shifted-wrongly",
        title="the label of each position is the word that it reads"
        if ahead == 0
        else "the labels are shifted by the wrong distance",
        tried="compared labels and decoder inputs at several distances.",
        seen=f"{shares[best]:.0%} of the labels equal the input {best} places later, "
        f"{shares[1]:.0%} the next one.",
        means="the model learns to copy its input: the loss falls to 0, and nothing "
        "can be written with it."
        if ahead == 0
        else "the model learns to predict a word that isn't the next one, and its "
        "decoding loop asks for the next.",
        look="inputs ids[:, :-1], labels ids[:, 1:], shifted once, in one place.",
        chapter="Data",
    )


def _inside(patient: Patient) -> int:
    """By how many places the loss itself shifts the labels."""
    if patient.loss is None:
        return 0
    n = patient.plain.size(-1)
    labels = patient.words(6, seed=71)
    with torch.enable_grad():
        logits = torch.zeros(1, 6, n, requires_grad=True)
        value = patient.loss(logits.log_softmax(-1), labels)
        (slope,) = torch.autograd.grad(value, logits)
    for distance in (0, 1):
        at = torch.arange(6 - distance)
        pulled = slope[0, at, labels[0, at + distance]]
        if bool((pulled < 0).all()):
            return distance
    return 0
