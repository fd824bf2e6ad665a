"""Every attention is an average: its weights add up to 1 over the keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import INITIAL, Finding

CHAPTER = "Attention"
SIGMOID = (
    "That is right for attention with a sigmoid in place of the softmax "
    '(accept=["attention-without-softmax"]).'
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Add up the weights as they multiply the values, row by row."""
    patient.has_numbers()
    ops, found = patient.watch(patient.source(), patient.target())
    lengths = {patient.n_source, patient.n_target}
    loose = [each.sum(dim=-1) for each in _anatomy.unnormalised(ops, lengths)]
    loose = [each for each in loose if float((each - 1).abs().max()) > 1e-3]
    if twice := _anatomy.softmax_twice(ops):
        yield _twice(twice)
        return
    if loose:  # and those by hand, exp divided by its sum, are as good as any
        yield dataclasses.replace(
            _no_softmax(loose, len(found)),
            design=SIGMOID if _anatomy.by_sigmoid(ops, lengths) else "",
        )
    elif summed := _anatomy.summed_up(ops):
        yield _mixes_nothing(summed)
    elif not found:
        raise Skip("no softmax between two matrix products was seen")
    yield from _groups(found)
    yield from _values_are_keys(ops, found)
    turned = [e for e in found if _is_average(e.softmax.result)
              and _is_average(e.weights.mT) and not _is_average(e.weights)]  # fmt: skip
    if turned:
        yield _transposed(turned, len(found))
        return
    wrong: list[tuple[int, float, int]] = []
    cut: list[tuple[int, float, int]] = []
    for number, each in enumerate(found):
        sums = each.weights.sum(dim=-1)
        sums = sums[sums > 0]  # a row without weight sees nothing: a mask's affair
        off = float((sums - 1).abs().max()) if len(sums) else 0.0
        if off < 1e-3:
            continue
        axis = _anatomy.wrong_axis(each)
        made = each.softmax.result
        if made.size(-1) > each.weights.size(-1):
            continue  # a sink took its share: a column that multiplies no value
        whole = made.reshape(-1, *made.shape[-2:]).sum(dim=-1)
        if axis is None and (
            float(sums.max()) > 1.001 or bool((each.weights < 0).any())
        ):
            yield _added_afterwards(each, off)
            return
        (
            cut if axis is None and float((whole - 1).abs().max()) < 1e-3 else wrong
        ).append((number, off, -1 if axis is None else axis))
    if wrong:
        number, off, axis = max(wrong, key=lambda each: each[1])
        yield Finding(
            code="softmax-wrong-axis",
            title="the softmax runs along the wrong axis",
            tried="added up the weights of each query in each attention.",
            seen=f"in {len(wrong)} of {len(found)} attentions they don't add up to 1 "
            f"but are off by up to {off:.2g}; the softmax ran along axis {axis}.",
            means="queries compete for each key, or heads with each other, where the "
            "keys should compete for each query: what comes out is no average of the "
            "values.",
            look="dim=… of the softmax: it has to be -1, the axis of the keys.",
        )
    if cut:
        number, off, _ = max(cut, key=lambda each: each[1])
        yield Finding(
            code="mask-after-softmax",
            title="the mask comes after the softmax",
            tried="added up the weights of each query in each attention.",
            seen=f"in {len(cut)} of {len(found)} attentions they add up to 1 after the "
            f"softmax, but are up to {off:.2g} short of it where they multiply the "
            "values.",
            means="hidden keys have taken their share of the weight before they were "
            "set to 0, so they still count, and early positions are damped.",
            look="fill the scores with -inf before the softmax, not the weights after.",
            chapter="Masks",
            because=("dropout-while-evaluating",),
        )


def _is_average(weights: Tensor) -> bool:
    return float((weights.sum(dim=-1) - 1).abs().max()) < 1e-3


def _transposed(turned: list[_anatomy.Attention], n: int) -> Finding:
    return Finding(
        code="weights-transposed",
        title="the attention weights are transposed before they meet the values",
        tried="added up the weights of each query, and of each key.",
        seen=f"in {len(turned)} of {n} attentions "
        f"({_anatomy.places(e.softmax for e in turned)}) it is each key's that add up "
        "to 1.",
        means="words give to those that they attend to: masks work backwards.",
        look="weights @ values, (T, S) times (S, Dh), and no transpose.",
    )


