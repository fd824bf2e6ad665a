"""The grader for `gradient` of chapter *Before you start*, and known mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "If you move one parameter a little to either side and leave the others, what do "
    "the two losses tell you?",
    "For each parameter in turn, make a vector of zeros with `h` at its place; the "
    "slope is the difference of the two losses, divided by the distance between the "
    "two points, `2 * h`.",
    "slopes = torch.zeros_like(p)",
)


def _loss(p: Tensor) -> Tensor:
    """Curved in every direction, with a slope that differs in each."""
    weights = torch.arange(1, len(p) + 1, dtype=p.dtype)
    return (weights * p**3).sum() + p.sin().prod() + (2 * p[0]).exp()


class _Spy:
    """The loss, which remembers where it was asked for."""

    def __init__(self) -> None:
        self.points: list[Tensor] = []
        self.tracked = False

    def __call__(self, p: Tensor) -> Tensor:
        if not isinstance(p, Tensor) or p.dim() != 1:
            shape = tuple(getattr(p, "shape", ()))
            raise TypeError(f"the loss takes a vector of all parameters, got {shape}")
        self.tracked |= p.requires_grad
        self.points.append(p.detach().clone())
        return _loss(p)


def built(
    loss: kit.Function,
    p: Tensor,
    *,
    h: float = 1e-5,
    over: Callable[[float], float] = lambda h: 2 * h,
    sign: float = 1.0,
) -> Tensor:
    """Central differences; other settings make a known mistake."""
    steps = h * torch.eye(len(p), dtype=p.dtype)
    changes = torch.stack([loss(p + step) - loss(p - step) for step in steps])
    return sign * changes / over(h)


SLIPS: kit.Table = {
    "sign": ({"sign": -1.0}, "Every slope has the wrong sign: right minus left."),
    "divided-by-h": (
        {"over": lambda h: h},
        "Your slopes are twice too large: from p − h to p + h it is 2h.",
    ),
    "half": (
        {"over": lambda h: 4 * h},
        "Your slopes are half of what they should be. The distance from p − h "
        "to p + h is 2h: divide by it once.",
    ),
    "not-divided": (
        {"over": lambda h: 1},
        "You return how much the loss changes, not how much it changes per "
        "step: divide by 2h.",
    ),
    "multiplied": (
        {"over": lambda h: 1 / (2 * h)},
        "You multiply by the distance; divide by it: / (2 * h), in brackets.",
    ),
    "brackets": (
        {"over": lambda h: 2 / h},
        "`/ 2 * h` divides by 2 and multiplies by h: write / (2 * h).",
    ),
}


def _moves(spy: _Spy, p: Tensor) -> tuple[Tensor, Tensor]:
    """How far each asked point is from p, and how many parameters moved in it."""
    away = torch.stack(spy.points) - p
    return away, (away != 0).sum(dim=1)


def _where_asked(spy: _Spy, p: Tensor) -> None:
    """Mistakes that show in the points at which the loss was asked for."""
    if spy.tracked:
        raise kit.Mistake(
            "autograd",
            "You let PyTorch differentiate. Here the slope is to come from losses at "
            "points near p, so that you have something to compare autograd with.",
        )
    if not spy.points:
        raise kit.Mistake("loss-not-called", "Your function never calls the loss.")
    if any(point.dtype != p.dtype for point in spy.points):
        raise kit.Mistake(
            "other-dtype",
            f"p is {p.dtype}, and you ask for the loss at points in "
            f"{spy.points[0].dtype}. In 32 bits there are seven digits: a step of 1e-5 "
            "drowns in their rounding. Keep the type of p: torch.zeros_like(p), no "
            ".float().",
        )
    away, moved = _moves(spy, p)
    if moved.max() == 0:
        raise kit.Mistake(
            "step-too-small",
            "You ask for the loss at p itself only. If you do add a step, it is so "
            "small that p + h rounds to p. Try 1e-5.",
        )
    if moved.max() > 1:
        widest = away[moved.argmax()]
        if torch.allclose(widest, widest[0], rtol=1e-3, atol=0):
            raise kit.Mistake(
                "all-at-once",
                "You move all parameters by the same step at once, which gives one "
                "slope for all of them together. Move one and leave the others.",
            )
        raise kit.Mistake(
            "not-put-back",
            "When you come to the second parameter, the first is still moved. Start "
            "each time from a fresh copy of p, or put it back.",
        )
    if not (bool((away > 0).any()) and bool((away < 0).any())):
        raise kit.Mistake(
            "one-sided",
            "You compare p with one side only. The curve bends, so the error of that "
            "is of the size of h. Go to both sides: (loss(p + h) − loss(p − h)) / 2h, "
            "whose error is of the size of h².",
        )


def _gradient(mine: kit.Function, p: Tensor) -> tuple[Tensor, _Spy]:
    spy = _Spy()
    found = kit.as_tensor(kit.call(mine, {"loss": spy, "p": p}, {}))
    if found.shape != p.shape:
        _where_asked(spy, p)
        raise kit.Mistake(
            "shape",
            f"For {len(p)} parameters your gradient has shape {tuple(found.shape)}. It "
            f"has one slope for each: ({len(p)},).",
        )
    return found.detach(), spy


def _numbers(mine: kit.Function) -> None:
    for seed, size in ((0, 3), (1, 1), (2, 5)):
        p = kit.draw(size, seed=seed, dtype=torch.float64)
        leaf = p.clone().requires_grad_()
        (wanted,) = torch.autograd.grad(_loss(leaf), leaf)
        found, spy = _gradient(mine, p)
        _where_asked(spy, p)
        if kit.matches(found, wanted):
            continue
        away, _ = _moves(spy, p)
        h = away.abs().max().item()
        for name, wrong, says, _ in kit.ways(SLIPS, built):
            factor = wrong(torch.sum, p, h=h)[0].item()  # whose slopes are 1
            if kit.matches(found, factor * wanted, 1e-3 * abs(factor)):
                raise kit.Mistake(name, str(says))
        error = (found - wanted).abs().max().item()
        if h >= 1e-3:
            raise kit.Mistake(
                "step-too-large",
                f"Your step is {h:.0e}, and over that distance the curve bends: the "
                f"slope is off by {error:.1g}. The error falls with h². Try 1e-5.",
            )
        if h <= 1e-9:
            raise kit.Mistake(
                "step-too-small",
                f"Your step is {h:.0e}. The two losses agree in nearly all of their "
                "digits, so their difference is mostly rounding: the slope is off by "
                f"{error:.1g}. Try 1e-5.",
            )
        raise kit.Mistake(
            "wrong-numbers",
            f"For {size} parameters your first slope is {found[0].item():.5f} and "
            f"should be {wanted[0].item():.5f}. I don't know this mistake. Try it on "
            "p², whose slope at 1 is 2.",
        )


@kit.grader(_numbers)
def gradient(mine: kit.Function) -> str:
    """Grade your own ``gradient(loss, p)`` by central differences.

    ``mine`` takes a loss, which maps a vector to one number, and the parameters p
    (N,) in float64; it returns the N slopes at p.
    """
    return (
        "It agrees with automatic differentiation to five digits, and every slope "
        "comes from a small step to both sides."
    )
