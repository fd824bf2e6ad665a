"""The grader for `step_by_rotation` of chapter *Positions*, and known mistakes."""

import inspect
from typing import Any

import torch
from torch import Tensor

from tformer.positions import sinusoids
from tformer_book.check import kit

HINTS = (
    "What are sin(a + b) and cos(a + b), if you know the sine and cosine of both?",
    "Take the sines (even columns) and the cosines (odd columns) apart, turn each "
    "pair by k / base^(2i/d) with those two formulas, and weave them again with "
    "`stack` and `flatten`.",
    "turn = k / base ** (torch.arange(0, x.size(1), 2) / x.size(1))",
)

BASE = 10_000.0
# (first row, rows, width, step)
# (first row, rows, width, step)
WALKS = ((0, 50, 64, 7), (100, 20, 16, -4), (3, 5, 4, 1))


def _turned(sin: Tensor, cos: Tensor, turn: Tensor) -> tuple[Tensor, Tensor]:
    return sin * turn.cos() + cos * turn.sin(), cos * turn.cos() - sin * turn.sin()


def _woven(sin: Tensor, cos: Tensor) -> Tensor:
    return torch.stack([sin, cos], dim=-1).flatten(-2)


@kit.of_terms
def _of(x: Tensor, k: int) -> dict[str, Any]:
    x, d = x.double(), x.size(1)
    sin, cos = x[:, 0::2], x[:, 1::2]
    speed = BASE ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    half = torch.cat([-x[:, d // 2 :], x[:, : d // 2]], dim=-1)
    both = torch.cat([k * speed, k * speed])
    place = torch.arange(len(x), dtype=x.dtype)[:, None]
    moved = _turned(sin, cos, k * speed)
    halves = _turned(x[:, : d // 2], x[:, d // 2 :], k * speed)
    return locals()


def _by_the_row(sign: int) -> list[kit.Function]:
    return [
        _of(lambda t: _woven(*_turned(t.sin, t.cos, sign * t.place * t.speed))),
        _of(lambda t: _woven(*_turned(t.sin, t.cos, sign * t.place * t.k * t.speed))),
    ]


SLIPS: kit.Table = {
    "turned-back": (
        _of(lambda t: _woven(*_turned(t.sin, t.cos, -t.k * t.speed))),
        "Your rows have moved k positions back. In the table the sine comes first: "
        "with the signs of `rotate`, which are meant for cosine and sine, the turn "
        "goes the other way round.",
    ),
    "not-turned": (
        _of(lambda t: t.x),
        "You return the rows as they were. Turn each pair by k / base^(2i/d).",
    ),
    "pairs-from-halves": (
        [
            _of(lambda t: t.x * t.both.cos() + t.half * t.both.sin()),
            _of(lambda t: t.x * t.both.cos() - t.half * t.both.sin()),
        ],
        "This is rotate_half, as in Llama: it takes the left half of the columns "
        "with the right half as pairs. In this table sine and cosine alternate: "
        "x[:, 0::2] and x[:, 1::2].",
    ),
    "one-speed": (
        _of(lambda t: _woven(*_turned(t.sin, t.cos, torch.full_like(t.speed, t.k)))),
        "You turn all pairs by the same angle. Each hand has its own speed: "
        "k / base^(2i/d).",
    ),
    "doubled-exponent": (
        _of(lambda t: _woven(*_turned(t.sin, t.cos, t.k * t.speed**2))),
        "The exponent is doubled: 2i is already the number of the sine's column.",
    ),
    "turned-by-the-row": (
        _by_the_row(1),
        "You turn each row by a different angle, as `rotate` does. Here all rows "
        "move on by the same k.",
    ),
    "turned-by-the-row:2": (
        _by_the_row(-1),
        "You turn each row by a different angle, as `rotate` does, and the wrong "
        "way round. Here all rows move on by the same k.",
    ),
    "not-interleaved": (
        _of(lambda t: torch.cat(t.moved, dim=-1)),
        "The numbers are right, but first all sines, then all cosines. Put each "
        "cosine beside its sine again: stack on a new last axis, then flatten(-2).",
    ),
    "cosine-first": (
        _of(lambda t: _woven(*t.moved[::-1])),
        "The numbers are right, but each cosine stands before its sine.",
    ),
    "pairs-from-halves:2": (
        [_of(lambda t: _woven(*t.halves)), _of(lambda t: torch.cat(t.halves, dim=-1))],
        "You take the left half for the sines and the right half for the cosines. "
        "In this table they alternate: x[:, 0::2] and x[:, 1::2].",
    ),
}


def _probe_walks(mine: kit.Function) -> None:
    for first, length, width, k in WALKS:
        table = sinusoids(first + length + 10, width)
        rows, wanted = table[first : first + length], table[first + k :][:length]
        found = kit.as_tensor(kit.call(mine, {"x": rows, "k": k}, {}), "the moved rows")
        if found.shape != wanted.shape:
            raise kit.Mistake(
                "shape",
                f"Rows {tuple(rows.shape)} move on and keep their shape; yours have "
                f"{tuple(found.shape)}.",
            )
        if kit.matches(found, wanted, 1e-4):
            continue
        known = kit.slips(SLIPS, kit.Case({"x": rows, "k": k}).of)
        kit.recognise(found, known, 1e-4)
        i, c = (found - wanted).abs().gt(1e-4).nonzero()[0].tolist()
        raise kit.Mistake(
            "wrong-numbers",
            f"Row {first + i}, moved by {k}, should have {wanted[i, c]:.4f} in column "
            f"{c}; yours has {found[i, c]:.4f}. I don't know this mistake. Begin with "
            "one pair: sin(a + b) = sin a cos b + cos a sin b.",
        )


def _probe_base(mine: kit.Function) -> None:
    """Another base, if the function takes one."""
    try:
        if "base" not in inspect.signature(mine).parameters:
            return
    except (TypeError, ValueError):
        return
    table = sinusoids(60, 8, base=100.0)
    found = kit.as_tensor(kit.call(mine, {"x": table[:40], "k": 5}, {"base": 100.0}))
    if not kit.matches(found, table[5:45], 1e-4):
        raise kit.Mistake(
            "base-ignored",
            "Right for the base 10,000, but your function takes a base and does not "
            "use it: the speeds are base^(−2i/d).",
        )


@kit.grader(_probe_walks, _probe_base)
def step_by_rotation(mine: kit.Function) -> str:
    """Grade a reader's step: rows of positions, moved on by turning each pair.

    ``mine`` is a function ``mine(x, k)``: rows (T, d) of `tformer.positions.sinusoids`
    to the rows k positions on.
    """
    return "Every pair turns by its own angle, forwards and backwards, at any width."
