"""Every attention is an average: its weights add up to 1 over the keys."""

from __future__ import annotations

from collections.abc import Iterator

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding


def examine(patient: Patient) -> Iterator[Finding]:
    """Add up the weights as they multiply the values, row by row."""
    patient.has_numbers()
    _, found = patient.watch(patient.source(), patient.target())
    if not found:
        raise Skip("no softmax between two matrix products was seen")
    wrong: list[tuple[int, float, int]] = []
    cut: list[tuple[int, float, int]] = []
    for number, each in enumerate(found):
        sums = each.weights.sum(dim=-1)
        sums = sums[sums > 0]  # a row without weight sees nothing: a mask's affair
        off = float((sums - 1).abs().max()) if len(sums) else 0.0
        if off < 1e-3:
            continue
        axis = int(each.softmax.arguments[1])
        made = each.softmax.result
        last = axis in (-1, made.dim() - 1)
        whole = made.reshape(-1, *made.shape[-2:]).sum(dim=-1)
        (cut if last and float((whole - 1).abs().max()) < 1e-3 else wrong).append(
            (number, off, axis)
        )
    if wrong:
        number, off, axis = max(wrong, key=lambda each: each[1])
        yield Finding(
            code="softmax-wrong-axis",
            title="the softmax runs along the wrong axis",
            tried="added up the weights of each query in each attention.",
            seen=f"in {len(wrong)} of {len(found)} attentions they don't add up to 1 "
            f"but are off by up to {off:.2g}; the softmax ran along axis {axis}.",
            means="queries compete for keys instead of the other way round, or heads "
            "with each other, and what comes out isn't an average of the values.",
            look="dim=… of the softmax: it has to be -1, the axis of the keys.",
            chapter="Attention",
        )
    if cut:
        number, off, _ = max(cut, key=lambda each: each[1])
        yield Finding(
            code="mask-after-softmax",
            title="the mask comes after the softmax",
            tried="added up the weights of each query in each attention.",
            seen=f"the softmax gives 1, but what multiplies the values is up to "
            f"{off:.2g} short of it, in {len(cut)} of {len(found)} attentions.",
            means="hidden keys have taken their share of the weight before they were "
            "set to 0, so they still count, and early positions are damped.",
            look="fill the scores with -inf before the softmax, not the weights after.",
            chapter="Masks",
            because=("dropout-while-evaluating",),
        )
