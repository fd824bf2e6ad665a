"""The grader for `causal_mask` of chapter *Masks*, and known mistakes."""

from __future__ import annotations

import torch
from torch import Tensor

from tformer.masks import causal_mask as right_causal
from tformer_book.check._compare import (
    Known,
    Slip,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    call,
)
from tformer_book.check.problems._masks import (
    FLIPPED,
    as_mask,
    compare_masks,
)


def _wrong_causal(length: int) -> Known:
    full = torch.ones(length, length, dtype=torch.bool)
    yield Slip(
        "sees-the-future",
        "Upper instead of lower: your rows see themselves and the future, and "
        "nothing of the past. Row i must see the keys j ≤ i: tril(), not triu().",
        full.triu(),
    )
    yield Slip(
        "flipped",
        FLIPPED + " (Your True cells are exactly the future.)",
        full.triu(1),
    )
    yield Slip(
        "sees-the-next",
        "Shifted by one: each position also sees the next one, which is the very "
        "piece that it must predict. The loss will be wonderful and the translations "
        "rubbish. Use tril() without an offset.",
        full.tril(1),
    )
    yield Slip(
        "does-not-see-itself",
        "Shifted by one: a position does not see itself, so the first row sees "
        "nothing at all and becomes nan. The input is already shifted (it begins with "
        "bos), so a position may see itself: tril() without an offset.",
        full.tril(-1),
    )
    yield Slip("nothing-hidden", "Your mask hides nothing: every cell is True.", full)
    yield Slip(
        "only-itself",
        "Each position sees only itself. It must see its past, too: j ≤ i, not j == i.",
        torch.eye(length, dtype=torch.bool),
    )


def _run_causal(mine: Function, length: int) -> Tensor:
    return as_mask(call(mine, {"length": length}, {}))


def _probe_causal(mine: Function) -> None:
    shapes = {n: tuple(_run_causal(mine, n).shape) for n in (5, 3)}
    if len(set(shapes.values())) == 1:
        raise Mistake(
            "length-ignored",
            f"Your mask has shape {shapes[5]} for every length. Build it from "
            "`length`.",
        )
    for length in (5, 3, 1):
        found = _run_causal(mine, length)
        if found.shape != (length, length):
            raise Mistake(
                "shape",
                f"For length {length} your mask has shape {tuple(found.shape)}; it "
                f"must be ({length}, {length}): one row per query, one column per key. "
                "Batch and heads need no axis: two axes broadcast over them.",
            )
        compare_masks(found[None], right_causal(length)[None], _wrong_causal(length))


def causal_mask(mine: Function) -> Result:
    """Grade a reader's causal mask.

    Args:
        mine: a function ``mine(length)`` that returns a (T, T) bool mask, True = may
            attend, as `tformer.masks.causal_mask` does.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Each position sees itself and its past, at lengths 1, 3 and 5; bool, and no "
        "row is empty."
    )
    return grade("causal_mask", mine, [_probe_causal], praise)
