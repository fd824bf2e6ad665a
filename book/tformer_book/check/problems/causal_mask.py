"""The grader for `causal_mask` of chapter *Masks*, and known mistakes."""

import torch
from torch import Tensor

from tformer.masks import causal_mask as right_causal
from tformer_book.check import kit
from tformer_book.check.problems._masks import FLIPPED, as_mask, compare_masks

HINTS = (
    "May position i see itself? Which comparison of i and j says exactly what it may "
    "see?",
    "Number the positions, stand one copy upright and lay the other flat (`place[:, "
    "None]` and `place`), and compare them.",
    "place = torch.arange(length)",
)


def _full(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


SLIPS: kit.Table = {
    "sees-the-future": (
        lambda length: _full(length).triu(),
        "Upper instead of lower: your rows see themselves and the future, and "
        "nothing of the past. Row i must see the keys j ≤ i: tril(), not triu().",
    ),
    "flipped": (
        lambda length: _full(length).triu(1),
        FLIPPED + " (Your True cells are exactly the future.)",
    ),
    "sees-the-next": (
        lambda length: _full(length).tril(1),
        "Shifted by one: each position also sees the next one, which is the very "
        "piece that it must predict. The loss will be wonderful and the translations "
        "rubbish. Use tril() without an offset.",
    ),
    "does-not-see-itself": (
        lambda length: _full(length).tril(-1),
        "Shifted by one: a position does not see itself, so the first row sees "
        "nothing at all and becomes nan. The input is already shifted (it begins with "
        "bos), so a position may see itself: tril() without an offset.",
    ),
    "nothing-hidden": (_full, "Your mask hides nothing: every cell is True."),
    "neighbours-only": (
        [
            lambda length: _full(length).tril().triu(-1),
            lambda length: _full(length).tril(1).triu(-1),
            lambda length: _full(length).tril(1).triu(),
        ],
        "Each position sees its neighbours only. It must see its whole past, however "
        "far back, and nothing of the future: j ≤ i.",
    ),
    "only-itself": (
        lambda length: torch.eye(length, dtype=torch.bool),
        "Each position sees only itself. It must see its past, too: j ≤ i, not j == i.",
    ),
}


def _probe_causal(mine: kit.Function) -> None:
    cases = {length: kit.Case({"length": length}) for length in (5, 3, 1)}
    shapes = [tuple(cases[n].ask(mine, as_mask).shape) for n in (5, 3)]
    if shapes[0] == shapes[1]:
        raise kit.Mistake(
            "length-ignored",
            f"Your mask has shape {shapes[0]} for every length. Build it from "
            "`length`.",
        )
    for length, case in cases.items():
        found = case.ask(mine, as_mask)
        if found.shape != (length, length):
            raise kit.Mistake(
                "shape",
                f"For length {length} your mask has shape {tuple(found.shape)}; it "
                f"must be ({length}, {length}): one row per query, one column per key. "
                "Batch and heads need no axis: two axes broadcast over them.",
            )
        known = kit.slips(SLIPS, case.of)
        compare_masks(found[None], right_causal(length)[None], known)


@kit.grader(_probe_causal)
def causal_mask(mine: kit.Function) -> str:
    """Grade a reader's causal mask.

    ``mine`` is a function ``mine(length)`` that returns a (T, T) bool mask, True = may
    attend, as `tformer.masks.causal_mask` does.
    """
    return (
        "Each position sees itself and its past, at lengths 1, 3 and 5; bool, and no "
        "row is empty."
    )
