"""A trained model reads its source, and neither copies nor repeats itself."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._labels import TRAINED, cost
from tformer.doctor._loop import Loop
from tformer.doctor._patient import Patient, Skip
from tformer.doctor._watch import storage
from tformer.doctor.report import INITIAL, Finding, Remark

CHAPTER = "When training fails"
WORSE = 1.5  # times that: not ignorant, but wrong
LARGE = 1.5  # times the usual standard deviation of a table
SURE = 3  # times that, and times what a uniform guess costs
ROWS = 12


def examine(patient: Patient) -> Iterator[Finding | Remark]:
    """Exchange the sources of a batch, and read what the model writes."""
    if patient.batches is None:
        raise Skip("batches=… was not given")
    patient.has_numbers()
    *sources, read, labels = (each.cpu() for each in patient.batches[0])
    source = sources[0] if sources else None
    own = cost(patient, source, read, labels)
    nothing = math.log(patient.plain.size(-1))
    if own > WORSE * nothing:
        yield _costly(patient, source, read, own)
    if source is None:
        raise Skip("a decoder-only model has no source")
    if own > TRAINED * nothing:
        raise Skip(
            f"the model is not trained (its loss is {own:.2f}, and a uniform guess "
            f"costs {nothing:.2f})"
        )
    changed = cost(patient, source.roll(1, dims=0), read, labels)
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
            because=(
                "ignores-source", "future-leak", "mask-off-by-one", "mask-inverted",
                "labels-not-shifted", "keys-from-wrong-side",
            ),
        )  # fmt: skip
    if patient.decode is not None:
        yield from _writing(patient, source, labels)


def _costly(
    patient: Patient, source: Tensor | None, read: Tensor, own: float
) -> Finding | Remark:
    """What is known of a first loss that is worse than a uniform guess."""
    n = patient.plain.size(-1)
    said = (
        f"the loss of your first batch is {own:.1f}, and a uniform guess costs ln {n} "
        f"= {math.log(n):.1f}. If the model is untrained, "
    )
    ops, _ = patient.watch(patient.source(), patient.target())
    last = _anatomy.unembedding(ops, n)
    tables = [each.op.inputs[0] for each in patient.lookups(1)]
    shared = [
        each.tensor
        for each in (last.inputs if last is not None else [])
        if each.is_parameter
        and any(storage(each.tensor) == storage(table.tensor) for table in tables)
    ]
    logits = patient.logits(source, read)
    words = read != (-1 if patient.pad_id is None else patient.pad_id)
    copied = float((logits.argmax(-1) == read)[words].double().mean())
    usual = tables[0].tensor.size(-1) ** -0.5 if tables else 0.0
    if shared and (spread := float(shared[0].detach().std())) > LARGE * usual:
        return _too_large(own, n, spread, usual)
    if copied > 0.5:
        return Remark(
            f"{said}that is because the residual stream carries each word to the "
            f"output: at {copied:.0%} of the positions the likeliest next word is the "
            "one just read. That is no fault, and training undoes it"
        )
    return Remark(
        f"{said}its first logits are larger than they need to be (their standard "
        f"deviation is {float(patient.plain.std()):.2g})"
    )


def _too_large(own: float, n: int, spread: float, usual: float) -> Finding:
    sure = own > SURE * math.log(n) and spread > SURE * usual
    return Finding(
        code="logits-too-large",
        title="the table of words is too large to be the output projection",
        tried="computed the loss of your first batch.",
        seen=f"it is {own:.1f}, and a uniform guess costs ln {n} = {math.log(n):.1f}; "
        f"the table's standard deviation is {spread:.2g}, where about 1/√d_model = "
        f"{usual:.2g} is usual.",
        means="the model begins sure and wrong, and has to unlearn that first.",
        look="the table's initialisation, or multiply the logits by 1/√d_model, as T5 "
        "does.",
        chapter="Embeddings",
        because=INITIAL,
        design="" if sure else "That may come of training, too.",
    )


def _writing(patient: Patient, source: Tensor, labels: Tensor) -> Iterator[Finding]:
    rows = [_real(patient, row) for row in source[:ROWS].tolist()]
    wanted = [_real(patient, row) for row in labels[:ROWS].tolist()]
    loop = Loop(patient)
    said = [_real(patient, loop.write(torch.tensor([row])).words) for row in rows]
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
        )
    elif loops > n / 2:
        yield Finding(
            code="repeats-itself",
            title="the model repeats itself",
            tried=f"let it write for {n} sources.",
            seen=f"{loops} outputs end in a loop, such as {said[0][-8:]}.",
            means="the more often a word has been written, the likelier it gets; a "
            "model that doesn't know what it has covered is caught in a loop.",
            look="the other findings of this report; then train longer.",
            because=(
                "no-positions",
                "scores-all-equal",
                "future-leak",
                "mask-off-by-one",
            ),
            design="A sound model does so, too, before it has trained for long "
            '(accept=["repeats-itself"]).',
        )


def _real(patient: Patient, row: list[int]) -> list[int]:
    return [i for i in row if i not in patient.special]


def _loops(row: list[int]) -> bool:
    """Whether a row ends with the same one, two or three words, three times over."""
    return any(
        len(row) >= 3 * n + 2 and row[-n:] == row[-2 * n : -n] == row[-3 * n : -2 * n]
        for n in (1, 2, 3)
    )
