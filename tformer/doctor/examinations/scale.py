"""Scores are divided by the square root of the head's size."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

CHAPTER = "Attention"
MUCH = 2.5  # times too large or too small


def examine(patient: Patient) -> Iterator[Finding]:
    """Follow the scores from the matrix product to the softmax."""
    _, found = patient.watch(patient.source(), patient.target())
    judged = [each for each in found if each.factor is not None]
    if not judged:
        raise Skip("no scores with a fixed scale were seen")
    wrong = [e for e in judged if not _is(e.factor, _wanted(patient, e))]
    if wrong and all(any(_is(e.factor, n**-0.5) for n in e.shape) for e in wrong):
        yield _by_length(wrong[0])
        return
    widths = {e.into_query.tensor.size(-1) for e in wrong if e.into_query is not None}
    if wrong and len(widths) == 1 and patient.scale is None:
        (width,) = widths
        if all(_is(e.factor, width**-0.5) and not _is(e.factor, 1 / e.d_head)
               for e in wrong):  # fmt: skip
            yield _by_width(wrong[0], width)
            return
    for code, here in (
        ("no-scale", [e for e in wrong if _is(e.factor, 1.0)]),
        ("wrong-scale", [e for e in wrong if not _is(e.factor, 1.0)]),
    ):
        if here:
            agree = len(here) == len(judged) and patient.scale is None
            if code == "no-scale":  # T5 adds a learned bias; GPT-Neo has no sign
                agree &= any(map(_anatomy.has_bias, here)) or patient.is_known
            yield _finding(patient, code, here, len(found), may_be_meant=agree)


def _by_width(each: _anatomy.Attention, width: int) -> Finding:
    return Finding(
        code="wrong-scale",
        title="the attention scores are divided by the root of the model's width",
        tried="followed the scores from the matrix product to the softmax.",
        seen=f"they are multiplied by 1/√{width} = {each.factor:.4g}; with heads of "
        f"size {each.d_head} it should be 1/√{each.d_head} = "
        f"{_anatomy.expected_factor(each.d_head):.4g}.",
        means="a score is a sum over one head's numbers, so the weights start out more "
        "even than they should, and the more so the more heads there are.",
        look="math.sqrt(d_model // n_heads), or query.size(-1) after the split.",
    )


def _by_length(each: _anatomy.Attention) -> Finding:
    return Finding(
        code="scaled-by-length",
        title="the attention scores are divided by the root of the length",
        tried="followed the scores from the matrix product to the softmax.",
        seen=f"with {each.shape[0]} queries and {each.shape[1]} keys they are "
        f"multiplied by {each.factor:.4g}; with heads of size {each.d_head} it should "
        f"be 1/√{each.d_head} = {_anatomy.expected_factor(each.d_head):.4g}.",
        means="the same words get other weights in a longer text.",
        look="key.size(-1), the head's size, not size(-2), the number of words.",
    )


def _wanted(patient: Patient, each: _anatomy.Attention) -> float:
    if patient.scale is not None:
        return float(patient.scale)
    return _anatomy.expected_factor(each.d_head)


DESIGNS = (  # a factor of d_head that some sound design has, and which
    (lambda d: 1.0, "T5 has none, since its initialisation makes up for it"),
    (
        lambda d: 1 / d,
        "muP divides by d_head, so that rates carry over to wider models",
    ),
)


def _design(factor: float, d_head: int) -> str:
    right = _anatomy.expected_factor(d_head)
    for known, says in DESIGNS:
        if _is(factor, known(d_head)):
            return f"A sound design may: {says} (scale={factor:.4g})."
    if 1 / MUCH < factor / right < MUCH:
        return f"A sound design may choose another number (scale={factor:.4g})."
    return ""


def _finding(
    patient: Patient,
    code: str,
    wrong: list[_anatomy.Attention],
    n: int,
    *,
    may_be_meant: bool,
) -> Finding:
    one = wrong[0]
    right, factor = _wanted(patient, one), one.factor or 0.0
    is_usual = patient.scale is None
    should = f"1/√{one.d_head} = {right:.4g}" if is_usual else f"scale={right:.4g}"
    return Finding(
        code=code,
        title="the attention scores are not scaled"
        if code == "no-scale"
        else "the attention scores are scaled by the wrong number",
        tried="followed the scores from the matrix product to the softmax.",
        seen=f"in {len(wrong)} of {n} attentions "
        f"({_anatomy.places(each.softmax for each in wrong)}) they are multiplied by "
        f"{factor:.4g}. With heads of size {one.d_head} it should be {should}.",
        means=f"the scores are {factor / right:.3g} times as large as they should be"
        + _effect(factor / right),
        look="the line after the product of queries and keys: divide by "
        "math.sqrt(d_head), with the size of one head, once.",
        design=_design(factor, one.d_head) if may_be_meant else "",
    )


def _effect(ratio: float) -> str:
    """What becomes of weights whose scores are so many times too large."""
    if ratio > MUCH:
        return ": the softmax saturates, and its gradient vanishes."
    if ratio < 1 / MUCH:
        return ": the weights are nearly even, and attention can hardly choose."
    kind = "more peaked" if ratio > 1 else "more even"
    return (
        f", so the weights start out {kind} than is usual. Training can make up for "
        "some of that."
    )


def _is(value: float | None, wanted: float) -> bool:
    return value is not None and math.isclose(value, wanted, rel_tol=1e-3)
