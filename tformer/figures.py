"""From arrays and labels to figures, without any knowledge of models.

There are two kinds: static ones (a matplotlib ``Figure``) and interactive charts (a
Plotly ``Figure``). Every function returns its figure and shows nothing; each figure has
an alternative text and, if there are numbers behind it, a table of these numbers.
`tformer.show.figure` puts all three on the page.

One palette for query, key, value and output, and one sequential scale for weights, both
safe for colour-blind readers and visible on a light and on a dark page. Ink, that is
text and axes, takes the colour of the page around it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from plotly.graph_objects import Figure as Chart

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
    }


def _blank(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure unknown to pyplot, so that it is not shown automatically."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.add_subplot()


def _array(values: Any) -> NDArray[Any]:
    """Numbers as a NumPy array; tensors are detached and moved to the CPU."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    elif isinstance(values, (list, tuple)) and any(
        hasattr(v, "detach") for v in values
    ):
        return np.array([_array(v) for v in values], dtype=float)
    return np.asarray(values, dtype=float)


def _matrix(name: str, values: Any, rows: int, columns: int) -> NDArray[Any]:
    array = _array(values)
    if array.shape != (rows, columns):
        raise ValueError(
            f"{name} must have one row per query and one column per key, that is "
            f"({rows}, {columns}) for these labels; got {array.shape}"
        )
    return array


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

    Returns:
        A matplotlib figure with alternative text and table.

    Raises:
        ValueError: weights do not fit the labels, or lie outside 0 to 1.
    """
    import matplotlib

    rows, columns = len(queries), len(keys)
    array = _matrix("weights", weights, rows, columns)
    if not (array.min() >= -1e-6 and array.max() <= 1 + 1e-6):
        raise ValueError(
            f"weights must lie between 0 and 1, got {array.min():.3g} to "
            f"{array.max():.3g}: were these the scores, before softmax?"
        )
    numbers = max(rows, columns) <= 8 if numbers is None else numbers
    cell = 0.62 if numbers else 0.36
    margin = 0.35 + 0.1 * max(len(label) for label in queries)
    width = margin + cell * columns + 0.9
    height = 1.25 + cell * rows * (0.85 if numbers else 1) + (0.3 if title else 0)
    allowed = None if mask is None else _matrix("mask", mask, rows, columns) > 0

    with matplotlib.rc_context(style()):
        figure, axes = _blank(width, height)
        image = axes.pcolormesh(
            array, cmap=weight_colours(), vmin=0, vmax=1, edgecolors=INK, linewidth=0.3
        )
        axes.invert_yaxis()
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        slant = max(len(label) for label in keys) * 0.1 > cell
        axes.set_xticks(
            np.arange(columns) + 0.5,
            keys,
            rotation=45 if slant else 0,
            ha="left" if slant else "center",
            rotation_mode="anchor",
        )
        axes.set_yticks(np.arange(rows) + 0.5, queries)
        axes.tick_params(length=0)
        row, column, number = names or (
            "query: who asks",
            "key: who is asked",
            "weight",
        )
        axes.set_xlabel(column, color=INK if names else PALETTE["key"])
        axes.set_ylabel(row, color=INK if names else PALETTE["query"])
        for spine in axes.spines.values():
            spine.set_visible(False)
        for i in range(rows):
            for j in range(columns):
                if allowed is not None and not allowed[i, j]:
                    axes.plot([j + 0.3, j + 0.7], [i + 0.3, i + 0.7], color="#555555")
                    axes.plot([j + 0.3, j + 0.7], [i + 0.7, i + 0.3], color="#555555")
                elif numbers:
                    ink = "#ffffff" if array[i, j] > 0.72 else "#111111"
                    text = f"{array[i, j]:.2f}"
                    axes.text(
                        j + 0.5, i + 0.5, text, color=ink, ha="center", va="center"
                    )
        bar = figure.colorbar(
            image, ax=axes, fraction=0.06, pad=0.02, ticks=[0, 0.5, 1]
        )
        bar.ax.spines[:].set_visible(False)
        bar.set_label(number)
        if title:
            figure.suptitle(title, fontsize=11)

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


def curves(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    *,
    across: str,
    up: str,
    alt: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    height: int = 380,
) -> Chart:
    """One or more quantities against another, as an interactive chart.

    Args:
        x: (N,) positions on the horizontal axis, shared by all.
        series: name -> (N,) values; None or nan leaves a gap.
        across: what the horizontal axis measures, with its unit.
        up: what the vertical axis measures, with its unit.
        alt: what a reader should see in it.
        title: a line above.
        log_x: logarithmic horizontal axis, with a tick at every x.
        log_y: logarithmic vertical axis.
        height: in CSS pixels.

    Returns:
        A Plotly figure. Lines differ by colour, dash and marker.

    Raises:
        ValueError: a series is not as long as x.
    """
    import plotly.graph_objects as go

    at = _array(x)
    chart = go.Figure()
    for i, (name, values) in enumerate(series.items()):
        y = _array(values)
        if y.shape != at.shape:
            raise ValueError(f"series {name!r} has shape {y.shape}, x has {at.shape}")
        chart.add_scatter(
            x=at.tolist(),
            y=[None if math.isnan(v) else v for v in y.tolist()],
            name=name,
            mode="lines+markers" if len(at) <= 30 else "lines",
            line={"color": SERIES[i % len(SERIES)], "dash": DASHES[i % len(DASHES)]},
            marker={"symbol": MARKERS[i % len(MARKERS)], "size": 8},
        )
    ticks = (
        {"tickvals": at.tolist(), "ticktext": [f"{v:g}" for v in at]} if log_x else {}
    )
    chart.update_layout(
        title=title or None,
        height=height,
        margin={"l": 60, "r": 10, "t": 50 if title else 20, "b": 50},
        xaxis={"title": across, "type": "log" if log_x else "linear", **ticks},
        yaxis={
            "title": up,
            "type": "log" if log_y else "linear",
            "exponentformat": "power",
            "automargin": True,
        },
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        showlegend=len(series) > 1,
        hovermode="x unified",
    )
    return describe(chart, alt)


def bars(
    labels: Sequence[str],
    series: Mapping[str, ArrayLike],
    *,
    up: str,
    alt: str,
    across: str = "",
    title: str = "",
    height: int = 340,
) -> Chart:
    """Quantities by name, side by side for every series, as an interactive chart.

    Args:
        labels: N names along the horizontal axis.
        series: name -> (N,) values.
        up: what the vertical axis measures.
        alt: what a reader should see in it.
        across: what the names are.
        title: a line above.
        height: in CSS pixels.
    """
    import plotly.graph_objects as go

    chart = go.Figure()
    for i, (name, values) in enumerate(series.items()):
        y = _array(values).tolist()
        if len(y) != len(labels):
            raise ValueError(
                f"series {name!r} has {len(y)} values for {len(labels)} labels"
            )
        chart.add_bar(
            x=list(labels), y=y, name=name, marker_color=SERIES[i % len(SERIES)]
        )
    chart.update_layout(
        title=title or None,
        height=height,
        barmode="group",
        margin={"l": 60, "r": 10, "t": 50 if title else 20, "b": 40},
        xaxis={"title": across or None, "type": "category"},
        yaxis={"title": up, "automargin": True},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        showlegend=len(series) > 1,
    )
    return describe(chart, alt)


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

    points = _array(values)
    if points.shape != (len(labels), 2):
        raise ValueError(
            f"values must be ({len(labels)}, 2) for these labels, got {points.shape}"
        )
    mixed = {name: _array(point) for name, point in outputs.items()}
    with matplotlib.rc_context(style()):
        figure, axes = _blank(4.6, 4.0)
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


def training_curves(
    steps: ArrayLike,
    losses: ArrayLike,
    learning_rates: ArrayLike,
    *,
    valid_steps: ArrayLike = (),
    valid_losses: ArrayLike = (),
    valid_rates: ArrayLike = (),
    last_step: int | None = None,
    title: str = "",
) -> Figure:
    """How a training run goes: the losses above, the learning rate below.

    The table has a row per evaluation. If a thinned-out curve lacks its step, the
    training loss is that of the nearest point; the learning rate is the step's own.

    Args:
        steps: (N,) where the loss was recorded.
        losses: (N,) training loss, in nats per token.
        learning_rates: (N,)
        valid_steps: (M,) where the validation loss was measured.
        valid_losses: (M,)
        valid_rates: (M,) the learning rate of those steps.
        last_step: right end of the axes, for a run that is still going on.
        title: a line above.

    Returns:
        A matplotlib figure with alternative text and, per evaluation, its numbers.

    Raises:
        ValueError: lists of different lengths.
    """
    import matplotlib
    from matplotlib.figure import Figure

    at, loss, rate = _array(steps), _array(losses), _array(learning_rates)
    valid_at, valid = _array(valid_steps), _array(valid_losses)
    valid_rate = _array(valid_rates)
    is_curve = at.shape == loss.shape == rate.shape
    if not is_curve or not valid_at.shape == valid.shape == valid_rate.shape:
        raise ValueError(
            f"{at.size} steps with {loss.size} losses and {rate.size} learning rates, "
            f"{valid_at.size} evaluations with {valid.size} losses and "
            f"{valid_rate.size} learning rates: one each, please"
        )
    with matplotlib.rc_context(style()):
        figure = Figure(figsize=(5.6, 3.9), layout="constrained")
        above, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        above.plot(at, loss, color=SERIES[0], lw=1.2, label="training")
        above.plot(
            valid_at, valid, color=SERIES[1], lw=1.6, marker="s", ms=4, ls="--",
            label="validation",
        )  # fmt: skip
        above.set_ylabel("loss, nats a token")
        above.legend(loc="upper right")
        below.plot(at, rate, color=SERIES[2], lw=1.6)
        below.set_ylabel("learning\nrate")
        below.set_ylim(bottom=0)
        below.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
        below.set_xlabel("step")
        below.set_xlim(0, last_step or (at.max() if at.size else 1))
        if title:
            figure.suptitle(title, fontsize=11)
    parts = [f"Training curves{': ' + title if title else ''}."]
    if at.size:
        parts.append(
            f"The training loss goes from {loss[0]:.2f} to {loss[-1]:.2f} in "
            f"{at[-1]:.0f} steps."
        )
    if valid.size:
        parts.append(f"The validation loss ends at {valid[-1]:.2f}.")
    if rate.size:
        parts.append(f"The learning rate is highest, {rate.max():.2g}, at step "
                     f"{at[int(rate.argmax())]:.0f}.")  # fmt: skip
    near = [int(np.abs(at - step).argmin()) for step in valid_at] if at.size else []
    table = Table(
        title or "Training curves",
        "step",
        ("training loss", "validation loss", "learning rate × 1000"),
        tuple(
            (f"{step:.0f}", (float(loss[i]), float(value), float(1000 * then)))
            for step, value, then, i in zip(
                valid_at, valid, valid_rate, near, strict=False
            )
        ),
    )
    return describe(figure, " ".join(parts), table if table.rows else None)


def lines(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    across: str,
    up: str,
    alt: str,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
    height: int = 380,
) -> Chart:
    """Curves that each have their own positions, as an interactive chart.

    Args:
        series: name -> (x, y), both (N,); N may differ from name to name.
        across: what the horizontal axis measures, with its unit.
        up: what the vertical axis measures, with its unit.
        alt: what a reader should see in it.
        title: a line above.
        log_x: logarithmic horizontal axis.
        log_y: logarithmic vertical axis.
        height: in CSS pixels.

    Returns:
        A Plotly figure. Lines differ by colour and dash.

    Raises:
        ValueError: a series with x and y of different lengths.
    """
    import plotly.graph_objects as go

    chart = go.Figure()
    for i, (name, (x, y)) in enumerate(series.items()):
        at, values = _array(x), _array(y)
        if at.shape != values.shape:
            raise ValueError(
                f"series {name!r} has x of shape {at.shape} and y of {values.shape}"
            )
        chart.add_scatter(
            x=at.tolist(),
            y=[None if math.isnan(v) else v for v in values.tolist()],
            name=name,
            mode="lines+markers" if len(at) <= 30 else "lines",
            line={"color": SERIES[i % len(SERIES)], "dash": DASHES[i % len(DASHES)]},
            marker={"symbol": MARKERS[i % len(MARKERS)], "size": 7},
        )
    chart.update_layout(
        title=title or None,
        height=height,
        margin={"l": 60, "r": 10, "t": 50 if title else 20, "b": 50},
        xaxis={"title": across, "type": "log" if log_x else "linear"},
        yaxis={
            "title": up,
            "type": "log" if log_y else "linear",
            "exponentformat": "power",
            "automargin": True,
        },
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        showlegend=len(series) > 1,
        hovermode="closest",
    )
    return describe(chart, alt)
