"""What all figures share: colours, ink, alternative texts, tables of numbers.

One palette for what has a colour of its own (query, key, value, …), one for any other
series, and one sequential scale for weights: safe for colour-blind readers and visible
on a light and on a dark page. All come from ``tokens.css``. Ink, that is text and axes,
takes the colour of the page around it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tformer.figures import _tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# One hue, one meaning (the contract is in tokens.css); anything else takes a series.
ROLES = ("query", "key", "value", "output", "residual", "loss", "mask", "accent")
PALETTE = {role: _tokens.between(role) for role in ROLES}
SERIES = tuple(_tokens.between(f"series-{n}") for n in range(1, 7))
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "star")

# The scale for weights, in steps: more is darker, as on the page by day.
STEPS = 50
WEIGHT_STOPS = tuple(
    _tokens.mixed(_tokens.day("low"), _tokens.day("high"), n / STEPS)
    for n in range(STEPS + 1)
)
# The same below zero, for what has a sign, in another hue.
BELOW_STOPS = tuple(
    _tokens.mixed(_tokens.day("low"), _tokens.day("below"), n / STEPS)
    for n in range(STEPS + 1)
)
TURN = 0.55  # the share of the scale above which a cell needs the other ink
ON_LOW, ON_HIGH = _tokens.day("on-low"), _tokens.day("on-high")
# What a page draws in colours of its own, which follow day and night.
ON_THE_PAGE = {
    **{colour: f"var(--tf-{role}, {colour})" for role, colour in PALETTE.items()},
    **{c: f"var(--tf-series-{n}, {c})" for n, c in enumerate(SERIES, 1)},
    **{
        colour: f"color-mix(in oklab, var(--tf-{end}, {stops[-1]}) "
        f"{100 * n // STEPS}%, var(--tf-low, {stops[0]}))"
        for end, stops in (("below", BELOW_STOPS), ("high", WEIGHT_STOPS))
        for n, colour in enumerate(stops)
    },
}

_OURS = re.compile("|".join(ON_THE_PAGE))

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
    """The scale for weights, from 0 (pale) to 1 (dark), for matplotlib."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(WEIGHT_STOPS, "weights")


def signed_colours() -> Colormap:
    """The scale for numbers of either sign, pale at zero, for matplotlib."""
    from matplotlib.colors import ListedColormap

    return ListedColormap((*BELOW_STOPS[:0:-1], *WEIGHT_STOPS), "signed")


def themed(text: str) -> str:
    """A text with our colours as a page's own, which follow day and night.

    Where a page has no such colours, they stay what they were.

    Args:
        text: SVG, JSON, or one colour.
    """
    return _OURS.sub(lambda found: ON_THE_PAGE[found[0]], text)


def ink_on(share: float) -> str:
    """The ink that is read well on a cell with this share of the scale."""
    return ON_HIGH if share > TURN else ON_LOW


def style(letters: int = 11) -> dict[str, Any]:
    """The matplotlib settings of every static figure; letters are in points."""
    return {
        "font.size": letters,
        "axes.titlesize": letters,
        "axes.labelsize": letters,
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


def blank(width: float, height: float, letters: int = 11) -> tuple[Figure, Axes]:
    """A figure unknown to pyplot, so that it is not shown automatically."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(style(letters)):
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
