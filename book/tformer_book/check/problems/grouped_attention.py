"""The grader for `grouped_attention` of chapter *What came after*."""

from typing import Any

import torch
from torch import Tensor

from tformer.attention import attention
from tformer.masks import causal_mask
from tformer.variants import grouped_attention as right_attention
from tformer_book.check import kit

HINTS = (
    "H heads of queries share G heads of keys. Which heads belong to the same one?",
    "Cut the heads' axis of the queries into (G, H / G), and give keys and values an "
    "axis of size 1 at that place: broadcasting lays each key beside all queries of "
    "its group. Join the two axes at the end.",
    "groups = query.unflatten(1, (key.size(1), -1))  # (B, G, H / G, Tq, Dh)",
)


@kit.of_terms
def _of(
    query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None = None
) -> dict[str, Any]:
    share, width = query.size(1) // key.size(1), query.size(-1)
    tiled = [x.repeat(1, share, 1, 1) for x in (key, value)]
    means = [x.mean(1, keepdim=True).expand(query.shape) for x in (key, value)]
    first = [x[:, :1].expand(query.shape) for x in (key, value)]
    keys, values = (x.repeat_interleave(share, 1) for x in (key, value))
    return locals()


SLIPS: kit.Table = {
    "heads-in-turn": (
        _of(lambda t: attention(t.query, *t.tiled, mask=t.mask)[0]),
        "Your heads take the groups in turn: 0, 1, 2, 0, 1, 2. Neighbours share: "
        "0, 0, 1, 1, 2, 2. That is repeat_interleave, not repeat.",
    ),
    "groups-averaged": (
        _of(lambda t: attention(t.query, *t.means, mask=t.mask)[0]),
        "You average over the groups. Each group's keys and values stay as they are "
        "and serve several heads of queries.",
    ),
    "first-group-only": (
        _of(lambda t: attention(t.query, *t.first, mask=t.mask)[0]),
        "All heads use the first group. Head h uses group h // (H / G).",
    ),
    "values-in-turn": (
        _of(lambda t: attention(t.query, t.keys, t.tiled[1], mask=t.mask)[0]),
        "Keys and values are shared out differently, so that a head reads the values "
        "of another group than its keys'. Repeat both in the same way.",
    ),
    "mask-ignored": (
        _of(lambda t: attention(t.query, t.keys, t.values)[0]),
        "The mask has no effect: pass it on.",
    ),
    "scale-rounded": (
        _of(
            lambda t: attention(
                t.query * (t.width**0.5 / int(t.width**0.5)),
                t.keys,
                t.values,
                mask=t.mask,
            )[0]
        ),
        "You divide the scores by a whole number, but the root of Dh is one only by "
        "chance: math.sqrt(query.size(-1)).",
    ),
    "scale-missing": (
        _of(
            lambda t: attention(
                t.query * t.query.size(-1) ** 0.5, t.keys, t.values, mask=t.mask
            )[0]
        ),
        "The scores are not divided by the square root of Dh.",
    ),
}


def _right(query: Tensor, key: Tensor, value: Tensor, *, mask: Tensor | None) -> Tensor:
    return right_attention(query, key, value, mask=mask)[0]


def _output(found: Any) -> Tensor:
    if isinstance(found, tuple | list):
        raise kit.Mistake(
            "returns-several",
            f"Your function returns {len(found)} things; I need the output alone, "
            "(B, H, Tq, Dh). The package's attention returns the weights as well: "
            "output, _ = attention(…).",
        )
    return kit.as_tensor(found, "the output")


def _case(heads: int, groups: int, mask: Tensor | None, seed: int) -> kit.Case:
    shapes = {
        "query": (2, heads, 5, 6),
        "key": (2, groups, 5, 6),
        "value": (2, groups, 5, 6),
    }
    inputs = {
        name: kit.draw(*shape, seed=seed + i, dtype=torch.float64)
        for i, (name, shape) in enumerate(shapes.items())
    }
    return kit.Case(inputs, {"mask": mask})


def _probe_numbers(mine: kit.Function) -> None:
    for heads, groups in ((6, 3), (4, 4), (4, 1), (6, 2)):
        for mask in (None, causal_mask(5)):
            said = f"for {heads} heads of queries and {groups} of keys"
            said += "" if mask is None else ", with a causal mask"
            with kit.if_it_stops(
                "does-not-fit",
                f"It stops for {heads} heads of queries and {groups} of keys. "
                f"Repeat each of the latter {heads // groups} times.",
            ):
                case = _case(heads, groups, mask, 20)
                case.compare(case.ask(mine, _output), _right, SLIPS, said=said)


def _probe_gradient(mine: kit.Function) -> None:
    _case(4, 2, None, 30).learn(mine, _right, take=_output)


@kit.grader(_probe_numbers, _probe_gradient)
def grouped_attention(mine: kit.Function) -> str:
    """Grade a reader's attention with grouped queries.

    ``mine`` is a function ``mine(query, key, value, *, mask=None)`` with query (B, H,
    Tq, Dh), key and value (B, G, Tk, Dh), that returns the output alone, the
    first thing that `tformer.variants.grouped_attention` returns.
    """
    return (
        "Neighbouring heads share a head of keys and values, for any number of groups, "
        "with a mask and without."
    )
