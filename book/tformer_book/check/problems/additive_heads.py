"""The grader for `additive_heads` of chapter *Transduction*, and the slips it knows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check._compare import Switches, compare, slips
from tformer_book.check._grade import Function, Result, grade
from tformer_book.check._run import as_tensor, call, draw, probe_gradients

NAMES = ("query", "key", "to_query", "to_key", "to_score")


def built(
    query: Tensor,
    key: Tensor,
    to_query: Tensor,
    to_key: Tensor,
    to_score: Tensor,
    *,
    bend: Callable[[Tensor], Tensor] = torch.tanh,
    early: bool = False,
    weigh: Callable[[Tensor, Tensor], Tensor] = lambda hidden, v: hidden * v,
    heads: Callable[[Tensor], Tensor] = lambda scores: scores,
    finish: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Tensor:
    """(B, H, Tq, Tk) scores in steps, each of which can be exchanged."""
    asks = torch.einsum("btd,hed->bhte", query, to_query)[..., :, None, :]
    answers = torch.einsum("btd,hed->bhte", key, to_key)[..., None, :, :]
    if early:
        hidden = asks.tanh() + answers.tanh()
    else:
        hidden = bend(asks + answers)
    scores = weigh(hidden, to_score[:, None, None, :]).sum(-1)
    return finish(heads(scores))


SLIPS: Switches = {
    "tanh-missing": (
        {"bend": lambda hidden: hidden},
        "There is no tanh. Without a bend query and key are added, and what the query "
        "adds is the same for all keys: softmax cancels it.",
    ),
    "other-activation": (
        [{"bend": torch.relu}, {"bend": torch.sigmoid}],
        "Your bend is a different one. Additive attention takes tanh.",
    ),
    "tanh-before-adding": (
        {"early": True},
        "You bend query and key one by one and then add. Add first: tanh of the sum.",
    ),
    "one-head-for-all": (
        {"heads": lambda scores: scores[:, :1].expand_as(scores)},
        "All heads have the scores of the first. Each has its own matrices: "
        "to_query[h], to_key[h], to_score[h].",
    ),
    "heads-reversed": (
        {"heads": lambda scores: scores.flip(1)},
        "The heads stand in the reverse order.",
    ),
    "heads-summed": (
        {"heads": lambda scores: scores.sum(1)},
        "You add the heads up. Each keeps its own scores, along an axis of its own: "
        "(B, H, Tq, Tk).",
    ),
    "not-weighed": (
        {"weigh": lambda hidden, v: hidden},
        "You sum the hidden numbers without weighing them. to_score[h] says how much "
        "each of them counts.",
    ),
    "softmax-too": (
        {"finish": lambda scores: scores.softmax(-1)},
        "These are weights already. Return the scores; softmax comes after, where the "
        "mask has had its say.",
    ),
    "scaled": (
        {"finish": lambda scores: scores / math.sqrt(6)},
        "You divide by √Dh. That is for the dot product; additive scores are bounded.",
    ),
}


def _cases() -> list[list[Tensor]]:
    shapes = (
        ((2, 4, 3), (2, 5, 7), (3, 6, 3), (3, 6, 7), (3, 6)),
        ((1, 4, 4), (1, 4, 4), (4, 4, 4), (4, 4, 4), (4, 4)),
        ((2, 1, 3), (2, 2, 7), (1, 6, 3), (1, 6, 7), (1, 6)),
    )
    return [
        [draw(*shape, seed=10 * i + j) for j, shape in enumerate(case)]
        for i, case in enumerate(shapes)
    ]


def _probe_scores(mine: Function) -> None:
    for given in _cases():
        query, key, to_query, *_ = given
        compare(
            as_tensor(call(mine, dict(zip(NAMES, given, strict=True)))),
            built(*given),
            slips(functools.partial(built, *given), SLIPS),
            said=f"for query {tuple(query.shape)}, key {tuple(key.shape)} and "
            f"{len(to_query)} heads",
            hint="Write the shape of every line beside it; einsum can name the axes.",
        )


def _probe_gradients(mine: Function) -> None:
    given = dict(zip(NAMES, _cases()[0], strict=True))
    probe_gradients(
        mine,
        lambda: as_tensor(call(mine, given)),
        lambda: built(*given.values()),
        given,
    )


def additive_heads(mine: Function) -> Result:
    """Grade a reader's additive scores for several readers at once.

    Args:
        mine: a function ``mine(query, key, to_query, to_key, to_score)`` with query
            (B, Tq, Dq), key (B, Tk, Dk), and for each of H heads its own matrices:
            (H, Dh, Dq), (H, Dh, Dk) and (H, Dh). Returns scores (B, H, Tq, Tk).

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every head compares every query with every key by its own matrices, for any "
        "sizes, and gradients reach all of them."
    )
    return grade("additive_heads", mine, [_probe_scores, _probe_gradients], praise)
