"""The grader for `merge_heads` of chapter *Multi-head attention*."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    call,
    probe_gradients,
)
from tformer_book.check.problems._heads import (
    BACK,
    numbered,
    one_tensor,
    right_merge,
)


def wrong_merges(x: Tensor) -> Known:
    """What comes out of a merge that was built with a slip."""
    batch, _, length, _ = x.shape
    yield Slip(
        "not-transposed-back",
        "The shape is right, and the words are mixed up: a reshape without the "
        "transpose? In (B, H, T, Dh) all words of head 0 lie before those of head 1, "
        f"so a reshape lays them in one row. Bring the words forward first: {BACK}.",
        x.reshape(batch, length, -1),
    )
    yield Slip(
        "interleaved",
        "Concatenated in the wrong order: the heads' numbers alternate, one of head "
        "0, one of head 1, … All Dh numbers of head 0 must come first: (B, T, H, Dh), "
        "then flatten.",
        x.permute(0, 2, 3, 1).flatten(-2),
    )
    yield Slip(
        "heads-reversed",
        "Concatenated in the wrong order: the last head comes first. W_O expects head "
        "0 in its first Dh rows.",
        right_merge(x.flip(1)),
    )
    yield Slip(
        "added-up",
        "You add the heads up. They are concatenated, side by side: D = H · Dh numbers "
        "for each word. (W_O adds, later, and with learned weights.)",
        x.sum(1),
    )
    yield Slip(
        "averaged",
        "You take the mean of the heads. They are concatenated, side by side: D = H · "
        "Dh numbers for each word.",
        x.mean(1),
    )
    yield Slip(
        "concatenated-along-the-words",
        "You put the heads one below the other: a sentence of H · T words. They belong "
        "side by side, along the last axis: (B, T, H · Dh).",
        x.flatten(1, 2),
    )
    yield Slip(
        "not-flattened",
        "The words are forward again, but heads and numbers are still two axes. Join "
        "them: .flatten(-2).",
        x.transpose(1, 2),
    )
    yield Slip(
        "words-and-numbers-swapped",
        "Words and numbers have changed places: you return (B, D, T). It must be "
        "(B, T, D).",
        right_merge(x).mT,
    )


def _probe_merge(mine: Function) -> None:
    for shape in ((2, 3, 5, 4), (2, 4, 4, 2), (1, 2, 3, 5), (3, 1, 2, 4)):
        plain = numbered(*shape)
        # A result of attention lies as (B, H, T, Dh); a split lies as (B, T, H, Dh).
        strided = plain.transpose(1, 2).contiguous().transpose(1, 2)
        right = right_merge(plain)
        for x in (plain, strided):
            try:
                found = one_tensor(call(mine, {"x": x}, {}))
            except Stopped as stopped:
                if "view" in str(stopped.problem):
                    raise Mistake(
                        "view-of-a-transposed-tensor",
                        "The transpose is there, but view cannot follow it: the "
                        "numbers no longer lie in memory in the order of the axes. "
                        "Use flatten or reshape, which copy where they must. (And "
                        "take care not to drop the transpose to please view.)",
                    ) from None
                if shape == (2, 3, 5, 4):
                    raise
                raise Mistake(
                    "sizes-fixed",
                    f"It works for (2, 3, 5, 4) and stops for {shape}: a size is "
                    "written into your code. Take all sizes from x.shape. "
                    f"{stopped.message}",
                ) from None
            compare(
                found,
                right,
                wrong_merges(x),
                said=f"for heads {shape}",
                hint="Your merge must undo the split: merge(split(x)) is x again.",
            )


def _probe_gradients(mine: Function) -> None:
    x = numbered(2, 3, 5, 4)
    probe_gradients(
        mine,
        lambda: one_tensor(call(mine, {"x": x})),
        lambda: right_merge(x),
        {"x": x},
    )


def merge_heads(mine: Callable[[Tensor], Tensor]) -> Result:
    """Grade your own ``merge_heads(x)``.

    Args:
        mine: takes the heads' outputs (B, H, T, Dh); returns (B, T, H · Dh), head 0's
            numbers first.

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "merge_heads",
        mine,
        (_probe_merge, _probe_gradients),
        """It undoes the split, for any sizes and any order in memory: each word gets
        its own rows of all heads, side by side.""",
    )
