"""The grader for `top_p_filter` of chapter *Decoding and scoring*, and known slips."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "A piece stays if the pieces before it, the more probable ones, don't yet reach "
    "`top_p`. How do you get their mass for all pieces at once?",
    "Sort downwards and take cumulative sums; each minus its own probability is the "
    "mass before it. Set to 0 what comes too late, put the rest back into the old "
    "order (`scatter`), and divide by its sum.",
    "best, order = p.sort(descending=True)",
)

CASES = (  # probabilities in no order, and the mass to reach; no sum meets it exactly
    ([0.10, 0.40, 0.05, 0.25, 0.20], 0.7),
    ([0.02, 0.08, 0.75, 0.15], 0.5),
    ([0.31, 0.19, 0.27, 0.23], 0.97),
    ([0.28, 0.24, 0.26, 0.22], 0.45),
)


def _keep(
    p: Tensor,
    top_p: float,
    *,
    enough: Callable[[Tensor, Tensor], Tensor] = lambda before, each: before,
    descending: bool = True,
    scale: bool = True,
    back: bool = True,
) -> Tensor:
    """The filter as it should be, or with one part exchanged."""
    each, order = p.sort(descending=descending)
    before = each.cumsum(0) - each
    kept = each.masked_fill(enough(before, each) >= top_p, 0)
    found = torch.zeros_like(p).scatter(0, order, kept) if back else kept
    return found / found.sum() if scale else found


def _one_more(p: Tensor, top_p: float) -> Tensor:
    n = int((_keep(p, top_p) > 0).sum()) + 1
    each, order = p.sort(descending=True)
    more = torch.zeros_like(p).scatter(0, order[:n], each[:n])
    return more / more.sum()


def _share(whole: Callable[[float], int]) -> kit.Function:
    def wrong(p: Tensor, top_p: float) -> Tensor:
        best = p.topk(max(1, whole(top_p * len(p))))
        kept = torch.zeros_like(p).scatter(0, best.indices, best.values)
        return kept / kept.sum()

    return wrong


Rule = Callable[[Tensor, Tensor, float], Tensor]


def _stays(rule: Rule) -> list[kit.Function]:
    """What stays by a rule of the sorted pieces and their sums so far.

    Scaled or not, and with the best piece in any case or not.
    """

    def wrong(p: Tensor, top_p: float, *, scale: bool, best: bool) -> Tensor:
        each, order = p.sort(descending=True)
        stays = rule(each, each.cumsum(0), top_p)
        stays[0] |= best
        found = torch.zeros_like(p).scatter(0, order, each * stays)
        return found / found.sum() if scale else found

    both = (True, False)
    return [partial(wrong, scale=scale, best=best) for scale in both for best in both]


SLIPS: kit.Table = {
    "nothing-cut": (lambda p, top_p: p, "Nothing is cut: what comes back is p itself."),
    "not-scaled": (
        partial(_keep, scale=False),
        "The right pieces stay, but what is left does not sum to 1. Divide by the "
        "sum of what you kept.",
    ),
    "last-piece-missing": (
        _stays(lambda each, so_far, top_p: so_far < top_p),
        "You stop before the piece with which the mass reaches top_p. It "
        "belongs to the set: cut a piece only if those before it have reached "
        "top_p already. (Otherwise a best piece of 0.75 would be cut by "
        "top_p=0.5.)",
    ),
    "one-too-many": (
        _one_more,
        "You keep one piece more than needed. Stop as soon as top_p is reached.",
    ),
    "softmax-again": (
        lambda p, top_p: torch.where(_keep(p, top_p) > 0, p, -torch.inf).softmax(0),
        "You take softmax of probabilities, which makes them more alike. What is left "
        "keeps its proportions: divide by its sum.",
    ),
    "share-of-the-pieces": (
        [_share(math.ceil), _share(round), _share(math.floor)],
        "You keep a share of the pieces: that is top-k. top_p is a share of the mass, "
        "and how many pieces it takes depends on how sure the model is.",
    ),
    "least-probable": (
        partial(_keep, descending=False),
        "You begin with the least probable pieces. Sort in descending order.",
    ),
    "order-lost": (
        partial(_keep, back=False),
        "The right numbers, but sorted: a probability must stay at its piece's id. "
        "Put them back with the order that sort returns.",
    ),
    "a-threshold": (
        [
            *_stays(lambda each, so_far, top_p: each >= top_p),
            *_stays(lambda each, so_far, top_p: each >= 1 - top_p),
            *_stays(lambda each, so_far, top_p: each >= top_p * each[0]),
            *_stays(lambda each, so_far, top_p: each >= (1 - top_p) * each[0]),
        ],
        "You compare each probability with a threshold. Top-p looks at the *sum* "
        "of the most probable pieces: sort, then cumsum.",
    ),
}


def _probe(mine: kit.Function) -> None:
    given = kit.cases(
        "p top_p", *((torch.tensor(p, dtype=torch.float64), top) for p, top in CASES)
    )
    found = [case.ask(mine).double() for case in given]
    kit.recognise(found, kit.slips(SLIPS, kit.all_of(given)))
    for case, each in zip(given, found, strict=True):
        said = f"for p = {case['p'].tolist()} and top_p = {case['top_p']}"
        if each.shape == case["p"].shape and bool(each.isnan().any()):
            raise kit.Mistake(
                "nothing-left",
                f"{said.capitalize()} you keep nothing, and 0/0 is NaN. The most "
                "probable piece always stays.",
            )
        kit.compare(each, case.of(_keep), said=said)


@kit.grader(_probe)
def top_p_filter(mine: kit.Function) -> str:
    """Grade ``mine(p, top_p)``, which cuts the tail of a distribution.

    ``mine`` takes probabilities (V,) and a mass in (0, 1]; returns (V,), in which
    only the smallest set of most probable pieces that reaches the mass is left,
    scaled to sum to 1.
    """
    return (
        "The smallest set that reaches the mass stays, each probability at its own "
        "piece, and the rest is exactly 0."
    )
