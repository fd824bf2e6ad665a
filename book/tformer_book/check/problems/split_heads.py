"""The grader for `split_heads` of chapter *Multi-head attention*."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
    matches,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    call,
    probe_gradients,
)
from tformer_book.check.problems._heads import (
    TRANSPOSE,
    interleaved_split,
    numbered,
    one_tensor,
    right_split,
)


def wrong_splits(x: Tensor, n_heads: int) -> Known:
    """What comes out of a split that was built with a slip."""
    batch, length, width = x.shape
    right = right_split(x, n_heads)
    yield Slip(
        "view-without-transpose",
        "It works for one head, and mixes heads and words for two: a view without a "
        "transpose? view(B, H, T, Dh) deals the numbers out in the order in which they "
        "lie in memory, so the first head gets whole words from the beginning of the "
        "sentence. Cut the width first, (B, T, H, Dh), then bring the heads forward: "
        f"{TRANSPOSE}.",
        x.reshape(batch, n_heads, length, -1),
    )
    yield Slip(
        "not-transposed",
        "The width is cut correctly, but the heads come after the words: "
        f"{(batch, length, n_heads, width // n_heads)}. Attention works on the last "
        "two axes, which would be heads and numbers, so each word would attend to its "
        "own heads. Bring the heads forward: .transpose(-3, -2).",
        x.unflatten(-1, (n_heads, -1)),
    )
    yield Slip(
        "interleaved",
        f"Each head gets every {n_heads}th number instead of neighbours: you cut the "
        "width into (Dh, H). By our rule, and that of nearly every trained model's "
        "weights, head 0 has the first Dh numbers, head 1 the next: (H, Dh).",
        interleaved_split(x, n_heads),
    )
    yield Slip(
        "heads-reversed",
        "The heads stand in the reverse order: head 0 has the last numbers of the "
        "width. Head 0 must have the first.",
        right.flip(1),
    )
    yield Slip(
        "heads-last",
        "The axis of heads stands last. Attention works on the last two axes, which "
        "must be words and numbers: (B, H, T, Dh).",
        right.permute(0, 2, 3, 1),
    )
    yield Slip(
        "words-and-numbers-swapped",
        "Words and numbers have changed places: your heads are (Dh, T). Each head "
        "needs a row for each word: (B, H, T, Dh).",
        right.mT,
    )
    yield Slip(
        "heads-before-the-batch",
        "The heads stand before the batch: (H, B, T, Dh). Masks of shape (B, 1, 1, Tk) "
        "would then meet the wrong axis. Keep the batch in front: (B, H, T, Dh).",
        right.transpose(0, 1),
    )
    if n_heads > 1:
        yield Slip(
            "batch-and-heads-in-one-axis",
            f"You put batch and heads into one axis, ({batch * n_heads}, {length}, "
            f"{width // n_heads}). That can work, but masks of shape (B, 1, 1, Tk) no "
            "longer broadcast. Keep them apart: (B, H, T, Dh).",
            right.flatten(0, 1),
        )
    yield Slip(
        "every-head-gets-all",
        "Every head gets the whole width: copies, not parts. The projection has "
        "already made all heads' numbers side by side; cut them: (B, H, T, D / H).",
        x[:, None].expand(-1, n_heads, -1, -1),
    )
    yield Slip(
        "cuts-the-sentence",
        "You cut the sentence, not the width: each head gets a part of the words. "
        "Every head must see every word, and a part of its numbers.",
        x.reshape(batch, n_heads, length // n_heads, width)
        if length % n_heads == 0
        else right,
    )
    # (A view that swaps batch and length, as code for (T, B, D) does.)
    yield Slip(
        "batch-and-words-swapped",
        "You read the first axis as words and the second as the batch. Here the batch "
        "comes first: x is (B, T, D).",
        x.reshape(batch, length * n_heads, -1).transpose(0, 1),
    )


def _probe_one_head(mine: Function) -> None:
    x = numbered(2, 3, 4)
    found = one_tensor(call(mine, {"x": x, "n_heads": 1}))
    right = right_split(x, 1)
    compare(
        found,
        right,
        wrong_splits(x, 1),
        said=f"for x {tuple(x.shape)} and one head",
        hint="With one head the numbers stay where they are; there is only an axis "
        "more, for the head.",
    )


def _probe_split(mine: Function) -> None:
    for shape, n_heads in (
        ((2, 3, 8), 2),
        ((2, 4, 12), 4),  # as many heads as words
        ((1, 5, 6), 3),
        ((3, 1, 6), 2),
    ):
        x = numbered(*shape)
        right = right_split(x, n_heads)
        try:
            found = one_tensor(call(mine, {"x": x, "n_heads": n_heads}))
        except Stopped as stopped:
            if shape == (2, 3, 8):
                raise
            raise Mistake(
                "sizes-fixed",
                f"It works for (2, 3, 8) with 2 heads and stops for {shape} with "
                f"{n_heads}: a size is written into your code. Take all sizes from "
                f"x.shape and n_heads. {stopped.message}",
            ) from None
        compare(
            found,
            right,
            wrong_splits(x, n_heads),
            said=f"for x {shape} and {n_heads} heads",
            hint="The numbers stand in wrong places. Number x through, "
            "torch.arange(24).view(1, 3, 8): head 0 of word 0 must have 0, 1, 2, 3; of "
            "word 1, 8, 9, 10, 11.",
        )


def _probe_strided(mine: Function) -> None:
    """An x that is no single block of memory, as after a chunk of stacked Q, K, V."""
    x = numbered(2, 3, 24)[..., 8:16]
    given = {"x": x, "n_heads": 2}
    try:
        found = one_tensor(call(mine, given))
    except Stopped as stopped:
        raise Mistake(
            "needs-one-block-of-memory",
            "It stops where x is a part of a larger tensor, as after "
            ".chunk(3, dim=-1) of stacked queries, keys and values: view wants one "
            "block of memory. unflatten and reshape do not. "
            f"({type(stopped.problem).__name__})",
        ) from None
    if not matches(found, right_split(x, 2)):
        raise Mistake(
            "memory-order",
            "Right for a fresh x, wrong for a part of a larger one: you rely on how "
            "its numbers lie in memory (as_strided, storage). Use unflatten.",
        )


def _probe_gradients(mine: Function) -> None:
    x = numbered(2, 3, 8)
    given = {"x": x, "n_heads": 2}
    probe_gradients(
        mine,
        lambda: one_tensor(call(mine, given)),
        lambda: right_split(x, 2),
        {"x": x},
    )


def split_heads(mine: Callable[[Tensor, int], Tensor]) -> Result:
    """Grade your own ``split_heads(x, n_heads)``.

    Args:
        mine: takes x (B, T, D) and a number of heads H; returns (B, H, T, D / H), where
            head 0 has the first D / H numbers of every word.

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "split_heads",
        mine,
        (
            _probe_one_head,
            _probe_split,
            _probe_strided,
            _probe_gradients,
        ),
        """Every head has a row for every word and its own part of the numbers, for any
        sizes.""",
    )
