"""A position as the hands of several clocks, each slower than the one before.

Chapter *Positions* shows it. ``clocks.js`` draws it, with the sinusoids of the page's
engine; `tformer.positions.sinusoids` checks them.
"""

from __future__ import annotations

import traitlets
from torch import Tensor

from tformer.positions import sinusoids
from tformer_book.widgets._figure import PageFigure

LAST = 63  # the last position that the slider reaches


class Clocks(PageFigure):
    """The sinusoids of one position, as the tips of hands that turn when it plays.

    Args:
        d_model: width D, even, 2 to 12: two numbers for each hand.
        position: p, 0 to 63.

    Raises:
        ValueError: a value out of range.

    Source: section 3.5.
    """

    d_model = traitlets.Int(8).tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)

    def __init__(self, d_model: int = 8, *, position: int = 0) -> None:
        if d_model % 2 or not 2 <= d_model <= 12:
            raise ValueError(f"d_model={d_model} must be even, 2 to 12")
        if not 0 <= position <= LAST:
            raise ValueError(f"position={position} must be 0 to {LAST}")
        super().__init__(d_model=d_model, position=position)

    @property
    def vector(self) -> Tensor:
        """(D,) float32: the position's row of the table, as it is on screen."""
        return sinusoids(self.position + 1, self.d_model)[-1]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{x:.3f}" for x in self.vector.tolist())
        return f"Position {self.position}: ({numbers})."
