"""The grader for `rotate_pairs` of chapter *What came after*, and known mistakes."""

from typing import Any

import torch
from torch import Tensor

from tformer.variants import rotate_pairs as right_turn
from tformer_book.check import kit

HINTS = (
    "By which angle is pair i of row p turned, and what does a turn make of (a, b)?",
    "The angle is p / 10000^(2i/Dh). Even columns are the first of each pair, odd "
    "ones the second: (a cos − b sin, a sin + b cos). Weave them again with `stack` "
    "and `flatten`.",
    "speed = 10_000 ** -(torch.arange(0, x.size(-1), 2) / x.size(-1))",
)

BASE = 10_000.0


def _turned(x: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    even, odd = x[..., 0::2], x[..., 1::2]
    sine, cosine = angle.sin(), angle.cos()
    return even * cosine - odd * sine, even * sine + odd * cosine


def _woven(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], dim=-1).flatten(-2)


@kit.of_terms
def _of(x: Tensor) -> dict[str, Any]:
    width = x.size(-1)
    place = torch.arange(x.size(-2), dtype=x.dtype)[:, None]
    pair = torch.arange(0, width, 2, dtype=x.dtype)
    angle = place / BASE ** (pair / width)
    halves = torch.stack([x[..., : width // 2], x[..., width // 2 :]], -1).flatten(-2)
    table = _woven(angle.sin(), angle.cos())
    return locals()


SLIPS: kit.Table = {
    "pairs-from-halves": (
        _of(lambda t: torch.cat(_turned(t.halves, t.angle), dim=-1)),
        "You pair column i with column i + Dh/2, as many programs do (rotate_half). It "
        "is as good, but weights trained with one layout don't fit the other. Here a "
        "pair is two neighbours: x[..., 0::2] and x[..., 1::2].",
    ),
    "turned-back": (
        _of(lambda t: _woven(*_turned(t.x, -t.angle))),
        "Each pair turns the wrong way round. The first number becomes a cos − b sin, "
        "the second a sin + b cos.",
    ),
    "positions-from-one": (
        _of(
            lambda t: _woven(*_turned(t.x, (t.place + 1) / BASE ** (t.pair / t.width)))
        ),
        "You count positions from 1; the first stands at 0 and is not turned.",
    ),
    "doubled-exponent": (
        _of(lambda t: _woven(*_turned(t.x, t.place / BASE ** (2 * t.pair / t.width)))),
        "The exponent is doubled: torch.arange(0, Dh, 2) is 2i already.",
    ),
    "half-exponent": (
        _of(lambda t: _woven(*_turned(t.x, t.place / BASE ** (t.pair / 2 / t.width)))),
        "The exponent is half of what it should be: it is 2i / Dh, with i the number "
        "of the pair.",
    ),
    "one-speed": (
        _of(lambda t: _woven(*_turned(t.x, t.place.expand(-1, t.width // 2)))),
        "All pairs turn equally fast. Pair i turns by position / base^(2i/Dh).",
    ),
    "not-woven": (
        _of(lambda t: torch.cat(_turned(t.x, t.angle), dim=-1)),
        "The numbers are right, but first all first ones of the pairs, then all second "
        "ones. Put them side by side again: stack on a new last axis, flatten(-2).",
    ),
    "added": (
        _of(lambda t: t.x + t.table),
        "You add a table of sinusoids. Turn the pairs.",
    ),
    "turned-by-the-head": (
        _of(
            lambda t: (
                right_turn(t.x.transpose(-3, -2)).transpose(-3, -2)
                if t.x.dim() > 2
                else t.x
            )
        ),
        "The angle goes with the wrong axis: x is (B, H, T, Dh), and position is axis "
        "-2, not the heads' axis.",
    ),
}


def _turned_pairs(found: Any) -> Tensor:
    return kit.as_tensor(found, "the turned pairs")


def _case(*shape: int, seed: int) -> kit.Case:
    return kit.Case({"x": kit.draw(*shape, seed=seed, dtype=torch.float64)})


def _probe_numbers(mine: kit.Function) -> None:
    case = _case(2, 3, 7, 8, seed=11)
    case.compare(
        case.ask(mine, _turned_pairs),
        right_turn,
        SLIPS,
        said="for x (2, 3, 7, 8)",
        hint="Begin with one pair at position 1: it turns by 1 radian.",
    )


def _probe_shapes(mine: kit.Function) -> None:
    for shape in ((5, 4), (4, 4, 4), (1, 2, 1, 6)):
        case = _case(*shape, seed=12)
        if not kit.matches(case.ask(mine, _turned_pairs), case.of(right_turn)):
            raise kit.Mistake(
                "fixed-axes",
                f"Right for (B, H, T, Dh), wrong for x of shape {shape}. Count axes "
                "from the back: positions are axis -2, the pairs axis -1.",
            )


def _probe_gradient(mine: kit.Function) -> None:
    _case(2, 5, 4, seed=13).learn(mine, right_turn, take=_turned_pairs)


@kit.grader(_probe_numbers, _probe_shapes, _probe_gradient)
def rotate_pairs(mine: kit.Function) -> str:
    """Grade a reader's rotary positions.

    ``mine`` is a function ``mine(x)``, x (..., T, Dh), as
    `tformer.variants.rotate_pairs` from position 0 on, with base 10,000.
    """
    return (
        "Neighbours are a pair, each turns at its own speed, forwards, and the first "
        "position stays as it is."
    )
