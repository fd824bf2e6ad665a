"""The grader for the sinusoids of chapter *Positions*, and known mistakes."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.positions import sinusoids as reference
from tformer_book.check import kit

BASE = 10_000.0
# Sizes that all differ, one position alone, and positions far enough to see a drift.
CASES = ((7, 4), (3, 8), (1, 6), (60, 12))
TOLERANCE = 1e-4  # angles in float32 are off by about 60 · 6e-8
NEAR = 0.02  # enough to know a mistake by, even where it makes angles large


def built(
    length: int,
    d_model: int,
    *,
    speed: Callable[[Tensor, int], Tensor] = lambda c, d: BASE ** -(c // 2 * 2 / d),
    start: Callable[[Tensor], Tensor] = lambda p: p,
    unit: float = 1.0,
    layout: Callable[[Tensor, Tensor], Tensor] = (
        lambda s, c: torch.stack([s, c], -1).flatten(-2)
    ),
) -> Tensor:
    """The table, or one built wrongly: `speed` gives the radians of each column."""
    position = torch.arange(length, dtype=torch.float64)
    angle = start(position)[:, None] * speed(torch.arange(d_model), d_model) * unit
    return layout(angle[:, 0::2].sin(), angle[:, 1::2].cos())


def _only_sines(length: int, d_model: int) -> Tensor:
    position, column = torch.arange(length)[:, None], torch.arange(d_model)
    return (position * BASE ** -(column.double() // 2 * 2 / d_model)).sin()


def _wrong_axis(length: int, d_model: int) -> Tensor:
    position, column = torch.arange(length)[:, None], torch.arange(d_model)
    angle = column * BASE ** -(position.double() // 2 * 2 / d_model)
    return torch.where(position % 2 == 0, angle.sin(), angle.cos())


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

SLIPS: kit.Table = {
    "doubled-exponent": (
        [
            {"speed": lambda c, d: BASE ** -(2 * c / d)},
            {"speed": lambda c, d: BASE ** -(c // 2 * 4 / d)},
        ],
        DOUBLED,
    ),
    "an-angle-for-each-column": (
        {"speed": lambda c, d: BASE ** -(c / d)},
        "Sine and cosine of a pair must have the SAME angle. Yours has an exponent "
        "column/d, a different one for each column: use 2i/d for both columns, 2i and "
        "2i + 1.",
    ),
    "half-exponent": (
        {"speed": lambda c, d: BASE ** -(c // 2 / d)},
        "The exponent is half of what it should be: i/d instead of 2i/d, with i "
        "counting pairs. Your longest wave is about 2π·√base = 628 positions.",
    ),
    "exponent-without-d": (
        [
            {"speed": lambda c, d: BASE ** -(c // 2 * 2.0)},
            {"speed": lambda c, d: BASE ** -(c // 2 * 1.0)},
            {"speed": lambda c, d: BASE ** -(c * 1.0)},
        ],
        WITHOUT_D,
    ),
    "precedence": (
        [
            {"speed": lambda c, d: (c // 2) / BASE**2 / d},
            {"speed": lambda c, d: (c // 2) * 2 / BASE**2 / d},
            {"speed": lambda c, d: (c // 2) * 2 / BASE / d},
        ],
        PRECEDENCE,
    ),
    "no-base": (
        {"speed": lambda c, d: torch.ones_like(c, dtype=torch.float64)},
        "All pairs turn at the same speed: where is base^(2i/d)? Divide the position "
        "by it, so that each pair is slower than the one before.",
    ),
    "another-base": (
        {"speed": lambda c, d: 1000.0 ** -(c // 2 * 2 / d)},
        "Your base is 1,000; the paper has 10,000. That is another encoding, not a "
        "broken one, but a base belongs to the weights that were trained with it.",
    ),
    "reaches-the-base": (
        {"speed": lambda c, d: BASE ** -(c // 2 * 2 / max(d - 2, 1))},
        "You divide by d − 2, so that the last pair's exponent is exactly 1. Some "
        "programs do that; the paper's formula divides by d.",
    ),
    "pairs-from-one": (
        {"speed": lambda c, d: BASE ** -((c // 2 + 1) * 2 / d)},
        "You count pairs from 1. The first pair has i = 0, so its exponent is 0 and "
        "its angle is the position itself.",
    ),
    "multiplied": (
        {"speed": lambda c, d: BASE ** (c // 2 * 2 / d)},
        "You multiply by base^(2i/d) where the formula divides. Your waves get "
        "shorter and shorter, until neighbours look random.",
    ),
    "positions-from-one": (
        {"start": lambda p: p + 1},
        "Off by one: your first row is that of position 1. The package counts from 0, "
        "so row 0 is 0, 1, 0, 1, … (sin 0 and cos 0).",
    ),
    "positions-divided-by-the-length": (
        [{"start": lambda p: p / len(p)}, {"start": lambda p: p / max(len(p) - 1, 1)}],
        "You divide positions by the length of the text. Then the same row means "
        "another position in every text, and neighbours are close in long ones. Use "
        "the position itself: torch.arange(length).",
    ),
    "degrees": (
        {"unit": math.pi / 180},
        "Your angles are taken for degrees. The formula is in radians, and so is "
        "torch.sin: hand it the angle as it is.",
    ),
    "times-two-pi": (
        {"unit": 2 * math.pi},
        "You multiply the angle by 2π. Then the first pair turns round exactly once "
        "per position: sin is 0 and cos is 1 in every row. The irrational 2π must "
        "stay out, or positions repeat.",
    ),
    "halves": (
        {"layout": lambda s, c: torch.cat([s, c], -1)},
        "Your columns are right, but in a different order: first all sines, then all "
        "cosines. The paper interleaves them: sine in column 2i, cosine in 2i + 1. "
        "Both work; a model trained with one cannot use the other. "
        "torch.stack([sin, cos], dim=-1).flatten(-2) interleaves.",
    ),
    "cosine-first": (
        {"layout": lambda s, c: torch.stack([c, s], -1).flatten(-2)},
        "Sine and cosine have changed places: sine belongs in column 2i, cosine "
        "into 2i + 1. Row 0 must be 0, 1, 0, 1, …",
    ),
    "halves:2": (
        {"layout": lambda s, c: torch.cat([c, s], -1)},
        "First all cosines, then all sines. The paper interleaves them: sine in "
        "column 2i, cosine in 2i + 1.",
    ),
    "stacked-on-the-wrong-axis": (
        {"layout": lambda s, c: torch.stack([s, c]).reshape(s.size(0), -1)},
        "Sines and cosines are stacked in front and then reshaped, so that rows of "
        "different positions are mixed up. Stack on a new LAST axis, "
        "torch.stack([sin, cos], dim=-1), then flatten the last two.",
    ),
    "cosines-missing": (
        {"layout": lambda s, c: torch.stack([s, torch.zeros_like(c)], -1).flatten(-2)},
        "Every second column is 0: you filled in the sines, table[:, 0::2], but not "
        "the cosines, table[:, 1::2].",
    ),
    "only-sines": (
        _only_sines,
        "All your columns are sines. Odd columns are the cosines of the same "
        "angle: with the sine alone a hand's height is known, not its angle.",
    ),
    "positions-on-the-wrong-axis": (_wrong_axis, WRONG_AXIS),
}

IMPRECISE = (
    "Your values are right to two digits only. Compute the angles in float32 or, "
    "better, in float64: half precision has no room for position 59 and its fractions."
)


def _wrong_tables() -> Iterator[tuple[list[tuple[str, str]], kit.Function]]:
    """Slips and the function that has them, those with the fewest slips first."""
    known = [
        (name, says, way, settings)
        for name, way, says, settings in kit.ways(SLIPS, built)
    ]
    choices = itertools.product(
        *(
            [None, *(each for each in known if setting in each[3])]
            for setting in ("speed", "start", "unit", "layout")
        )
    )
    several = [[each for each in chosen if each] for chosen in choices]
    for chosen in sorted(several, key=len):
        settings = {key: x for *_, each in chosen for key, x in each.items()}
        yield [(n, str(s)) for n, s, *_ in chosen], functools.partial(built, **settings)
    yield from (([(n, str(s))], way) for n, s, way, settings in known if not settings)


def _as_table(returned: Any, length: int, d: int) -> Tensor:
    """The returned table, or what is wrong with its kind or shape."""
    wanted_kind = "a torch tensor; torch.tensor(…) makes one of a list of lists"
    returned = kit.as_tensor(returned, wanted_kind)
    shape, wanted = tuple(returned.shape), (length, d)
    if shape != wanted:
        _refuse_shape(shape, length, d)
    if not returned.is_floating_point():
        raise kit.Mistake(
            "not-floats",
            f"Your table has dtype {returned.dtype}, so sines between −1 and 1 are cut "
            "off to whole numbers. Start from a float table, such as torch.zeros(…).",
        )
    if not returned.isfinite().all():
        raise kit.Mistake(
            "not-finite",
            f"For {length} positions and width {d} your table holds nan or infinity: "
            "look for a division by 0. The divisor base^(2i/d) is 1 for the first "
            "pair and grows from there.",
        )
    return returned.detach().double()


def _refuse_shape(shape: tuple[int, ...], length: int, d: int) -> None:
    said = f"For length {length} and d_model {d} your table has shape {shape}"
    if shape == (d, length):
        raise kit.Mistake("positions-on-the-wrong-axis", f"{said}. {WRONG_AXIS}")
    if math.prod(shape) == length * d and sorted(shape) == sorted((1, length, d)):
        raise kit.Mistake(
            "extra-axis",
            f"{said}: drop the axis of size 1. (length, d_model) broadcasts over a "
            "batch by itself.",
        )
    if shape in ((length, d // 2, 2), (length, 2, d // 2)):
        raise kit.Mistake(
            "not-flattened",
            f"{said}: sines and cosines still have an axis of their own. Put them on "
            "the last one, (length, d/2, 2), and end in .flatten(-2).",
        )
    if shape == (length, d // 2):
        raise kit.Mistake(
            "half-the-columns",
            f"{said}: one column per pair. Each pair needs two, a sine and a cosine.",
        )
    if shape == (length, 2 * d):
        raise kit.Mistake(
            "twice-the-columns",
            f"{said}: a sine and a cosine for each column. There are d/2 pairs: let i "
            "run over torch.arange(0, d_model, 2).",
        )
    raise kit.Mistake(
        "shape",
        f"{said}; it must be ({length}, {d}): a row for each position, a column for "
        "each dimension. Do you use both arguments?",
    )


def _probe(mine: kit.Function) -> None:
    # Several slips together can look right where positions are few, so take all cases.
    found = {
        size: _as_table(
            kit.call(mine, dict(zip(("length", "d_model"), size, strict=True))), *size
        )
        for size in CASES
    }
    wrong = [
        size
        for size, table in found.items()
        if not kit.matches(table, reference(*size).double(), TOLERANCE)
    ]
    if not wrong:
        return
    for known, function in _wrong_tables():
        if all(kit.matches(found[size], function(*size), NEAR) for size in CASES):
            known = known or [("imprecise", IMPRECISE)]
            both = " And: ".join(dict.fromkeys(message for _, message in known))
            raise kit.Mistake(known[0][0].partition(":")[0], both)
    length, d = wrong[0]
    table, wanted = found[wrong[0]], reference(length, d).double()
    p, c = (~torch.isclose(table, wanted, rtol=0, atol=TOLERANCE)).nonzero()[0].tolist()
    kind = "cos" if c % 2 else "sin"
    raise kit.Mistake(
        "wrong-numbers",
        f"For length {length} and d_model {d}, row {p}, column {c} should be "
        f"{kind}({p} / 10000^({c // 2 * 2}/{d})) = {wanted[p, c]:.4f}; yours is "
        f"{table[p, c]:.4f}. (Rows and columns count from 0.)",
    )


@kit.grader(_probe)
def sinusoids(mine: kit.Function) -> str:
    """Grade a reader's table of sinusoidal positions.

    ``mine`` is a function ``mine(length, d_model)`` that returns a (length, d_model)
    float table with base 10,000, as `tformer.positions.sinusoids` does.
    """
    return (
        "Every pair is a hand of its own speed, sine beside cosine of the same angle, "
        "from position 0, for any length and any even width."
    )
