"""The grader for `additive_scores` of chapter *Transduction*, and known mistakes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tformer.variants.additive import AdditiveAttention
from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    as_tensor,
    call,
    draw,
)


def _wrong_scores(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> Known:
    asks, answers = (q @ w_q.T).unsqueeze(-2), (k @ w_k.T).unsqueeze(-3)
    right = (asks + answers).tanh() @ v
    yield Slip(
        "no-tanh",
        "tanh is missing. Then the score is a number of the query plus a number of the "
        "key; softmax cancels the first, and every query gets the same weights.",
        (asks + answers) @ v,
    )
    yield Slip(
        "tanh-too-early",
        "You take tanh of query and key one by one. Then the score is again a sum of "
        "two numbers, and every query gets the same weights. Add first, then bend.",
        (asks.tanh() + answers.tanh()) @ v,
    )
    yield Slip(
        "multiplied",
        "You multiply query and key. Here they are added: that is where the name "
        "comes from.",
        (asks * answers).tanh() @ v,
    )
    yield Slip(
        "multiplied",
        "You multiply query and key, as dot-product attention does. Here they are "
        "added, bent by tanh and then compared with to_score.",
        (asks * answers) @ v,
    )
    yield Slip(
        "no-score-vector",
        "The hidden layer is summed as it is. Each hidden unit must count with its own "
        "weight: multiply by to_score.",
        (asks + answers).tanh().sum(-1),
    )
    yield Slip(
        "scaled",
        "You divide by the square root of the width. That belongs to dot products; "
        "tanh keeps these scores in bounds already.",
        right / math.sqrt(len(v)),
    )
    yield Slip(
        "softmax-too",
        "These are weights already. Return the scores; softmax comes after, where the "
        "mask has had its say.",
        right.softmax(-1),
    )
    yield Slip(
        "keys-in-rows",
        "Rows and columns are exchanged: a row for each query, a column for each key. "
        "The query needs its new axis at −2, the key at −3.",
        right.mT,
    )


def _pairs_missing(shape: str) -> Mistake:
    return Mistake(
        "pairs-missing",
        f"{shape} You add query 1 to key 1, query 2 to key 2, and so on. Every query "
        "must meet every key: give the query an axis for the keys (unsqueeze(-2)) and "
        "the key one for the queries (unsqueeze(-3)).",
    )


def _probe_scores(mine: Function) -> None:
    names = ("query", "key", "to_query", "to_key", "to_score")
    for tq, tk, seed in ((3, 3, 0), (2, 5, 1)):
        shapes = ((2, tq, 3), (2, tk, 4), (6, 3), (6, 4), (6,))
        given = [draw(*shape, seed=seed + 9 * i) for i, shape in enumerate(shapes)]
        q, k, w_q, w_k, v = given
        try:
            returned = call(mine, dict(zip(names, given, strict=True)), {})
        except Stopped as stopped:
            if tq != tk and "must match" in str(stopped.problem):
                raise _pairs_missing(
                    "With 2 queries and 5 keys your function stops."
                ) from stopped
            raise
        found = as_tensor(returned)
        if tq == tk and found.shape == (2, tq):
            raise _pairs_missing(f"For {tq} queries and {tk} keys I get {tq} scores.")
        right = AdditiveAttention(3, 4, 6)
        with torch.no_grad():
            right.to_query.weight.copy_(w_q)
            right.to_key.weight.copy_(w_k)
            right.to_score.weight.copy_(v[None])
            inside = right.to_query(q)[:, :, None] + right.to_key(k)[:, None]
            wanted = right.to_score(inside.tanh())[..., 0]
        compare(
            found,
            wanted,
            _wrong_scores(*given),
            said=f"for {tq} queries and {tk} keys",
            hint="Work one entry out by hand.",
        )


def additive_scores(mine: Function) -> Result:
    """Grade a reader's additive scores, before mask and softmax.

    Args:
        mine: a function ``mine(query, key, to_query, to_key, to_score)`` with query
            (B, Tq, Dq), key (B, Tk, Dk), matrices (Dh, Dq) and (Dh, Dk) and a vector
            (Dh,) that returns scores (B, Tq, Tk), as `tformer.variants.additive` has
            them.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every query meets every key, added, bent and weighed; also where there are "
        "more keys than queries."
    )
    return grade("additive_scores", mine, [_probe_scores], praise)
