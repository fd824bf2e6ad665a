"""The grader for `top_p_filter` of chapter *Decoding and scoring*, and known slips."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check._compare import Slip, compare, recognise
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_tensor, call

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


def _known(cases: list[tuple[Tensor, float]]) -> list[Slip]:
    def all_cases(wrong: Callable[[Tensor, float], Tensor]) -> list[Tensor]:
        return [wrong(p, top_p) for p, top_p in cases]

    def one_more(p: Tensor, top_p: float) -> Tensor:
        n = int((_keep(p, top_p) > 0).sum()) + 1
        each, order = p.sort(descending=True)
        more = torch.zeros_like(p).scatter(0, order[:n], each[:n])
        return more / more.sum()

    def above(p: Tensor, top_p: float) -> Tensor:
        kept = p.masked_fill(p < 1 - top_p, 0)
        return kept / kept.sum()

    return [
        Slip(
            "nothing-cut",
            "Nothing is cut: what comes back is p itself.",
            all_cases(lambda p, top_p: p),
        ),
        Slip(
            "not-scaled",
            "The right pieces stay, but what is left does not sum to 1. Divide by the "
            "sum of what you kept.",
            all_cases(lambda p, top_p: _keep(p, top_p, scale=False)),
        ),
        *(
            Slip(
                "last-piece-missing",
                "You stop before the piece with which the mass reaches top_p. It "
                "belongs to the set: cut a piece only if those before it have reached "
                "top_p already. (Otherwise a best piece of 0.75 would be cut by "
                "top_p=0.5.)",
                all_cases(
                    lambda p, top_p, scale=scale: _keep(  # type: ignore[misc]
                        p, top_p, enough=lambda before, each: before + each, scale=scale
                    )
                ),
            )
            for scale in (True, False)
        ),
        Slip(
            "one-too-many",
            "You keep one piece more than needed. Stop as soon as top_p is reached.",
            all_cases(one_more),
        ),
        Slip(
            "least-probable",
            "You begin with the least probable pieces. Sort in descending order.",
            all_cases(lambda p, top_p: _keep(p, top_p, descending=False)),
        ),
        Slip(
            "order-lost",
            "The right numbers, but sorted: a probability must stay at its piece's id. "
            "Put them back with the order that sort returns.",
            all_cases(lambda p, top_p: _keep(p, top_p, back=False)),
        ),
        Slip(
            "a-threshold",
            "You compare each probability with a threshold. Top-p looks at the *sum* "
            "of the most probable pieces: sort, then cumsum.",
            all_cases(above),
        ),
    ]


def _probe(mine: Function) -> None:
    cases = [(torch.tensor(p, dtype=torch.float64), top_p) for p, top_p in CASES]
    found = [
        as_tensor(call(mine, {"p": p, "top_p": top_p})).double() for p, top_p in cases
    ]
    recognise(found, _known(cases))
    for (p, top_p), each in zip(cases, found, strict=True):
        said = f"for p = {p.tolist()} and top_p = {top_p}"
        if each.shape == p.shape and bool(each.isnan().any()):
            raise Mistake(
                "nothing-left",
                f"{said.capitalize()} you keep nothing, and 0/0 is NaN. The most "
                "probable piece always stays.",
            )
        compare(each, _keep(p, top_p), said=said)


def top_p_filter(mine: Function) -> Result:
    """Grade ``mine(p, top_p)``, which cuts the tail of a distribution.

    Args:
        mine: takes probabilities (V,) and a mass in (0, 1]; returns (V,), in which only
            the smallest set of most probable pieces that reaches the mass is left,
            scaled to sum to 1.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "The smallest set that reaches the mass stays, each probability at its own "
        "piece, and the rest is exactly 0."
    )
    return grade("top_p_filter", mine, [_probe], praise)
