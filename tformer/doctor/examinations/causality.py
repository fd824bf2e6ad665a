"""The future cannot change the past, and the past can change the future."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding

FLOATS = (
    "the mask: here one of 0 and 1 was added to the scores, which hides nothing. Make "
    "it boolean, or of 0 and −inf."
)
LEAKS = (
    "the model can read the word that it has to predict: the loss will fall towards 0, "
    "and on its own the model will write nonsense."
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Change each target word in turn, and see which logits move."""
    influence = _influence(patient)
    n = len(influence)
    moves = influence > patient.tolerance
    ahead = [(p, t) for p in range(n) for t in range(p) if moves[p, t]]
    back = [(p, t) for p in range(n) for t in range(p + 1, n) if moves[p, t]]
    itself = [p for p in range(1, n) if moves[p, p]]
    if _hides_itself(patient):
        yield _blind(n)
        return
    if ahead and not back:
        yield _inverted(influence, n)
    elif ahead:
        yield _leak(patient, influence, ahead, n)
    if not ahead:
        if not itself and back:
            yield _blind(n)
        yield from _length(patient)


def _hides_itself(patient: Patient) -> bool:
    """Whether the first self-attention shows earlier words, but not the current one."""
    if patient.lengths_must_agree or not (found := patient.self_attention(1)):
        return False
    weights = found[0].weights.amax(dim=0).nan_to_num(0.0)
    diagonal = weights.diagonal()[2:]
    return float(diagonal.max()) == 0 < float(weights[2:, 0].min())


def _influence(patient: Patient) -> Tensor:
    """How far a change at p moves the logits at t: (T, T)."""
    source, target = patient.source(), patient.target()
    plain = patient.plain
    rows = [
        patient.moved(plain, patient.logits(source, patient.other(target, place)))[0]
        for place in range(target.size(1))
    ]
    table = torch.stack(rows)
    if not torch.isfinite(plain).any():
        raise Skip("the logits are not finite: fix that first")
    return table.nan_to_num(0.0)


def _leak(
    patient: Patient, influence: Tensor, ahead: list[tuple[int, int]], n: int
) -> Finding:
    place, seen_by = max(ahead, key=lambda each: influence[each])
    reach = max(p - t for p, t in ahead)
    layers = len(patient.self_attention(1)) or 1
    tried = f"changed each of the {n} target words in turn."
    seen = (
        f"{len(ahead)} times the logits of an earlier position moved; word {place} "
        f"moved those of position {seen_by} by {influence[place, seen_by]:.2g}."
    )
    spoiled = (
        "heads-split-wrongly",
        "heads-merged-wrongly",
        "softmax-wrong-axis",
        "norm-wrong-axis",
        "dropout-while-evaluating",
        "positions-along-batch",
        "mask-after-softmax",
        "keys-from-wrong-side",
    )
    if reach <= layers < n - 1:
        return Finding(
            code="mask-off-by-one",
            title="each position sees the next word, which it has to predict",
            tried=tried,
            seen=f"{seen} No change reached further back than {reach}, with {layers} "
            "layers of self-attention.",
            means=LEAKS,
            look="the diagonal of the causal mask: torch.tril(ones, diagonal=1) or "
            "triu(…, diagonal=2) shows one word too many.",
            chapter="Masks",
            because=spoiled,
        )
    return Finding(
        code="future-leak",
        title="the decoder sees words that it has yet to write",
        tried=tried,
        seen=seen,
        means=LEAKS,
        look=FLOATS
        if any(map(_anatomy.adds_zeros_and_ones, patient.self_attention(1)))
        else "the causal mask: is it made, passed to every decoder layer, and joined "
        "with the padding mask rather than replaced by it?",
        chapter="Masks",
        because=spoiled,
    )


def _inverted(influence: Tensor, n: int) -> Finding:
    return Finding(
        code="mask-inverted",
        title="the causal mask is the wrong way round",
        tried=f"changed each of the {n} target words in turn.",
        seen="a change moves the logits before it, by up to "
        f"{influence.max():.2g}, and none after it.",
        means="each position sees the future but not the past.",
        look="what True means: in torch.nn, a bool mask hides where it is True; in "
        "scaled_dot_product_attention and many tutorials it shows.",
        chapter="Masks",
    )


def _blind(n: int) -> Finding:
    return Finding(
        code="mask-off-by-one",
        title="a position doesn't see the word that it reads",
        tried=f"changed each of the {n} target words in turn.",
        seen="the logits at the changed word stayed as they were; only later ones "
        "moved.",
        means="the mask hides one word too many, so each prediction lacks the latest "
        "word, and the first row may see nothing at all.",
        look="the diagonal of the causal mask: torch.tril(ones, diagonal=-1) and "
        "triu(…, diagonal=0) hide the diagonal.",
        chapter="Masks",
    )


def _length(patient: Patient) -> Iterator[Finding]:
    """Does what is written depend on how long the target is going to be?"""
    patient.has_numbers()
    if patient.lengths_must_agree:
        return
    source, target = patient.source(), patient.target()
    short = patient.logits(source, target[:, :4])
    moved = float(patient.moved(patient.plain[:, :4], short).max())
    if moved > patient.tolerance:
        yield Finding(
            code="length-leak",
            title="the logits depend on how long the target is going to be",
            tried="cut the target off after four words.",
            seen=f"the logits of these four moved by up to {moved:.2g}.",
            means="the length is known only at the end, so training uses something "
            "that decoding doesn't have.",
            look="positions that are counted from the end or divided by the length, "
            "statistics over positions, a mask built for another length.",
            chapter="Masks",
            because=(
                "dropout-while-evaluating",
                "heads-split-wrongly",
                "heads-merged-wrongly",
                "softmax-wrong-axis",
                "norm-wrong-axis",
            ),
        )
