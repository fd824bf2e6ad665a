"""Curves and bars, interactive by Plotly or printed by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tformer.figures._drawing import (
    DASHES,
    MARKERS,
    PALETTE,
    SERIES,
    Table,
    as_array,
    describe,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from plotly.graph_objects import Figure as Chart


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
    at = as_array(x)
    for name, values in series.items():
        if (shape := as_array(values).shape) != at.shape:
            raise ValueError(f"series {name!r} has shape {shape}, x has {at.shape}")
    chart = lines(
        {name: (x, values) for name, values in series.items()},
        across=across,
        up=up,
        alt=alt,
        title=title,
        log_x=log_x,
        log_y=log_y,
        height=height,
    )
    chart.update_layout(hovermode="x unified")
    chart.update_traces(marker_size=8)
    if log_x:
        chart.update_xaxes(tickvals=at.tolist(), ticktext=[f"{v:g}" for v in at])
    return chart


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
        y = as_array(values).tolist()
        if len(y) != len(labels):
            raise ValueError(
                f"series {name!r} has {len(y)} values for {len(labels)} labels"
            )
        chart.add_bar(
            x=list(labels), y=y, name=name, marker_color=SERIES[i % len(SERIES)]
        )
    chart.update_layout(
        **_frame(title, height, 40, len(series)),
        barmode="group",
        xaxis={"title": across or None, "type": "category"},
        yaxis={"title": up, "automargin": True},
    )
    return describe(chart, alt)


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

    at, loss, rate = as_array(steps), as_array(losses), as_array(learning_rates)
    valid_at, valid = as_array(valid_steps), as_array(valid_losses)
    valid_rate = as_array(valid_rates)
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
        above.plot(at, loss, color=PALETTE["loss"], lw=1.2, label="training")
        above.plot(
            valid_at, valid, color=PALETTE["loss"], lw=1.6, marker="s", ms=4, ls="--",
            label="validation",
        )  # fmt: skip
        above.set_ylabel("loss, nats a token")
        above.legend(loc="upper right")
        below.plot(at, rate, color=SERIES[4], lw=1.6)
        below.set_ylabel("learning\nrate")
        below.set_ylim(bottom=0)
        below.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
        below.set_xlabel("step")
        below.set_xlim(0, last_step or (at.max() if at.size else 1))
        if title:
            figure.suptitle(title, fontsize=11)
    whose = f" for {title}" if title else ""
    parts = [f"Training curves{whose}: losses at the top, learning rate at the bottom."]
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
        at, values = as_array(x), as_array(y)
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
        **_frame(title, height, 50, len(series)),
        xaxis={"title": across, "type": "log" if log_x else "linear"},
        yaxis={
            "title": up,
            "type": "log" if log_y else "linear",
            "exponentformat": "power",
            "automargin": True,
        },
        hovermode="closest",
    )
    return describe(chart, alt)


def _frame(title: str, height: int, bottom: int, n_series: int) -> dict[str, Any]:
    """What goes around every interactive chart: title, margins, legend."""
    return {
        "title": title or None,
        "height": height,
        "margin": {"l": 60, "r": 10, "t": 50 if title else 20, "b": bottom},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "showlegend": n_series > 1,
    }
