"""Figures and tables as HTML that adapts to the page around it.

Text stays text, ink takes the colour of the page, and every figure comes with its
alternative text and the table of its numbers. Used by `tformer_book.show` and
`tformer.train.progress`.
"""

import hashlib
import io
import re
from collections.abc import Sequence
from html import escape
from typing import Any

from tformer.figures._drawing import (
    INK,
    ON_HIGH,
    ON_LOW,
    Table,
    alternative,
    style,
    themed,
)

# How the columns of a table of texts stand: numbers, words, and what has to wrap.
NUMBER = re.compile(r"[+−-]?\d[\d.,]*( ?%)?|[—–]?")
SHORT = 18  # letters that stay in one line
NUMBERS = "text-align:right;vertical-align:top;white-space:nowrap"
WORDS = "text-align:left;vertical-align:top;white-space:nowrap"
TEXTS = (
    "text-align:left;vertical-align:top;overflow-wrap:anywhere;hyphens:auto;"
    "min-width:7em"
)


def figure_html(drawn: Any) -> str:
    """A matplotlib figure as inline SVG, with what `figures.describe` attached.

    Args:
        drawn: a figure that carries an alternative text.
    """
    width, _ = drawn.get_size_inches() * 96  # CSS pixels
    label = escape(alternative(drawn), quote=True)
    # A wide figure scrolls in its own box rather than shrink until nobody can read it.
    floor = round(min(width, max(300, 0.72 * width)))
    scroll = f' tabindex="0" role="region" aria-label="{label}"' if floor > 340 else ""
    svg = _svg(drawn).replace(
        "<svg ",
        f'<svg role="img" aria-label="{label}" style="display:block;width:100%;'
        f'min-width:{floor}px;max-width:{width:.0f}px;height:auto" ',
        1,
    )
    table = getattr(drawn, "table", None)
    return (
        f'<figure class="tf-figure" style="margin:0;flex:0 1 {width:.0f}px;'
        f'min-width:0;max-width:100%"><div class="tf-scroll" '
        f'style="overflow-x:auto"{scroll}>{svg}</div>'
        f"{_details(table) if table else ''}</figure>"
    )


def _svg(drawn: Any) -> str:
    """The figure as SVG, with the page's text colour as ink and ids of its own."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context(style()):
        drawn.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = text.replace(INK, "currentColor")
    text = themed(text)
    for name, ink in (("on-low", ON_LOW), ("on-high", ON_HIGH)):
        text = re.sub(
            f"fill: {ink}(?![0-9a-f])", f"fill: var(--tf-{name}, {ink})", text
        )
    text = re.sub(r"(font: [^;\"]*?\d+(?:\.\d+)?px) [^;\"]*", r"\1 sans-serif", text)
    head, body = text.split(">", 1)
    box = re.search(r'viewBox="[^"]+"', head)
    text = f'<svg {box.group(0) if box else ""} xmlns="http://www.w3.org/2000/svg" '
    text += f'xmlns:xlink="http://www.w3.org/1999/xlink">{body}'
    own = "f" + hashlib.sha256(text.encode()).hexdigest()[:8]
    used = set(re.findall(r"#([\w.-]+)[\")]", text))
    text = re.sub(
        r'\sid="([^"]+)"',
        lambda m: f' id="{own}-{m.group(1)}"' if m.group(1) in used else "",
        text,
    )
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{own}-", text)
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _details(table: Table) -> str:
    return (
        '<details class="tf-table"><summary>The numbers as a table</summary>'
        f'<div class="tf-scroll" style="overflow-x:auto" tabindex="0" role="region" '
        f'aria-label="{escape(table.caption, quote=True)}, as a table">'
        f"{table_html(table, 3)}</div></details>"
    )


def table_html(table: Table, digits: int) -> str:
    """A table with a header for every row and column.

    Args:
        table: names and numbers.
        digits: after the decimal point.
    """
    head = "".join(f'<th scope="col">{escape(c)}</th>' for c in table.columns)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{number(value, digits)}</td>" for value in values)
        + "</tr>"
        for name, values in table.rows
    )
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    return (
        f'<table class="tf-numbers" cellpadding="5" style="border-collapse:collapse;'
        f'text-align:right;font-variant-numeric:tabular-nums">{caption}'
        f'<thead><tr><th scope="col">'
        f"{escape(table.corner)}</th>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def number(value: float, digits: int) -> str:
    """A number as a table shows it, with a proper minus sign."""
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):.{digits}f}"
    return ("−" if value < 0 and float(text) else "") + text


def text_table(
    rows: Sequence[Sequence[str]], columns: Sequence[str], languages: Sequence[str] = ()
) -> str:
    """A table of texts that wrap, for sentences side by side; numbers stand right.

    Args:
        rows: one text per column.
        columns: their headings.
        languages: codes such as "de", one per column; "" for the page's own.
    """
    languages = list(languages) or [""] * len(columns)
    down = list(zip(*rows, strict=True)) or [()] * len(columns)
    styles = [_column_style(texts) for texts in down]
    head = "".join(
        f'<th scope="col" style="{style[: style.index(";")]}">{escape(name)}</th>'
        for name, style in zip(columns, styles, strict=True)
    )
    named = [f' lang="{escape(code)}"' if code else "" for code in languages]
    tags = [
        f'<td{name} style="{style}">' for name, style in zip(named, styles, strict=True)
    ]
    body = "".join(
        "<tr>"
        + "".join(
            f"{tag}{escape(_with_minus(text))}</td>"
            for tag, text in zip(tags, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="tf-scroll" style="overflow-x:auto" tabindex="0" role="region" '
        f'aria-label="{escape(", ".join(columns), quote=True)}">'
        f'<table class="tf-texts" style="text-align:left"><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody>"
        "</table></div>"
    )


def _column_style(texts: Sequence[str]) -> str:
    """How a column of a table of texts stands."""
    if all(map(NUMBER.fullmatch, texts)):
        return NUMBERS
    return WORDS if all(len(text) <= SHORT for text in texts) else TEXTS


def _with_minus(text: str) -> str:
    return text.replace("-", "−") if NUMBER.fullmatch(text) else text
