"""A matrix split into heads and merged again, next to the same with a mistake.

Chapter *Multi-head attention* shows it. ``maths.js`` does the maths;
`tformer.attention` checks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import traitlets
from torch import Tensor

from tformer.attention import MultiHeadAttention, attention
from tformer_book.widgets._figure import PageFigure

WORDS = ("dog", "it", "tired", "street", "cross")
WIDTHS = (4, 6, 8, 12)
MOST_HEADS = 4
STAGES = ("Project", "Cut", "Transpose", "Attend", "Concatenate", "W_O")
MISTAKES = ("there and back", "at the split", "at the merge")

Step = Callable[[Tensor], Tensor]


def _table(rows: int, columns: int, size: float, angles: tuple[float, ...]) -> Tensor:
    """Numbers that look random but are the same in every browser: rounded sines."""
    start, down, across, both = angles
    return torch.tensor(
        [
            [
                round(
                    10 * size * math.sin(start + down * i + across * j + both * i * j)
                )
                / 10
                for j in range(columns)
            ]
            for i in range(rows)
        ],
        dtype=torch.float64,
    )


class HeadSplit(PageFigure):
    """Rows of words travel through all steps of multi-head attention, coloured by head.

    Next to the right way is one with ``view`` where ``transpose`` belongs. One matrix
    serves as queries, keys and values. Words, numbers and heads are counted from 0.

    Args:
        n_words: T, 2 to 5.
        d_model: D, 4, 6, 8 or 12.
        n_heads: H, 1 to 4; if it does not divide ``d_model``, the figure says so.
        stage: 1 to 6, a place in `STAGES`.
        mistake: where it happens, one of `MISTAKES`.
        word: whose numbers are framed; -1 for none.

    Raises:
        ValueError: a value out of range, or an unknown mistake.

    Source: section 3.2.2.
    """

    n_words = traitlets.Int().tag(sync=True)
    d_model = traitlets.Int().tag(sync=True)
    n_heads = traitlets.Int().tag(sync=True)
    stage = traitlets.Int().tag(sync=True)
    mistake = traitlets.Enum(MISTAKES).tag(sync=True)
    word = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        n_words: int = 3,
        d_model: int = 8,
        n_heads: int = 2,
        *,
        stage: int = 1,
        mistake: str = MISTAKES[0],
        word: int = 1,
    ) -> None:
        for name, value, allowed in (
            ("n_words", n_words, range(2, len(WORDS) + 1)),
            ("d_model", d_model, WIDTHS),
            ("n_heads", n_heads, range(1, MOST_HEADS + 1)),
            ("stage", stage, range(1, len(STAGES) + 1)),
            ("word", word, range(-1, n_words)),
            ("mistake", mistake, MISTAKES),
        ):
            if value not in allowed:
                raise ValueError(
                    f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}"
                )
        super().__init__(
            n_words=n_words,
            d_model=d_model,
            n_heads=n_heads,
            stage=stage,
            mistake=mistake,
            word=word,
        )

    @property
    def x(self) -> Tensor:
        """(T, D): queries, keys and values in one."""
        return _table(self.n_words, self.d_model, 2, (1.7, 2.3, 1.1, 0.9))

    @property
    def output_matrix(self) -> Tensor:
        """(D, D): W_O, for rows from the left."""
        return _table(self.d_model, self.d_model, 1, (0.7, 2.9, 1.7, 0.6))

    @property
    def right(self) -> dict[str, Tensor]:
        """What the left side shows, computed by the package's own layer.

        ``split`` and ``heads`` (H, T, Dh), ``weights`` (H, T, T), ``merged`` and
        ``output`` (T, D).

        Raises:
            ValueError: n_heads does not divide d_model.
        """
        layer = MultiHeadAttention(self.d_model, self.n_heads)
        return self._through(layer.split_heads, layer.merge_heads)

    @property
    def wrong(self) -> dict[str, Tensor]:
        """The same with the mistake: what the right side shows."""
        layer = MultiHeadAttention(self.d_model, self.n_heads)
        at_split, at_merge = (self.mistake != each for each in MISTAKES[:0:-1])
        shape = (self.n_heads, self.n_words, -1)
        return self._through(
            layer.split_heads if not at_split else lambda x: x.reshape(shape),
            layer.merge_heads if not at_merge else lambda x: x.reshape(shape[1], -1),
        )

    def _through(self, split: Step, merge: Step) -> dict[str, Tensor]:
        parts = split(self.x)
        heads, weights = attention(parts, parts, parts)
        merged = merge(heads)
        return {
            "split": parts,
            "weights": weights,
            "heads": heads,
            "merged": merged,
            "output": merged @ self.output_matrix,
        }

    def __repr__(self) -> str:
        size = f"{self.n_words} words, d_model={self.d_model}, n_heads={self.n_heads}"
        if self.d_model % self.n_heads:
            return f"{size}: cannot be shared out."
        apart = (self.right["output"] - self.wrong["output"]).abs().max()
        return f"{size}, the mistake {self.mistake}: outputs differ by {apart:.2f}."
