"""Weights as a map: query rows, key columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tformer.figures._drawing import (
    INK,
    PALETTE,
    Table,
    as_matrix,
    blank,
    describe,
    ink_on,
    style,
    weight_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _strongest(
    weights: NDArray[Any],
    queries: Sequence[str],
    keys: Sequence[str],
    verb: str = "attends most to",
) -> str:
    """Say where each row is strongest; at most six rows, or the text gets too long."""
    best = weights.argmax(axis=1)
    parts = [
        f"“{query}” {verb} “{keys[best[i]]}” ({weights[i, best[i]]:.2f})"
        for i, query in enumerate(queries[:6])
    ]
    rest = "" if len(queries) <= 6 else f"; and {len(queries) - 6} more rows"
    return "; ".join(parts) + rest


def heat_map(
    weights: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    title: str = "",
    numbers: bool | None = None,
    mask: ArrayLike | None = None,
    names: tuple[str, str, str] | None = None,
    scale: bool = True,
) -> Figure:
    """Attention weights as a picture: one row per query, one column per key.

    Args:
        weights: (Tq, Tk), between 0 and 1; each row sums to 1.
        queries: Tq labels, top to bottom: who asks.
        keys: Tk labels, left to right: who is asked.
        title: a line above.
        numbers: write each weight into its cell; None = if there is room.
        mask: (Tq, Tk) bool, True = may attend; forbidden cells are crossed out.
        names: what a row, a column and a number stand for, if not for a query, a key
            and a weight.
        scale: draw the scale of colours beside the map; of several maps side by side,
            one is enough to have it.

    Returns:
        A matplotlib figure with alternative text and table.

    Raises:
        ValueError: weights do not fit the labels, or lie outside 0 to 1.
    """
    import matplotlib

    rows, columns = len(queries), len(keys)
    array = as_matrix("weights", weights, rows, columns)
    if not (array.min() >= -1e-6 and array.max() <= 1 + 1e-6):
        raise ValueError(
            f"weights must lie between 0 and 1, got {array.min():.3g} to "
            f"{array.max():.3g}: were these the scores, before softmax?"
        )
    numbers = max(rows, columns) <= 8 if numbers is None else numbers
    cell = 0.62 if numbers else 0.31
    letters = 11 if numbers else 13  # a map without numbers is large, and shown smaller
    margin = 0.35 + 0.1 * max(len(label) for label in queries)
    width = margin + cell * columns + (0.9 if scale else 0.1)
    height = 1.25 + cell * rows * (0.85 if numbers else 1) + (0.3 if title else 0)
    allowed = None if mask is None else as_matrix("mask", mask, rows, columns) > 0

    with matplotlib.rc_context(style(letters)):
        figure, axes = blank(width, height, letters)
        image = axes.pcolormesh(
            array, cmap=weight_colours(), vmin=0, vmax=1, edgecolors=INK, linewidth=0.3
        )
        row, column, number = names or (
            "query: who asks",
            "key: who is asked",
            "weight",
        )
        _label(axes, queries, keys, slant=max(map(len, keys)) * 0.1 > cell)
        axes.set_xlabel(column, color=INK if names else PALETTE["key"])
        axes.set_ylabel(row, color=INK if names else PALETTE["query"])
        _fill(axes, array, allowed, numbers=numbers)
        if scale:
            _scale(figure, axes, image, number)
        if title:
            figure.suptitle(title, fontsize=letters)

    hidden = "" if allowed is None else f" {int((~allowed).sum())} cells are masked."
    alt = (
        f"Heat map of attention weights{': ' + title if title else ''}. {rows} queries "
        f"as rows, {columns} keys as columns. "
        f"{_strongest(array, queries, keys)}.{hidden}"
    )
    if names:
        alt = (
            f"Heat map: {title}. {rows} rows ({row}), {columns} columns ({column}). "
            f"{_strongest(array, queries, keys, 'goes most with')}.{hidden}"
        )
    table = Table(
        title or "Attention weights",
        f"{row} \\ {column}" if names else "query \\ key",
        tuple(keys),
        tuple((label, tuple(array[i])) for i, label in enumerate(queries)),
    )
    return describe(figure, alt, table)


def _label(
    axes: Axes, queries: Sequence[str], keys: Sequence[str], *, slant: bool
) -> None:
    """Queries from the top down, keys along the top edge."""
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xticks(
        np.arange(len(keys)) + 0.5,
        keys,
        rotation=45 if slant else 0,
        ha="left" if slant else "center",
        rotation_mode="anchor",
    )
    axes.set_yticks(np.arange(len(queries)) + 0.5, queries)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _scale(figure: Figure, axes: Axes, image: Any, name: str) -> None:
    """The scale of colours, beside the map."""
    bar = figure.colorbar(image, ax=axes, fraction=0.06, pad=0.02, ticks=[0, 0.5, 1])
    bar.ax.spines[:].set_visible(False)
    # Drawn: a picture inside of it could not follow the page's colours.
    assert bar.solids is not None  # only a map of contours has none
    bar.solids.set(rasterized=False, edgecolor="face")
    bar.set_label(name)


def _fill(
    axes: Axes,
    array: NDArray[Any],
    allowed: NDArray[np.bool_] | None,
    *,
    numbers: bool,
) -> None:
    """Cross out what is forbidden; write the other weights, if there is room."""
    for i, row in enumerate(array):
        for j, weight in enumerate(row):
            if allowed is not None and not allowed[i, j]:
                axes.plot([j + 0.3, j + 0.7], [i + 0.3, i + 0.7], color=PALETTE["mask"])
                axes.plot([j + 0.3, j + 0.7], [i + 0.7, i + 0.3], color=PALETTE["mask"])
            elif numbers:
                axes.text(
                    j + 0.5,
                    i + 0.5,
                    f"{weight:.2f}",
                    color=ink_on(weight),
                    ha="center",
                    va="center",
                )
