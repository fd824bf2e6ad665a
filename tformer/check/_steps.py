"""Graders for chapter 04: which step lies between two rows, and how to take one."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tformer.check._grade import (
    Function,
    Mistake,
    Result,
    as_tensor,
    call,
    grade,
    matches,
    recognise,
)
from tformer.positions import sinusoids

BASE = 10_000.0
FAR = 1_000


def _speeds(d: int) -> Tensor:
    """(d/2,) radians per position of each pair."""
    return BASE ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)


# --- which step lies between two rows ---------------------------------------------

# Near, far, backwards, none, and 44 apart, where the first hand is back.
PLACES = (
    *((0, 3), (3, 0), (700, 744), (1500, 600), (41, 41)),
    *((5, 1004), (60, 16), (12, 900)),
)


ONE_HAND = (
    "You read one hand only. It is back after 44 positions, nearly, so it cannot "
    "tell 44 from 0: let all hands vote, and take the step that fits them best "
    "together."
)


def _fit(a: Tensor, b: Tensor, steps: Tensor) -> int:
    """The step, of these, that takes the hands of `a` nearest to those of `b`."""
    a, b = a.double(), b.double()
    cosine = a[0::2] * b[0::2] + a[1::2] * b[1::2]
    sine = b[0::2] * a[1::2] - b[1::2] * a[0::2]
    turn = steps[:, None] * _speeds(len(a))
    fits = turn.cos() * cosine + turn.sin() * sine
    return int(steps[fits.sum(-1).argmax()])


def _wrong_offsets(width: int) -> Iterator[tuple[str, str, list[int]]]:
    table = sinusoids(2_000, width)
    wanted = [q - p for p, q in PLACES]
    pairs = [(table[p], table[q]) for p, q in PLACES]
    yield (
        "swapped",
        "Every sign is wrong: you say how far a lies after b. I ask how far b lies "
        "after a.",
        [-k for k in wanted],
    )
    about_direction = (
        "The distances are right, the direction is lost. The product of two rows is "
        "the same for k and −k: use the sine of the angle between the hands as well, "
        "sin b · cos a − cos b · sin a."
    )
    yield "no-direction", about_direction, [abs(k) for k in wanted]
    yield "no-direction", about_direction, [-abs(k) for k in wanted]
    forwards = torch.arange(FAR + 1, dtype=torch.float64)
    yield (
        "only-forwards",
        "You try steps from 0 on. b may stand before a: try −1,000 to 1,000.",
        [_fit(a, b, forwards) for a, b in pairs],
    )
    turns = [
        math.atan2(b[0] * a[1] - b[1] * a[0], a[0] * b[0] + a[1] * b[1])
        for a, b in pairs
    ]
    yield "one-hand", ONE_HAND, [round(turn) for turn in turns]
    for slip in (1, -1):
        yield (
            "off-by-one",
            f"All your answers are off by {slip:+d}. A row and itself are 0 apart.",
            [k + slip for k in wanted],
        )
    yield (
        "index-returned",
        "You return the place of the best step in your list of steps, not the step "
        "itself: the list begins with −1,000.",
        [k + FAR for k in wanted],
    )


def _whole(returned: Any) -> int:
    if isinstance(returned, Tensor) and returned.numel() == 1:
        returned = returned.item()
    if isinstance(returned, (int, float)) and float(returned).is_integer():
        return int(returned)
    raise Mistake(
        "not-a-whole-number",
        f"Your function returns {returned!r}; I need one whole number, the step from a "
        "to b.",
    )


def _probe_offsets(mine: Function) -> None:
    for width in (64, 32):
        table = sinusoids(2_000, width)
        found = [
            _whole(call(mine, {"a": table[p], "b": table[q]}, {})) for p, q in PLACES
        ]
        wanted = [q - p for p, q in PLACES]
        if found == wanted:
            continue
        recognise(found, _wrong_offsets(width), operator.eq)
        # The first hand moves by 1 radian: it fits where the error is whole turns.
        errors = [k - right for k, right in zip(found, wanted, strict=True)]
        if all(math.cos(error) > 0.99 for error in errors):
            raise Mistake("one-hand", ONE_HAND)
        if width == 32:
            raise Mistake(
                "one-width-only",
                "Right for rows 64 wide, wrong for rows 32 wide. Take the speeds of "
                "the hands from the width of the row: len(a).",
            )
        i = next(i for i, k in enumerate(found) if k != wanted[i])
        raise Mistake(
            "wrong-offset",
            f"From row {PLACES[i][0]} to row {PLACES[i][1]} it is {wanted[i]} "
            f"positions; you say {found[i]}. I do not know this mistake.",
        )


def offset_between(mine: Function) -> Result:
    """Grade a reader's way to tell how far apart two rows of positions are.

    Args:
        mine: a function ``mine(a, b)``: two rows (d,) of `tformer.positions.sinusoids`
            to the whole number k for which b stands k positions after a.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Distance and direction, near and far, from nothing but two rows, whatever "
        "their width."
    )
    return grade("offset_between", mine, [_probe_offsets], praise)


