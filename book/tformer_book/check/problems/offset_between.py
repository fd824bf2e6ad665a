"""The grader for `offset_between` of chapter *Positions*, and known mistakes."""

import math

import torch
from torch import Tensor

from tformer.positions import sinusoids
from tformer_book.check import kit

HINTS = (
    "If hand i stands at angle α in one row and β in the other, by how much has it "
    "turned, and what would k positions have turned it?",
    "One hand alone can't tell k from k plus a full turn, so let all hands vote: for "
    "each k, add up the cosines of (angle turned − k × speed). The right k gets the "
    "largest sum.",
    "k = torch.arange(-1_000, 1_001)",
)

BASE = 10_000.0
FAR = 1_000
# Near, far, backwards, none, and 44 apart, where the first hand is back.
PLACES = (
    *((0, 3), (3, 0), (700, 744), (1500, 600), (41, 41)),
    *((5, 1004), (60, 16), (12, 900), (5, 1005), (1200, 200)),
)
WANTED = [q - p for p, q in PLACES]


def _fit(a: Tensor, b: Tensor, first: int = -FAR, end: int = FAR + 1) -> int:
    """The step, of these, that takes the hands of `a` nearest to those of `b`."""
    a, b = a.double(), b.double()
    steps = torch.arange(first, end, dtype=torch.float64)
    speeds = BASE ** -(torch.arange(0, len(a), 2, dtype=torch.float64) / len(a))
    cosine = a[0::2] * b[0::2] + a[1::2] * b[1::2]
    sine = b[0::2] * a[1::2] - b[1::2] * a[0::2]
    turn = steps[:, None] * speeds
    fits = turn.cos() * cosine + turn.sin() * sine
    return int(steps[fits.sum(-1).argmax()])


def _one_hand(a: Tensor, b: Tensor) -> int:
    return round(math.atan2(b[0] * a[1] - b[1] * a[0], a[0] * b[0] + a[1] * b[1]))


ONE_HAND = (
    "You read one hand only. It is back after 44 positions, nearly, so it cannot "
    "tell 44 from 0: let all hands vote, and take the step that fits them best "
    "together."
)

SLIPS: kit.Table = {
    "swapped": (
        lambda a, b: -_fit(a, b),
        "Every sign is wrong: you say how far a lies after b. I ask how far b lies "
        "after a.",
    ),
    "no-direction": (
        [lambda a, b: abs(_fit(a, b)), lambda a, b: -abs(_fit(a, b))],
        "The distances are right, the direction is lost. The product of two rows is "
        "the same for k and −k: use the sine of the angle between the hands as well, "
        "sin b · cos a − cos b · sin a.",
    ),
    "only-forwards": (
        lambda a, b: _fit(a, b, first=0),
        "You try steps from 0 on. b may stand before a: try −1,000 to 1,000.",
    ),
    "range-ends-early": (
        lambda a, b: _fit(a, b, end=FAR),
        "You miss a step of exactly 1,000: torch.arange(-1_000, 1_000) ends at 999. "
        "Write torch.arange(-1_000, 1_001).",
    ),
    "one-hand": (_one_hand, ONE_HAND),
    "off-by-one": (
        lambda a, b: _fit(a, b) + 1,
        "All your answers are off by +1. A row and itself are 0 apart.",
    ),
    "off-by-one:less": (
        lambda a, b: _fit(a, b) - 1,
        "All your answers are off by -1. A row and itself are 0 apart.",
    ),
    "index-returned": (
        lambda a, b: _fit(a, b) + FAR,
        "You return the place of the best step in your list of steps, not the step "
        "itself: the list begins with −1,000.",
    ),
}


def _ask(mine: kit.Function, table: Tensor) -> list[int]:
    given = kit.cases("a b", *((table[p], table[q]) for p, q in PLACES))
    return [
        case.ask(mine, lambda k: kit.as_whole(k, "one whole number, from a to b"))
        for case in given
    ]


def _probe_offsets(mine: kit.Function) -> None:
    for width in (64, 32):
        table = sinusoids(2_000, width)
        found = _ask(mine, table)
        if found == WANTED:
            continue
        given = kit.cases("a b", *((table[p], table[q]) for p, q in PLACES))
        kit.recognise(found, kit.slips(SLIPS, kit.all_of(given)))
        # The first hand moves by 1 radian: it fits where the error is whole turns,
        # but for half a step, since the answer is a whole number.
        errors = [k - right for k, right in zip(found, WANTED, strict=True)]
        if all(math.cos(error) > 0.87 for error in errors):
            raise kit.Mistake("one-hand", ONE_HAND)
        if width == 32:
            raise kit.Mistake(
                "one-width-only",
                "Right for rows 64 wide, wrong for rows 32 wide. Take the speeds of "
                "the hands from the width of the row: len(a).",
            )
        i = next(i for i, error in enumerate(errors) if error)
        raise kit.Mistake(
            "wrong-offset",
            f"From row {PLACES[i][0]} to row {PLACES[i][1]} it is {WANTED[i]} "
            f"positions; you say {found[i]}. I don't know this mistake.",
        )


def _probe_rounded(mine: kit.Function) -> None:
    """Rows of three digits: a slow hand alone no longer tells, all together do."""
    table = (sinusoids(2_000, 64) * 1000).round() / 1000
    for found, wanted in zip(_ask(mine, table), WANTED, strict=True):
        if found != wanted:
            raise kit.Mistake(
                "slowest-hand-only",
                "Right for exact rows, but with rows rounded to three digits you say "
                f"{found} where it is {wanted}. A slow hand moves by a ten-thousandth "
                "of a radian a step, so a small error in it is many steps: let all "
                "hands vote, and take the step that fits them best together.",
            )


@kit.grader(_probe_offsets, _probe_rounded)
def offset_between(mine: kit.Function) -> str:
    """Grade a reader's way to tell how far apart two rows of positions are.

    ``mine`` is a function ``mine(a, b)``: two rows (d,) of
    `tformer.positions.sinusoids` to the whole number k for which b stands k positions
    after a.
    """
    return (
        "Distance and direction, near and far, from nothing but two rows, whatever "
        "their width."
    )
