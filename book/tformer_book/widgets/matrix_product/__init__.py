"""Two small matrices and their product, one entry at a time.

Chapter *Before you start* shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import traitlets
from torch import Tensor

from tformer_book.widgets._figure import PageFigure

Rows = Sequence[Sequence[float]]
LARGEST = 4  # as in matrix_product.js: more would not fit a phone


def _matrix(name: str, rows: Rows | Tensor) -> list[list[float]]:
    """`rows` as plain lists; whole numbers stay whole.

    Raises:
        ValueError: not a table of 1 to 4 rows and columns of finite numbers.
    """
    given = rows.tolist() if isinstance(rows, Tensor) else list(rows)
    table = [list(row) if isinstance(row, Sequence) else [] for row in given]
    widths = {len(row) for row in table}
    fits = len(widths) == 1 and {len(table), *widths} <= set(range(1, LARGEST + 1))
    if not fits:
        raise ValueError(
            f"{name} must be a matrix of 1 to {LARGEST} rows and columns, all rows "
            f"equally long; got {given}"
        )
    if not all(math.isfinite(x) and abs(x) <= 99 for row in table for x in row):
        raise ValueError(f"{name} must hold numbers from -99 to 99; got {table}")
    return table


class MatrixProduct(PageFigure):
    """A row slides onto a column, entry by entry; if impossible, it says why.

    Args:
        a: (M, K) the left matrix, at most 4 x 4.
        b: (K, N) the right matrix. Any other number of rows is shown as impossible.
        row: which row of the product is worked out, from 0.
        column: which column.

    Raises:
        ValueError: a matrix is empty, ragged or too large, or there is no such entry.
    """

    a = traitlets.List().tag(sync=True)
    b = traitlets.List().tag(sync=True)
    row = traitlets.Int(0, min=0).tag(sync=True)
    column = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(
        self,
        a: Rows | Tensor = ((1, 2, 0), (0, 1, 3)),
        b: Rows | Tensor = ((1, 4), (2, 0), (2, 1)),
        *,
        row: int = 0,
        column: int = 0,
    ) -> None:
        left, right = _matrix("a", a), _matrix("b", b)
        if not (0 <= row < len(left) and 0 <= column < len(right[0])):
            raise ValueError(
                f"the product has {len(left)} rows and {len(right[0])} columns, "
                f"counted from 0; there is no entry ({row}, {column})"
            )
        super().__init__(a=left, b=right, row=row, column=column)

    @property
    def product(self) -> Tensor:
        """(M, N) float64: A @ B of what is on the screen.

        Raises:
            ValueError: the inner lengths differ.
        """
        a = torch.tensor(self.a, dtype=torch.float64)
        b = torch.tensor(self.b, dtype=torch.float64)
        if a.shape[1] != b.shape[0]:
            raise ValueError(
                f"no product of {tuple(a.shape)} and {tuple(b.shape)}: a row of the "
                f"left has length {a.shape[1]}, a column of the right {b.shape[0]}"
            )
        return a @ b

    def __repr__(self) -> str:
        return f"MatrixProduct({self.a}, {self.b})"
