"""The graders for chapter 07: the causal, the padding and the target mask."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.check._grade import (
    Function,
    Known,
    Mistake,
    Result,
    as_tensor,
    call,
    grade,
)
from tformer.masks import causal_mask as right_causal
from tformer.masks import padding_mask as right_padding
from tformer.masks import target_mask as right_target

FLIPPED = (
    "The mask is the wrong way round. Here True means MAY attend; yours is True where "
    "attention is forbidden, as nn.MultiheadAttention wants it. Put a ~ in front."
)
QUERIES_TOO = (
    "You hide padded queries (rows) as well as padded keys (columns). Then a padded "
    "row sees nothing: softmax makes nan of it (or, with −1e9, silent nonsense). "
    "Hide keys only; what padded rows compute is ignored by the loss."
)
WRONG_AXIS = (
    "Padding is hidden on the wrong axis: you switch off padded queries (rows), and "
    "every real query still sees the padding. The last axis belongs to the keys: "
    "(ids != pad_id)[:, None, None, :]."
)
PAD_IGNORED = (
    "Your function looks for padding at a fixed id. Compare with the pad_id that it is "
    "given: other tokenizers put padding elsewhere."
)


def _as_mask(returned: Any) -> Tensor:
    """The returned mask as a bool tensor, or what is wrong with its kind."""
    returned = as_tensor(returned, "a torch tensor of dtype bool")
    if returned.dtype == torch.bool:
        return returned
    if returned.is_floating_point() and (returned <= -1e3).any():
        raise Mistake(
            "additive",
            "You return numbers to add to the scores (0 and something very negative). "
            "That works with some libraries, but its fill depends on the dtype. Return "
            "a bool tensor, True = may attend; attention() fills with −∞ itself.",
        )
    raise Mistake(
        "not-bool",
        f"Your mask has dtype {returned.dtype}. Numbers do not say which way round "
        "they are meant, and ~ turns 1 into −2, not into 0. Return bool: compare "
        "(ids != pad_id), or end in .bool().",
    )


def _compare(found: Tensor, wanted: Tensor, mistakes: Known) -> None:
    """Raise the known mistake that gives this mask, else say which cell is wrong.

    Both are (..., Tq, Tk) and of the same shape.
    """
    if torch.equal(found, wanted):
        return
    for name, message, wrong in mistakes:
        if torch.equal(found, wrong.expand_as(wanted)):
            raise Mistake(name, message)
    empty = ~found.any(-1)
    if empty.any():
        where = empty.nonzero()[0].tolist()
        raise Mistake(
            "empty-row",
            f"Query {where[-1]} (batch row {where[0]}) may attend to nothing. "
            "Softmax over nothing is nan. Every row needs at least one True.",
        )
    place = (found != wanted).nonzero()[0].tolist()
    batch, query, key = place[0], place[-2], place[-1]
    may, here = ("must not", "True") if found[tuple(place)] else ("may", "False")
    raise Mistake(
        "wrong-cell",
        f"In batch row {batch}, query {query} {may} attend to key {key}, but your "
        f"mask is {here} there. (Positions count from 0.)",
    )


# --- causal -----------------------------------------------------------------------


def _wrong_causal(length: int) -> Known:
    full = torch.ones(length, length, dtype=torch.bool)
    yield (
        "sees-the-future",
        "Upper instead of lower: your rows see themselves and the future, and "
        "nothing of the past. Row i must see the keys j ≤ i: tril(), not triu().",
        full.triu(),
    )
    yield (
        "flipped",
        FLIPPED + " (Your True cells are exactly the future.)",
        full.triu(1),
    )
    yield (
        "sees-the-next",
        "Shifted by one: each position also sees the next one, which is the very "
        "piece that it must predict. The loss will be wonderful and the translations "
        "rubbish. Use tril() without an offset.",
        full.tril(1),
    )
    yield (
        "does-not-see-itself",
        "Shifted by one: a position does not see itself, so the first row sees "
        "nothing at all and becomes nan. The input is already shifted (it begins with "
        "bos), so a position may see itself: tril() without an offset.",
        full.tril(-1),
    )
    yield ("nothing-hidden", "Your mask hides nothing: every cell is True.", full)
    yield (
        "only-itself",
        "Each position sees only itself. It must see its past, too: j ≤ i, not j == i.",
        torch.eye(length, dtype=torch.bool),
    )


def _run_causal(mine: Function, length: int) -> Tensor:
    return _as_mask(call(mine, {"length": length}, {}))


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
        if found.shape[-2:] != (length, length) or found.numel() != length**2:
            raise Mistake(
                "shape",
                f"For length {length} your mask has shape {tuple(found.shape)}; it "
                f"must be ({length}, {length}): one row per query, one column per key. "
                "Batch and heads need no axis: two axes broadcast over them.",
            )
        found = found.reshape(1, length, length)
        _compare(found, right_causal(length)[None], _wrong_causal(length))


def causal_mask(mine: Function) -> Result:
    """Grade a reader's causal mask.

    Args:
        mine: a function ``mine(length)`` that returns a (T, T) bool mask, True = may
            attend, as `tformer.masks.causal_mask` does. Axes of size 1 in front are
            fine.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Each position sees itself and its past, at lengths 1, 3 and 5; bool, and no "
        "row is empty."
    )
    return grade("causal_mask", mine, [_probe_causal], praise)


