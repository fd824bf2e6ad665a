"""The grader for `padding_mask` of chapter *Masks*, and known mistakes."""

import torch
from torch import Tensor

from tformer.masks import padding_mask as right_padding
from tformer_book.check import kit
from tformer_book.check.problems._masks import (
    BY_SIZE,
    FLIPPED,
    PAD_IGNORED,
    QUERIES_TOO,
    WRONG_AXIS,
    as_mask,
    compare_masks,
    some_ids,
)

HINTS = (
    "Whom must the mask hide, those who ask or those who answer? On which axis do "
    "they stand?",
    "Compare the ids with `pad_id`, then add axes of size 1 for heads and for "
    "queries, so that the keys stay last: (B, 1, 1, Tk).",
    "return (ids != pad_id)…",
)

SLIPS: kit.Table = {
    "flipped": (lambda ids, pad_id: ~(ids != pad_id)[:, None, None, :], FLIPPED),
    "nothing-hidden": (
        lambda ids, pad_id: torch.ones_like(ids != pad_id)[:, None, None, :],
        "Your mask hides nothing: padding is seen like any word.",
    ),
    "pad-id-ignored": (lambda ids, pad_id: (ids != 0)[:, None, None, :], PAD_IGNORED),
    "compared-by-size": (
        [
            lambda ids, pad_id: (ids > pad_id)[:, None, None, :],
            lambda ids, pad_id: (ids < pad_id)[:, None, None, :],
        ],
        BY_SIZE,
    ),
}


def _padding_shape(found: Tensor, ids: Tensor, pad_id: int) -> Tensor:
    """The mask as (B, 1, 1, Tk), or what its shape does wrong."""
    batch, length = ids.shape
    real = ids != pad_id
    shape = tuple(found.shape)
    if shape == (batch, 1, 1, length):
        return found
    if shape == (batch, 1, length, 1):
        raise kit.Mistake("wrong-axis", WRONG_AXIS)
    if shape == (batch, 1, length, length):
        both = (real[:, :, None] & real[:, None, :])[:, None]
        if torch.equal(found, both):
            raise kit.Mistake("hides-queries", QUERIES_TOO)
        if torch.equal(found, real[:, None, :, None].expand_as(both)):
            raise kit.Mistake("wrong-axis", WRONG_AXIS)
        raise kit.Mistake(
            "copied-for-queries",
            f"Your mask has shape {shape}: a copy of the same row for every query. It "
            "costs memory, and in cross-attention, where there are more or fewer "
            f"queries than keys, it does not fit. Leave 1 there: ({batch}, 1, 1, "
            f"{length}).",
        )
    if shape in ((batch, length), (batch, 1, length)):
        raise kit.Mistake(
            "axes-missing",
            f"Your mask has shape {shape}. Scores have four axes (B, H, Tq, Tk), and "
            "axes are matched from the right, so your batch axis meets "
            f"{'the queries' if len(shape) == 2 else 'the heads'}: an error if you are "
            "lucky, a mask of the wrong sentence if the sizes happen to agree. "
            f"Insert axes of size 1: ({batch}, 1, 1, {length}).",
        )
    if len(shape) == 4 and shape[0] != batch and shape[1] == batch:
        raise kit.Mistake(
            "batch-in-the-heads",
            f"Your mask has shape {shape}: the batch stands where the heads belong. "
            f"It must be ({batch}, 1, 1, {length}).",
        )
    if len(shape) == 4 and shape[0] == batch and shape[1] > 1:
        raise kit.Mistake(
            "copied-for-heads",
            f"Your mask has shape {shape}: copies for heads. All heads share one "
            f"mask, and an axis of size 1 does that for nothing: ({batch}, 1, 1, "
            f"{length}).",
        )
    if len(shape) == 4 and shape[0] != batch:
        raise kit.Mistake(
            "batch-size-fixed",
            f"For {batch} sentences your mask has {shape[0]} in front. Take the batch "
            "size from ids: the last batch of an epoch is usually smaller.",
        )
    raise kit.Mistake(
        "shape",
        f"For ids {tuple(ids.shape)} your mask has shape {shape}; it must be "
        f"({batch}, 1, 1, {length}): batch, heads, queries, keys.",
    )


def _probe_padding(mine: kit.Function) -> None:
    for pad_id in (0, 7):
        for ids in (some_ids(pad_id), some_ids(pad_id)[1:2]):
            case = kit.Case({"ids": ids}, {"pad_id": pad_id})
            found = _padding_shape(case.ask(mine, as_mask), ids, pad_id)
            compare_masks(found, case.of(right_padding), kit.slips(SLIPS, case.of))


@kit.grader(_probe_padding)
def padding_mask(mine: kit.Function) -> str:
    """Grade a reader's padding mask.

    ``mine`` is a function ``mine(ids, pad_id)``: (B, Tk) int64 ids -> (B, 1, 1, Tk)
    bool, True = may attend, as `tformer.masks.padding_mask`.
    """
    return (
        "Padded keys are hidden, queries never; it broadcasts over heads and queries, "
        "for any batch size and any pad_id."
    )
