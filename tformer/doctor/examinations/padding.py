"""Padding counts nowhere, and every real word counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._labels import ignored, writes
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.examinations.causality import FLOATS
from tformer.doctor.report import INITIAL, Finding, listed

CHAPTER = "Masks"
LEFT = 3  # columns of padding in front
REAL = 5
MOST = 0.9  # of the sources
UNSAID = "If the model has no padding at all, say so (pad_id=None)."
SPOILED = (
    "weights-all-equal", "state-between-calls", "dropout-while-evaluating",
    "ignores-source", "future-leak", "length-leak", "softmax-wrong-axis",
    "softmax-twice", "scores-all-equal",
    "weights-transposed", "words-in-reverse", "norm-wrong-axis", "heads-split-wrongly",
    "heads-merged-wrongly",
)  # fmt: skip


def examine(patient: Patient) -> Iterator[Finding]:
    """Add padding to source and target, and change each word of a padded source."""
    if patient.pads == (None, None):
        raise Skip("there is no padding (pad_id=None)")
    if patient.lengths_must_agree:
        raise Skip("source and target must have one length: fix that first")
    patient.has_numbers()
    for finding in _tried(patient):
        counts = finding.code.startswith("padding-counts")
        unsure = counts and not _knows_padding(patient)
        yield dataclasses.replace(finding, design=UNSAID) if unsure else finding


def _knows_padding(patient: Patient) -> bool:
    """Whether the model is known to have this id of padding, or seen to hide it."""
    if patient.knows_pad:
        return True
    if any(ignored(patient) == patient.pad_id and bool((b[-1] == patient.pad_id).any())
           for b in patient.batches or ()):  # fmt: skip
        return True
    target = patient.padded(patient.target()[:, :4], patient.n_target)
    source = patient.source()
    if source is not None:
        source = patient.padded(source[:, :REAL], patient.n_source, side=0)
    _, found = patient.watch(source, target)
    _, whole = patient.watch(patient.source(), patient.target())
    return any(
        bool(((one.weights == 0) & (other.weights > 0)).any())
        for one, other in zip(found, whole, strict=False)
        if one.weights.shape == other.weights.shape
    )


def _tried(patient: Patient) -> Iterator[Finding]:
    if patient.pad_id is not None:
        yield from _target(patient)
        yield from _on_the_left(patient, 1)
    if patient.decoder_only or patient.pads[0] is None:
        return
    yield from _source(patient)
    yield from _on_the_left(patient, 0)
    if len({*patient.pads}) == 2 and None not in patient.pads:
        yield from _other_side(patient)


def _target(patient: Patient) -> Iterator[Finding]:
    n, real = patient.n_target, 4
    source, target = patient.source(), patient.target()[:, :real]
    padded = patient.padded(target, n)
    wide = patient.logits(source, padded)[:, :real]
    moved = float(patient.moved(patient.logits(source, target), wide).max())
    own = [e for e in patient.watch(source, padded)[1] if e.shape == (n, n)]
    if moved <= patient.tolerance:
        yield from _harmless(patient, own, real)
        return
    hidden = [e for e in own if float(e.weights[:, :real, :real].max()) < 1e-6]
    tried = f"added {n - real} columns of padding to the target."
    if hidden and writes(patient) is False:
        yield _inverted(tried, len(hidden), len(own))
        return
    seen = f"the logits of its four words moved by up to {moved:.2g}."
    code, title, look = (
        "padding-counts-in-target",
        "padding after the words changes their logits",
        "the mask over the keys, and anything that averages over positions.",
    )
    fills = [f for e in own if (f := _anatomy.weak_fill(e)) is not None]
    if of_queries(own, real):
        code, look = "mask-on-queries", KEYS
        title = "the padding mask hides padding as queries instead of keys"
    elif fills:
        code, title = "mask-fills-weakly", "the mask's filling doesn't hide padding"
        look = 'float("-inf") where padding is, before the softmax.'
        look = FLOATS if 1 in fills else look
    elif (
        own
        and patient.bos_id is not None
        and not any(bool(e.weights[:, :, 0].any()) for e in own)
    ):
        code, title = "mask-of-another-id", "the padding mask hides another id"
        seen += f" No position sees {patient.named(patient.bos_id)}, and all see "
        seen += f"{patient.named(patient.pad_id)}."
        look = "the id with which the mask is made: ids != pad_id."
    yield Finding(
        code=code,
        title=title,
        tried=tried,
        seen=seen,
        means="a sentence is scored differently beside a longer one.",
        look=look,
        because=(
            *SPOILED, "mask-off-by-one", "mask-inverted", "mask-hides-signs",
            "bias-after-softmax", "mask-fills-weakly",
        ),
    )  # fmt: skip


def _on_the_left(patient: Patient, side: int) -> Iterator[Finding]:
    """If rows of the batches have their padding in front, does it change the words?"""
    pad = patient.pads[side]
    rows = [row for batch in patient.batches or ()
            for row in batch[side if len(batch) > 2 else 0].tolist()]  # fmt: skip
    n = sum(row[:2] == [pad, pad] != row[-2:] for row in rows)
    source, target = patient.source(), patient.target()[:, :REAL]
    ids = target if side else source
    if not n or pad is None or ids is None:
        return
    longer = torch.cat([torch.full((1, LEFT), pad), ids], dim=1)
    plain = patient.logits(source, target)
    moved = patient.logits(*((source, longer) if side else (longer, target)))
    moved = patient.moved(plain, moved[:, LEFT:] if side else moved)
    if not float(moved.max()) <= patient.tolerance:  # NaN is none either
        yield Finding(
            code="padding-before-words",
            title="padding in front of the words changes what is made of them",
            tried=f"put {LEFT} columns of padding before a row, as {n} of {len(rows)} "
            "rows of your batches have it.",
            seen=f"the logits of its words moved by up to {float(moved.max()):.2g}.",
            means="the same sentence is another one beside a longer one.",
            look="positions that begin at the first word, mask.cumsum(1) - 1, and the "
            "padding mask; or padding behind the words.",
            because=("labels-in-reverse", "words-in-reverse", "source-in-reverse"),
            design="That is right if the model is always trained and used that way, "
            "with a mask, and learns what its shifted positions mean.",
        )


def _harmless(
    patient: Patient, own: list[_anatomy.Attention], real: int
) -> Iterator[Finding]:
    """Does the mask hide padding as queries, where no earlier word would see it?"""
    even = [e for e in own if float((w := e.weights[:, real:]).max() - w.min()) < 1e-5]
    if not even or len(even) < len(own):
        return
    n, pad = patient.n_target, patient.pads[1]
    before = torch.cat([torch.full((1, n - real), pad), patient.target()[:, :real]], 1)
    _, found = patient.watch(patient.source(), before)
    seen = [e for e in found if e.shape == (n, n)
            and float(e.weights[:, n - real :, : n - real].max()) > 1e-4]  # fmt: skip
    if seen:
        yield Finding(
            code="mask-on-queries",
            title="the target's padding mask hides padding as queries instead of keys",
            tried=f"put {n - real} columns of padding before the words of a target.",
            seen=f"words attend to it ({_anatomy.places(e.softmax for e in seen)}).",
            means="the mask hides nothing from any word.",
            look=KEYS,
            design="No harm is done while padding comes after the words, since the "
            "causal mask hides it.",
        )


KEYS = "the mask's axes: padding is hidden over the keys, (B, 1, 1, S)."


def of_queries(found: list[_anatomy.Attention], real: int) -> list[_anatomy.Attention]:
    """Attentions whose rows of padding see everything alike, and words see padding."""
    return [
        each
        for each in found
        if float(each.weights[:, real:].max() - each.weights[:, real:].min()) < 1e-5
        and float(each.weights[:, :real, real:].max()) > 1e-4
    ]


def _inverted(tried: str, n_hidden: int, n: int) -> Finding:
    where = f"in {n_hidden} of {n} attentions the" if n else "the"
    return Finding(
        code="mask-inverted",
        title="the padding mask is the wrong way round",
        tried=f"{tried[:-1]}, and looked at the weights.",
        seen=f"{where} words get no weight, and the padding gets all of it.",
        means="the model reads the padding instead of the sentence.",
        look="what True means: in torch.nn's key_padding_mask it hides; in "
        "scaled_dot_product_attention and in many tutorials it shows.",
    )


def _source(patient: Patient) -> Iterator[Finding]:
    real, target = patient.words(REAL, seed=21, side=0), patient.target()
    wide = patient.padded(real, patient.n_source, side=0)
    exact = patient.logits(real, target)
    logits = patient.logits(wide, target)
    deaf = [
        place
        for place in range(REAL)
        if patient.moved(
            logits, patient.logits(patient.other(wide, place, side=0), target)
        ).max()
        <= patient.tolerance
    ]
    moved = float(patient.moved(exact, logits).max())
    _, found = patient.watch(wide, target)
    n, t = patient.n_source, patient.n_target
    inside = [(e, e.weights[:, :REAL]) for e in found if e.shape == (n, n)]
    across = [(e, e.weights) for e in found if e.shape == (t, n)]
    both = inside + across
    hidden = [e for e, weights in both if float(weights[..., :REAL].max()) < 1e-6]
    if hidden or (deaf and len(deaf) == REAL and moved > patient.tolerance):
        tried = f"ran a source of {REAL} words and {n - REAL} columns of padding."
        yield _inverted(tried, len(hidden), len(both))
        return
    if moved > patient.tolerance:
        yield _leak(patient, found, (inside, across), moved)
    elif 0 < len(deaf) < REAL:
        yield Finding(
            code="mask-hides-words",
            title="the padding mask hides words, too",
            tried=f"changed each of the {REAL} words of a padded source.",
            seen=f"no logit moved for {len(deaf)} of them (places "
            f"{', '.join(map(str, deaf))}).",
            means="part of every sentence is invisible to the model.",
            look="lengths that are off by one, and a pad_id that is also a word.",
            because=("ignores-source", *INITIAL),
        )
    else:
        yield from _signs(patient, real, exact)


def _leak(
    patient: Patient,
    found: list[_anatomy.Attention],
    sides: tuple[list[tuple[_anatomy.Attention, Tensor]], ...],
    moved: float,
) -> Finding:
    """Where does the padding of the source count?

    ``sides`` are the attentions in the encoder and those across, each with the weights
    of its real rows.
    """
    n = patient.n_source
    on_queries = of_queries([e for e in found if e.shape == (n, n)], REAL)
    seen = [[(e, float(w[..., REAL:].max())) for e, w in side] for side in sides]
    largest = [max((weight for _, weight in side), default=0.0) for side in seen]
    fills = [f for side in sides for e, _ in side
             if (f := _anatomy.weak_fill(e)) is not None]  # fmt: skip
    leaky = [e.softmax for side in seen for e, weight in side if weight > 1e-6]
    if on_queries:
        code, where = "mask-on-queries", "as queries instead of keys"
    elif largest[0] > 1e-6:
        code, where = "padding-counts-in-encoder", "in the encoder's self-attention"
    elif largest[1] > 1e-6:
        code, where = "padding-counts-in-cross-attention", "in the cross-attention"
    else:
        code, where = "padding-counts", "outside the attention"
    weight = (
        f"A weight on padding is as large as {max(largest):.2g} "
        f"({_anatomy.places(leaky)})."
        if max(largest) > 1e-6
        else "No weight on padding was seen."
    )
    return Finding(
        code="mask-fills-weakly" if fills else code,
        title=f"padding of the source counts {where}"
        if code != "mask-on-queries"
        else f"the padding mask hides padding {where}",
        tried=f"added {n - REAL} columns of padding to a source of {REAL} words.",
        seen=f"the logits moved by up to {moved:.2g}. {weight}",
        means="a sentence is translated differently beside a longer one.",
        look=FLOATS
        if 1 in fills
        else f"the value that the mask fills in, {fills[0]:.3g}: it should be −inf."
        if fills
        else "the padding mask: is it made with the right pad_id, passed to every "
        "layer of encoder and decoder, and broadcast over keys (…, 1, S)?",
        because=(*SPOILED, "mask-after-softmax", "mask-fills-weakly"),
    )


def _signs(patient: Patient, words: Tensor, exact: Tensor) -> Iterator[Finding]:
    """Does the mask hide signs that the sources of the batches have?"""
    rows = [row for batch in patient.batches or () for row in batch[0].tolist()]
    hidden = []
    for sign in patient.special - {*patient.pads}:
        n = sum(sign in row for row in rows)
        if n < MOST * len(rows) or not n:
            continue
        longer = torch.cat([words, torch.tensor([[sign]])], dim=1)
        moved = patient.moved(exact, patient.logits(longer, patient.target()))
        if float(moved.max()) <= patient.tolerance:
            hidden.append(sign)
    if hidden:
        names = listed(map(patient.named, hidden))
        yield Finding(
            code="mask-hides-signs",
            title="the padding mask hides signs that are no padding",
            tried="added a sign to the end of a source, as your batches have it.",
            seen=f"it moved no logit: {names}.",
            means="the model reads each sentence as if the sign weren't there.",
            look="source != pad_id, not source > eos_id.",
            because=("ignores-source", *INITIAL),
        )


def _other_side(patient: Patient) -> Iterator[Finding]:
    """Is one side's padding a word on the other?"""
    source, target = patient.source(), patient.target()
    for side, name in enumerate(("source", "target")):
        theirs, n = patient.pads[1 - side], (patient.n_source, patient.n_target)[side]
        if theirs is None or theirs >= patient.sizes[side]:
            continue
        ids = [source, target.clone()]
        ids[side] = target.clone() if side else patient.source()
        ids[side][:, 2] = theirs  # type: ignore[index]
        _, found = patient.watch(ids[0], ids[1])  # type: ignore[arg-type]
        seen = [e.weights[..., 3:, 2] for e in found if e.shape == (n, n)]
        if not seen or any(bool(each.any()) for each in seen):
            continue
        yield Finding(
            code="padding-of-the-other-side",
            title=f"a word of the {name} is hidden as if it were padding",
            tried="put the id that pads the other side among the words.",
            seen=f"no attention of the {name} gives id {theirs} any weight.",
            means=f"{theirs} pads the other side only; here it is a word, and the "
            "model never sees it.",
            look=f"which pad_id the mask of the {name} is made with.",
        )
