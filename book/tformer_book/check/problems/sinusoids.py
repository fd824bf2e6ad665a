"""The grader for the sinusoids of chapter *Positions*, and known mistakes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.positions import sinusoids as reference
from tformer_book.check._compare import (
    matches,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    as_tensor,
    call,
)

BASE = 10_000.0
# Sizes that all differ, one position alone, and positions far enough to see a drift.
CASES = ((7, 4), (3, 8), (1, 6), (60, 12))
TOLERANCE = 1e-4  # angles in float32 are off by about 60 · 6e-8
NEAR = 0.02  # enough to know a mistake by, even where it makes angles large

# --- the same table built wrongly on purpose --------------------------------------
# Of each choice the right one comes first, under the name "".

Speed = Callable[[Tensor, int], Tensor]
DOUBLED = (
    "The exponent is doubled. In 2i/d the i counts PAIRS of columns: 2i is already the "
    "number of the sine's column, 0, 2, 4, … Yours runs to 2 instead of 1, so most "
    "columns hardly move, and a shift is no rotation any more."
)
WITHOUT_D = (
    "The exponent lacks the width: it must be 2i/d, which runs from 0 to just under 1. "
    "Without the division the second pair is already slower than any text is long."
)
WRONG_AXIS = (
    "Positions are on the wrong axis: rows are positions, columns are dimensions. "
    "Give positions the shape (length, 1), torch.arange(length)[:, None], and let them "
    "meet (d/2,) divisors; then each row belongs to one position."
)
# column numbers, d -> radians per position in each column
PRECEDENCE = (
    "p / 10_000 ** 2 * i / d is read from the left: 10,000² first, then times i, then "
    "divided by d. Put the exponent into brackets: p / 10_000 ** (2 * i / d)."
)
SPEEDS: tuple[tuple[str, str, Speed], ...] = (
    ("", "", lambda c, d: BASE ** -(c // 2 * 2 / d)),
    ("doubled-exponent", DOUBLED, lambda c, d: BASE ** -(2 * c / d)),
    ("doubled-exponent", DOUBLED, lambda c, d: BASE ** -(c // 2 * 4 / d)),
    (
        "an-angle-for-each-column",
        "Sine and cosine of a pair must have the SAME angle. Yours has an exponent "
        "column/d, a different one for each column: use 2i/d for both columns, 2i and "
        "2i + 1.",
        lambda c, d: BASE ** -(c / d),
    ),
    (
        "half-exponent",
        "The exponent is half of what it should be: i/d instead of 2i/d, with i "
        "counting pairs. Your longest wave is about 2π·√base = 628 positions.",
        lambda c, d: BASE ** -(c // 2 / d),
    ),
    ("exponent-without-d", WITHOUT_D, lambda c, d: BASE ** -(c // 2 * 2.0)),
    ("exponent-without-d", WITHOUT_D, lambda c, d: BASE ** -(c // 2 * 1.0)),
    ("exponent-without-d", WITHOUT_D, lambda c, d: BASE ** -(c * 1.0)),
    ("precedence", PRECEDENCE, lambda c, d: (c // 2) / BASE**2 / d),
    ("precedence", PRECEDENCE, lambda c, d: (c // 2) * 2 / BASE**2 / d),
    ("precedence", PRECEDENCE, lambda c, d: (c // 2) * 2 / BASE / d),
    (
        "no-base",
        "All pairs turn at the same speed: where is base^(2i/d)? Divide the position "
        "by it, so that each pair is slower than the one before.",
        lambda c, d: torch.ones_like(c, dtype=torch.float64),
    ),
    (
        "another-base",
        "Your base is 1,000; the paper has 10,000. That is another encoding, not a "
        "broken one, but a base belongs to the weights that were trained with it.",
        lambda c, d: 1000.0 ** -(c // 2 * 2 / d),
    ),
    (
        "reaches-the-base",
        "You divide by d − 2, so that the last pair's exponent is exactly 1. Some "
        "programs do that; the paper's formula divides by d.",
        lambda c, d: BASE ** -(c // 2 * 2 / max(d - 2, 1)),
    ),
    (
        "pairs-from-one",
        "You count pairs from 1. The first pair has i = 0, so its exponent is 0 and "
        "its angle is the position itself.",
        lambda c, d: BASE ** -((c // 2 + 1) * 2 / d),
    ),
    (
        "multiplied",
        "You multiply by base^(2i/d) where the formula divides. Your waves get "
        "shorter and shorter, until neighbours look random.",
        lambda c, d: BASE ** (c // 2 * 2 / d),
    ),
)
STARTS: tuple[tuple[str, str, Callable[[Tensor], Tensor]], ...] = (
    ("", "", lambda p: p),
    (
        "positions-from-one",
        "Off by one: your first row is that of position 1. The package counts from 0, "
        "so row 0 is 0, 1, 0, 1, … (sin 0 and cos 0).",
        lambda p: p + 1,
    ),
    (
        "positions-divided-by-the-length",
        "You divide positions by the length of the text. Then the same row means "
        "another position in every text, and neighbours are close in long ones. Use "
        "the position itself: torch.arange(length).",
        lambda p: p / len(p),
    ),
    (
        "positions-divided-by-the-length",
        "You divide positions by the length of the text. Then the same row means "
        "another position in every text, and neighbours are close in long ones. Use "
        "the position itself: torch.arange(length).",
        lambda p: p / max(len(p) - 1, 1),
    ),
)
UNITS: tuple[tuple[str, str, float], ...] = (
    ("", "", 1.0),
    (
        "degrees",
        "Your angles are taken for degrees. The formula is in radians, and so is "
        "torch.sin: hand it the angle as it is.",
        math.pi / 180,
    ),
    (
        "times-two-pi",
        "You multiply the angle by 2π. Then the first pair turns round exactly once "
        "per position: sin is 0 and cos is 1 in every row. The irrational 2π must "
        "stay out, or positions repeat.",
        2 * math.pi,
    ),
)
LAYOUTS: tuple[tuple[str, str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    ("", "", lambda s, c: torch.stack([s, c], -1).flatten(-2)),
    (
        "halves",
        "Your columns are right, but in a different order: first all sines, then all "
        "cosines. The paper interleaves them: sine in column 2i, cosine in 2i + 1. "
        "Both work; a model trained with one cannot use the other. "
        "torch.stack([sin, cos], dim=-1).flatten(-2) interleaves.",
        lambda s, c: torch.cat([s, c], -1),
    ),
    (
        "cosine-first",
        "Sine and cosine have changed places: sine belongs in column 2i, cosine "
        "into 2i + 1. Row 0 must be 0, 1, 0, 1, …",
        lambda s, c: torch.stack([c, s], -1).flatten(-2),
    ),
    (
        "halves",
        "First all cosines, then all sines. The paper interleaves them: sine in "
        "column 2i, cosine in 2i + 1.",
        lambda s, c: torch.cat([c, s], -1),
    ),
    (
        "stacked-on-the-wrong-axis",
        "Sines and cosines are stacked in front and then reshaped, so that rows of "
        "different positions are mixed up. Stack on a new LAST axis, "
        "torch.stack([sin, cos], dim=-1), then flatten the last two.",
        lambda s, c: torch.stack([s, c]).reshape(s.size(0), -1),
    ),
    (
        "cosines-missing",
        "Every second column is 0: you filled in the sines, table[:, 0::2], but not "
        "the cosines, table[:, 1::2].",
        lambda s, c: torch.stack([s, torch.zeros_like(c)], -1).flatten(-2),
    ),
)

IMPRECISE = (
    "Your values are right to two digits only. Compute the angles in float32 or, "
    "better, in float64: half precision has no room for position 59 and its fractions."
)


def _wrong_tables(
    length: int, d: int
) -> Iterator[tuple[list[tuple[str, str]], Tensor]]:
    """Every table with slips, those with one slip first: the slips, the table."""
    column = torch.arange(d)
    position = torch.arange(length, dtype=torch.float64)
    choices = itertools.product(SPEEDS, STARTS, UNITS, LAYOUTS)

    def slips(chosen: tuple[Any, ...]) -> list[tuple[str, str]]:
        return [(name, message) for name, message, _ in chosen if name]

    for chosen in sorted(choices, key=lambda chosen: len(slips(chosen))):
        (_, _, speed), (_, _, start), (_, _, unit), (_, _, layout) = chosen
        angle = start(position)[:, None] * speed(column, d) * unit
        table = layout(angle[:, 0::2].sin(), angle[:, 1::2].cos())
        yield slips(chosen), table
    angle = position[:, None] * BASE ** -(column // 2 * 2 / d)
    yield (
        [
            (
                "only-sines",
                "All your columns are sines. Odd columns are the cosines of the same "
                "angle: with the sine alone a hand's height is known, not its angle.",
            )
        ],
        angle.sin(),
    )
    turned = torch.arange(d)[None, :] * BASE ** -(position[:, None] // 2 * 2 / d)
    swapped = torch.where(position[:, None] % 2 == 0, turned.sin(), turned.cos())
    yield [("positions-on-the-wrong-axis", WRONG_AXIS)], swapped


def _as_table(returned: Any, length: int, d: int) -> Tensor:
    """The returned table, or what is wrong with its kind or shape."""
    wanted_kind = "a torch tensor; torch.tensor(…) makes one of a list of lists"
    returned = as_tensor(returned, wanted_kind)
    shape, wanted = tuple(returned.shape), (length, d)
    if shape != wanted:
        _refuse_shape(shape, length, d)
    if not returned.is_floating_point():
        raise Mistake(
            "not-floats",
            f"Your table has dtype {returned.dtype}, so sines between −1 and 1 are cut "
            "off to whole numbers. Start from a float table, such as torch.zeros(…).",
        )
    if not returned.isfinite().all():
        raise Mistake(
            "not-finite",
            f"For {length} positions and width {d} your table holds nan or infinity: "
            "look for a division by 0. The divisor base^(2i/d) is 1 for the first "
            "pair and grows from there.",
        )
    return returned.detach().double()


def _refuse_shape(shape: tuple[int, ...], length: int, d: int) -> None:
    said = f"For length {length} and d_model {d} your table has shape {shape}"
    if shape == (d, length):
        raise Mistake("positions-on-the-wrong-axis", f"{said}. {WRONG_AXIS}")
    if math.prod(shape) == length * d and sorted(shape) == sorted((1, length, d)):
        raise Mistake(
            "extra-axis",
            f"{said}: drop the axis of size 1. (length, d_model) broadcasts over a "
            "batch by itself.",
        )
    if shape in ((length, d // 2, 2), (length, 2, d // 2)):
        raise Mistake(
            "not-flattened",
            f"{said}: sines and cosines still have an axis of their own. Put them on "
            "the last one, (length, d/2, 2), and end in .flatten(-2).",
        )
    if shape == (length, d // 2):
        raise Mistake(
            "half-the-columns",
            f"{said}: one column per pair. Each pair needs two, a sine and a cosine.",
        )
    if shape == (length, 2 * d):
        raise Mistake(
            "twice-the-columns",
            f"{said}: a sine and a cosine for each column. There are d/2 pairs: let i "
            "run over torch.arange(0, d_model, 2).",
        )
    raise Mistake(
        "shape",
        f"{said}; it must be ({length}, {d}): a row for each position, a column for "
        "each dimension. Do you use both arguments?",
    )


def _probe(mine: Function) -> None:
    # Several slips together can look right where positions are few, so take all cases.
    found = {
        (length, d): _as_table(
            call(mine, {"length": length, "d_model": d}, {}), length, d
        )
        for length, d in CASES
    }
    wrong = [
        size
        for size, table in found.items()
        if not matches(table, reference(*size).double(), TOLERANCE)
    ]
    if not wrong:
        return
    known = [list(_wrong_tables(*size)) for size in CASES]
    for same_slips in zip(*known, strict=True):
        if all(
            matches(found[size], table, NEAR)
            for size, (_, table) in zip(CASES, same_slips, strict=True)
        ):
            slips = same_slips[0][0] or [("imprecise", IMPRECISE)]
            both = " And: ".join(dict.fromkeys(message for _, message in slips))
            raise Mistake(slips[0][0], both)
    length, d = wrong[0]
    table, wanted = found[wrong[0]], reference(length, d).double()
    p, c = (~torch.isclose(table, wanted, rtol=0, atol=TOLERANCE)).nonzero()[0].tolist()
    kind = "cos" if c % 2 else "sin"
    raise Mistake(
        "wrong-numbers",
        f"For length {length} and d_model {d}, row {p}, column {c} should be "
        f"{kind}({p} / 10000^({c // 2 * 2}/{d})) = {wanted[p, c]:.4f}; yours is "
        f"{table[p, c]:.4f}. (Rows and columns count from 0.)",
    )


def sinusoids(mine: Function) -> Result:
    """Grade a reader's table of sinusoidal positions.

    Args:
        mine: a function ``mine(length, d_model)`` that returns a (length, d_model)
            float table with base 10,000, as `tformer.positions.sinusoids` does.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every pair is a hand of its own speed, sine beside cosine of the same angle, "
        "from position 0, for any length and any even width."
    )
    return grade("sinusoids", mine, [_probe], praise)
