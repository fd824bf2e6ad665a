"""The grader for `target_mask` of chapter *Masks*, and known mistakes."""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.masks import target_mask as right_target
from tformer_book.check import kit
from tformer_book.check.problems._masks import (
    BY_SIZE,
    FLIPPED,
    PAD_IGNORED,
    QUERIES_TOO,
    as_mask,
    compare_masks,
    some_ids,
)

HINTS = (
    "A key may be seen if two things hold at once. Which ones? And do the source's "
    "ids say anything about either?",
    "Make the causal mask of the target's length and the padding mask of the target's"
    " ids, and join them with `&`; broadcasting gives (B, 1, T, T).",
    "place = torch.arange(target_ids.size(1), device=target_ids.device)",
)


@kit.of_terms
def _of(source_ids: Tensor, target_ids: Tensor, *, pad_id: int) -> dict[str, Any]:
    length = target_ids.size(1)
    full = torch.ones(length, length, dtype=torch.bool)
    causal = full.tril()
    keys = (target_ids != pad_id)[:, None, None, :]
    rows = (target_ids != pad_id)[:, None, :, None]
    right = causal & keys
    everywhere = torch.ones_like(right)
    other = (source_ids != pad_id)[:, None, None, :]
    return locals()


# (With padding on the right, "causal & rows" is the same as the right mask.)
SLIPS: kit.Table = {
    "flipped": (_of(lambda t: ~t.right), FLIPPED),
    "or-instead-of-and": (
        _of(lambda t: t.causal | t.keys),
        "You join the two masks with “or”: a key is then seen if it is in the past OR "
        "no padding, so the future is open. A key must pass both: causal & padding.",
    ),
    "padding-forgotten": (
        _of(lambda t: t.causal & t.everywhere),
        "The future is hidden, but padding is not. Padding on the right lies in the "
        "future of every real query, so real rows are safe; still, other code pads on "
        "the left. Join: causal & padding.",
    ),
    "future-forgotten": (
        _of(lambda t: t.keys & t.everywhere),
        "Padding is hidden, but the future is not: each position sees the piece that "
        "it must predict. Join: causal & padding.",
    ),
    "upper-triangle": (
        _of(lambda t: t.full.triu() & t.keys),
        "Your triangle is the upper one: rows see the future. Row i must see the keys "
        "j ≤ i: tril(), not triu().",
    ),
    "sees-the-next": (
        _of(lambda t: t.full.tril(1) & t.keys),
        "Shifted by one: each position also sees the next, the piece that it must "
        "predict. Use tril() without an offset.",
    ),
    "does-not-see-itself": (
        _of(lambda t: t.full.tril(-1) & t.keys),
        "Shifted by one: positions do not see themselves, so the first row is empty. "
        "Use tril() without an offset.",
    ),
    "neighbours-only": (
        [
            _of(lambda t: t.full.tril().triu(-1) & t.keys),
            _of(lambda t: t.full.tril(1).triu(-1) & t.keys),
            _of(lambda t: t.full.tril(1).triu() & t.keys),
        ],
        "Each position sees its neighbours only. It must see its whole past, however "
        "far back, and nothing of the future: tril().",
    ),
    "only-itself": (
        _of(lambda t: t.full.tril().triu() & t.keys),
        "Each position sees only itself. It must see its past, too: tril().",
    ),
    "first-sentence-only": (
        _of(lambda t: (t.causal & t.keys[:1]).expand_as(t.right)),
        "Every sentence gets the padding of the first one in the batch. Each has its "
        "own: (target_ids != pad_id)[:, None, None, :], with the batch in front.",
    ),
    "hides-queries": (_of(lambda t: t.causal & t.keys & t.rows), QUERIES_TOO),
    "half-flipped": (
        _of(lambda t: t.full.triu(1) & t.keys),
        "The causal half is the wrong way round: it is True for the future and False "
        "for the past. True means MAY attend: tril(), or a ~ in front.",
    ),
    "half-flipped:2": (
        _of(lambda t: t.causal & ~t.keys),
        "The padding half is the wrong way round: it is True where there is padding. "
        "True means MAY attend: != pad_id, not ==.",
    ),
    "made-from-the-source": (
        _of(lambda t: t.causal & t.other),
        "Your padding comes from the source. The keys here are target pieces: a "
        "short source would hide real target pieces, a long one lets padding "
        "through. Use target_ids, and only those.",
    ),
    "source-too": (
        _of(lambda t: t.right & t.other),
        "You hide what is padding in the target OR in the source. Source positions "
        "mean nothing here: use target_ids only.",
    ),
    "compared-by-size": (
        [
            _of(lambda t: t.causal & (t.target_ids > t.pad_id)[:, None, None, :]),
            _of(lambda t: t.causal & (t.target_ids < t.pad_id)[:, None, None, :]),
        ],
        BY_SIZE,
    ),
    "pad-id-ignored": (
        _of(lambda t: t.causal & (t.target_ids != 0)[:, None, None, :]),
        PAD_IGNORED,
    ),
}


