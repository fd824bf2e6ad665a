"""The grader for `offset_between` of chapter *Positions*, and known mistakes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tformer.positions import sinusoids
from tformer_book.check._compare import (
    Known,
    Slip,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    as_whole,
    call,
)

BASE = 10_000.0
FAR = 1_000


def _speeds(d: int) -> Tensor:
    """(d/2,) radians per position of each pair."""
    return BASE ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)


# Near, far, backwards, none, and 44 apart, where the first hand is back.
PLACES = (
    *((0, 3), (3, 0), (700, 744), (1500, 600), (41, 41)),
    *((5, 1004), (60, 16), (12, 900), (5, 1005), (1200, 200)),
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


def _wrong_offsets(width: int) -> Known:
    table = sinusoids(2_000, width)
    wanted = [q - p for p, q in PLACES]
    pairs = [(table[p], table[q]) for p, q in PLACES]
    yield Slip(
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
    yield Slip("no-direction", about_direction, [abs(k) for k in wanted])
    yield Slip("no-direction", about_direction, [-abs(k) for k in wanted])
    forwards = torch.arange(FAR + 1, dtype=torch.float64)
    yield Slip(
        "only-forwards",
        "You try steps from 0 on. b may stand before a: try −1,000 to 1,000.",
        [_fit(a, b, forwards) for a, b in pairs],
    )
    short = torch.arange(-FAR, FAR, dtype=torch.float64)
    yield Slip(
        "range-ends-early",
        "You miss a step of exactly 1,000: torch.arange(-1_000, 1_000) ends at 999. "
        "Write torch.arange(-1_000, 1_001).",
        [_fit(a, b, short) for a, b in pairs],
    )
    turns = [
        math.atan2(b[0] * a[1] - b[1] * a[0], a[0] * b[0] + a[1] * b[1])
        for a, b in pairs
    ]
    yield Slip("one-hand", ONE_HAND, [round(turn) for turn in turns])
    for slip in (1, -1):
        yield Slip(
            "off-by-one",
            f"All your answers are off by {slip:+d}. A row and itself are 0 apart.",
            [k + slip for k in wanted],
        )
    yield Slip(
        "index-returned",
        "You return the place of the best step in your list of steps, not the step "
        "itself: the list begins with −1,000.",
        [k + FAR for k in wanted],
    )


def _ask(mine: Function, a: Tensor, b: Tensor) -> int:
    return as_whole(call(mine, {"a": a, "b": b}), "one whole number, from a to b")


def _probe_offsets(mine: Function) -> None:
    for width in (64, 32):
        table = sinusoids(2_000, width)
        found = [_ask(mine, table[p], table[q]) for p, q in PLACES]
        wanted = [q - p for p, q in PLACES]
        if found == wanted:
            continue
        recognise(found, _wrong_offsets(width))
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
            f"positions; you say {found[i]}. I don't know this mistake.",
        )


def _probe_rounded(mine: Function) -> None:
    """Rows of three digits: a slow hand alone no longer tells, all together do."""
    table = (sinusoids(2_000, 64) * 1000).round() / 1000
    for p, q in PLACES:
        found = _ask(mine, table[p], table[q])
        if found != q - p:
            raise Mistake(
                "slowest-hand-only",
                "Right for exact rows, but with rows rounded to three digits you say "
                f"{found} where it is {q - p}. A slow hand moves by a ten-thousandth "
                "of a radian a step, so a small error in it is many steps: let all "
                "hands vote, and take the step that fits them best together.",
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
    return grade("offset_between", mine, [_probe_offsets, _probe_rounded], praise)
