"""The grader for `step_by_rotation` of chapter *Positions*, and known mistakes."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor

from tformer.positions import sinusoids
from tformer_book.check._compare import (
    Known,
    Slip,
    matches,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    as_tensor,
    call,
)

BASE = 10_000.0
FAR = 1_000


def _speeds(d: int) -> Tensor:
    """(d/2,) radians per position of each pair."""
    return BASE ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)


# (first row, rows, width, step)
WALKS = ((0, 50, 64, 7), (100, 20, 16, -4), (3, 5, 4, 1))


def _turned(sin: Tensor, cos: Tensor, turn: Tensor) -> tuple[Tensor, Tensor]:
    return sin * turn.cos() + cos * turn.sin(), cos * turn.cos() - sin * turn.sin()


def _woven(sin: Tensor, cos: Tensor) -> Tensor:
    return torch.stack([sin, cos], dim=-1).flatten(-2)


def _wrong_walks(rows: Tensor, k: int) -> Known:
    x, d = rows.double(), rows.size(1)
    sin, cos = x[:, 0::2], x[:, 1::2]
    speed = _speeds(d)
    yield Slip(
        "turned-back",
        "Your rows have moved k positions back. In the table the sine comes first: "
        "with the signs of `rotate`, which are meant for cosine and sine, the turn "
        "goes the other way round.",
        _woven(*_turned(sin, cos, -k * speed)),
    )
    yield Slip(
        "not-turned",
        "You return the rows as they were. Turn each pair by k / base^(2i/d).",
        x,
    )
    half = torch.cat([-x[:, d // 2 :], x[:, : d // 2]], dim=-1)
    both = torch.cat([k * speed, k * speed])
    for sign in (1, -1):
        yield Slip(
            "pairs-from-halves",
            "This is rotate_half, as in Llama: it takes the left half of the columns "
            "with the right half as pairs. In this table sine and cosine alternate: "
            "x[:, 0::2] and x[:, 1::2].",
            x * both.cos() + sign * half * both.sin(),
        )
    yield Slip(
        "one-speed",
        "You turn all pairs by the same angle. Each hand has its own speed: "
        "k / base^(2i/d).",
        _woven(*_turned(sin, cos, torch.full_like(speed, k))),
    )
    yield Slip(
        "doubled-exponent",
        "The exponent is doubled: 2i is already the number of the sine's column.",
        _woven(*_turned(sin, cos, k * speed**2)),
    )
    place = torch.arange(len(x), dtype=x.dtype)[:, None]
    for turn in (place * speed, place * k * speed):
        yield Slip(
            "turned-by-the-row",
            "You turn each row by a different angle, as `rotate` does. Here all rows "
            "move on by the same k.",
            _woven(*_turned(sin, cos, turn)),
        )
        yield Slip(
            "turned-by-the-row",
            "You turn each row by a different angle, as `rotate` does, and the wrong "
            "way round. Here all rows move on by the same k.",
            _woven(*_turned(sin, cos, -turn)),
        )
    moved = _turned(sin, cos, k * speed)
    yield Slip(
        "not-interleaved",
        "The numbers are right, but first all sines, then all cosines. Put each "
        "cosine beside its sine again: stack on a new last axis, then flatten(-2).",
        torch.cat(moved, dim=-1),
    )
    yield Slip(
        "cosine-first",
        "The numbers are right, but each cosine stands before its sine.",
        _woven(*moved[::-1]),
    )
    left, right = x[:, : d // 2], x[:, d // 2 :]
    halves = _turned(left, right, k * speed)
    for wrong in (_woven(*halves), torch.cat(halves, dim=-1)):
        yield Slip(
            "pairs-from-halves",
            "You take the left half for the sines and the right half for the cosines. "
            "In this table they alternate: x[:, 0::2] and x[:, 1::2].",
            wrong,
        )


def _probe_walks(mine: Function) -> None:
    for first, length, width, k in WALKS:
        table = sinusoids(first + length + 10, width)
        rows, wanted = table[first : first + length], table[first + k :][:length]
        found = as_tensor(call(mine, {"x": rows, "k": k}, {}), "the moved rows")
        if found.shape != wanted.shape:
            raise Mistake(
                "shape",
                f"Rows {tuple(rows.shape)} move on and keep their shape; yours have "
                f"{tuple(found.shape)}.",
            )
        if matches(found, wanted, 1e-4):
            continue
        recognise(found, _wrong_walks(rows, k), 1e-4)
        i, c = (found - wanted).abs().gt(1e-4).nonzero()[0].tolist()
        raise Mistake(
            "wrong-numbers",
            f"Row {first + i}, moved by {k}, should have {wanted[i, c]:.4f} in column "
            f"{c}; yours has {found[i, c]:.4f}. I don't know this mistake. Begin with "
            "one pair: sin(a + b) = sin a cos b + cos a sin b.",
        )


def _probe_base(mine: Function) -> None:
    """Another base, if the function takes one."""
    try:
        if "base" not in inspect.signature(mine).parameters:
            return
    except (TypeError, ValueError):
        return
    table = sinusoids(60, 8, base=100.0)
    found = as_tensor(call(mine, {"x": table[:40], "k": 5}, {"base": 100.0}))
    if not matches(found, table[5:45], 1e-4):
        raise Mistake(
            "base-ignored",
            "Right for the base 10,000, but your function takes a base and does not "
            "use it: the speeds are base^(−2i/d).",
        )


def step_by_rotation(mine: Function) -> Result:
    """Grade a reader's step: rows of positions, moved on by turning each pair.

    Args:
        mine: a function ``mine(x, k)``: rows (T, d) of `tformer.positions.sinusoids`
            to the rows k positions on.

    Returns:
        The verdict; the message is printed.
    """
    praise = "Every pair turns by its own angle, forwards and backwards, at any width."
    return grade("step_by_rotation", mine, [_probe_walks, _probe_base], praise)
