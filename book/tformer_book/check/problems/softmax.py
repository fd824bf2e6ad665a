"""The grader for `softmax` of chapter *Before you start*, and known mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "What may you subtract from every score of a row without changing any share?",
    "Subtract each row's largest score, so that no power is above 1, and keep the "
    "axis (`keepdim=True`), so that shapes with more axes work, too.",
    "largest = scores.amax(dim=-1, keepdim=True)",
)

KEEPDIM = (
    "A sum along an axis loses that axis, and what is left is lined up from the right: "
    "row sums end up dividing columns. Keep the axis: sum(dim=-1, keepdim=True)."
)


Powers = Callable[[Tensor], Tensor]


def _shifted(scores: Tensor) -> Tensor:
    return (scores - scores.amax(-1, keepdim=True)).exp()


def _along(axis: int, powers: Powers) -> Powers:
    """Softmax along an axis counted from the front, where it is not the last."""

    def wrong(scores: Tensor) -> Tensor:
        last = axis >= scores.dim() - 1
        each = powers(scores)
        return each / each.sum(-1 if last else axis, keepdim=True)

    return wrong


def _epsilon(powers: Powers, epsilon: float) -> Powers:
    """Something added below the fraction line, against a division by 0."""

    def wrong(scores: Tensor) -> Tensor:
        each = powers(scores)
        return each / (each.sum(-1, keepdim=True) + epsilon)

    return wrong


def _wrong_axis(axis: int) -> kit.Function:
    return lambda scores: (
        f"Softmax runs along axis {axis} of {scores.dim()}, so it is not "
        "the rows that sum to 1. The scores of one question lie along the "
        "last axis: dim=-1."
    )


SLIPS: kit.Table = {
    **{
        f"wrong-axis:{axis}": (
            [_along(axis, torch.exp), _along(axis, _shifted)],
            _wrong_axis(axis),
        )
        for axis in (0, 1)
    },
    "everything-at-once": (
        lambda scores: scores.flatten().softmax(0).view_as(scores),
        "All your shares together sum to 1. Each row has a budget of its own: sum "
        "along the last axis only, sum(dim=-1, keepdim=True).",
    ),
    "keepdim-forgotten": (
        [
            lambda scores: scores.exp() / scores.exp().sum(-1),
            lambda scores: _shifted(scores) / _shifted(scores).sum(-1),
        ],
        KEEPDIM,
    ),
    "no-exponential": (
        lambda scores: scores / scores.sum(-1, keepdim=True),
        "You divide the scores by their sum. Scores may be negative, so these are no "
        "shares. Take the exponential first.",
    ),
    "not-normalised": (
        lambda scores: scores.exp(),
        "You take the exponential and stop there. Divide by the sum of each row, so "
        "that it becomes 1.",
    ),
    "not-normalised:2": (
        lambda scores: _shifted(scores),
        "In your result the winner of each row always has 1, since its power is "
        "e⁰ or was divided by itself. Divide by the sum of the row.",
    ),
    "shifted-in-one-place-only": (
        lambda scores: _shifted(scores) / scores.exp().sum(-1, keepdim=True),
        "You subtract the largest score above the fraction line and not below it. "
        "Compute the powers once, and divide them by their own sum.",
    ),
    "epsilon": (
        [
            _epsilon(powers, epsilon)
            for powers in (torch.exp, _shifted)
            for epsilon in (1e-4, 1e-3, 1e-2, 0.1, 1.0)
        ],
        "You add a small number to the sum below the fraction line, so a row sums to "
        "less than 1. There is nothing to guard against: once the largest score is "
        "subtracted its power is 1, and the sum is at least that.",
    ),
    "scores-cut-off": (
        [
            lambda scores: scores.clamp(-20, 20).softmax(-1),
            lambda scores: scores.clamp(max=20).softmax(-1),
            lambda scores: scores.clamp(min=-20).softmax(-1),
        ],
        "You cut large scores off, so that exp survives them. But then scores that "
        "differ come out equal. Only differences count: subtract each row's largest "
        "score instead, which changes none.",
    ),
    "logarithm": (
        lambda scores: scores.log_softmax(-1),
        "These are the logarithms of the shares. Leave the last log out.",
    ),
    "wrong-base": (
        lambda scores: (2**scores) / (2**scores).sum(-1, keepdim=True),
        "You raise 2, not e, to the power of the scores. Use torch.exp.",
    ),
    "sign": (
        lambda scores: (-scores).softmax(-1),
        "The largest score gets the smallest share: there is a minus too many.",
    ),
    "sigmoid": (
        lambda scores: scores.sigmoid(),
        "You squash each score by itself, so a row need not sum to 1. Divide by the "
        "sum of the row.",
    ),
}


def _shares(mine: kit.Function, scores: Tensor) -> Tensor:
    found = kit.as_tensor(kit.call(mine, {"scores": scores}, {}))
    if found.shape != scores.shape:
        raise kit.Mistake(
            "shape",
            f"For scores of shape {tuple(scores.shape)} your shares have shape "
            f"{tuple(found.shape)}. There is one share for each score.",
        )
    return found


def _judge_softmax(found: Tensor, scores: Tensor) -> None:
    kit.compare(
        found,
        scores.softmax(-1),
        kit.slips(SLIPS, lambda wrong: wrong(scores)),
        said=f"for scores of shape {tuple(scores.shape)}",
        hint=f"Your first row sums to {found.sum(-1).flatten()[0].item():.3f}. Do "
        "softmax of 2, 1, 0 by hand: it is 0.665, 0.245, 0.090.",
    )


def _one_row(mine: kit.Function) -> None:
    scores = kit.draw(4, seed=0)
    _judge_softmax(_shares(mine, scores), scores)


def _rows(mine: kit.Function) -> None:
    square, oblong = kit.draw(3, 3, seed=1), kit.draw(2, 4, seed=2)
    try:
        _judge_softmax(_shares(mine, oblong), oblong)
    except kit.Stopped as stopped:
        try:
            _judge_softmax(_shares(mine, square), square)
        except kit.Stopped:
            pass
        except kit.Mistake as mistake:
            if mistake.diagnosis == "keepdim-forgotten":
                raise
        raise stopped from None
    _judge_softmax(_shares(mine, square), square)


def _batches(mine: kit.Function) -> None:
    scores = kit.draw(2, 3, 4, seed=3)
    _judge_softmax(_shares(mine, scores), scores)


def _large_scores(mine: kit.Function) -> None:
    for sign in (1, -1):
        scores = 1000.0 * sign + kit.draw(2, 4, seed=4)
        if not _shares(mine, scores).isfinite().all():
            what = (
                "the powers overflow: ∞ ÷ ∞ is nan"
                if sign > 0
                else "all powers are 0, and 0 ÷ 0 is nan"
            )
            raise kit.Mistake(
                "overflow",
                f"With scores near {sign * 1000} {what}. Only differences count, so "
                "subtract each row's largest score before exp: "
                "scores - scores.amax(dim=-1, keepdim=True).",
            )
        _judge_softmax(_shares(mine, scores), scores)
    apart = torch.stack([1000 + kit.draw(4, seed=5), kit.draw(4, seed=6) - 1000])
    if not _shares(mine, apart).isfinite().all():
        raise kit.Mistake(
            "one-maximum-for-all",
            "Right while all rows are of one size. With one row near 1000 and another "
            "near −1000 the second becomes nan: you subtract the largest score of the "
            "whole table. Take each row's own: amax(dim=-1, keepdim=True).",
        )
    _judge_softmax(_shares(mine, apart), apart)
    wide = torch.tensor([[0.0, 900.0, -900.0, 2.0], [-400.0, 1.0, 3.0, -900.0]])
    if not kit.matches(_shares(mine, wide), wide.softmax(-1)):
        raise kit.Mistake(
            "not-the-largest",
            "With 900 and −900 in one row a power still overflows: what you subtract "
            "is not the row's largest score (its mean?). Only with the largest at 0 "
            "can no power exceed 1: scores - scores.amax(dim=-1, keepdim=True).",
        )
    hidden = torch.tensor([[0.0, -torch.inf, 1.0]])
    if not kit.matches(_shares(mine, hidden), hidden.softmax(-1)):
        raise kit.Mistake(
            "minus-infinity",
            "A score of −∞ must get the share 0, and the others their usual ones: "
            "masks use this.",
        )


def _learnable(mine: kit.Function) -> None:
    scores = kit.draw(2, 4, seed=7)
    kit.probe_gradients(
        mine,
        lambda: kit.as_tensor(kit.call(mine, {"scores": scores})),
        lambda: scores.softmax(-1),
        {"the scores": scores},
    )
    for kind in (torch.float32, torch.float64):
        found = _shares(mine, kit.draw(2, 4, seed=8, dtype=kind)).dtype
        if found != kind:
            raise kit.Mistake(
                "dtype", f"For {kind} scores your shares are {found}. Keep the type."
            )


def _own_work(mine: kit.Function) -> None:
    ready = {"softmax", "log_softmax", "softmin", "safe_softmax"}
    remedy = "Write it with exp, a sum and a division."
    kit.by_hand(mine, {"scores": kit.draw(3, seed=8)}, ready, remedy)


@kit.grader(_one_row, _rows, _batches, _large_scores, _learnable, _own_work)
def softmax(mine: kit.Function) -> str:
    """Grade your own ``softmax(scores)``, along the last axis.

    ``mine`` takes scores (..., N) and returns shares (..., N).
    """
    return (
        "Rows sum to 1 along the last axis, for any number of axes; large scores and "
        "very negative ones do not break it; and gradients flow through it."
    )
