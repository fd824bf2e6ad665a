"""Each row has words, of more than one kind, and its end where they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor._labels import asked, ignored, writes
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

CHAPTER = "Data"
ONE = 0.6  # of the words: no word of a language is that frequent
ENOUGH = 40  # words
SMALL = 6  # a vocabulary in which one word may well be that frequent
EMPTY = 0.1  # of the rows


def examine(patient: Patient) -> Iterator[Finding]:
    """Count the words of each side, and look for the end of each row."""
    if patient.batches is None:
        raise Skip("batches=… was not given")
    sides = _sides(patient)
    for side, rows in sides.items():
        yield from _one_word(patient, side, rows)
    for side, rows in sides.items():
        if (bare := _empty(patient, side, rows)) is not None:
            yield bare
            break
    yield from _late_end(patient, sides)


def _sides(patient: Patient) -> dict[str, list[list[int]]]:
    """The rows of each side, hidden words put back."""
    made: dict[str, list[list[int]]] = {}
    hides = writes(patient) is False
    last = "text" if hides or patient.decoder_only else "target"
    for *source, read, labels in patient.batches or ():
        real = asked(patient, labels)
        text: Tensor = torch.where(real, labels, read) if hides else labels
        named = [*(("source", each) for each in source), (last, text)]
        for name, each in named:
            made.setdefault(name, []).extend(each.tolist())
    return made


def _one_word(patient: Patient, side: str, rows: list[list[int]]) -> Iterator[Finding]:
    words = Counter(i for row in rows for i in row if i >= 0)
    for sign in {*patient.special, patient.ignore_index}:
        del words[sign]
    size = len(patient._words(int(side != "source")))
    if words.total() < ENOUGH or size < SMALL:
        return
    [(word, n)] = words.most_common(1)
    if n > ONE * words.total():
        yield Finding(
            code="words-are-one",
            title=f"most words of the {side} are one and the same",
            tried=f"counted the {words.total()} words of your first batches.",
            seen=f"{n} of them ({n / words.total():.0%}) are id {word}.",
            means="nothing can be read from such a text, or learned of it.",
            look="is it the id of unknown words? Then the text was looked up in the "
            "other language's table, or before it was cut into words.",
            because=("labels-overwritten",),
        )


def _empty(patient: Patient, side: str, rows: list[list[int]]) -> Finding | None:
    bare = sum(
        not any(i >= 0 and i not in patient.special for i in row) for row in rows
    )
    if EMPTY * len(rows) < bare < len(rows):
        return Finding(
            code="rows-empty",
            title=f"many rows of the {side} have no words",
            tried="looked for rows with nothing but signs and padding.",
            seen=f"{bare} of {len(rows)} are such.",
            means="nothing can be learned there, and a target without a source has to "
            "be made up.",
            look="empty lines in the data, and words that are dropped as unknown: "
            "leave such rows out.",
            because=("labels-ask-nothing",),
        )
    return None


def _late_end(patient: Patient, sides: dict[str, list[list[int]]]) -> Iterator[Finding]:
    """Does padding stand between the last word and the end sign?"""
    end = patient.eos_id
    fills = {*patient.pads, ignored(patient)} - {None, end}
    if "eos_id" not in patient.knows or end is None or not patient.knows_pad:
        return
    for side, rows in sides.items():
        late = 0
        for row in rows:
            last = max((i for i, word in enumerate(row) if word == end), default=0)
            before = [i for i in row[:last] if i not in fills]
            late += bool(before) and row[last - 1] in fills and before[-1] != end
        if late > EMPTY * len(rows):
            yield Finding(
                code="end-after-padding",
                title=f"in the {side} padding stands before the end sign",
                tried="looked at what comes before eos_id in each row.",
                seen=f"in {late} of {len(rows)} rows it is padding, after the words.",
                means="after its last word the model is asked for nothing, so it never "
                "learns to end there.",
                look="the order: first the end sign, then padding.",
            )
            return
