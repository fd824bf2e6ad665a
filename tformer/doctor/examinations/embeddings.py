"""Words are as loud as positions when both are added."""

from __future__ import annotations

from collections.abc import Iterator

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

QUIET = 0.5  # of the positions' size


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare embeddings with fixed positions where the two are added."""
    if patient.lengths_must_agree:
        raise Skip("source and target must have one length: fix that first")
    ops, _ = patient.watch(patient.source(), patient.target())
    judged = 0
    for side, ids in (("source", patient.source()), ("target", patient.target())):
        if ids is None:
            continue
        for lookup in _anatomy.lookups(ops, ids)[:1]:
            fixed = [e.tensor for e in lookup.added if not e.is_parameter]
            fixed = [e for e in fixed if _is_fixed(e, lookup)]
            if not fixed:
                continue
            judged += 1
            words, places = _anatomy.spread(lookup.vectors), _anatomy.spread(fixed[0])
            if lookup.factor <= 1 and words < QUIET * places:
                d_model = lookup.vectors.size(-1)
                yield Finding(
                    code="embeddings-without-scale",
                    title=f"the {side}'s words drown in their positions",
                    tried="compared the two where they are added.",
                    seen=f"embeddings have the size {words:.2g}, positions "
                    f"{places:.2g}; nothing scales the embeddings up.",
                    means="at the start the model sees places and hardly any words.",
                    look=f"multiply the embeddings by √d_model = {d_model**0.5:.3g} "
                    "before the positions are added, or draw them larger.",
                    chapter="Embeddings",
                )
                return
    if not judged:
        raise Skip("no fixed positions are added to embeddings")


def _is_fixed(added: object, lookup: _anatomy.Lookup) -> bool:
    """Whether an addend has a row for each place, as a table of sinusoids has."""
    size = getattr(added, "size", None)
    return size is not None and size(-1) == lookup.vectors.size(-1)
