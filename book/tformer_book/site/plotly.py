"""Plotly figures in the page, without a kernel and without another host.

The figure's JSON is written into the page; ``_static/tf-plotly.js`` draws it when it
comes near the viewport, with the bundle in ``_static/vendor/plotly``. Below each figure
the same numbers stand in a table that can be opened, for those who cannot see it.
"""

from __future__ import annotations

import base64
import json
import struct
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tformer import figures

from . import mime

KIND = "application/vnd.plotly.v1+json"
MOST_ROWS = 40
MOST_COLUMNS = 24


class PlotlyRenderer:
    """Turns Plotly's JSON into a placeholder that a script draws into."""

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list[nodes.Node] | None:
        """Return the placeholder, or None for outputs that are no figures."""
        if inline or data.mime_type != KIND:
            return None
        content = data.content
        figure = {k: content[k] for k in ("data", "layout", "frames") if k in content}
        renderer.add_js_file("tf_plotly", "tf-plotly.js", {"defer": "defer"})
        return [nodes.raw(text=placeholder(figure), format="html")]


def placeholder(figure: dict[str, Any]) -> str:
    """Return the HTML of one figure: a box of its height, its JSON and its table."""
    layout = figure.get("layout", {})
    height = int(layout.get("height") or 450)
    body = json.dumps(figure, separators=(",", ":"), ensure_ascii=False)
    body = figures.themed(body)
    body = body.replace("</", "<\\/").replace("<!--", "<\\u0021--")
    return (
        f'<figure class="tf-plotly" aria-label="{escape(alternative(figure))}">'
        f'<div class="tf-plotly-box" style="height:{height}px">'
        f'<script type="application/json">{body}</script>'
        "<noscript>This chart needs JavaScript; its numbers stand below.</noscript>"
        f"</div>{tables(figure)}</figure>"
    )


def alternative(figure: dict[str, Any]) -> str:
    """Say in words what the figure shows: ``layout.meta["alt"]``, else its title."""
    layout = figure.get("layout", {})
    meta = layout.get("meta")
    if isinstance(meta, dict) and meta.get("alt"):
        return str(meta["alt"])
    return text(layout.get("title")) or "Chart"


def text(title: Any) -> str:
    """Return the text of a Plotly title, which is a string or has one."""
    if isinstance(title, dict):
        title = title.get("text")
    return str(title or "")


def tables(figure: dict[str, Any]) -> str:
    """Return the figure's numbers as tables behind one disclosure."""
    layout = figure.get("layout", {})
    parts = [table(trace, layout, i) for i, trace in enumerate(figure.get("data", []))]
    parts = [part for part in parts if part]
    if not parts:
        return ""
    return (
        '<details class="tf-table"><summary>The numbers as a table</summary>'
        f'<div class="tf-scroll" tabindex="0" role="region" '
        f'aria-label="{escape("Numbers of: " + alternative(figure))}">'
        f"{''.join(parts)}</div></details>"
    )


def table(trace: dict[str, Any], layout: dict[str, Any], index: int) -> str:
    """Return one trace as a table; long ones are thinned, and say so."""
    if trace.get("visible") in (False, "legendonly"):
        return ""
    across = text(layout.get("xaxis", {}).get("title")) or "x"
    up = text(layout.get("yaxis", {}).get("title")) or "y"
    z = matrix(trace.get("z"))
    if z:
        columns = listed(trace.get("x")) or list(range(len(z[0])))
        labels = listed(trace.get("y")) or list(range(len(z)))
        kept_rows, kept_columns = thin(len(z), MOST_ROWS), thin(len(z[0]), MOST_COLUMNS)
        head = [f"{up} \\ {across}", *(columns[j] for j in kept_columns)]
        rows = [[labels[i], *(z[i][j] for j in kept_columns)] for i in kept_rows]
        all_there = len(kept_rows) == len(z) and len(kept_columns) == len(z[0])
    else:
        x, y = listed(trace.get("x")), listed(trace.get("y"))
        if not y and not x:
            return ""
        x = x or list(range(len(y)))
        y = y or list(range(len(x)))
        size = min(len(x), len(y))
        kept_rows = thin(size, MOST_ROWS)
        head, rows = [across, up], [[x[i], y[i]] for i in kept_rows]
        all_there = len(kept_rows) == size
    name = text(trace.get("name")) or f"Series {index + 1}"
    caption = name if all_there else f"{name} (some of the rows)"
    head_html = "".join(f'<th scope="col">{shown(cell)}</th>' for cell in head)
    body_html = "".join(
        f'<tr><th scope="row">{shown(row[0])}</th>'
        + "".join(f"<td>{shown(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head_html}</tr>"
        f"</thead><tbody>{body_html}</tbody></table>"
    )


def thin(size: int, most: int) -> list[int]:
    """Return at most ``most`` of ``range(size)``, evenly spread, both ends kept."""
    if size <= most:
        return list(range(size))
    return sorted({round(i * (size - 1) / (most - 1)) for i in range(most)})


def shown(value: Any) -> str:
    """Return a value as short text for a table."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape("" if value is None else str(value))


FORMATS = {"f8": "d", "f4": "f", "i1": "b", "u1": "B", "i2": "h", "u2": "H"}
FORMATS |= {"i4": "i", "u4": "I", "i8": "q", "u8": "Q"}


def listed(values: Any) -> list[Any]:
    """Return a column as a list; Plotly 6 packs arrays as base64."""
    if isinstance(values, dict) and "bdata" in values:
        raw = base64.b64decode(values["bdata"])
        kind = FORMATS[values["dtype"].lstrip("<=|")]
        return list(struct.unpack(f"<{len(raw) // struct.calcsize(kind)}{kind}", raw))
    return list(values) if isinstance(values, (list, tuple)) else []


def matrix(values: Any) -> list[list[Any]]:
    """Return a heat map's values as rows."""
    if isinstance(values, dict) and "bdata" in values:
        flat = listed(values)
        n_rows, columns = (int(n) for n in str(values["shape"]).split(","))
        return [flat[i * columns : (i + 1) * columns] for i in range(n_rows)]
    rows = listed(values)
    return [listed(row) for row in rows] if rows and listed(rows[0]) else []


def setup(app: Sphinx) -> None:
    """Register the renderer and prefer it to Plotly's own HTML."""
    mime.add_renderer(PlotlyRenderer)
    app.connect("config-inited", prefer)


def prefer(app: Sphinx, config: Any) -> None:
    """Choose the JSON of a figure before any other form of it."""
    config.nb_mime_priority_overrides = [
        *config.nb_mime_priority_overrides,
        ("*", KIND, 1),
    ]