# --- padding ----------------------------------------------------------------------


def _ids(pad_id: int) -> Tensor:
    """(3, 5) ids, lengths 5, 3 and 1; where pad_id is not 0, a real 0 among them."""
    ids = torch.tensor([[4, 5, 6, 8, 2], [9, 5, 2, 0, 0], [2, 0, 0, 0, 0]])
    if pad_id:
        ids[ids == 0] = pad_id
        ids[0, 1] = 0
    return ids


def _wrong_padding(ids: Tensor, pad_id: int) -> Known:
    real = ids != pad_id
    yield "flipped", FLIPPED, ~real[:, None, None, :]
    yield (
        "nothing-hidden",
        "Your mask hides nothing: padding is seen like any word.",
        torch.ones_like(real)[:, None, None, :],
    )
    if pad_id:
        yield "pad-id-ignored", PAD_IGNORED, (ids != 0)[:, None, None, :]


def _padding_shape(found: Tensor, ids: Tensor, pad_id: int) -> Tensor:
    """The mask as (B, 1, 1, Tk), or what its shape does wrong."""
    batch, length = ids.shape
    real = ids != pad_id
    shape = tuple(found.shape)
    if shape == (batch, 1, 1, length):
        return found
    if shape == (batch, 1, length, 1):
        raise Mistake("wrong-axis", WRONG_AXIS)
    if shape == (batch, 1, length, length):
        both = (real[:, :, None] & real[:, None, :])[:, None]
        if torch.equal(found, both):
            raise Mistake("hides-queries", QUERIES_TOO)
        if torch.equal(found, real[:, None, :, None].expand_as(both)):
            raise Mistake("wrong-axis", WRONG_AXIS)
        raise Mistake(
            "copied-for-queries",
            f"Your mask has shape {shape}: a copy of the same row for every query. It "
            "costs memory, and in cross-attention, where there are more or fewer "
            f"queries than keys, it does not fit. Leave 1 there: ({batch}, 1, 1, "
            f"{length}).",
        )
    if shape in ((batch, length), (batch, 1, length)):
        raise Mistake(
            "axes-missing",
            f"Your mask has shape {shape}. Scores have four axes (B, H, Tq, Tk), and "
            "axes are matched from the right, so your batch axis meets "
            f"{'the queries' if len(shape) == 2 else 'the heads'}: an error if you are "
            "lucky, a mask of the wrong sentence if the sizes happen to agree. "
            f"Insert axes of size 1: ({batch}, 1, 1, {length}).",
        )
    if len(shape) == 4 and shape[0] != batch and shape[1] == batch:
        raise Mistake(
            "batch-in-the-heads",
            f"Your mask has shape {shape}: the batch stands where the heads belong. "
            f"It must be ({batch}, 1, 1, {length}).",
        )
    if len(shape) == 4 and shape[0] == batch and shape[1] > 1:
        raise Mistake(
            "copied-for-heads",
            f"Your mask has shape {shape}: copies for heads. All heads share one "
            f"mask, and an axis of size 1 does that for nothing: ({batch}, 1, 1, "
            f"{length}).",
        )
    if len(shape) == 4 and shape[0] != batch:
        raise Mistake(
            "batch-size-fixed",
            f"For {batch} sentences your mask has {shape[0]} in front. Take the batch "
            "size from ids: the last batch of an epoch is usually smaller.",
        )
    raise Mistake(
        "shape",
        f"For ids {tuple(ids.shape)} your mask has shape {shape}; it must be "
        f"({batch}, 1, 1, {length}): batch, heads, queries, keys.",
    )


