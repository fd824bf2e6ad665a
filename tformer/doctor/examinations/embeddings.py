"""Words are as loud as positions when both are added, and every word has a vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding, listed

CHAPTER = "Embeddings"
MANY = 128  # ids of a large vocabulary, from its first to its last
QUIET = 0.5  # of the positions' size
LOUD = 10  # times their size
MUCH = 12  # the factor √d_model of a narrow model may be as large


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare embeddings with fixed positions where the two are added."""
    yield from _silenced(patient)
    yield from _shared_rows(patient)
    if patient.lengths_must_agree:
        raise Skip("source and target must have one length: fix that first")
    sides = [("source", patient.lookups(0)[:1]), ("target", patient.lookups(1)[:1])]
    for side, first in sides:
        for lookup in first:
            yield from _loud(side, lookup)
    factors = {lookup.factor for _, first in sides for lookup in first}
    judged, small = 0, {}
    for side, first in sides:
        for lookup in first:
            fixed = [e.tensor for e in lookup.added if not e.is_parameter]
            fixed = [e for e in fixed if _is_fixed(e, lookup)]
            judged += len(fixed)
            sizes = [_anatomy.spread(e) for e in (lookup.vectors, *fixed[:1])]
            if fixed and lookup.factor <= 1 and sizes[0] < QUIET * sizes[1]:
                small[side] = lookup, *sizes
    if not judged:
        raise Skip("no fixed positions are added to embeddings")
    if small:
        yield _quiet(small, factors)


def _quiet(small: dict[str, Any], factors: set[float]) -> Finding:
    """The words of one side or both are small where positions are added."""
    lookup, words, places = next(iter(small.values()))
    side = "'s and the ".join(small)
    others = [e for e in factors if e > 1]
    by = f"they are multiplied by {lookup.factor:.3g}"
    if others:
        by += f", and those of the other side by {others[0]:.3g}"
    sure = lookup.factor < 1 or bool(others)
    return Finding(
        code="embeddings-without-scale",
        title=f"the {side}'s words are small beside their positions",
        tried="compared the two where they are added.",
        seen=f"embeddings have the size {words:.2g}, positions {places:.2g}; "
        f"{by if sure else 'nothing scales them up'}.",
        means="at first the model sees places, and hardly any words.",
        look="multiply the embeddings by √d_model = "
        f"{lookup.vectors.size(-1) ** 0.5:.3g} before the positions are added, or "
        "initialise them larger.",
        design=""
        if sure
        else "A sound design may begin so, and training then makes its "
        'words larger (accept=["embeddings-without-scale"]).',
    )


def _loud(side: str, lookup: _anatomy.Lookup) -> Iterator[Finding]:
    """Are words multiplied by d_model itself, and positions added that stay small?"""
    width = lookup.vectors.size(-1)
    added = [e.tensor for e in lookup.added if _is_fixed(e.tensor, lookup)]
    places = max(map(_anatomy.spread, added), default=0.0)
    words = _anatomy.spread(lookup.vectors)
    if added and lookup.factor > 0.9 * width > MUCH and words > LOUD * places:
        yield Finding(
            code="embeddings-drown-positions",
            title=f"the {side}'s words are far larger than the positions added to them",
            tried="compared the two where they are added.",
            seen=f"embeddings are multiplied by {lookup.factor:.3g}, and then have the "
            f"size {words:.2g}; positions have {places:.2g}.",
            means="the model hardly sees the order of the words.",
            look=f"√d_model, {width**0.5:.3g}, and not d_model, {width}.",
        )


def _silenced(patient: Patient) -> Iterator[Finding]:
    """A table of words in which a word, and not padding, has no gradient."""
    sizes = set(patient.sizes)
    for name, each in patient.model.named_modules():
        if not isinstance(each, nn.Embedding) or each.num_embeddings not in sizes:
            continue
        if patient.pad_id is not None and each.padding_idx not in (
            None,
            *patient.pads,
        ):
            yield Finding(
                code="padding-idx-of-a-word",
                title="a word's embedding is never trained",
                tried="compared padding_idx of each table with pad_id.",
                seen=f"{name} has padding_idx={each.padding_idx}, and padding is "
                f"{listed(sorted({str(p) for p in patient.pads}))}.",
                means=f"the vector of id {each.padding_idx} gets no gradient, so it "
                "stays as it was initialised, usually all zeros.",
                look="nn.Embedding(…, padding_idx=pad_id), or none.",
            )


def _shared_rows(patient: Patient) -> Iterator[Finding]:
    """Are several words looked up in one row, whatever else is looked up for them?"""
    for side in (1,) if patient.decoder_only else (0, 1):
        words, n = patient._words(side), (patient.n_source, patient.n_target)[side]
        words = words[torch.linspace(0, len(words) - 1, min(len(words), MANY)).long()]
        rows = max(2, -(-len(words) // n))
        ids = words.repeat(-(-rows * n // len(words)))[: rows * n].view(rows, n)
        source, target = patient.source(), patient.target().repeat(rows, 1)
        source = None if source is None else source.repeat(rows, 1)
        ops, _ = patient.watch(source if side else ids, ids if side else target)
        read = [op.inputs[1].tensor for op in ops if op.name == "embedding"]
        read = [e.reshape(-1, e.size(-1)) for e in read if e.numel() == ids.numel()]
        # neither places nor one kind for all
        read = [e for e in read if len(e) == 1
                or min(len(e.unique(dim=axis)) for axis in (0, 1)) > 1]  # fmt: skip
        if not read:
            continue
        n_read = len(torch.stack([e.flatten() for e in read]).unique(dim=1).T)
        if n_read < len(words):
            yield Finding(
                code="words-share-rows",
                title="several words have one embedding",
                tried=f"ran {len(words)} different words.",
                seen=f"they were looked up in {n_read} rows, the last of which is "
                f"{max(int(e.max()) for e in read)}.",
                means="the model can't tell such words apart.",
                look="what happens to the ids on their way to the table: clamp, %, "
                "another type.",
                because=("ids-out-of-range",),
            )
            return


def _is_fixed(added: object, lookup: _anatomy.Lookup) -> bool:
    """Whether an addend has a row for each place, as a table of sinusoids has."""
    size = getattr(added, "size", None)
    return size is not None and size(-1) == lookup.vectors.size(-1)
