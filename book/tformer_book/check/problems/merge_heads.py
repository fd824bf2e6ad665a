"""The grader for `merge_heads` of chapter *Multi-head attention*."""

from tformer_book.check import kit
from tformer_book.check.problems._heads import (
    BACK,
    numbered,
    one_tensor,
    right_merge,
)

HINTS = (
    "What undoes a transpose, and what undoes a cut of an axis into two?",
    "First bring the words in front of the heads again, (B, T, H, Dh); then join the "
    "last two axes into one.",
    "return x.transpose(-3, -2)…",
)

SLIPS: kit.Table = {
    "not-transposed-back": (
        lambda x: x.reshape(len(x), x.size(2), -1),
        "The shape is right, and the words are mixed up: a reshape without the "
        "transpose? In (B, H, T, Dh) all words of head 0 lie before those of head 1, "
        f"so a reshape lays them in one row. Bring the words forward first: {BACK}.",
    ),
    "interleaved": (
        lambda x: x.permute(0, 2, 3, 1).flatten(-2),
        "Concatenated in the wrong order: the heads' numbers alternate, one of head "
        "0, one of head 1, … All Dh numbers of head 0 must come first: (B, T, H, Dh), "
        "then flatten.",
    ),
    "heads-reversed": (
        lambda x: right_merge(x.flip(1)),
        "Concatenated in the wrong order: the last head comes first. W_O expects head "
        "0 in its first Dh rows.",
    ),
    "added-up": (
        lambda x: x.sum(1),
        "You add the heads up. They are concatenated, side by side: D = H · Dh numbers "
        "for each word. (W_O adds, later, and with learned weights.)",
    ),
    "averaged": (
        lambda x: x.mean(1),
        "You take the mean of the heads. They are concatenated, side by side: D = H · "
        "Dh numbers for each word.",
    ),
    "concatenated-along-the-words": (
        lambda x: x.flatten(1, 2),
        "You put the heads one below the other: a sentence of H · T words. They belong "
        "side by side, along the last axis: (B, T, H · Dh).",
    ),
    "not-flattened": (
        lambda x: x.transpose(1, 2),
        "The words are forward again, but heads and numbers are still two axes. Join "
        "them: .flatten(-2).",
    ),
    "words-and-numbers-swapped": (
        lambda x: right_merge(x).mT,
        "Words and numbers have changed places: you return (B, D, T). It must be "
        "(B, T, D).",
    ),
}


def _probe_merge(mine: kit.Function) -> None:
    for shape in ((2, 3, 5, 4), (2, 4, 4, 2), (1, 2, 3, 5), (3, 1, 2, 4)):
        plain = numbered(*shape)
        # A result of attention lies as (B, H, T, Dh); a split lies as (B, T, H, Dh).
        strided = plain.transpose(1, 2).contiguous().transpose(1, 2)
        for x in (plain, strided):
            case = kit.Case({"x": x})
            try:
                case.compare(
                    case.ask(mine, one_tensor),
                    right_merge,
                    SLIPS,
                    said=f"for heads {shape}",
                    hint="Your merge must undo the split: merge(split(x)) is x again.",
                )
            except kit.Stopped as stopped:
                if "view" in str(stopped.problem):
                    raise kit.Mistake(
                        "view-of-a-transposed-tensor",
                        "The transpose is there, but view cannot follow it: the "
                        "numbers no longer lie in memory in the order of the axes. "
                        "Use flatten or reshape, which copy where they must. (And "
                        "take care not to drop the transpose to please view.)",
                    ) from None
                if shape == (2, 3, 5, 4):
                    raise
                raise kit.Mistake(
                    "sizes-fixed",
                    f"It works for (2, 3, 5, 4) and stops for {shape}: a size is "
                    "written into your code. Take all sizes from x.shape. "
                    f"{stopped.message}",
                ) from None


def _probe_gradients(mine: kit.Function) -> None:
    kit.Case({"x": numbered(2, 3, 5, 4)}).learn(mine, right_merge, take=one_tensor)


@kit.grader(_probe_merge, _probe_gradients)
def merge_heads(mine: kit.Function) -> str:
    """Grade your own ``merge_heads(x)``.

    ``mine`` takes the heads' outputs (B, H, T, Dh); returns (B, T, H · Dh), head
    0's numbers first.
    """
    return (
        "It undoes the split, for any sizes and any order in memory: each word gets "
        "its own rows of all heads, side by side."
    )
