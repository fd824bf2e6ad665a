"""One query's attention as a computation that re-runs: compare, scale, mask, mix.

Chapter *Attention* shows it. The numbers are chosen by hand, so that two dimensions
are enough to draw them; ``maths.js`` does the maths, ``tformer.attention`` checks it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import traitlets
from torch import Tensor

from tformer.attention import attention
from tformer_book.widgets._figure import PageFigure

Rows = Sequence[Sequence[float]]


def _example(
    state: str, query: list[float], key: list[float], value: list[float]
) -> dict:
    """The running sentence, reduced to its five key words; `state` ends it."""
    return {
        "name": f"… because it was {state}",
        "tokens": ["dog", "cross", "street", "it", state],
        "query": [[-1.0, -1.5], [1.5, 1.5], [-1.5, -1.0], query, [2.0, -0.5]],
        "key": [[2.0, 0.0], [-1.0, -1.0], [0.0, 2.0], [0.5, 0.5], key],
        "value": [[2.0, 1.0], [-1.0, -2.0], [-2.0, 2.0], [0.0, 0.5], value],
        "selected": 3,
    }


EXAMPLES = [
    _example("tired", query=[2.0, 0.5], key=[1.0, -1.0], value=[1.0, -2.0]),
    _example("wide", query=[0.5, 2.0], key=[-1.0, 1.0], value=[-2.0, -1.0]),
]


def _rows(name: str, rows: Rows | Tensor, length: int) -> list[list[float]]:
    """`rows` as plain lists, after checking that there are `length` rows of 2."""
    table = [[float(x) for x in row] for row in rows]
    if len(table) != length or any(len(row) != 2 for row in table):
        shape = f"({len(table)}, {len(table[0]) if table else 0})"
        raise ValueError(
            f"{name} must have shape ({length}, 2), one row for each token, because "
            f"the figure draws them in a plane; got {shape}"
        )
    if not all(math.isfinite(x) for row in table for x in row):
        raise ValueError(f"{name} holds a number that is not finite")
    return table


class OneQuery(PageFigure):
    """What one query takes from every key, step by step.

    Without arguments it shows the book's running sentence, once with *tired* and once
    with *wide*. Reading :attr:`weights` or :attr:`output` in a later cell gives the
    numbers on screen, computed by :func:`tformer.attention`.

    Args:
        tokens: T words, one for each row of the arrays below.
        query: (T, 2) the query of each word.
        key: (T, 2) the key of each word.
        value: (T, 2) the value of each word.
        selected: index of the word that asks.
        temperature: above 1 flattens the weights, below 1 sharpens them.
        scaled: divide the scores by the square root of the width, as in the paper.
        visible: T booleans, True = may be attended to.
        step: how much it shows: 1 compare, 2 scale, 3 mask, 4 softmax, 5 mix.

    Raises:
        ValueError: a shape does not fit, or no key may be seen.
        traitlets.TraitError: there is no such step.

    Source: section 3.2.1, equation 1, for one row of Q.
    """

    tokens = traitlets.List().tag(sync=True)
    query = traitlets.List().tag(sync=True)
    key = traitlets.List().tag(sync=True)
    value = traitlets.List().tag(sync=True)
    selected = traitlets.Int(0, min=0).tag(sync=True)
    visible = traitlets.List().tag(sync=True)
    scaled = traitlets.Bool(True).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    step = traitlets.Int(5, min=1, max=5).tag(sync=True)
    examples = traitlets.List().tag(sync=True)
    example = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(
        self,
        tokens: Sequence[str] | None = None,
        query: Rows | Tensor | None = None,
        key: Rows | Tensor | None = None,
        value: Rows | Tensor | None = None,
        *,
        selected: int | None = None,
        temperature: float = 1.0,
        scaled: bool = True,
        visible: Sequence[bool] | None = None,
        step: int = 5,
    ) -> None:
        if tokens is None and query is None and key is None and value is None:
            examples = EXAMPLES
        elif tokens is None or query is None or key is None or value is None:
            raise ValueError("give tokens, query, key and value together, or none")
        else:
            words = [str(token) for token in tokens]
            examples = [
                {
                    "name": "yours",
                    "tokens": words,
                    "query": _rows("query", query, len(words)),
                    "key": _rows("key", key, len(words)),
                    "value": _rows("value", value, len(words)),
                    "selected": 0,
                }
            ]
        first = examples[0]
        length = len(first["tokens"])
        selected = first["selected"] if selected is None else selected
        if not 0 <= selected < length:
            raise ValueError(f"selected must be 0 to {length - 1}, got {selected}")
        shown = [True] * length if visible is None else [bool(see) for see in visible]
        if len(shown) != length or not any(shown):
            raise ValueError(
                f"visible must be {length} booleans with at least one True, got {shown}"
            )
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, got {temperature}")
        super().__init__(
            **{name: first[name] for name in ("tokens", "query", "key", "value")},
            selected=selected,
            visible=shown,
            scaled=scaled,
            temperature=temperature,
            step=step,
            examples=examples,
        )

    def _attend(self) -> tuple[Tensor, Tensor]:
        query, key, value = (
            torch.tensor(rows, dtype=torch.float64)
            for rows in ([self.query[self.selected]], self.key, self.value)
        )
        # attention() divides by sqrt(d); undo that if the reader switched it off.
        factor = 1.0 if self.scaled else math.sqrt(query.shape[-1])
        mask = torch.tensor([self.visible], dtype=torch.bool)
        return attention(query * factor / self.temperature, key, value, mask=mask)

    @property
    def weights(self) -> Tensor:
        """(T,) float64: what the selected query takes from each word; sums to 1."""
        return self._attend()[1][0]

    @property
    def output(self) -> Tensor:
        """(2,) float64: the mixed value that the selected query receives."""
        return self._attend()[0][0]

    def __repr__(self) -> str:
        asker = self.tokens[self.selected]
        shares = ", ".join(
            f"{token} {weight:.3f}"
            for token, weight in zip(self.tokens, self.weights.tolist(), strict=True)
        )
        x, y = self.output.tolist()
        return f"Attention of “{asker}”: {shares}. Output: ({x:.2f}, {y:.2f})."
