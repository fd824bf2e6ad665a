"""The grader for `sinusoids_at` of chapter *Positions*, and the slips it knows."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "How many different speeds are there in a row that is `d_model` wide, and how "
    "large is the exponent of the last one?",
    "There are d/2 of them: `base ** (-2i / d)` for i = 0, 1, 2, …. Multiply each "
    "position by each speed, then put all sines first and all cosines behind them.",
    "speed = base ** (-torch.arange(0, d_model, 2) / d_model)  # (d/2,)",
)

CASES = (
    ((0.0, 1.0, 2.0, 3.0), 8, 10_000.0),
    ((7.0, 2.5, -3.0, 40.0, 0.25), 6, 100.0),
    ((11.0,), 4, 10_000.0),
)


def built(
    positions: Tensor,
    d_model: int,
    base: float = 10_000.0,
    *,
    places: Callable[[Tensor], Tensor] = lambda positions: positions,
    exponent: Callable[[Tensor, int], Tensor] = lambda i, d: 2 * i / d,
    speed: Callable[[float, Tensor], Tensor] = lambda base, e: base**-e,
    unit: float = 1.0,
    own_base: float | None = None,
    layout: Callable[[Tensor, Tensor], Tensor] = lambda s, c: torch.cat([s, c], -1),
) -> Tensor:
    """(T, d) sines, then cosines; other settings make a known mistake."""
    i = torch.arange(d_model // 2, dtype=torch.float64)
    speeds = speed(own_base or base, exponent(i, d_model))
    angle = places(positions.double())[:, None] * speeds * unit
    return layout(angle.sin(), angle.cos()).to(positions.dtype)


def _woven(sines: Tensor, cosines: Tensor) -> Tensor:
    return torch.stack([sines, cosines], dim=-1).flatten(-2)


SLIPS: kit.Table = {
    "interleaved": (
        {"layout": _woven},
        "Your sines and cosines alternate, as in the paper. Here the first half of the "
        "columns holds all sines, the second half the cosines of the same angles.",
    ),
    "cosines-first": (
        [
            {"layout": lambda s, c: torch.cat([c, s], -1)},
            {"layout": lambda s, c: _woven(c, s)},
        ],
        "Sine and cosine have changed places: the sines come first.",
    ),
    "sines-only": (
        {"layout": lambda s, c: torch.cat([s, s], -1)},
        "Both halves hold sines. The second half is the cosines of the same angles.",
    ),
    "positions-ignored": (
        {"places": lambda p: torch.arange(len(p), dtype=p.dtype)},
        "You count positions from 0. Use the positions that you are given; they need "
        "be neither whole nor in order.",
    ),
    "positions-cut": (
        [{"places": torch.trunc}, {"places": torch.round}, {"places": torch.floor}],
        "You make whole numbers of the positions. A hand also has an angle at 2.5.",
    ),
    "positions-absolute": (
        {"places": torch.abs},
        "You drop the sign of the positions. −3 is a position, too: three steps back.",
    ),
    "from-one": (
        {"places": lambda p: p + 1},
        "You add 1 to the positions. At position 0 every angle is 0.",
    ),
    "base-ignored": (
        {"own_base": 10_000.0},
        "Your base is always 10,000. Use the one that you are given.",
    ),
    "doubled-exponent": (
        {"exponent": lambda i, d: 4 * i / d},
        "The 2 of 2i is in there twice: torch.arange(0, d, 2) is 2i already.",
    ),
    "exponent-halved": (
        {"exponent": lambda i, d: i / d},
        "Your exponent is i/d. It is 2i/d, so that it runs from 0 to nearly 1.",
    ),
    "exponent-to-one": (
        {"exponent": lambda i, d: i / (d / 2 - 1)},
        "Your exponents run from 0 to 1 inclusive, as in the first published program. "
        "The paper's are 2i/d and end just below 1.",
    ),
    "columns-not-shared": (
        {"exponent": lambda i, d: (2 * i + 1) / d},
        "Your first angle has the exponent 1/d. It has 0: the first hand moves by 1 "
        "radian.",
    ),
    "multiplied-by-the-base": (
        {"speed": lambda base, e: base**e},
        "You multiply by base^(2i/d). Divide by it, or the later hands race instead of "
        "slowing down.",
    ),
    "slowest-first": (
        {"exponent": lambda i, d: (2 * i / d).flip(0)},
        "Your hands stand in reverse: the first column is the slowest. Column 0 has "
        "the exponent 0 and moves by 1 radian.",
    ),
    "precedence": (
        [
            {"speed": lambda base, e: e / base},
            {"speed": lambda base, e: e / base**2},
        ],
        "p / base ** 2 * i / d is read from the left: base² first, then times i, then "
        "divided by d. Put the exponent into brackets: base ** (2 * i / d).",
    ),
    "degrees": (
        {"unit": math.pi / 180},
        "You turn the angles into radians; they are radians already.",
    ),
    "whole-turns": ({"unit": 2 * math.pi}, "There is a factor 2π too many."),
}


def _probe(mine: kit.Function) -> None:
    for places, d_model, base in CASES:
        case = kit.Case(
            {"positions": torch.tensor(places), "d_model": d_model},
            {"base": base} if base != 10_000.0 else {},
        )
        case.compare(
            case.ask(mine),
            built,
            SLIPS,
            built,
            said=f"for positions {list(places)}, d_model {d_model} and base {base:g}",
            hint="Column i is sin(p / base^(2i/d)), column d/2 + i the cosine.",
            tolerance=1e-4,
        )


@kit.grader(_probe)
def sinusoids_at(mine: kit.Function) -> str:
    """Grade a reader's sinusoids in halves, at any positions and with any base.

    ``mine`` is a function ``mine(positions, d_model, *, base=10_000.0)``: positions
    (T,), floats, to a table (T, d_model) that holds all sines first, then the cosines
    of the same angles.
    """
    return (
        "Sines and cosines of the same angles in two halves, at any position, whole or "
        "not, and with any base: the layout that rotary positions use today."
    )
