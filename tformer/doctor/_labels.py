"""What the labels ask: the next word or a masked one, and where nothing at all."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from tformer.doctor._patient import Patient, Skip

TRAINED = 0.7  # of what a uniform guess costs
FEW = 0.5  # of the words that are read: a language model is asked at each of them


def ignored(patient: Patient) -> int | None:
    """What the labels have where nothing is asked; None if there is no such thing."""
    if patient.ignore_index is not None:
        return patient.ignore_index
    for batch in patient.batches or ():
        if bool((batch[-1] < 0).any()):
            return int(batch[-1].min())
    return patient.pad_id


def asked(patient: Patient, labels: Tensor) -> Tensor:
    """Where labels ask for something."""
    nothing = ignored(patient)
    return labels >= 0 if nothing is None else (labels >= 0) & (labels != nothing)


def shift(patient: Patient) -> int:
    """By how many places the loss itself shifts the labels."""
    if patient.loss is None:
        return 0
    labels = patient.words(6, seed=71)
    with torch.enable_grad():
        logits = torch.zeros(1, 6, patient.plain.size(-1), requires_grad=True)
        value = patient.loss(logits.log_softmax(-1), labels.clone())
        value = value[0] if isinstance(value, tuple) else value
        (gradient,) = torch.autograd.grad(value, logits)
    for distance in (0, 1):
        at = torch.arange(6 - distance)
        pulled = gradient[0, at, labels[0, at + distance]]
        if bool((pulled < 0).all()):
            return distance
    return 0


def same(patient: Patient, distance: int, *, turned: bool = False) -> float:
    """The share of the labels that equal what is read, so many places further on.

    At the same place the first is left out, which the start sign has. If `turned`, the
    words of each row are read in reverse.
    """
    found = n = 0
    for batch in patient.batches or ():
        read, labels = batch[-2].cpu(), batch[-1].cpu()
        if turned:
            read = torch.stack([_reversed(patient, row) for row in read])
        if distance == 0:
            read, labels = read[:, 1:], labels[:, 1:]
        length = labels.size(1)
        here = slice(max(0, -distance), length - max(0, distance))
        there = slice(max(0, distance), length + min(0, distance))
        real = asked(patient, labels[:, here])
        if patient.pad_id is not None:  # the last label, the end, is never read
            real &= read[:, there] != patient.pad_id
        found += int((labels[:, here] == read[:, there])[real].sum())
        n += int(real.sum())
    return found / max(n, 1)


def _reversed(patient: Patient, row: Tensor) -> Tensor:
    """A row with its words in reverse, and its padding where it was."""
    real = row != (-1 if patient.pad_id is None else patient.pad_id)
    row = row.clone()
    row[real] = row[real].flip(0)
    return row


def cost(
    patient: Patient, source: Tensor | None, read: Tensor, labels: Tensor
) -> float:
    """The loss of a batch, with the labels shifted as far as the reader's loss does."""
    by = shift(patient)
    scores = patient.logits(source, read).log_softmax(dim=-1)
    scores, labels = scores[:, : scores.size(1) - by], labels[:, by:]
    real = asked(patient, labels)
    return float(F.cross_entropy(scores[real], labels[real]))


def asks_masked(patient: Patient) -> bool:
    """Whether the labels are words that were hidden from what is read."""
    if patient.batches is None or not patient.decoder_only or same(patient, 1) > FEW:
        return False
    n_read = n_asked = 0
    signs: list[int] = []
    for *_, read, labels in patient.batches:
        real = asked(patient, labels)
        n_read += read.numel()
        if patient.pad_id is not None:
            n_read -= int((read == patient.pad_id).sum())
        n_asked += int(real.sum())
        signs += read[real & (read != labels)].tolist()
    if not n_asked:
        return False
    common = max((signs.count(i) for i in set(signs)), default=0)
    return n_asked < FEW * n_read or (len(signs) > 2 and common > 0.7 * len(signs))


def writes(patient: Patient) -> bool | None:
    """Whether the model is meant to write, so that no word may see the next.

    Returns:
        None if nothing that was given says so.
    """
    if patient.bidirectional is not None:
        return not patient.bidirectional
    if asks_masked(patient):
        return False
    if not patient.decoder_only or patient.decode is not None:
        return True
    if patient.batches is not None and same(patient, 1) > FEW:
        return True
    try:
        if shift(patient) == 1:
            return True
    except (Skip, Exception):  # a loss of another kind says nothing
        return None
    return True if any(map(_is_causal_mask, patient.model.buffers())) else None


def _is_causal_mask(buffer: Tensor) -> bool:
    """Whether a buffer holds a square that is one thing above its diagonal only."""
    if buffer.dim() < 2 or not 1 < buffer.size(-1) == buffer.size(-2):
        return False
    square = buffer.reshape(-1, *buffer.shape[-2:])[0]
    above = square[torch.triu(torch.ones_like(square, dtype=torch.bool), 1)]
    below = square[torch.tril(torch.ones_like(square, dtype=torch.bool))]
    is_even = len(above.unique()) == len(below.unique()) == 1
    return is_even and bool(above[0] != below[0])
