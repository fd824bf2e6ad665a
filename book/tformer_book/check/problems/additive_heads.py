"""The grader for `additive_heads` of chapter *Transduction*, and the slips it knows."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "Each head compares every query with every key. Which axes must the hidden layer "
    "have before `to_score` is applied?",
    "Project queries and keys for each head: (B, H, Tq, Dh) and (B, H, Tk, Dh). Then "
    "give each an axis of size 1 where the other has its words, and let broadcasting "
    "pair them: (B, H, Tq, Tk, Dh).",
    "asks = query[:, None] @ to_query.mT  # (B, H, Tq, Dh)",
)


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
    shared: str = "",
    one: Callable[[Tensor], Tensor] = lambda each: each[:1].expand_as(each),
    finish: Callable[[Tensor], Tensor] = lambda scores: scores,
) -> Tensor:
    """(B, H, Tq, Tk) scores in steps, each of which can be exchanged."""
    given = {"to_query": to_query, "to_key": to_key, "to_score": to_score}
    to_query, to_key, to_score = (
        one(weights) if name == shared else weights for name, weights in given.items()
    )
    asks = torch.einsum("btd,hed->bhte", query, to_query)[..., :, None, :]
    answers = torch.einsum("btd,hed->bhte", key, to_key)[..., None, :, :]
    if early:
        hidden = asks.tanh() + answers.tanh()
    else:
        hidden = bend(asks + answers)
    scores = weigh(hidden, to_score[:, None, None, :]).sum(-1)
    return finish(heads(scores))


SLIPS: kit.Table = {
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
    **{
        f"one-for-all-heads:{name}": (
            {"shared": name},
            f"All heads share the {name} of the first. Each has its own: {name}[h].",
        )
        for name in ("to_query", "to_key", "to_score")
    },
    "heads-reversed": (
        {"heads": lambda scores: scores.flip(1)},
        "The heads stand in the reverse order.",
    ),
    "heads-summed": (
        [
            {"heads": lambda scores: scores.sum(1)},
            {"heads": lambda scores: scores.mean(1)},
            {"heads": lambda scores: scores.mean(1, keepdim=True).expand_as(scores)},
        ],
        "You add or average the heads. Each keeps its own scores, along an axis of its "
        "own: (B, H, Tq, Tk).",
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


def _cases() -> list[kit.Case]:
    shapes = (
        ((2, 4, 3), (2, 5, 7), (3, 6, 3), (3, 6, 7), (3, 6)),
        ((1, 4, 4), (1, 4, 4), (4, 4, 4), (4, 4, 4), (4, 4)),
        ((2, 1, 3), (2, 2, 7), (1, 6, 3), (1, 6, 7), (1, 6)),
    )
    return kit.cases(
        "query key to_query to_key to_score",
        *(
            [kit.draw(*shape, seed=10 * i + j) for j, shape in enumerate(case)]
            for i, case in enumerate(shapes)
        ),
    )


def _probe_scores(mine: kit.Function) -> None:
    for case in _cases():
        case.compare(
            case.ask(mine),
            built,
            SLIPS,
            built,
            said=f"for query {case.shape('query')}, key {case.shape('key')} and "
            f"{len(case['to_query'])} heads",
            hint="Write the shape of every line beside it; einsum can name the axes.",
        )


def _probe_gradients(mine: kit.Function) -> None:
    _cases()[0].learn(mine, built)


@kit.grader(_probe_scores, _probe_gradients)
def additive_heads(mine: kit.Function) -> str:
    """Grade a reader's additive scores for several readers at once.

    ``mine`` is a function ``mine(query, key, to_query, to_key, to_score)`` with query
    (B, Tq, Dq), key (B, Tk, Dk), and for each of H heads its own matrices: (H, Dh, Dq),
    (H, Dh, Dk) and (H, Dh). Returns scores (B, H, Tq, Tk).
    """
    return (
        "Every head compares every query with every key by its own matrices, for any "
        "sizes, and gradients reach all of them."
    )
