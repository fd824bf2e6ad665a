"""Each position is asked for the next word."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tformer.doctor._labels import asks_masked, same, shift
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

WHERE = {
    -1: "one place earlier",
    0: "at the same place",
    1: "one place later",
    2: "two places later",
}

SHIFTED_INSIDE = (
    "That is right if the model or its loss shifts the labels itself, as those of "
    "Hugging Face do (give loss=…, which the doctor then looks into)."
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare what the decoder reads with the labels, and look for the end."""
    if patient.batches is None:
        raise Skip("batches=… was not given")
    yield from _shifted(patient)
    yield from _wrapped(patient)
    yield from _ended(patient)
    yield from _signs_twice(patient)


def _wrapped(patient: Patient) -> Iterator[Finding]:
    """Is the last label of each row its first word?"""
    assert patient.batches is not None
    pairs = [
        (int(read[0]), int(label[-1]))
        for batch in patient.batches
        for read, label in zip(batch[-2].cpu(), batch[-1].cpu(), strict=True)
        if bool((label[:-1] == read[1:]).all())
    ]
    if len({first for first, _ in pairs}) > 2 and all(a == b for a, b in pairs):
        yield Finding(
            code="labels-wrap-around",
            title="the last label is the first word",
            tried="compared each row's last label with its first word.",
            seen=f"they are the same in {len(pairs)} of {len(pairs)} rows.",
            means="at the end of each row the model is asked for a word that has "
            "nothing to do with what comes next.",
            look="torch.roll, which moves the first id to the end. Read one id more "
            "and cut: ids[:-1] and ids[1:].",
            chapter="Data",
        )


def _ended(patient: Patient) -> Iterator[Finding]:
    """A translation ends; a language model may read an endless text."""
    assert patient.batches is not None
    if patient.decoder_only or patient.eos_id is None:
        return
    rows = torch.cat([(e[-1] == patient.eos_id).any(dim=1) for e in patient.batches])
    if not bool(rows.any()):
        yield Finding(
            code="labels-without-end",
            title="no label is the end sign",
            tried="looked for eos_id in the labels of each sentence.",
            seen=f"{patient.eos_id} is in none of {len(rows)}.",
            means="the model never learns to stop: it writes until the limit.",
            look="append eos_id to each target before it is cut into input and labels. "
            "(If your end sign has another id, give eos_id=….)",
            chapter="Data",
            because=("labels-not-shifted", "labels-shifted-wrongly"),
        )


def _signs_twice(patient: Patient) -> Iterator[Finding]:
    """Does the tokenizer add a sign, and the batch once more?"""
    assert patient.batches is not None
    signs = (("start", "bos_id", patient.bos_id), ("end", "eos_id", patient.eos_id))
    for sign, name, i in signs:
        if i is None or i == patient.pad_id:
            continue
        at = -2 if sign == "start" else -1  # in what is read, in the labels
        rows = [row for batch in patient.batches for row in batch[at].cpu()]
        twice = sum(bool(((row[1:] == i) & (row[:-1] == i)).any()) for row in rows)
        if twice > 0.9 * len(rows):
            yield Finding(
                code="sign-twice",
                title=f"the {sign} sign is there twice",
                tried="looked for two of them side by side in each row.",
                seen=f"{name}, {i}, follows itself in {twice} of {len(rows)} rows.",
                means="the model learns to expect both, and the decoding loop gives it "
                "one, or stops at the first.",
                look="a tokenizer that adds the signs by itself, and a batch that adds "
                "them once more.",
                chapter="Data",
            )


def _shifted(patient: Patient) -> Iterator[Finding]:
    """Compare at several distances."""
    assert patient.batches is not None
    if asks_masked(patient):
        return
    shares = {distance: same(patient, distance) for distance in WHERE}
    best = max(shares, key=lambda d: shares[d])
    if shares[1] > 0.9 or shares[best] < 0.9:
        if shares[best] < 0.9:
            raise Skip("the labels are not the decoder's input, shifted by a place")
        best = 1
    ahead = best + shift(patient)
    if ahead == 1:
        return
    sure = patient.loss is not None or ahead != 0
    yield Finding(
        design="" if sure or not patient.decoder_only else SHIFTED_INSIDE,
        code="labels-not-shifted" if ahead == 0 else "labels-shifted-wrongly",
        title="the label of each position is the word that it reads"
        if ahead == 0
        else "the labels are shifted by the wrong distance",
        tried="compared labels and decoder inputs at several distances.",
        seen=f"{shares[best]:.0%} of the labels equal the input {WHERE[best]}, "
        + (
            f"{shares[1]:.0%} the input {WHERE[1]}."
            if best != 1
            else "and the loss shifts them by one more place."
        ),
        means="the model learns to copy its input: the loss falls to 0, and nothing "
        "can be written with it."
        if ahead == 0
        else "the model learns to predict a word that isn't the next one, and its "
        "decoding loop asks for the next.",
        look="inputs ids[:, :-1], labels ids[:, 1:], shifted once, in one place.",
        chapter="Data",
    )
