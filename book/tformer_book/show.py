"""Put sources, figures and small tables into a notebook, and so onto the book's pages.

Everything works in JupyterLab, in Colab and on the static site: what is shown is plain
Markdown, HTML or Plotly's own format, never a script.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tformer
from tformer import figures
from tformer.figures import page

# Where both packages lie, to name files as the repository does.
_HOMES = (Path(tformer.__file__).parents[1], Path(__file__).parents[1])


class Shown:
    """Something to display, in several forms; the last line of a cell shows it."""

    def __init__(self, **forms: str) -> None:
        self.forms = {name.replace("_", "/", 1): text for name, text in forms.items()}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self.forms

    def __repr__(self) -> str:
        return self.forms["text/plain"]


def source(obj: Any, *, docstring: bool = True) -> Shown:
    """Show the source of a function, class or module as it is in the running package.

    The text is read from the file that Python imported, so it is never out of date.

    Args:
        obj: a function, method, class or module written in Python.
        docstring: False omits the docstrings, for code that was shown before.

    Returns:
        What a notebook and the site show as highlighted code.

    Raises:
        TypeError: the object has no Python source, such as a number or a built-in.
    """
    try:
        code = textwrap.dedent(inspect.getsource(obj))
        path = Path(inspect.getsourcefile(inspect.unwrap(obj)) or "")
    except (TypeError, OSError) as problem:
        raise TypeError(
            f"no Python source for {obj!r}: give a function, class or module, not its "
            "result, and nothing that is compiled or typed into the prompt"
        ) from problem
    if not docstring:
        code = _without_docstrings(code)
    name = getattr(obj, "__qualname__", getattr(obj, "__name__", type(obj).__name__))
    where = path.name
    for home in _HOMES:
        if path.is_relative_to(home):
            where = path.relative_to(home).as_posix()
    code = code.rstrip()
    fence = _ticks(code, least=3)
    parts = [name, where] if name != where else [where]
    caption = " in ".join(map(_inline, parts))
    return Shown(
        text_markdown=f"{caption}\n\n{fence}python\n{code}\n{fence}\n", text_plain=code
    )


def _ticks(text: str, *, least: int) -> str:
    """A fence of backticks that is longer than any in the text."""
    return "`" * max(least, 1 + max(map(len, re.findall(r"`+", text)), default=0))


def _inline(text: Any) -> str:
    """A text as code within a line of Markdown, whatever it holds."""
    line = " ".join(str(text).split())
    fence = _ticks(line, least=1)
    blank = " " if "`" in line else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def _without_docstrings(code: str) -> str:
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            first = node.body[0]
            if len(node.body) == 1:
                continue  # nothing else would be left of it
            for i in range(first.lineno - 1, first.end_lineno or first.lineno):
                lines[i] = "\0"
    kept = [line for line in lines if line != "\0"]
    return "\n".join(kept)


def figure(*drawn: Any, alt: str | None = None) -> Any:
    """Show one or more figures side by side, each with its alternative text and table.

    A matplotlib figure becomes inline SVG: text stays text, and ink takes the colour of
    the page, light or dark. A Plotly figure stays one and keeps its text with it.

    Args:
        drawn: figures made by `tformer.figures`, or others with `alt`.
        alt: replaces the figure's own alternative text; required if it has none.

    Returns:
        What a notebook and the site show.

    Raises:
        ValueError: a figure has no alternative text.
        TypeError: something is not a figure, or one of several is a Plotly figure.
    """
    if not drawn:
        raise TypeError("give at least one figure")
    for each in drawn:
        if not (hasattr(each, "savefig") or hasattr(each, "to_plotly_json")):
            raise TypeError(
                f"expected a matplotlib or Plotly figure, got {type(each).__name__}"
            )
        if alt is not None:
            figures.describe(each, alt, getattr(each, "table", None))
        if not figures.alternative(each):
            raise ValueError(
                "this figure has no alternative text: say what it shows, with alt=…"
            )
    if len(drawn) == 1 and hasattr(drawn[0], "to_plotly_json"):
        return drawn[0]
    if any(hasattr(each, "to_plotly_json") for each in drawn):
        raise TypeError("only matplotlib figures can be shown side by side")
    parts = "".join(page.figure_html(each) for each in drawn)
    row = "display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start"
    return Shown(
        text_html=f'<div class="tf-figures" style="{row}">{parts}</div>',
        text_plain="\n".join(f"Figure: {figures.alternative(each)}" for each in drawn),
    )


def _plain(value: Any) -> float:
    return float(value.detach() if hasattr(value, "detach") else value)


def numbers(
    array: Any,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    corner: str = "",
    caption: str = "",
    digits: int = 3,
) -> Shown:
    r"""Show a small matrix with a name for every row and column.

    Args:
        array: (R, C) numbers.
        rows: R names, top to bottom.
        columns: C names, left to right.
        corner: what the names mean, such as ``query \ key``.
        caption: a line above.
        digits: after the decimal point.

    Raises:
        ValueError: the array does not fit the names.
    """
    table = [[_plain(x) for x in row] for row in array]
    if len(table) != len(rows) or any(len(row) != len(columns) for row in table):
        shape = f"({len(table)}, {len(table[0]) if table else 0})"
        raise ValueError(
            f"array {shape} does not fit {len(rows)} row and {len(columns)} column "
            "names"
        )
    named = tuple((name, tuple(row)) for name, row in zip(rows, table, strict=True))
    described = figures.Table(caption, corner, tuple(columns), named)
    lines = ["\t".join([corner, *columns])]
    lines += ["\t".join([n, *(page.number(x, digits) for x in r)]) for n, r in named]
    return Shown(
        text_html=f'<div class="tf-scroll" style="overflow-x:auto">'
        f"{page.table_html(described, digits)}</div>",
        text_plain="\n".join(lines),
    )


def texts(
    rows: Sequence[Sequence[str]],
    *,
    columns: Sequence[str],
    languages: Sequence[str] = (),
) -> Shown:
    """Show sentences side by side; cells wrap, so that it is readable on a phone.

    Args:
        rows: one text per column.
        columns: their headings.
        languages: codes such as "de", one per column, for screen readers and
            hyphenation; "" for the page's own.

    Raises:
        ValueError: a row, or the languages, do not fit the columns.
    """
    table = [[str(text) for text in row] for row in rows]
    if any(len(row) != len(columns) for row in [*table, languages or columns]):
        raise ValueError(f"each row needs one text for each of {list(columns)}")
    lines = ["\t".join(row) for row in [list(columns), *table]]
    return Shown(
        text_html=page.text_table(table, columns, languages),
        text_plain="\n".join(lines),
    )
