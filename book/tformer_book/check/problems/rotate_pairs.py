"""The grader for `rotate_pairs` of chapter *What came after*, and known mistakes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from tformer.variants import rotate_pairs as right_turn
from tformer_book.check._compare import Known, Slip, compare, matches
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import as_tensor, call, draw, probe_gradients

BASE = 10_000.0


def _turned(x: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    even, odd = x[..., 0::2], x[..., 1::2]
    sine, cosine = angle.sin(), angle.cos()
    return even * cosine - odd * sine, even * sine + odd * cosine


def _woven(first: Tensor, second: Tensor) -> Tensor:
    return torch.stack([first, second], dim=-1).flatten(-2)


def _known(x: Tensor) -> Known:
    width = x.size(-1)
    place = torch.arange(x.size(-2), dtype=x.dtype)[:, None]
    pair = torch.arange(0, width, 2, dtype=x.dtype)
    angle = place / BASE ** (pair / width)
    halves = torch.stack([x[..., : width // 2], x[..., width // 2 :]], -1).flatten(-2)
    yield Slip(
        "pairs-from-halves",
        "You pair column i with column i + Dh/2, as many programs do (rotate_half). It "
        "is as good, but weights trained with one layout don't fit the other. Here a "
        "pair is two neighbours: x[..., 0::2] and x[..., 1::2].",
        torch.cat(_turned(halves, angle), dim=-1),
    )
    yield Slip(
        "turned-back",
        "Each pair turns the wrong way round. The first number becomes a cos − b sin, "
        "the second a sin + b cos.",
        _woven(*_turned(x, -angle)),
    )
    yield Slip(
        "positions-from-one",
        "You count positions from 1; the first stands at 0 and is not turned.",
        _woven(*_turned(x, (place + 1) / BASE ** (pair / width))),
    )
    yield Slip(
        "doubled-exponent",
        "The exponent is doubled: torch.arange(0, Dh, 2) is 2i already.",
        _woven(*_turned(x, place / BASE ** (2 * pair / width))),
    )
    yield Slip(
        "half-exponent",
        "The exponent is half of what it should be: it is 2i / Dh, with i the number "
        "of the pair.",
        _woven(*_turned(x, place / BASE ** (pair / 2 / width))),
    )
    yield Slip(
        "one-speed",
        "All pairs turn equally fast. Pair i turns by position / base^(2i/Dh).",
        _woven(*_turned(x, place.expand(-1, width // 2))),
    )
    yield Slip(
        "not-woven",
        "The numbers are right, but first all first ones of the pairs, then all second "
        "ones. Put them side by side again: stack on a new last axis, flatten(-2).",
        torch.cat(_turned(x, angle), dim=-1),
    )
    table = _woven(angle.sin(), angle.cos())
    yield Slip("added", "You add a table of sinusoids. Turn the pairs.", x + table)
    yield Slip(
        "turned-by-the-head",
        "The angle goes with the wrong axis: x is (B, H, T, Dh), and position is axis "
        "-2, not the heads' axis.",
        right_turn(x.transpose(-3, -2)).transpose(-3, -2) if x.dim() > 2 else x,
    )


def _run(mine: Function, x: Tensor) -> Tensor:
    return as_tensor(call(mine, {"x": x}, {}), "the turned pairs")


def _probe_numbers(mine: Function) -> None:
    x = draw(2, 3, 7, 8, seed=11, dtype=torch.float64)
    compare(
        _run(mine, x),
        right_turn(x),
        _known(x),
        said="for x (2, 3, 7, 8)",
        hint="Begin with one pair at position 1: it turns by 1 radian.",
        tolerance=1e-5,
    )


def _probe_shapes(mine: Function) -> None:
    for shape in ((5, 4), (4, 4, 4), (1, 2, 1, 6)):
        x = draw(*shape, seed=12, dtype=torch.float64)
        if not matches(_run(mine, x), right_turn(x), 1e-5):
            raise Mistake(
                "fixed-axes",
                f"Right for (B, H, T, Dh), wrong for x of shape {shape}. Count axes "
                "from the back: positions are axis -2, the pairs axis -1.",
            )


def _probe_gradient(mine: Function) -> None:
    x = draw(2, 5, 4, seed=13, dtype=torch.float64)
    probe_gradients(mine, lambda: _run(mine, x), lambda: right_turn(x), {"x": x})


def rotate_pairs(mine: Callable[..., Tensor]) -> Result:
    """Grade a reader's rotary positions.

    Args:
        mine: a function ``mine(x)``, x (..., T, Dh), as `tformer.variants.rotate_pairs`
            from position 0 on, with base 10,000.

    Returns:
        The verdict; the message is printed.
    """
    return grade(
        "rotate_pairs",
        mine,
        (_probe_numbers, _probe_shapes, _probe_gradient),
        """Neighbours are a pair, each turns at its own speed, forwards, and the first
        position stays as it is.""",
    )
