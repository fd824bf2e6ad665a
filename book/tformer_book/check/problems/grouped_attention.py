"""The grader for `grouped_attention` of chapter *What came after*."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tformer.attention import attention
from tformer.masks import causal_mask
from tformer.variants import grouped_attention as right_attention
from tformer_book.check._compare import Known, Slip, compare
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import Stopped, as_tensor, call, draw, probe_gradients

Given = tuple[Tensor, Tensor, Tensor]


def _known(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Known:
    share = query.size(1) // key.size(1)
    tiled = [x.repeat(1, share, 1, 1) for x in (key, value)]
    yield Slip(
        "heads-in-turn",
        "Your heads take the groups in turn: 0, 1, 2, 0, 1, 2. Neighbours share: "
        "0, 0, 1, 1, 2, 2. That is repeat_interleave, not repeat.",
        attention(query, *tiled, mask=mask)[0],
    )
    means = [x.mean(1, keepdim=True).expand(query.shape) for x in (key, value)]
    yield Slip(
        "groups-averaged",
        "You average over the groups. Each group's keys and values stay as they are "
        "and serve several heads of queries.",
        attention(query, *means, mask=mask)[0],
    )
    first = [x[:, :1].expand(query.shape) for x in (key, value)]
    yield Slip(
        "first-group-only",
        "All heads use the first group. Head h uses group h // (H / G).",
        attention(query, *first, mask=mask)[0],
    )
    keys, values = (x.repeat_interleave(share, 1) for x in (key, value))
    yield Slip(
        "values-in-turn",
        "Keys and values are shared out differently, so that a head reads the values "
        "of another group than its keys'. Repeat both in the same way.",
        attention(query, keys, tiled[1], mask=mask)[0],
    )
    if mask is not None:
        yield Slip(
            "mask-ignored",
            "The mask has no effect: pass it on.",
            attention(query, keys, values)[0],
        )
    yield Slip(
        "scale-missing",
        "The scores are not divided by the square root of Dh.",
        attention(query * query.size(-1) ** 0.5, keys, values, mask=mask)[0],
    )


def _run(mine: Function, given: Given, mask: Tensor | None) -> Tensor:
    inputs = dict(zip(("query", "key", "value"), given, strict=True))
    found = call(mine, inputs, {"mask": mask})
    if isinstance(found, tuple | list) and found:
        found = found[0]
    return as_tensor(found, "the output")


def _inputs(heads: int, groups: int, seed: int) -> Given:
    shapes = (2, heads, 5, 4), (2, groups, 5, 4), (2, groups, 5, 4)
    drawn = [
        draw(*shape, seed=seed + i, dtype=torch.float64)
        for i, shape in enumerate(shapes)
    ]
    return drawn[0], drawn[1], drawn[2]


def _probe_numbers(mine: Function) -> None:
    for heads, groups in ((6, 3), (4, 4), (4, 1), (6, 2)):
        for mask in (None, causal_mask(5)):
            given = _inputs(heads, groups, 20)
            try:
                found = _run(mine, given, mask)
            except Stopped as stopped:
                raise Mistake(
                    "does-not-fit",
                    f"It stops for {heads} heads of queries and {groups} of keys. "
                    f"Repeat each of the latter {heads // groups} times. "
                    f"{stopped.message}",
                ) from None
            wanted, _ = right_attention(*given, mask=mask)
            said = f"for {heads} heads of queries and {groups} of keys"
            said += "" if mask is None else ", with a causal mask"
            compare(found, wanted, _known(*given, mask), said=said)


def _probe_gradient(mine: Function) -> None:
    given = _inputs(4, 2, 30)
    leaves = dict(zip(("query", "key", "value"), given, strict=True))
    probe_gradients(
        mine,
        lambda: _run(mine, given, None),
        lambda: right_attention(*given)[0],
        leaves,
    )


def grouped_attention(mine: Callable[..., Tensor]) -> Result:
    """Grade a reader's attention with grouped queries.

    Args:
        mine: a function ``mine(query, key, value, *, mask=None)`` with query
            (B, H, Tq, Dh), key and value (B, G, Tk, Dh), as
            `tformer.variants.grouped_attention`; it may return the output alone.

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "grouped_attention",
        mine,
        (_probe_numbers, _probe_gradient),
        """Neighbouring heads share a head of keys and values, for any number of groups,
        with a mask and without.""",
    )
