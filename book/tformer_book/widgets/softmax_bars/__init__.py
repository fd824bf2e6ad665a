"""Scores, their powers and their shares, to play with.

Chapter *Before you start* shows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import traitlets
from torch import Tensor

from tformer_book.widgets._figure import PageFigure


class SoftmaxBars(PageFigure):
    """Softmax with scores to move, a temperature, and 32 bits that can overflow.

    Args:
        labels: N names, at most 8.
        scores: N numbers from -10 to 10.
        temperature: 0.1 to 5; the scores are divided by it.
        added: a constant added to all scores, -120 to 120.
        subtract: subtract the largest score first, as every good softmax does.

    Raises:
        ValueError: labels and scores do not match, or a number is out of range.
    """

    labels = traitlets.List().tag(sync=True)
    scores = traitlets.List().tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    added = traitlets.Float(0.0).tag(sync=True)
    subtract = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        labels: Sequence[str] = ("street", "dog", "house", "was"),
        scores: Sequence[float] | Tensor = (2.0, 1.0, 0.0, -1.0),
        *,
        temperature: float = 1.0,
        added: float = 0.0,
        subtract: bool = True,
    ) -> None:
        names, numbers = [str(x) for x in labels], [float(x) for x in scores]
        if len(names) != len(numbers) or not 1 <= len(names) <= 8:
            raise ValueError(
                f"give 1 to 8 labels and one score for each; got {len(names)} labels "
                f"and {len(numbers)} scores"
            )
        for name, value, low, high in [
            *(
                (f"the score of {n!r}", x, -10, 10)
                for n, x in zip(names, numbers, strict=True)
            ),
            ("temperature", temperature, 0.1, 5),
            ("added", added, -120, 120),
        ]:
            if not low <= value <= high:
                raise ValueError(f"{name} must be {low} to {high}, got {value}")
        super().__init__(
            labels=names,
            scores=numbers,
            temperature=temperature,
            added=added,
            subtract=subtract,
        )

    @property
    def shares(self) -> Tensor:
        """(N,) float32: softmax of what is on the screen, computed by torch."""
        logits = (torch.tensor(self.scores) + self.added) / self.temperature
        if self.subtract:
            return logits.softmax(dim=-1)
        return logits.exp() / logits.exp().sum()

    def __repr__(self) -> str:
        shares = ", ".join(
            f"{label} {share:.3f}"
            for label, share in zip(self.labels, self.shares.tolist(), strict=True)
        )
        return f"Softmax at temperature {self.temperature:g}: {shares}."