def _probe_padding(mine: Function) -> None:
    for pad_id in (0, 7):
        for ids in (_ids(pad_id), _ids(pad_id)[1:2]):
            found = _as_mask(call(mine, {"ids": ids}, {"pad_id": pad_id}))
            found = _padding_shape(found, ids, pad_id)
            _compare(found, right_padding(ids, pad_id), _wrong_padding(ids, pad_id))


def padding_mask(mine: Function) -> Result:
    """Grade a reader's padding mask.

    Args:
        mine: a function ``mine(ids, pad_id)``: (B, Tk) int64 ids -> (B, 1, 1, Tk) bool,
            True = may attend, as `tformer.masks.padding_mask`.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Padded keys are hidden, queries never; it broadcasts over heads and queries, "
        "for any batch size and any pad_id."
    )
    return grade("padding_mask", mine, [_probe_padding], praise)


# --- target -----------------------------------------------------------------------


def _wrong_target(source: Tensor, target: Tensor, pad_id: int) -> Known:
    length = target.size(1)
    full = torch.ones(length, length, dtype=torch.bool)
    causal = full.tril()
    keys = (target != pad_id)[:, None, None, :]
    rows = (target != pad_id)[:, None, :, None]
    right = causal & keys
    everywhere = torch.ones_like(right)
    yield "flipped", FLIPPED, ~right
    yield (
        "or-instead-of-and",
        "You join the two masks with “or”: a key is then seen if it is in the past OR "
        "no padding, so the future is open. A key must pass both: causal & padding.",
        causal | keys,
    )
    yield (
        "padding-forgotten",
        "The future is hidden, but padding is not. Padding on the right lies in the "
        "future of every real query, so real rows are safe; still, other code pads on "
        "the left. Join: causal & padding.",
        causal & everywhere,
    )
    yield (
        "future-forgotten",
        "Padding is hidden, but the future is not: each position sees the piece that "
        "it must predict. Join: causal & padding.",
        keys & everywhere,
    )
    yield (
        "upper-triangle",
        "Your triangle is the upper one: rows see the future. Row i must see the keys "
        "j ≤ i: tril(), not triu().",
        full.triu() & keys,
    )
    yield (
        "sees-the-next",
        "Shifted by one: each position also sees the next, the piece that it must "
        "predict. Use tril() without an offset.",
        full.tril(1) & keys,
    )
    yield (
        "does-not-see-itself",
        "Shifted by one: positions do not see themselves, so the first row is empty. "
        "Use tril() without an offset.",
        full.tril(-1) & keys,
    )
    yield "hides-queries", QUERIES_TOO, causal & keys & rows
    # (With padding on the right, "causal & rows" is the same mask.)
    if source.shape == target.shape:
        other = (source != pad_id)[:, None, None, :]
        yield (
            "made-from-the-source",
            "Your padding comes from the source. The keys here are target pieces: a "
            "short source would hide real target pieces, a long one lets padding "
            "through. Use target_ids, and only those.",
            causal & other,
        )
        yield (
            "source-too",
            "You hide what is padding in the target OR in the source. Source positions "
            "mean nothing here: use target_ids only.",
            right & other,
        )
    if pad_id:
        yield "pad-id-ignored", PAD_IGNORED, causal & (target != 0)[:, None, None, :]


def _target_shape(found: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """The mask as (B, 1, T, T), or what its shape does wrong."""
    batch, length = target.shape
    shape = tuple(found.shape)
    if shape == (batch, 1, length, length):
        return found
    wanted = f"({batch}, 1, {length}, {length})"
    if source.size(1) != length and source.size(1) in shape[-2:]:
        raise Mistake(
            "made-from-the-source",
            f"Your mask has shape {shape}: it has the source's length. In the "
            "decoder's self-attention target pieces attend to target pieces, so the "
            f"mask comes from target_ids alone: {wanted}.",
        )
    if shape == (batch, 1, 1, length):
        raise Mistake(
            "future-forgotten",
            f"Your mask has shape {shape}: the same row for every query. That hides "
            "padding, but the future needs a row of its own for each query: join "
            "with the causal mask.",
        )
    if shape[-2:] == (length, length) and found.numel() == length**2 != 1:
        raise Mistake(
            "padding-forgotten",
            f"Your mask has shape {shape}, the same for every sentence. Padding "
            f"differs from sentence to sentence: {wanted}.",
        )
    if shape == (batch, length, length):
        raise Mistake(
            "axes-missing",
            f"Your mask has shape {shape}. Scores are (B, H, T, T) and axes are "
            "matched from the right, so your batch axis meets the heads. Insert an "
            f"axis: {wanted}.",
        )
    if len(shape) == 4 and shape[0] == batch and shape[1] > 1:
        raise Mistake(
            "copied-for-heads",
            f"Your mask has shape {shape}: copies for heads. All heads share one "
            f"mask: {wanted}.",
        )
    if len(shape) == 4 and shape[0] != batch and shape[1] == batch:
        raise Mistake(
            "batch-in-the-heads",
            f"Your mask has shape {shape}: the batch stands where the heads belong. "
            f"It must be {wanted}.",
        )
    if len(shape) == 4 and shape[0] != batch:
        raise Mistake(
            "batch-size-fixed",
            f"For {batch} sentences your mask has {shape[0]} in front. Take the batch "
            "size from the ids.",
        )
    raise Mistake(
        "shape",
        f"For target_ids {tuple(target.shape)} your mask has shape {shape}; it must be "
        f"{wanted}: batch, heads, queries, keys.",
    )


def _takes_the_source(mine: Function) -> bool:
    try:
        inspect.signature(mine).bind(None, None, pad_id=0)
    except TypeError:
        return False
    except ValueError:
        return False
    return True


def _run_target(mine: Function, source: Tensor, target: Tensor, pad_id: int) -> Any:
    inputs = {"target_ids": target}
    if _takes_the_source(mine):
        inputs = {"source_ids": source, "target_ids": target}
    return call(mine, inputs, {"pad_id": pad_id})


def _targets(pad_id: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Sources and targets of the same and of other lengths; all targets begin real."""
    target = _ids(pad_id)
    same = target.flip(0)
    longer = torch.cat([same, torch.full((3, 2), pad_id)], dim=1)
    yield same, target
    yield longer, target
    yield longer[:1], target[1:2]


