"""The model knows the order of the words, once."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

SIDES = ("source", "target")


def examine(patient: Patient) -> Iterator[Finding]:
    """Feed one word over and over, then see whether attention can tell places apart."""
    patient.has_numbers()
    if patient.lengths_must_agree:
        raise Skip("source and target must have one length: fix that first")
    word_s = None if patient.decoder_only else patient.words(1, seed=41, side=0)
    word_t = patient.words(1, seed=42)
    source = None if word_s is None else word_s.expand(1, patient.n_source).clone()
    target = word_t.expand(1, patient.n_target).clone()
    _, found = patient.watch(source, target)
    if not found:
        raise Skip("no softmax between two matrix products was seen")
    for side, n in enumerate((patient.n_source, patient.n_target)):
        layers = [each for each in found if each.shape == (n, n)]
        if layers and all(_anatomy.uniform(each.weights) for each in layers):
            yield Finding(
                code="no-positions",
                title=f"the {SIDES[side]} has no positions",
                tried="fed one word over and over, and looked at the self-attention.",
                seen=f"in {len(layers)} of {len(layers)} layers every place that may "
                "be seen gets exactly the same weight.",
                means="the model sees a bag of words: “dog bites man” and “man bites "
                "dog” are the same sentence to it.",
                look="whether the positions are added to the embeddings, and on both "
                "sides; x + pe(x) has to be kept, since + makes a new tensor.",
                chapter="Positions",
                because=("positions-along-batch",),
            )
        elif layers:
            yield from _not_relative(layers[0], SIDES[side])
    yield from _doubled(patient)


def _not_relative(first: _anatomy.Attention, side: str) -> Iterator[Finding]:
    """Does turning queries and keys make the scores of one word a matter of distance?

    Only where places differ in the queries or keys and in nothing that these were made
    from: positions that were added before the first layer are absolute.
    """
    read, n = first.into_query, first.shape[0]
    if read is None or first.query.shape != first.key.shape:
        return
    rows = read.numbers.reshape(-1, read.numbers.size(-1))
    if len(rows) != n or not torch.allclose(rows, rows[:1].expand_as(rows), atol=1e-5):
        return
    scores = first.query @ first.key.transpose(-1, -2)  # (H, T, T)
    spread = float(scores.max() - scores.min())
    steps = [scores.diagonal(offset, -2, -1) for offset in range(1 - n, n)]
    apart = max(float((e.amax(-1) - e.amin(-1)).max()) for e in steps)
    if apart > 1e-2 * spread and spread > 1e-6:
        yield Finding(
            code="rotary-not-relative",
            title=f"the rotary positions of the {side} don't measure distance",
            tried="fed one word over and over, and compared the scores of places that "
            "are equally far apart.",
            seen=f"they differ by up to {apart:.2g}, and all scores by {spread:.2g}.",
            means="queries and keys are turned differently, so what two words think of "
            "each other depends on where in the sentence they stand.",
            look="the same rotation for both: the same angles, the signs "
            "(a cos − b sin, a sin + b cos), and the same pairs of features "
            "(neighbours, or halves).",
            chapter="Positions",
            because=("heads-split-wrongly",),
        )


def _doubled(patient: Patient) -> Iterator[Finding]:
    ops, _ = patient.watch(patient.source(), patient.target())
    for side, ids in enumerate((patient.source(), patient.target())):
        if ids is None:
            continue
        for lookup in _anatomy.lookups(ops, ids):
            added = [each.tensor for each in lookup.added]
            pairs = [
                (one, other)
                for i, one in enumerate(added)
                for other in added[:i]
                if _equal(one, other)
            ]
            if pairs:
                yield Finding(
                    code="doubled-positions",
                    title=f"positions are added twice to the {SIDES[side]}",
                    tried="followed the embeddings to the first layer.",
                    seen=f"the same table of positions, of size "
                    f"{_anatomy.spread(added[0]):.2g}, is added {len(pairs) + 1} "
                    f"times to vectors of size {_anatomy.spread(lookup.vectors):.2g}.",
                    means="the positions weigh twice as much against the words.",
                    look="positions in the embedding layer and again in the encoder or "
                    "the model around it.",
                    chapter="Positions",
                )
                return


def _equal(one: Tensor, other: Tensor) -> bool:
    one, other = one.squeeze(), other.squeeze()
    return one.shape == other.shape and bool(torch.allclose(one, other))