def _target_shape(found: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """The mask as (B, 1, T, T), or what its shape does wrong."""
    batch, length = target.shape
    shape = tuple(found.shape)
    if shape == (batch, 1, length, length):
        return found
    wanted = f"({batch}, 1, {length}, {length})"
    if source.size(1) != length and source.size(1) in shape[-2:]:
        raise kit.Mistake(
            "made-from-the-source",
            f"Your mask has shape {shape}: it has the source's length. In the "
            "decoder's self-attention target pieces attend to target pieces, so the "
            f"mask comes from target_ids alone: {wanted}.",
        )
    if shape == (batch, 1, 1, length):
        raise kit.Mistake(
            "future-forgotten",
            f"Your mask has shape {shape}: the same row for every query. That hides "
            "padding, but the future needs a row of its own for each query: join "
            "with the causal mask.",
        )
    if shape[-2:] == (length, length) and found.numel() == length**2 != 1:
        raise kit.Mistake(
            "padding-forgotten",
            f"Your mask has shape {shape}, the same for every sentence. Padding "
            f"differs from sentence to sentence: {wanted}.",
        )
    if shape == (batch, length, length):
        raise kit.Mistake(
            "axes-missing",
            f"Your mask has shape {shape}. Scores are (B, H, T, T) and axes are "
            "matched from the right, so your batch axis meets the heads. Insert an "
            f"axis: {wanted}.",
        )
    if len(shape) == 4 and shape[0] == batch and shape[1] > 1:
        raise kit.Mistake(
            "copied-for-heads",
            f"Your mask has shape {shape}: copies for heads. All heads share one "
            f"mask: {wanted}.",
        )
    if len(shape) == 4 and shape[0] != batch and shape[1] == batch:
        raise kit.Mistake(
            "batch-in-the-heads",
            f"Your mask has shape {shape}: the batch stands where the heads belong. "
            f"It must be {wanted}.",
        )
    if len(shape) == 4 and shape[0] != batch:
        raise kit.Mistake(
            "batch-size-fixed",
            f"For {batch} sentences your mask has {shape[0]} in front. Take the batch "
            "size from the ids.",
        )
    raise kit.Mistake(
        "shape",
        f"For target_ids {tuple(target.shape)} your mask has shape {shape}; it must be "
        f"{wanted}: batch, heads, queries, keys.",
    )


def _takes_the_source(mine: kit.Function) -> bool:
    try:
        inspect.signature(mine).bind(None, None, pad_id=0)
    except TypeError:
        return False
    except ValueError:
        return False
    return True


def _case(mine: kit.Function, source: Tensor, target: Tensor, pad_id: int) -> kit.Case:
    inputs = {"target_ids": target}
    if _takes_the_source(mine):
        inputs = {"source_ids": source, "target_ids": target}
    return kit.Case(inputs, {"pad_id": pad_id})


def _targets(pad_id: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sources and targets of the same and of other lengths; all targets begin real."""
    target = some_ids(pad_id).roll(-1, 0)  # the first is padded
    same = target.flip(0)
    longer = torch.cat([same, torch.full((3, 2), pad_id)], dim=1)
    yield same, target
    yield longer, target
    yield longer[:1], target[1:2]


def _probe_target(mine: kit.Function) -> None:
    for pad_id in (0, 7):
        for source, target in _targets(pad_id):
            found = _case(mine, source, target, pad_id).ask(mine, as_mask)
            both = kit.Case(
                {"source_ids": source, "target_ids": target}, {"pad_id": pad_id}
            )
            compare_masks(
                _target_shape(found, source, target),
                right_target(target, pad_id),
                kit.slips(SLIPS, both.of),
            )


def _device(mine: kit.Function) -> str | None:
    """Ids on a device that holds no values: a mask made elsewhere gives itself away."""
    source = torch.ones(2, 4, dtype=torch.int64, device="meta")
    target = torch.ones(2, 3, dtype=torch.int64, device="meta")
    try:
        returned = _case(mine, source, target, 0).ask(mine, lambda found: found)
    except kit.Stopped as stopped:
        # One that looks at values stops for another reason; there are none here.
        elsewhere = "device" in stopped.message and "meta" in stopped.message
    else:
        elsewhere = isinstance(returned, Tensor) and returned.device.type != "meta"
    if not elsewhere:
        return None
    return (
        "One thing for later: your mask is made on the CPU wherever the ids are, and "
        "beside ids on a GPU that would stop with an error. device=target_ids.device "
        "makes it where they are."
    )


@kit.grader(_probe_target, _device)
def target_mask(mine: kit.Function) -> str:
    """Grade a reader's mask for the decoder's self-attention.

    ``mine`` is a function ``mine(target_ids, pad_id)`` or ``mine(source_ids,
    target_ids, pad_id)`` that returns a (B, 1, T, T) bool mask, True = may attend, as
    `tformer.masks.target_mask` does.
    """
    return (
        "No future, no padding, made from the target alone, for any batch size and "
        "any pad_id. And no row is empty."
    )
