"""What all figures share: colours, ink, alternative texts, tables of numbers.

One palette for query, key, value and output, and one sequential scale for weights, both
safe for colour-blind readers and visible on a light and on a dark page. Ink, that is
text and axes, takes the colour of the page around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

PALETTE = {
    "query": "#d1600a",
    "key": "#2b7fc9",
    "value": "#149469",
    "output": "#9a62cc",
}
# For any other series, in this order.
SERIES = ("#2b7fc9", "#d1600a", "#149469", "#9a62cc", "#b58900", "#c2457f")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")

# Lightness falls evenly from sand to deep blue; both ends differ from white and black.
WEIGHT_STOPS = ("#e6e0cd", "#b6cfb0", "#6fb3a6", "#33869f", "#1c4f8f")

# Stands for "the text colour of the page" until the figure is written as SVG.
INK = "#010203"


@dataclass(frozen=True)
class Table:
    """The numbers behind a figure: one header per row and column."""

    caption: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]


def describe(figure: Any, alt: str, table: Table | None = None) -> Any:
    """Attach a description to a figure for those who cannot see it.

    Args:
        figure: a matplotlib or Plotly figure.
        alt: what the figure shows, in one or two sentences.
        table: the numbers behind a matplotlib figure (Plotly's are in its data).

    Returns:
        The same figure.

    Raises:
        ValueError: alt is empty.
    """
    if not alt.strip():
        raise ValueError("alt must say what the figure shows, got an empty text")
    if hasattr(figure, "to_plotly_json"):
        figure.update_layout(meta={"alt": alt})
    else:
        figure.set_label(alt)
        figure.table = table
    return figure


def alternative(figure: Any) -> str:
    """The alternative text that `describe` attached, or an empty string."""
    if hasattr(figure, "to_plotly_json"):
        meta = figure.layout.meta
        return str(meta["alt"]) if isinstance(meta, dict) and "alt" in meta else ""
    return str(figure.get_label() or "")


def weight_colours() -> Colormap:
    """The scale for weights, from 0 (sand) to 1 (deep blue), for matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("weights", WEIGHT_STOPS)


def style() -> dict[str, Any]:
    """The matplotlib settings of every static figure."""
    return {
        "font.size": 11,
        "axes.titlesize": 11,
        "axes.labelsize": 11,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "axes.titlecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "tformer",
        "text.parse_math": False,  # a dollar sign is one
    }


def blank(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure unknown to pyplot, so that it is not shown automatically."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.add_subplot()


def as_array(values: Any) -> NDArray[Any]:
    """Numbers as a NumPy array; tensors are detached and moved to the CPU."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    elif isinstance(values, (list, tuple)) and any(
        hasattr(v, "detach") for v in values
    ):
        return np.array([as_array(v) for v in values], dtype=float)
    return np.asarray(values, dtype=float)


def as_matrix(name: str, values: Any, rows: int, columns: int) -> NDArray[Any]:
    """As `as_array`, of one row per query and one column per key, else a ValueError."""
    array = as_array(values)
    if array.shape != (rows, columns):
        raise ValueError(
            f"{name} must have one row per query and one column per key, that is "
            f"({rows}, {columns}) for these labels; got {array.shape}"
        )
    return array
