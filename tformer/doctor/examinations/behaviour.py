"""A trained model reads its source, and neither copies nor repeats itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.examinations import decoding
from tformer.doctor.report import Finding, Remark

TRAINED = 0.7  # of the loss of a model that knows nothing
WORSE = 1.5  # times that loss: not ignorant, but wrong
ROWS = 12


def examine(patient: Patient) -> Iterator[Finding | Remark]:
    """Exchange the sources of a batch, and read what the model writes."""
    if patient.batches is None:
        raise Skip("no batches were given (batches=…)")
    patient.has_numbers()
    *sources, read, labels = (each.cpu() for each in patient.batches[0])
    source = sources[0] if sources else None
    own = _loss(patient, source, read, labels)
    nothing = math.log(patient.plain.size(-1))
    if own > WORSE * nothing:
        yield Remark(
            f"the loss of your first batch is {own:.1f}, and a model that knows "
            f"nothing has ln {patient.plain.size(-1)} = {nothing:.1f}: if yours is "
            "untrained, it begins with weights that are too large (a table that is "
            "also the output projection wants a spread of about 1/√d_model)"
        )
    if source is None:
        raise Skip("a decoder-only model has no source")
    if own > TRAINED * nothing:
        raise Skip(
            f"the model is not trained (its loss is {own:.2f}; knowing nothing costs "
            f"{nothing:.2f})"
        )
    changed = _loss(patient, source.roll(1, dims=0), read, labels)
    if changed - own < 0.02 * own + 0.02 and len(source.unique(dim=0)) > 1:
        yield Finding(
            code="source-unused",
            title="the trained model hardly reads its source",
            tried="gave every target the source of its neighbour.",
            seen=f"the loss went from {own:.3f} to {changed:.3f}.",
            means="it has learned to continue the target, whatever the source says: "
            "a low loss, and fluent nonsense.",
            look="leaks (the answer in the decoder's input), the cross-attention's "
            "mask, pairs that don't belong together.",
            chapter="When training fails",
            because=(
                "ignores-source", "future-leak", "mask-off-by-one", "mask-inverted",
                "labels-not-shifted", "keys-from-wrong-side",
            ),
        )  # fmt: skip
    if patient.decode is not None:
        yield from _writing(patient, source, labels)


def _loss(
    patient: Patient, source: Tensor | None, read: Tensor, labels: Tensor
) -> float:
    scores = patient.logits(source, read).log_softmax(dim=-1)
    ignored = -1 if patient.pad_id is None else patient.pad_id
    return float(
        F.cross_entropy(scores.flatten(0, 1), labels.flatten(), ignore_index=ignored)
    )


def _writing(patient: Patient, source: Tensor, labels: Tensor) -> Iterator[Finding]:
    rows = [_real(patient, row) for row in source[:ROWS].tolist()]
    wanted = [_real(patient, row) for row in labels[:ROWS].tolist()]
    said = [
        _real(patient, decoding._write(patient, torch.tensor([row])).words)
        for row in rows
    ]
    n = len(rows)
    copies = sum(a == b and a != c for a, b, c in zip(said, rows, wanted, strict=True))
    loops = sum(_loops(a) and not _loops(c) for a, c in zip(said, wanted, strict=True))
    if copies > n / 2:
        yield Finding(
            code="copies-source",
            title="the model copies its source",
            tried=f"let it write for {n} sources.",
            seen=f"{copies} outputs are the source, word for word, and not what the "
            "labels say.",
            means="it was trained on pairs whose sides are alike, or decodes into the "
            "wrong language.",
            look="the pairs: is the target there, or the source twice?",
            chapter="When training fails",
        )
    elif loops > n / 2:
        yield Finding(
            code="repeats-itself",
            title="the model repeats itself",
            tried=f"let it write for {n} sources.",
            seen=f"{loops} outputs end in a loop, such as {said[0][-8:]}.",
            means="the more often a word has been written, the likelier it gets; a "
            "model that doesn't know what it has covered is caught in a loop.",
            look="whatever else this report says; then train longer.",
            chapter="When training fails",
            because=("no-positions", "future-leak", "mask-off-by-one"),
        )


def _real(patient: Patient, row: list[int]) -> list[int]:
    return [i for i in row if i not in patient.special]


def _loops(row: list[int]) -> bool:
    """Whether a row ends with the same one, two or three words, three times over."""
    return any(
        len(row) >= 3 * n + 2 and row[-n:] == row[-2 * n : -n] == row[-3 * n : -2 * n]
        for n in (1, 2, 3)
    )
