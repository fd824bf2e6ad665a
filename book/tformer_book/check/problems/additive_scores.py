"""The grader for `additive_scores` of chapter *Transduction*, and known mistakes."""

import math
from typing import Any

from torch import Tensor

from tformer_book.check import kit


@kit.of_terms
def _of(q: Tensor, k: Tensor, w_q: Tensor, w_k: Tensor, v: Tensor) -> dict[str, Any]:
    asks, answers = (q @ w_q.T).unsqueeze(-2), (k @ w_k.T).unsqueeze(-3)
    right = (asks + answers).tanh() @ v
    return locals()


SLIPS: kit.Table = {
    "no-tanh": (
        _of(lambda t: (t.asks + t.answers) @ t.v),
        "tanh is missing. Then the score is a number of the query plus a number of the "
        "key; softmax cancels the first, and every query gets the same weights.",
    ),
    "tanh-too-early": (
        _of(lambda t: (t.asks.tanh() + t.answers.tanh()) @ t.v),
        "You take tanh of query and key one by one. Then the score is again a sum of "
        "two numbers, and every query gets the same weights. Add first, then bend.",
    ),
    "multiplied": (
        _of(lambda t: (t.asks * t.answers).tanh() @ t.v),
        "You multiply query and key. Here they are added: that is where the name "
        "comes from.",
    ),
    "multiplied:2": (
        _of(lambda t: t.asks * t.answers @ t.v),
        "You multiply query and key, as dot-product attention does. Here they are "
        "added, bent by tanh and then compared with to_score.",
    ),
    "no-score-vector": (
        _of(lambda t: (t.asks + t.answers).tanh().sum(-1)),
        "The hidden layer is summed as it is. Each hidden unit must count with its own "
        "weight: multiply by to_score.",
    ),
    "scaled": (
        _of(lambda t: t.right / math.sqrt(len(t.v))),
        "You divide by the square root of the width. That belongs to dot products; "
        "tanh keeps these scores in bounds already.",
    ),
    "softmax-too": (
        _of(lambda t: t.right.softmax(-1)),
        "These are weights already. Return the scores; softmax comes after, where the "
        "mask has had its say.",
    ),
    "keys-in-rows": (
        _of(lambda t: t.right.mT),
        "Rows and columns are exchanged: a row for each query, a column for each key. "
        "The query needs its new axis at −2, the key at −3.",
    ),
}


def _pairs_missing(shape: str) -> kit.Mistake:
    return kit.Mistake(
        "pairs-missing",
        f"{shape} You add query 1 to key 1, query 2 to key 2, and so on. Every query "
        "must meet every key: give the query an axis for the keys (unsqueeze(-2)) and "
        "the key one for the queries (unsqueeze(-3)).",
    )


def _probe_scores(mine: kit.Function) -> None:
    for tq, tk, seed in ((3, 3, 0), (2, 5, 1)):
        shapes = ((2, tq, 3), (2, tk, 4), (6, 3), (6, 4), (6,))
        given = [kit.draw(*shape, seed=seed + 9 * i) for i, shape in enumerate(shapes)]
        (case,) = kit.cases("query key to_query to_key to_score", given)
        try:
            found = case.ask(mine)
        except kit.Stopped as stopped:
            if tq != tk and "must match" in str(stopped.problem):
                raise _pairs_missing(
                    "With 2 queries and 5 keys your function stops."
                ) from stopped
            raise
        if tq == tk and found.shape == (2, tq):
            raise _pairs_missing(f"For {tq} queries and {tk} keys I get {tq} scores.")
        case.compare(
            found,
            _of(lambda t: t.right),
            SLIPS,
            said=f"for {tq} queries and {tk} keys",
            hint="Work one entry out by hand.",
        )


@kit.grader(_probe_scores)
def additive_scores(mine: kit.Function) -> str:
    """Grade a reader's additive scores, before mask and softmax.

    ``mine`` is a function ``mine(query, key, to_query, to_key, to_score)`` with query
    (B, Tq, Dq), key (B, Tk, Dk), matrices (Dh, Dq) and (Dh, Dk) and a vector (Dh,) that
    returns scores (B, Tq, Tk), as `tformer.variants.additive` has them.
    """
    return (
        "Every query meets every key, added, bent and weighed; also where there are "
        "more keys than queries."
    )
