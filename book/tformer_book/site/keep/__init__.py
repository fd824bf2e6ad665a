"""What the reader has done is kept, in the reader's own browser and nowhere else.

``keep.js`` is the one place that reads and writes what is kept. ``problems.js`` ticks
problems, ``reading.js`` notices which sections have been read and where the reader is,
``sidebar.js`` marks the chapters, and ``progress.js`` shows it all on the page *Your
progress*. Whatever they fill stands in the pages from the build, so nothing moves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from ..assets import publish
from ..search import title_of

HERE = Path(__file__).parent
SCRIPTS = ("problems.js", "reading.js")  # of every page
FILES = (*SCRIPTS, "keep.js", "sidebar.js", "progress.js", "keep.css")
PAGE = "book/progress"
NUMBER = re.compile(r"(\d+)\.")
TICK = (
    '<label class="tf-solved pst-js-only"><input type="checkbox" '
    'data-problem="{number}" autocomplete="off"> '
    '<span class="visually-hidden">Problem {number} </span>solved</label>'
)
FURNITURE = (
    '<div class="tf-bar pst-js-only" aria-hidden="true"></div>\n'
    '<p class="tf-go-on pst-js-only" hidden><a href="#">Continue where you left off: '
    "<span></span></a></p>\n"
)
ROWS = re.compile(r'(<tbody id="tf-chapters">).*?(</tbody>)', re.S)
ROW = (
    '<tr data-page="{page}" data-predictions="{predictions}" '
    'data-problems="{problems}"><th scope="row"><a href="{name}.html">{title}</a></th>'
    "<td>–</td><td>0 of {predictions}</td><td>0 of {problems}</td></tr>"
)


@dataclass(frozen=True)
class Chapter:
    """A page on which there is something to do.

    Attributes:
        page: its name, such as ``book/by-pencil``.
        title: its heading.
        predictions: how many the reader can make.
        problems: how many it poses.
    """

    page: str
    title: str
    predictions: int
    problems: int


def problems_of(doctree: nodes.document) -> Iterator[tuple[str, nodes.paragraph]]:
    """The problems below the heading *Problems*: number and first paragraph."""
    for section in doctree.findall(nodes.section):
        if title_of(section) != "Problems":
            continue
        for paragraph in section.findall(nodes.paragraph):
            first = next((each for each in paragraph.children if each.astext()), None)
            if isinstance(first, nodes.strong) and (
                found := NUMBER.fullmatch(first.astext())
            ):
                yield found[1], paragraph


def add_ticks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a box to tick at the beginning of each problem."""
    if app.builder.format != "html":
        return
    for number, paragraph in problems_of(doctree):
        html = TICK.format(number=number)
        paragraph.insert(0, nodes.raw(text=html, format="html"))


def add_furniture(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give a page its reading bar and its place for the way back to where one was."""
    if doctree is not None:
        context["body"] = FURNITURE + context["body"]
    if pagename == PAGE:
        app.add_js_file("keep/progress.js", type="module")


def chapters(app: Sphinx) -> list[Chapter]:
    """The pages on which there is something to do, in the book's order."""
    found = []
    for page in app.env.toctree_includes.get(str(app.config.root_doc), []):
        html = (Path(app.outdir) / f"{page}.html").read_text(encoding="utf-8")
        predictions = html.count('<form class="tf-guess')
        problems = html.count('<label class="tf-solved')
        if predictions or problems:
            title = app.env.titles[page].astext()
            found.append(Chapter(page, title, predictions, problems))
    return found


def row(chapter: Chapter) -> str:
    """A chapter in the table of the page *Your progress*."""
    return ROW.format(
        page=chapter.page,
        name=chapter.page.removeprefix("book/"),
        title=escape(chapter.title),
        predictions=chapter.predictions,
        problems=chapter.problems,
    )


def write(app: Sphinx, problem: Exception | None) -> None:
    """Count what there is to do, once all pages are written; publish the scripts."""
    if problem or app.builder.format != "html":
        return
    counted = chapters(app)
    place = publish(app, HERE, FILES)
    totals = {each.page: each.problems for each in counted}
    (place / "problems.json").write_text(json.dumps(totals), encoding="utf-8")
    path = Path(app.outdir) / f"{PAGE}.html"
    rows = "\n".join(map(row, counted))
    html = ROWS.sub(lambda found: found[1] + rows + found[2], path.read_text("utf-8"))
    path.write_text(html, encoding="utf-8")


def add_files(app: Sphinx) -> None:
    """Load scripts and style with every page."""
    for name in SCRIPTS:
        app.add_js_file(f"keep/{name}", type="module")
    app.add_css_file("keep/keep.css")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("builder-inited", add_files)
    app.connect("doctree-resolved", add_ticks)
    app.connect("html-page-context", add_furniture)
    app.connect("build-finished", write)