# --- how to take a step -----------------------------------------------------------

# (first row, rows, width, step)
WALKS = ((0, 50, 64, 7), (100, 20, 16, -4), (3, 5, 4, 1))


def _turned(sin: Tensor, cos: Tensor, turn: Tensor) -> tuple[Tensor, Tensor]:
    return sin * turn.cos() + cos * turn.sin(), cos * turn.cos() - sin * turn.sin()


def _woven(sin: Tensor, cos: Tensor) -> Tensor:
    return torch.stack([sin, cos], dim=-1).flatten(-2)


def _wrong_walks(rows: Tensor, k: int) -> Iterator[tuple[str, str, Tensor]]:
    x, d = rows.double(), rows.size(1)
    sin, cos = x[:, 0::2], x[:, 1::2]
    speed = _speeds(d)
    yield (
        "turned-back",
        "Your rows have moved k positions back. In the table the sine comes first: "
        "with the signs of `rotate`, which are meant for cosine and sine, the turn "
        "goes the other way round.",
        _woven(*_turned(sin, cos, -k * speed)),
    )
    yield (
        "not-turned",
        "You return the rows as they were. Turn each pair by k / base^(2i/d).",
        x,
    )
    yield (
        "one-speed",
        "You turn all pairs by the same angle. Each hand has its own speed: "
        "k / base^(2i/d).",
        _woven(*_turned(sin, cos, torch.full_like(speed, k))),
    )
    yield (
        "doubled-exponent",
        "The exponent is doubled: 2i is already the number of the sine's column.",
        _woven(*_turned(sin, cos, k * speed**2)),
    )
    place = torch.arange(len(x), dtype=x.dtype)[:, None]
    for turn in (place * speed, place * k * speed):
        yield (
            "turned-by-the-row",
            "You turn each row by another angle, as `rotate` does. Here all rows move "
            "on by the same k.",
            _woven(*_turned(sin, cos, turn)),
        )
        yield (
            "turned-by-the-row",
            "You turn each row by another angle, as `rotate` does, and the wrong way "
            "round. Here all rows move on by the same k.",
            _woven(*_turned(sin, cos, -turn)),
        )
    moved = _turned(sin, cos, k * speed)
    yield (
        "not-interleaved",
        "The numbers are right, but first all sines, then all cosines. Put each "
        "cosine beside its sine again: stack on a new last axis, then flatten(-2).",
        torch.cat(moved, dim=-1),
    )
    yield (
        "cosine-first",
        "The numbers are right, but each cosine stands before its sine.",
        _woven(*moved[::-1]),
    )
    left, right = x[:, : d // 2], x[:, d // 2 :]
    halves = _turned(left, right, k * speed)
    for wrong in (_woven(*halves), torch.cat(halves, dim=-1)):
        yield (
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
        close = partial(matches, tolerance=1e-4)
        recognise(found.double(), _wrong_walks(rows, k), close)
        i, c = (found - wanted).abs().gt(1e-4).nonzero()[0].tolist()
        raise Mistake(
            "wrong-numbers",
            f"Row {first + i}, moved by {k}, should have {wanted[i, c]:.4f} in column "
            f"{c}; yours has {found[i, c]:.4f}. I do not know this mistake. Begin with "
            "one pair: sin(a + b) = sin a cos b + cos a sin b.",
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
    return grade("step_by_rotation", mine, [_probe_walks], praise)
