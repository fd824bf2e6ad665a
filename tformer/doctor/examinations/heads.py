"""Splitting into heads and merging them again moves no word to another place."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor._anatomy import Attention
from tformer.doctor._patient import Patient, Skip
from tformer.doctor._watch import Input
from tformer.doctor.report import Finding

CHAPTER = "Multi-head attention"


def examine(patient: Patient) -> Iterator[Finding]:
    """Change one word; its query alone may change. Compare both sides of a merge."""
    patient.has_numbers()
    _, found = patient.watch(patient.source(), patient.target())
    if not found:
        raise Skip("no softmax between two matrix products was seen")
    yield from _split(patient)
    yield from _merge(found)


def _split(patient: Patient) -> Iterator[Finding]:
    place = 2
    for side in (0, 1):
        if side == 0 and patient.decoder_only:
            continue
        before = patient.self_attention(side)
        source, target = patient.source(), patient.target()
        if side == 0 and source is not None:
            source = patient.other(source, place, side=0)
        else:
            target = patient.other(target, place)
        _, found = patient.watch(source, target)
        n = patient.n_target if side else patient.n_source
        changed = [each for each in found if each.shape == (n, n)]
        if not before or not changed:
            continue
        for name in ("query", "key", "value"):
            strangers = _strangers(before[0], changed[0], name, place)
            if strangers:
                yield _mixed("target" if side else "source", name, place, strangers)
                return


def _strangers(one: Attention, other: Attention, name: str, place: int) -> list[int]:
    """Other places whose query (key, value) changed, though what made it didn't."""
    a, b = getattr(one, name), getattr(other, name)
    if a.shape != b.shape:
        return []
    moved = _moved(a, b)
    read, now = getattr(one, f"into_{name}"), getattr(other, f"into_{name}")
    if read is not None and now is not None and _rows(read) == len(moved):
        moved &= ~_moved(
            *(e.numbers.reshape(len(moved), -1) for e in (read, now))
        )  # what was mixed before the projection: a token shift, a convolution
    return [p for p in moved.nonzero().flatten().tolist() if p != place]


def _moved(one: Tensor, other: Tensor) -> Tensor:
    """Which rows differ, (T,)."""
    apart = (one - other).abs().amax(dim=-1)
    return (apart > 1e-6 * one.abs().max()).reshape(-1, apart.size(-1)).any(dim=0)


def _rows(read: Input) -> int:
    return read.numbers.numel() // read.numbers.size(-1)


WHERE = {
    "query": "view(B, T, H, Dh).transpose(1, 2); a direct view(B, H, T, Dh) cuts along "
    "the wrong axis.",
    "key": "key.transpose(-2, -1) in the scores; a view (B, H, Dh, T) has the same "
    "shape, and cuts across words. Then view(B, T, H, Dh).transpose(1, 2).",
}


def _mixed(side: str, name: str, place: int, strangers: list[int]) -> Finding:
    return Finding(
        code="heads-split-wrongly",
        title="splitting into heads mixes the words",
        tried=f"changed word {place} of the {side} and looked at queries, keys and "
        "values of the first layer.",
        seen=f"the {name} vectors of words {', '.join(map(str, strangers))} changed, "
        "too.",
        means="each head gets pieces of several words, so attention compares the wrong "
        "things, and a causal mask hides nothing.",
        look=WHERE.get(name, WHERE["query"]),
        because=("norm-wrong-axis", "dropout-while-evaluating", "state-between-calls"),
    )


def _merge(found: list[Attention]) -> Iterator[Finding]:
    judged = [
        each
        for each in found
        if each.merged is not None and each.merged.numel() == each.context.numel()
    ]
    wrong = [each for each in judged if not _is_a_merge(each)]
    if wrong:
        one = wrong[0]
        assert one.merged is not None
        yield Finding(
            code="heads-merged-wrongly",
            title="merging the heads mixes the words",
            tried="compared what leaves the heads with what enters the projection.",
            seen=f"in {len(wrong)} of {len(judged)} attentions a word's row of "
            f"{one.merged.size(-1)} numbers is not what its own heads have "
            "side by side.",
            means="what a word has gathered arrives at other words, past every mask.",
            look="transpose(1, 2) before reshape(B, T, H·Dh).",
        )


def _is_a_merge(each: Attention) -> bool:
    """Whether each row holds just the numbers that the heads have at that place."""
    assert each.merged is not None
    n = each.shape[0]
    context = each.context.reshape(-1, n, each.context.size(-1))
    whole = context.transpose(0, 1).reshape(n, -1).sort(dim=-1).values
    rows = each.merged.reshape(n, -1).sort(dim=-1).values
    return bool(torch.allclose(whole, rows, rtol=1e-4, atol=1e-7))
