"""Scores are divided by the square root of the head's size."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

MUCH = 2.5  # times too large or too small


def examine(patient: Patient) -> Iterator[Finding]:
    """Follow the scores from the matrix product to the softmax."""
    _, found = patient.watch(patient.source(), patient.target())
    judged = [each for each in found if each.factor is not None]
    if not judged:
        raise Skip("no scores with a fixed scale were seen")
    for code, wrong in (
        ("no-scale", [e for e in judged if _is(e.factor, 1.0)]),
        ("wrong-scale", [e for e in judged if not _is(e.factor, 1.0)]),
    ):
        wrong = [
            e for e in wrong if not _is(e.factor, _anatomy.expected_factor(e.d_head))
        ]
        if wrong:
            yield _finding(code, wrong, len(found))


def _finding(code: str, wrong: list[_anatomy.Attention], n: int) -> Finding:
    one = wrong[0]
    right = _anatomy.expected_factor(one.d_head)
    factor = one.factor or 0.0
    return Finding(
        code=code,
        title="the attention scores are not scaled"
        if code == "no-scale"
        else "the attention scores are scaled by the wrong number",
        tried="followed the scores from the matrix product to the softmax.",
        seen=f"in {len(wrong)} of {n} attentions "
        f"({_anatomy.places(each.softmax for each in wrong)}) they are multiplied by "
        f"{factor:.4g}. With heads of size {one.d_head} it should be 1/√{one.d_head} = "
        f"{right:.4g}.",
        means=f"the scores are {factor / right:.3g} times as large as they should be"
        + _effect(factor / right),
        look="the line after the product of queries and keys: divide by "
        "math.sqrt(d_head), with the size of one head, once.",
        chapter="Attention",
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
