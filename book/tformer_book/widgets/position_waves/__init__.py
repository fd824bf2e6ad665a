"""Sinusoids in three steps: one pair as a wave, the table, a wrong table beside it.

Chapter *Positions* shows it. ``maths.js`` does the maths;
`tformer.positions.sinusoids` checks it.
"""

from __future__ import annotations

import math

import torch
import traitlets
from torch import Tensor

from tformer.positions import sinusoids
from tformer_book.widgets._figure import PageFigure

LENGTH = 128  # rows in the heat maps
REACH = 64  # positions and offsets on the sliders, so that their sum has a row
STEPS = 3  # of what is shown
VARIANTS = ("doubled exponent", "sin | cos halves", "degrees", "no base")


def variant_table(
    variant: str, length: int, d_model: int, *, base: float = 10_000.0
) -> Tensor:
    """The table as it comes out with a common mistake.

    Args:
        variant: one of `VARIANTS`: i counts columns instead of pairs; all sines before
            all cosines; angles taken as degrees; the base forgotten, so that every
            pair turns as fast as the first.
        length: number of positions, from 0.
        d_model: width D, even.
        base: of the sinusoids.

    Returns:
        (length, d_model) float32, computed in float64.

    Raises:
        ValueError: an unknown variant.
    """
    column = torch.arange(d_model, dtype=torch.float64)
    pair, is_sine = column // 2, column % 2 == 0
    speed = base ** (-2 * pair / d_model)  # radians per position
    if variant == "doubled exponent":
        speed = base ** (-2 * column / d_model)
    elif variant == "sin | cos halves":
        is_sine = column < d_model // 2
        speed = base ** (-2 * (column % (d_model // 2)) / d_model)
    elif variant == "degrees":
        speed = speed * math.pi / 180
    elif variant == "no base":
        speed = torch.ones_like(speed)
    else:
        known = ", ".join(map(repr, VARIANTS))
        raise ValueError(f"variant={variant!r} must be one of {known}")
    angle = torch.arange(length, dtype=torch.float64)[:, None] * speed
    return torch.where(is_sine, angle.sin(), angle.cos()).float()


class PositionWaves(PageFigure):
    """A position's waves, one pair at a time, all together, and beside a wrong table.

    `table`, `beside` and `similarity` give what is on screen.

    Args:
        d_model: width D, even, 2 to 128.
        base: of the sinusoids, above 1.
        position: p, the selected row, 0 to 63.
        offset: k, how far the other row is, 0 to 63.
        pair: i, which pair of columns the hands show.
        variant: what to compare with the paper's, one of `VARIANTS`.
        step: how much is shown: 0 one pair, 1 all pairs, 2 the variant, too.

    Raises:
        ValueError: a value out of range, or an unknown variant.

    Source: section 3.5.
    """

    d_model = traitlets.Int().tag(sync=True)
    base = traitlets.Float().tag(sync=True)
    position = traitlets.Int().tag(sync=True)
    offset = traitlets.Int().tag(sync=True)
    pair = traitlets.Int().tag(sync=True)
    variant = traitlets.Enum(list(VARIANTS), VARIANTS[0]).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        d_model: int = 32,
        *,
        base: float = 10_000.0,
        position: int = 12,
        offset: int = 6,
        pair: int = 2,
        variant: str = VARIANTS[0],
        step: int = 0,
    ) -> None:
        if d_model % 2 or not 2 <= d_model <= LENGTH:
            raise ValueError(f"d_model={d_model} must be even, from 2 to {LENGTH}")
        if not base > 1:
            raise ValueError(f"base={base} must be greater than 1")
        for name, value, end in (
            ("position", position, REACH),
            ("offset", offset, REACH),
            ("pair", pair, d_model // 2),
            ("step", step, STEPS),
        ):
            if not 0 <= value < end:
                raise ValueError(f"{name}={value} must be from 0 to {end - 1}")
        variant_table(variant, 1, d_model)  # rejects an unknown one
        super().__init__(
            d_model=d_model,
            base=base,
            position=position,
            offset=offset,
            pair=pair,
            variant=variant,
            step=step,
        )

    @property
    def table(self) -> Tensor:
        """(128, D): the paper's rows, on the left of the screen."""
        return sinusoids(LENGTH, self.d_model, base=self.base)

    @property
    def beside(self) -> Tensor:
        """(128, D): the variant's rows, on the right."""
        return variant_table(self.variant, LENGTH, self.d_model, base=self.base)

    @property
    def similarity(self) -> Tensor:
        """(2, 64): row p · row p + k for k from 0, the paper's and the variant's."""
        p = self.position
        tables = torch.stack([self.table, self.beside])
        return (tables[:, p : p + REACH] * tables[:, p : p + 1]).sum(-1)

    def __repr__(self) -> str:
        k = self.offset
        right, wrong = (float(x) for x in self.similarity[:, k])
        return (
            f"Rows {self.position} and {self.position + k} of {self.d_model} columns, "
            f"base {self.base:g}: their product is {right:.3f}; {self.variant}: "
            f"{wrong:.3f}."
        )
