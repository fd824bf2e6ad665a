"""One page to show for each session: aims, predictions, figures, problems, keepsakes.

A page is one HTML file without scripts from elsewhere; arrow keys turn it, and without
JavaScript all slides stand below each other. Figures are those that a chapter drew when
it was executed. Charts need Plotly, which lies beside the pages (the site's own copy).
Formulas are MathML.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tformer import figures
from tformer_book.course.problems import COVERED, without_hints
from tformer_book.course.sessions import Session, on_the_site
from tformer_book.press.chapters import EXECUTED, ROOT, read, source
from tformer_book.press.typeset import Typesetter

PLOTLY = ROOT / "book/_static/vendor/plotly/plotly-cartesian.min.js"
CHART = "application/vnd.plotly.v1+json"
DRAWING = re.compile(r"<svg\b.*?</svg>", re.S)
PREDICTION = re.compile(r"^> \*\*Predict, then run\.\*\* ((?:.*\n?(?=>|$)>? ?)+)", re.M)
MATHML = re.compile(r"<math\b.*?</math>", re.S)
TEMPLATE = Path(__file__).with_name("slides.html")
SCRIPT = Path(__file__).with_name("slides.js")


def deck(session: Session) -> tuple[str, list[str]]:
    """Return a session's page, and the chapters whose figures it lacks."""
    aims = "".join(f"\n- {aim}" for aim in session.aims)
    slides = [_slide(f"Session {session.number}: {session.title}", markdown(aims))]
    missing, in_class = [], session.in_class()
    for chapter in session.chapters:
        executed = EXECUTED / chapter.path.name
        if not executed.exists():
            missing.append(chapter.path.stem)
        cells = read(executed if executed.exists() else chapter.path)["cells"]
        link = on_the_site(f"[In the book]({chapter.path.name})")
        slides.append(_slide(chapter.title, markdown(f"{opening(cells)}\n\n{link}")))
        slides += [_slide(head, body) for head, body in shown(cells, chapter.path)]
        for each, problem in in_class:
            if each == chapter:
                asks = [part for part in problem.asks if isinstance(part, str)]
                asked = on_the_site("\n\n".join(asks), chapter.path)
                head = f"Problem {chapter.label}.{problem.number}"
                slides.append(_slide(head, markdown(asked)))
        taken = on_the_site(take_away(cells), chapter.path)
        slides.append(_slide(f"What to remember: {chapter.title}", markdown(taken)))
    charts = any('class="chart"' in slide for slide in slides)
    page = figures.by_day(TEMPLATE.read_text("utf-8"))
    for name, text in {
        "TITLE": html.escape(f"Session {session.number}: {session.title}"),
        "PLOTLY": f'<script src="{PLOTLY.name}"></script>\n' if charts else "",
        "SCRIPT": SCRIPT.read_text("utf-8"),
        "SLIDES": "\n".join(slides),
    }.items():
        page = page.replace(f"@{name}@", text)
    return page, missing


def _slide(head: str, body: str) -> str:
    """Return one slide; its heading may hold Markdown."""
    title = markdown(head).removeprefix("<p>").removesuffix("</p>\n")
    return f"<section>\n<h2>{title}</h2>\n{body}</section>"


def opening(cells: list[dict[str, Any]]) -> str:
    """Return the question with which a chapter begins."""
    lines = source(cells[0]).partition("\n")[2]
    text = re.split(r"^(?:\*\*|\|)", lines, maxsplit=1, flags=re.M)[0]
    return text.strip()


def take_away(cells: list[dict[str, Any]]) -> str:
    """Return what a chapter wants to be remembered by."""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for part in re.split(r"^(?=## )", source(cell), flags=re.M):
                if part.startswith("## What to remember\n"):
                    return part.partition("\n")[2].strip()
    return ""


def shown(cells: list[dict[str, Any]], path: Path) -> Iterator[tuple[str, str]]:
    """Yield predictions and figures before the problems, each with its heading."""
    head = ""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            for part in re.split(r"^(?=#{2,3} )", source(cell), flags=re.M):
                if part.startswith("##"):
                    head = part.splitlines()[0].lstrip("# ")
                if head == "What to remember":
                    return
                for asked in PREDICTION.findall(COVERED.sub("", part)):
                    text, _ = without_hints(re.sub(r"^> ?", "", asked, flags=re.M))
                    yield head, markdown("**Predict.** " + on_the_site(text, path))
        else:
            for output in cell.get("outputs", []):
                if drawn := figure(output):
                    yield head, drawn


def figure(output: dict[str, Any]) -> str:
    """Return what a cell drew, as HTML; nothing if it drew nothing."""
    data = output.get("data", {})
    if chart := data.get(CHART):
        alt = (chart["layout"].get("meta") or {}).get("alt", "")
        small = {"data": chart["data"], "layout": chart["layout"]}
        text = json.dumps(small, separators=(",", ":")).replace("<", "\\u003c")
        return (
            f'<div class="chart" role="img" aria-label="{html.escape(alt)}">'
            f'<script type="application/json">{text}</script></div>\n'
        )
    drawn = DRAWING.findall("".join(data.get("text/html", "")))
    drawn = [each for each in drawn if 'role="img"' in each.partition(">")[0]]
    return f'<div class="drawn">{"".join(drawn)}</div>\n' if drawn else ""


@cache
def _markdown_reader() -> MarkdownIt:
    """Return a reader of the chapters' Markdown, formulas included."""
    typesetter = Typesetter()

    def render(tex: str, options: dict[str, Any]) -> str:
        [made], _ = typesetter.typeset([(tex, options["display_mode"])])
        [formula] = MATHML.findall(made)
        return formula

    reader = MarkdownIt("commonmark").enable("table")
    return reader.use(dollarmath_plugin, renderer=render)


def markdown(text: str) -> str:
    """Return Markdown as HTML."""
    return _markdown_reader().render(text)