def _twice(twice: list[_anatomy.Op]) -> Finding:
    return Finding(
        code="softmax-twice",
        title="the softmax is taken of weights that are one already",
        tried="followed what each softmax is given.",
        seen=f"it is the result of another softmax: {_anatomy.places(twice)}.",
        means="the second one makes the weights almost even, and gives those that a "
        "mask had set to 0 as much as the others.",
        look="softmax(scores), once, after the mask.",
    )


def _mixes_nothing(summed: list[_anatomy.Op]) -> Finding:
    return Finding(
        code="weights-mix-nothing",
        title="the attention weights are added up before they meet the values",
        tried="followed the weights from the softmax on.",
        seen=f"each query's become their sum, 1: {_anatomy.places(summed)}.",
        means="each word keeps its own value, and nothing passes from word to word.",
        look='the letters of the einsum: keys and values share one, "bhij,bhjd->bhid".',
    )


def _groups(found: list[_anatomy.Attention]) -> Iterator[Finding]:
    """Do the heads that share keys share values, too?"""
    wrong = [e for e in found if _alike(e.key) != _alike(e.value)
             and len(set(_alike(e.key))) == len(set(_alike(e.value)))]  # fmt: skip
    if wrong:
        yield Finding(
            code="groups-differ",
            title="heads use the keys of one group and the values of another",
            tried="compared which heads have the same keys, and the same values.",
            seen=f"in {len(wrong)} of {len(found)} attentions keys go to the heads as "
            f"{_alike(wrong[0].key)}, values as {_alike(wrong[0].value)}.",
            means="what a head finds isn't what it gets.",
            look="repeat_interleave(n, dim) for both, not repeat for one of them.",
            chapter="Multi-head attention",
        )


def _values_are_keys(
    ops: list[_anatomy.Op], found: list[_anatomy.Attention]
) -> Iterator[Finding]:
    """Are the values the keys, though more was made than these?"""
    wrong = [e for e in found if _is_multiple(e.value, e.key)]
    if not wrong:
        return
    each = wrong[0]
    used = len(set(_alike(each.key))) * each.d_head
    makes = [op.output.size(-1) for op in ops
             if any(e is each.into_key for e in op.inputs)]  # fmt: skip
    yield Finding(
        code="values-are-keys",
        title="the values are the keys once more",
        tried="compared the keys of each attention with its values.",
        seen=f"they are equal in {len(wrong)} of {len(found)} attentions"
        + (f"; of {max(makes)} features that are made, {used} are used."
           if max(makes, default=0) > used else "."),
        means="a word can't hand on anything but that by which it is found.",
        look="what the parts of the projection are called: k, v = kv.chunk(2, dim=-1).",
        because=INITIAL,
        design=""
        if max(makes, default=0) > used
        else 'That is right where keys are meant to serve as values, too '
        '(accept=["values-are-keys"]).',
    )  # fmt: skip


def _is_multiple(one: Tensor, other: Tensor) -> bool:
    """Whether two are equal, but for the factor by which scores are scaled."""
    if one.shape != other.shape:
        return False
    times = one.norm() / other.norm().clamp_min(1e-12)
    return torch.allclose(one, times * other, rtol=1e-4, atol=1e-6)


def _added_afterwards(each: _anatomy.Attention, off: float) -> Finding:
    return Finding(
        code="bias-after-softmax",
        title="something is added to the attention weights after the softmax",
        tried="added up the weights of each query in each attention.",
        seen=f"the softmax's add up to 1; where they multiply the values, weights go "
        f"down to {float(each.weights.min()):.2g}, and their sums are up to {off:.2g} "
        "away from 1.",
        means="what comes out is no average of the values, and what a mask hid is "
        "there again.",
        look="a bias of positions or a mask: it is added to the scores, before the "
        "softmax.",
        because=("dropout-while-evaluating",),
    )


def _alike(heads: Tensor) -> tuple[int, ...]:
    """For each head, the first one with the same numbers."""
    return tuple(
        next(i for i in range(len(heads)) if torch.equal(heads[i], each))
        for each in heads.nan_to_num()
    )


def _no_softmax(loose: list[Tensor], n_others: int) -> Finding:
    sums = torch.cat([each.flatten() for each in loose])
    return Finding(
        code="attention-without-softmax",
        title="there is no softmax in the attention",
        tried="followed the scores to the product with the values.",
        seen=f"in {len(loose)} of {len(loose) + n_others} attentions there is no "
        "softmax on the way, and the weights of a query add up to anything from "
        f"{float(sums.min()):.2g} to {float(sums.max()):.2g}.",
        means="what comes out is no average of the values: it grows with the number of "
        "words, and a word can't be preferred at another's cost.",
        look="softmax over the keys, dim=-1, between the mask and the values.",
    )
