"""The grader for `softmax` of chapter *Before you start*, and known mistakes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
    matches,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    as_tensor,
    by_hand,
    call,
    draw,
    probe_gradients,
)

KEEPDIM = (
    "A sum along an axis loses that axis, and what is left is lined up from the right: "
    "row sums end up dividing columns. Keep the axis: sum(dim=-1, keepdim=True)."
)


def _wrong_softmax(scores: Tensor) -> Known:
    powers = scores.exp()
    shifted = (scores - scores.amax(-1, keepdim=True)).exp()
    if scores.dim() > 1:
        for axis in range(scores.dim() - 1):
            for each in (powers, shifted):
                yield Slip(
                    "wrong-axis",
                    f"Softmax runs along axis {axis} of {scores.dim()}, so it is not "
                    "the rows that sum to 1. The scores of one question lie along the "
                    "last axis: dim=-1.",
                    each / each.sum(axis, keepdim=True),
                )
        yield Slip(
            "everything-at-once",
            "All your shares together sum to 1. Each row has a budget of its own: sum "
            "along the last axis only, sum(dim=-1, keepdim=True).",
            scores.flatten().softmax(0).view_as(scores),
        )
        if scores.shape[-1] == scores.shape[-2]:
            yield Slip("keepdim-forgotten", KEEPDIM, powers / powers.sum(-1))
            yield Slip("keepdim-forgotten", KEEPDIM, shifted / shifted.sum(-1))
    yield Slip(
        "no-exponential",
        "You divide the scores by their sum. Scores may be negative, so these are no "
        "shares. Take the exponential first.",
        scores / scores.sum(-1, keepdim=True),
    )
    yield Slip(
        "not-normalised",
        "You take the exponential and stop there. Divide by the sum of each row, so "
        "that it becomes 1.",
        powers,
    )
    yield Slip(
        "not-normalised",
        "In your result the winner of each row always has 1, since its power is "
        "e⁰ or was divided by itself. Divide by the sum of the row.",
        shifted,
    )
    yield Slip(
        "shifted-in-one-place-only",
        "You subtract the largest score above the fraction line and not below it. "
        "Compute the powers once, and divide them by their own sum.",
        shifted / powers.sum(-1, keepdim=True),
    )
    yield Slip(
        "logarithm",
        "These are the logarithms of the shares. Leave the last log out.",
        scores.log_softmax(-1),
    )
    yield Slip(
        "wrong-base",
        "You raise 2, not e, to the power of the scores. Use torch.exp.",
        (2**scores) / (2**scores).sum(-1, keepdim=True),
    )
    yield Slip(
        "sign",
        "The largest score gets the smallest share: there is a minus too many.",
        (-scores).softmax(-1),
    )
    yield Slip(
        "sigmoid",
        "You squash each score by itself, so a row need not sum to 1. Divide by the "
        "sum of the row.",
        scores.sigmoid(),
    )


def _shares(mine: Function, scores: Tensor) -> Tensor:
    found = as_tensor(call(mine, {"scores": scores}, {}))
    if found.shape != scores.shape:
        raise Mistake(
            "shape",
            f"For scores of shape {tuple(scores.shape)} your shares have shape "
            f"{tuple(found.shape)}. There is one share for each score.",
        )
    return found


def _judge_softmax(found: Tensor, scores: Tensor) -> None:
    compare(
        found,
        scores.softmax(-1),
        _wrong_softmax(scores),
        said=f"for scores of shape {tuple(scores.shape)}",
        hint=f"Your first row sums to {found.sum(-1).flatten()[0].item():.3f}. Do "
        "softmax of 2, 1, 0 by hand: it is 0.665, 0.245, 0.090.",
    )


def _one_row(mine: Function) -> None:
    scores = draw(4, seed=0)
    _judge_softmax(_shares(mine, scores), scores)


def _rows(mine: Function) -> None:
    square, oblong = draw(3, 3, seed=1), draw(2, 4, seed=2)
    try:
        _judge_softmax(_shares(mine, oblong), oblong)
    except Stopped as stopped:
        try:
            _judge_softmax(_shares(mine, square), square)
        except Stopped:
            pass
        except Mistake as mistake:
            if mistake.diagnosis == "keepdim-forgotten":
                raise
        raise stopped from None
    _judge_softmax(_shares(mine, square), square)


def _batches(mine: Function) -> None:
    scores = draw(2, 3, 4, seed=3)
    _judge_softmax(_shares(mine, scores), scores)


def _large_scores(mine: Function) -> None:
    for sign in (1, -1):
        scores = 1000.0 * sign + draw(2, 4, seed=4)
        if not _shares(mine, scores).isfinite().all():
            what = (
                "the powers overflow: ∞ ÷ ∞ is nan"
                if sign > 0
                else "all powers are 0, and 0 ÷ 0 is nan"
            )
            raise Mistake(
                "overflow",
                f"With scores near {sign * 1000} {what}. Only differences count, so "
                "subtract each row's largest score before exp: "
                "scores - scores.amax(dim=-1, keepdim=True).",
            )
        _judge_softmax(_shares(mine, scores), scores)
    apart = torch.stack([1000 + draw(4, seed=5), draw(4, seed=6) - 1000])
    if not _shares(mine, apart).isfinite().all():
        raise Mistake(
            "one-maximum-for-all",
            "Right while all rows are of one size. With one row near 1000 and another "
            "near −1000 the second becomes nan: you subtract the largest score of the "
            "whole table. Take each row's own: amax(dim=-1, keepdim=True).",
        )
    _judge_softmax(_shares(mine, apart), apart)
    wide = torch.tensor([[0.0, 900.0, -900.0, 2.0], [-400.0, 1.0, 3.0, -900.0]])
    if not matches(_shares(mine, wide), wide.softmax(-1)):
        raise Mistake(
            "not-the-largest",
            "With 900 and −900 in one row a power still overflows: what you subtract "
            "is not the row's largest score (its mean?). Only with the largest at 0 "
            "can no power exceed 1: scores - scores.amax(dim=-1, keepdim=True).",
        )
    hidden = torch.tensor([[0.0, -torch.inf, 1.0]])
    if not matches(_shares(mine, hidden), hidden.softmax(-1)):
        raise Mistake(
            "minus-infinity",
            "A score of −∞ must get the share 0, and the others their usual ones: "
            "masks use this.",
        )


def _learnable(mine: Function) -> None:
    scores = draw(2, 4, seed=7)

    def shares() -> Tensor:
        return as_tensor(call(mine, {"scores": scores}))

    probe_gradients(mine, shares, lambda: scores.softmax(-1), {"the scores": scores})
    for kind in (torch.float32, torch.float64):
        found = _shares(mine, draw(2, 4, seed=8, dtype=kind)).dtype
        if found != kind:
            raise Mistake(
                "dtype", f"For {kind} scores your shares are {found}. Keep the type."
            )


def _own_work(mine: Function) -> None:
    ready = {"softmax", "log_softmax", "softmin"}
    remedy = "Write it with exp, a sum and a division."
    by_hand(mine, {"scores": draw(3, seed=8)}, ready, remedy)


def softmax(mine: Callable[[Tensor], Tensor]) -> Result:
    """Grade your own ``softmax(scores)``, along the last axis.

    Prints what a teacher would say.

    Args:
        mine: your function. It takes scores (..., N) and returns shares (..., N).

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """
    return grade(
        "softmax",
        mine,
        (_one_row, _rows, _batches, _large_scores, _learnable, _own_work),
        """Rows sum to 1 along the last axis, for any number of axes; large scores and
        very negative ones do not break it; and gradients flow through it.""",
    )
