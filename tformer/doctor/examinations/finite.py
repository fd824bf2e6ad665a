"""Every logit is a number, with and without padding, and may be of either sign."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient
from tformer.doctor._watch import FACTORS, SOFTMAXES, VIEWS
from tformer.doctor.report import INITIAL, Finding, listed

CHAPTER = "The whole Transformer"
TRUE = (
    "what True means: in torch.nn, a bool mask hides where it is True; in "
    "scaled_dot_product_attention and many tutorials it shows."
)
ROOTS = {"sqrt": "root", "rsqrt": "root", "pow": "root", "log": "logarithm"}


def examine(patient: Patient) -> Iterator[Finding]:
    """Run a sequence, then one with a lot of padding, and look for NaN."""
    source, target = patient.source(), patient.target()
    cases = [("without padding", source, target)]
    if patient.pad_id is not None:
        if source is not None and patient.pads[0] is not None:
            source = patient.padded(source[:, :2], patient.n_source, side=0)
        target = patient.padded(target[:, :2], patient.n_target)
        cases.append(("of two words, the rest padding,", source, target))
    if bad := [name for name, each in patient.model.named_parameters()
               if not bool(torch.isfinite(each).all())]:  # fmt: skip
        yield _weights(bad)
        hidden = _nan_rows(patient, *cases[0])
        if "no key" in hidden.seen:
            yield hidden
        return
    for case in cases:
        if not bool(torch.isfinite(patient.logits(*case[1:])).all()):
            root = _root(patient) if case is cases[0] else None
            yield root or _nan_rows(patient, *case)
            return
    over_time = (patient.plain.exp() if float(patient.plain.max()) <= 0
                 else patient.plain).sum(dim=1)  # fmt: skip
    if float((over_time - 1).abs().max()) < 1e-3:
        yield Finding(
            code="softmax-over-time",
            title="the last softmax runs over the positions",
            tried="ran one sequence and added up the output for each word.",
            seen=f"for each of the {over_time.numel()} words the positions share 1.",
            means="positions compete for a word, and each depends on all the others, "
            "later ones too.",
            look="dim=… of the last softmax: -1, the vocabulary; or leave it to the "
            "loss.",
        )
        return
    if (bound := _bound(patient)) is not None:
        yield bound
        return
    lowest, sums = float(patient.plain.min()), patient.plain.sum(dim=-1)
    if lowest >= 0 and float((sums - 1).abs().max()) > 1e-3:
        yield Finding(
            code="logits-never-negative",
            title="no logit is negative",
            tried="ran one sequence and looked at the logits.",
            seen=f"the smallest of {patient.plain.numel():,} is {lowest:.2g}.",
            means="whatever speaks against a word is cut off at 0, so the model can't "
            "say that a word is unlikely.",
            look="what follows the output projection: no ReLU and no sigmoid, only the "
            "loss's softmax.",
            because=INITIAL,
        )


def _weights(bad: list[str]) -> Finding:
    return Finding(
        code="weights-not-finite",
        title="weights are NaN or infinite themselves",
        tried="looked at every weight.",
        seen=f"{len(bad)} have such numbers: {listed(bad)}.",
        means="a step of training has ruined the model, and what it computes says "
        "little about how it is built.",
        look="a rate that is too high, a gradient that was NaN already. Examine a "
        "model as it was made.",
        chapter="Training",
        because=("mask-inverted", "nan-rows"),
    )


def _nan_rows(
    patient: Patient, which: str, source: Tensor | None, target: Tensor
) -> Finding:
    """Some logits are NaN: does a mask hide every key, and is it turned round?"""
    _, found = patient.watch(source, target)
    bad = (~torch.isfinite(patient.logits(source, target))).any(dim=-1)[0]
    code, title = "nan-rows", "some positions have no numbers"
    seen = f"NaN or infinity at {_places(bad)}."
    look = (
        "the masks: is there a row in which everything is hidden? Let each query see "
        "at least itself, and hide padding as keys only."
    )
    for each in found:
        if _anatomy.wrong_axis(each) is not None:
            code, title = "softmax-wrong-axis", "the softmax runs along the wrong axis"
            look = "dim=… of the softmax: it has to be -1, the axis of the keys."
            break
        scores = each.softmax.inputs[0].numbers
        hidden = scores.isneginf().reshape(-1, *scores.shape[-2:]).all(dim=0)
        blind = _anatomy.blind(each)
        if not bool(blind.any()):
            continue
        seen += f" In {_anatomy.places([each.softmax])} no key is seen from "
        seen += f"{_places(blind)}."
        is_causal = torch.equal(~hidden, torch.ones_like(hidden).triu(1))
        if is_causal or (bool(blind.all()) and which == "without padding"):
            code = "mask-inverted"
            title = "a mask hides everything, though nothing is padding"
            if is_causal:
                title = "the causal mask is the wrong way round"
            look = TRUE
        break
    return Finding(
        code=code,
        title=title,
        tried=f"ran one sequence {which} and looked at the logits.",
        seen=seen,
        means="a query that may see no key at all gets a softmax over nothing, 0/0. A "
        "single such row spoils every gradient of the batch.",
        look=look,
        chapter="Masks",
        because=()
        if code == "mask-inverted"
        else (
            "mask-inverted", "mask-off-by-one", "root-of-negative",
            "norm-not-normalising",
        ),
    )  # fmt: skip


def _places(where: Tensor) -> str:
    places = where.nonzero().flatten().tolist()
    return f"{len(places)} of {len(where)} positions ({', '.join(map(str, places))})"


def _bound(patient: Patient) -> Finding | None:
    """Does a tanh keep the logits so small that no word can be likely?"""
    ops, _ = patient.watch(patient.source(), patient.target())
    op = _anatomy.unembedding(ops, patient.plain.size(-1))
    n, bound = patient.plain.size(-1), None
    while op is not None and len(op.used_by) == 1:
        [op] = op.used_by
        if op.name == "tanh":
            bound = 1.0
        elif op.name in FACTORS and bound is not None:
            number = _anatomy._number(op) or 1.0
            bound = bound / number if op.name.startswith("div") else bound * number
        elif op.name not in VIEWS | FACTORS:
            return None
    if bound is None or 2 * bound > math.log(n):
        return None
    best = 1 / (1 + (n - 1) * math.exp(-2 * bound))
    return Finding(
        code="logits-bounded",
        title="the logits can't get large enough",
        tried="followed the logits from the output projection to the end.",
        seen=f"a tanh keeps them within ±{bound:.3g}, so no word of {n} gets more than "
        f"{best:.1%} of the probability.",
        means=f"the loss can't fall below {-math.log(best):.2f}.",
        look="a soft cap multiplies back: cap * tanh(logits / cap).",
    )


def _overflow(patient: Patient) -> Finding | None:
    """The first operation that makes infinity out of numbers, if that isn't a mask."""
    ops, _ = patient.watch(patient.source(), patient.target())
    for op in ops:
        numbers = [e.tensor for e in op.inputs if e.tensor.is_floating_point()]
        if op.output.is_floating_point() and numbers and not op.name.startswith("mask"):
            largest = max(float(e.abs().max()) for e in numbers if e.numel())
            if bool(op.result.isinf().any()) and 1e10 < largest < math.inf:
                return Finding(
                    code="overflow",
                    title="numbers grow until they overflow",
                    tried="ran one sequence and looked for the first infinity.",
                    seen=f"{op.name} of numbers up to {largest:.2g} makes one, in "
                    f"{_anatomy.places([op])}.",
                    means="everything that is computed from it is NaN.",
                    look="a norm that doesn't divide, weights that start too large.",
                    chapter="The encoder",
                    because=("norm-not-normalising",),
                )
    return None


def _root(patient: Patient) -> Finding | None:
    """The first operation that makes NaN out of numbers, if that is no softmax."""
    ops, _ = patient.watch(patient.source(), patient.target())
    for op in ops:
        if not op.output.is_floating_point() or not bool(op.result.isnan().any()):
            continue
        if any(bool(e.tensor.isnan().any()) for e in op.inputs
               if e.tensor.is_floating_point()):  # fmt: skip
            continue
        if op.name not in ROOTS:
            return _overflow(patient) if op.name not in SOFTMAXES else None
        lowest = float(op.inputs[0].tensor.min())
        return Finding(
            code="root-of-negative",
            title=f"a {ROOTS[op.name]} of a negative number is taken",
            tried="ran one sequence and looked for the first NaN.",
            seen=f"{op.name} of {lowest:.2g}, in {_anatomy.places([op])}.",
            means="NaN spreads to every number that is computed from it.",
            look="a norm that divides by the root of a mean: of the squares, "
            "x.pow(2).mean(-1), not of x.",
            chapter="The encoder",
        )
    return None
