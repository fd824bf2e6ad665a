"""No row of a batch depends on another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient
from tformer.doctor.report import Finding

CHAPTER = "Attention"
Pair = tuple[Tensor | None, Tensor]  # source and target ids

SPOILED = ("dropout-while-evaluating",)


def examine(patient: Patient) -> Iterator[Finding]:
    """Put a row among others, exchange these, shorten them, and change its place."""
    patient.has_numbers()
    alone = patient.plain[0]
    mine = patient.source(), patient.target()
    one = patient.source(11, rows=2), patient.target(12, rows=2)
    two = patient.source(13, rows=2), patient.target(14, rows=2)

    first = patient.logits(*_joined(mine, one))[0]
    content = _apart(patient, first, patient.logits(*_joined(mine, two))[0])
    if content > patient.tolerance:
        yield Finding(
            code="batch-leak",
            title="a row of the batch depends on the words of the others",
            tried="ran one row twice, beside different rows of the same lengths.",
            seen=f"its logits moved by up to {content:.2g}.",
            means="sentences see each other, so the same sentence gets a different "
            "translation in a different batch, and training can cheat.",
            look="which axis is the batch: attention or a norm along it, a transpose "
            "or view that mixes batch and sequence, batch_first.",
            because=(
                *SPOILED, "heads-split-wrongly", "heads-merged-wrongly",
                "softmax-wrong-axis", "norm-wrong-axis",
            ),
        )  # fmt: skip
        return
    if patient.pad_id is not None:
        shorter = _shortened(patient, one)
        moved = [
            _apart(patient, first, patient.logits(*_joined(mine, shorter))[0]),
            _apart(
                patient,
                patient.logits(*_joined(one, mine))[-1],
                patient.logits(*_joined(shorter, mine))[-1],
            ),
        ]
        if max(moved) > patient.tolerance:
            is_first = moved[0] > patient.tolerance
            where = _masked(patient, mine, (one, two, shorter), is_first=is_first)
            yield Finding(
                code="mask-of-another-row",
                title="a row is masked by the length of another row",
                tried="ran one row twice, once with its neighbours shortened and "
                "padded.",
                seen=f"its logits moved by up to {max(moved):.2g}, though its own "
                "words and length stayed the same"
                + (f"; some of its words were hidden in {where}." if where else "."),
                means="the padding mask is broadcast along the wrong axis or repeated "
                "in the wrong order, so words of one row are hidden where another row "
                "has padding.",
                look="how a mask (B, S) becomes (B, H, T, S): unsqueeze axes 1 and 2; "
                "if heads are folded into the batch, repeat_interleave, not repeat.",
                chapter="Masks",
                because=SPOILED,
            )
            return
    last = patient.logits(*_joined(one, mine))[-1]
    place = max(_apart(patient, first, last), _apart(patient, first, alone))
    if place > patient.tolerance:
        yield Finding(
            code="positions-along-batch",
            title="a row depends on its place in the batch",
            tried="ran one row alone, as the first of three, and as the last.",
            seen=f"its logits moved by up to {place:.2g}.",
            means="positions number the rows of the batch instead of the words, so "
            "the model doesn't know the order of the words.",
            look="the axis along which positions are added: pe[: x.size(0)] is for "
            "(T, B, D), pe[:, : x.size(1)] for (B, T, D).",
            chapter="Positions",
            because=SPOILED,
        )


def _shortened(patient: Patient, pair: Pair) -> Pair:
    """The first three words of each side, and padding if that side has any."""
    source, target = pair
    if source is not None and patient.pads[0] is not None:
        source = patient.padded(source[:, :3], source.size(1), side=0)
    return source, patient.padded(target[:, :3], target.size(1))


def _masked(
    patient: Patient, mine: Pair, others: Sequence[Pair], *, is_first: bool
) -> str:
    """Where words of a row are hidden as soon as the rows beside it are shorter.

    Args:
        patient: the model.
        mine: the row.
        others: rows beside it: two of full length, then shorter ones.
        is_first: whether the row comes before the others.
    """
    one, two, shorter = (
        patient.watch(*(_joined(mine, e) if is_first else _joined(e, mine)))[1]
        for e in others
    )
    found = []
    for a, b, c in zip(one, two, shorter, strict=False):
        if a.weights.shape == b.weights.shape == c.weights.shape:
            own = (a.weights - b.weights).abs().amax(dim=(-2, -1)) < 1e-6
            if bool(((c.weights[own] < 1e-9) & (a.weights[own] > 1e-6)).any()):
                found.append(a.softmax)
    return _anatomy.places(found)


def _joined(*parts: Pair) -> tuple[Tensor | None, Tensor]:
    sources = [each[0] for each in parts if each[0] is not None]
    targets = [each[1] for each in parts if each[1] is not None]
    return torch.cat(sources) if sources else None, torch.cat(targets)


def _apart(patient: Patient, one: Tensor, other: Tensor) -> float:
    return float(patient.moved(one, other).max())
