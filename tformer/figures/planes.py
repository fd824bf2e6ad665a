"""What attention mixes, as points in the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tformer.figures._drawing import PALETTE, Table, as_array, blank, describe, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def mixture(
    values: ArrayLike,
    labels: Sequence[str],
    outputs: Mapping[str, ArrayLike],
    *,
    title: str = "",
) -> Figure:
    """Values in the plane, the polygon they span, and what attention mixed from them.

    Args:
        values: (T, 2) one value per label.
        labels: T names.
        outputs: name -> (2,) a point that some query received.
        title: a line above.

    Returns:
        A matplotlib figure with alternative text and table.
    """
    import matplotlib

    points = as_array(values)
    if points.shape != (len(labels), 2):
        raise ValueError(
            f"values must be ({len(labels)}, 2) for these labels, got {points.shape}"
        )
    mixed = {name: as_array(point) for name, point in outputs.items()}
    with matplotlib.rc_context(style()):
        figure, axes = blank(4.6, 4.0)
        corners = _hull(points)
        axes.fill(*corners.T, color=PALETTE["value"], alpha=0.15, linewidth=0)
        axes.plot(*np.vstack([corners, corners[:1]]).T, color=PALETTE["value"], lw=1)
        axes.scatter(points[:, 0], points[:, 1], color=PALETTE["value"], s=36, zorder=3)
        centre = points.mean(axis=0)
        for label, (x, y) in zip(labels, points, strict=True):
            side = 1 if x >= centre[0] else -1
            axes.annotate(
                label,
                (x, y),
                (7 * side, 4 if y >= centre[1] else -11),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                color=PALETTE["value"],
            )
        shapes = ("o", "s", "D", "^")
        for i, (name, (x, y)) in enumerate(mixed.items()):
            axes.scatter(
                [x], [y], color=PALETTE["output"], s=60, marker=shapes[i % 4], zorder=4
            )
            axes.annotate(
                name,
                (x, y),
                (0, -16),
                textcoords="offset points",
                ha="center",
                color=PALETTE["output"],
                weight="bold",
            )
        axes.set_aspect("equal", adjustable="datalim")
        axes.margins(0.3, 0.15)
        axes.set_xlabel("first number of the vector")
        axes.set_ylabel("second number")
        if title:
            axes.set_title(title)
    where = "; ".join(f"{name} at ({x:.2f}, {y:.2f})" for name, (x, y) in mixed.items())
    alt = (
        f"Values of {', '.join(labels)} as points in a plane, with the polygon they "
        f"span. Inside or on it: {where}."
    )
    rows = [*zip(labels, points, strict=True), *mixed.items()]
    table = Table(
        title or "Values and outputs",
        "vector",
        ("first number", "second number"),
        tuple((name, (float(x), float(y))) for name, (x, y) in rows),
    )
    return describe(figure, alt, table)


def _hull(points: NDArray[Any]) -> NDArray[Any]:
    """Corners of the smallest convex polygon around points (N, 2), in order."""
    order = sorted(map(tuple, points.tolist()))

    def half(sequence: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for x, y in sequence:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return np.array(half(order) + half(order[::-1]) or order)