def _probe_target(mine: Function) -> None:
    for pad_id in (0, 7):
        for source, target in _targets(pad_id):
            found = _as_mask(_run_target(mine, source, target, pad_id))
            found = _target_shape(found, source, target)
            wanted = right_target(target, pad_id)
            _compare(found, wanted, _wrong_target(source, target, pad_id))


def _probe_device(mine: Function) -> None:
    """Ids on a device that holds no values: a mask made elsewhere gives itself away."""
    source = torch.ones(2, 4, dtype=torch.int64, device="meta")
    target = torch.ones(2, 3, dtype=torch.int64, device="meta")
    message = (
        "Your mask is right, but it is made on the CPU wherever the ids are, and on a "
        "GPU that stops with an error. Make it where the ids are: "
        "torch.ones(…, device=target_ids.device)."
    )
    inputs = (source, target) if _takes_the_source(mine) else (target,)
    try:
        returned = mine(*inputs, pad_id=0)
    except Exception as problem:
        if "device" in str(problem) and "meta" in str(problem):
            raise Mistake("device-ignored", message) from None
        return  # it looks at values, which is allowed; there are none here
    if isinstance(returned, Tensor) and returned.device.type != "meta":
        raise Mistake("device-ignored", message)


def target_mask(mine: Function) -> Result:
    """Grade a reader's mask for the decoder's self-attention.

    Args:
        mine: a function ``mine(target_ids, pad_id)`` or ``mine(source_ids, target_ids,
            pad_id)`` that returns a (B, 1, T, T) bool mask, True = may attend, as
            `tformer.masks.target_mask` does.

    Returns:
        The verdict; the message is printed.
    """
    probes: list[Callable[[Function], None]] = [_probe_target, _probe_device]
    praise = (
        "No future, no padding, made from the target alone, for any batch size, "
        "pad_id and device. And no row is empty."
    )
    return grade("target_mask", mine, probes, praise)
