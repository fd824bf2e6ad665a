"""The grader for `split_heads` of chapter *Multi-head attention*."""

from torch import Tensor

from tformer_book.check import kit
from tformer_book.check.problems._heads import (
    TRANSPOSE,
    interleaved_split,
    numbered,
    one_tensor,
    right_split,
)

HINTS = (
    "Which axis is cut, that of the words or that of the numbers? And which two axes "
    "must attention find at the end?",
    "Cut the last axis into (heads, numbers of one head), which gives (B, T, H, Dh); "
    "then bring the heads in front of the words.",
    "return x.unflatten(-1, (n_heads, -1))…",
)

SLIPS: kit.Table = {
    "view-without-transpose": (
        lambda x, n_heads: x.reshape(len(x), n_heads, x.size(1), -1),
        "It works for one head, and mixes heads and words for two: a view without a "
        "transpose? view(B, H, T, Dh) deals the numbers out in the order in which they "
        "lie in memory, so the first head gets whole words from the beginning of the "
        "sentence. Cut the width first, (B, T, H, Dh), then bring the heads forward: "
        f"{TRANSPOSE}.",
    ),
    "not-transposed": (
        lambda x, n_heads: x.unflatten(-1, (n_heads, -1)),
        lambda x, n_heads: (
            "The width is cut correctly, but the heads come after the words: "
            f"{(len(x), x.size(1), n_heads, x.size(2) // n_heads)}. Attention "
            "works on the last two axes, which would be heads and numbers, so each "
            "word would attend to its own heads. Bring the heads forward: "
            ".transpose(-3, -2)."
        ),
    ),
    "interleaved": (
        interleaved_split,
        lambda x, n_heads: (
            f"Each head gets every {n_heads}th number instead of neighbours: you cut "
            "the width into (Dh, H). By our rule, and that of nearly every trained "
            "model's weights, head 0 has the first Dh numbers, head 1 the next: (H, "
            "Dh)."
        ),
    ),
    "heads-reversed": (
        lambda x, n_heads: right_split(x, n_heads).flip(1),
        "The heads stand in the reverse order: head 0 has the last numbers of the "
        "width. Head 0 must have the first.",
    ),
    "heads-last": (
        lambda x, n_heads: right_split(x, n_heads).permute(0, 2, 3, 1),
        "The axis of heads stands last. Attention works on the last two axes, which "
        "must be words and numbers: (B, H, T, Dh).",
    ),
    "words-and-numbers-swapped": (
        lambda x, n_heads: right_split(x, n_heads).mT,
        "Words and numbers have changed places: your heads are (Dh, T). Each head "
        "needs a row for each word: (B, H, T, Dh).",
    ),
    "heads-before-the-batch": (
        lambda x, n_heads: right_split(x, n_heads).transpose(0, 1),
        "The heads stand before the batch: (H, B, T, Dh). Masks of shape (B, 1, 1, Tk) "
        "would then meet the wrong axis. Keep the batch in front: (B, H, T, Dh).",
    ),
    "batch-and-heads-in-one-axis": (
        lambda x, n_heads: (
            right_split(x, n_heads).flatten(0, 1)
            if n_heads > 1
            else right_split(x, n_heads)
        ),
        lambda x, n_heads: (
            f"You put batch and heads into one axis, ({len(x) * n_heads}, "
            f"{x.size(1)}, {x.size(2) // n_heads}). That can work, but masks of "
            "shape (B, 1, 1, Tk) no longer broadcast. Keep them apart: (B, H, T, Dh)."
        ),
    ),
    "every-head-gets-all": (
        lambda x, n_heads: x[:, None].expand(-1, n_heads, -1, -1),
        "Every head gets the whole width: copies, not parts. The projection has "
        "already made all heads' numbers side by side; cut them: (B, H, T, D / H).",
    ),
    "cuts-the-sentence": (
        lambda x, n_heads: (
            x.reshape(len(x), n_heads, x.size(1) // n_heads, x.size(2))
            if x.size(1) % n_heads == 0
            else right_split(x, n_heads)
        ),
        "You cut the sentence, not the width: each head gets a part of the words. "
        "Every head must see every word, and a part of its numbers.",
    ),
    "batch-and-words-swapped": (
        lambda x, n_heads: x.reshape(len(x), x.size(1) * n_heads, -1).transpose(0, 1),
        "You read the first axis as words and the second as the batch. Here the batch "
        "comes first: x is (B, T, D).",
    ),
}


def _case(x: Tensor, n_heads: int) -> kit.Case:
    return kit.Case({"x": x, "n_heads": n_heads})


def _probe_one_head(mine: kit.Function) -> None:
    case = _case(numbered(2, 3, 4), 1)
    case.compare(
        case.ask(mine, one_tensor),
        right_split,
        SLIPS,
        said="for x (2, 3, 4) and one head",
        hint="With one head the numbers stay where they are; there is only an axis "
        "more, for the head.",
    )


def _probe_split(mine: kit.Function) -> None:
    for shape, n_heads in (
        ((2, 3, 8), 2),
        ((2, 4, 12), 4),  # as many heads as words
        ((1, 5, 6), 3),
        ((3, 1, 6), 2),
    ):
        case = _case(numbered(*shape), n_heads)
        try:
            case.compare(
                case.ask(mine, one_tensor),
                right_split,
                SLIPS,
                said=f"for x {shape} and {n_heads} heads",
                hint="The numbers stand in wrong places. Number x through, "
                "torch.arange(24).view(1, 3, 8): head 0 of word 0 must have 0, 1, 2, "
                "3; of word 1, 8, 9, 10, 11.",
            )
        except kit.Stopped as stopped:
            if shape == (2, 3, 8):
                raise
            raise kit.Mistake(
                "sizes-fixed",
                f"It works for (2, 3, 8) with 2 heads and stops for {shape} with "
                f"{n_heads}: a size is written into your code. Take all sizes from "
                f"x.shape and n_heads. {stopped.message}",
            ) from None


def _probe_strided(mine: kit.Function) -> None:
    """An x that is no single block of memory, as after a chunk of stacked Q, K, V."""
    case = _case(numbered(2, 3, 24)[..., 8:16], 2)
    try:
        found = case.ask(mine, one_tensor)
    except kit.Stopped as stopped:
        raise kit.Mistake(
            "needs-one-block-of-memory",
            "It stops where x is a part of a larger tensor, as after "
            ".chunk(3, dim=-1) of stacked queries, keys and values: view wants one "
            "block of memory. unflatten and reshape do not. "
            f"({type(stopped.problem).__name__})",
        ) from None
    if not kit.matches(found, case.of(right_split)):
        raise kit.Mistake(
            "memory-order",
            "Right for a fresh x, wrong for a part of a larger one: you rely on how "
            "its numbers lie in memory (as_strided, storage). Use unflatten.",
        )


def _probe_gradients(mine: kit.Function) -> None:
    _case(numbered(2, 3, 8), 2).learn(mine, right_split, "x", take=one_tensor)


@kit.grader(_probe_one_head, _probe_split, _probe_strided, _probe_gradients)
def split_heads(mine: kit.Function) -> str:
    """Grade your own ``split_heads(x, n_heads)``.

    ``mine`` takes x (B, T, D) and a number of heads H; returns (B, H, T, D / H),
    where head 0 has the first D / H numbers of every word.
    """
    return (
        "Every head has a row for every word and its own part of the numbers, for any "
        "sizes."
    )
