"""Problems on the site: what to do instead of running them, and hints in three steps.

A page can't run code, so below a function to write it shows neither that it isn't
right yet nor that the solution is, but a link to Colab and the grader's hints. Each
hint lies in the fold of the one before, so they open one after the other, with or
without scripts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from tformer_book import check
from tformer_book.check.kit.hints import STEPS, hints_of
from tformer_book.course.problems import stub_of
from tformer_book.press.labels import is_answer, is_stub

from ..assets import publish
from ..code import code_of, is_cell
from ..pages import colab_link
from ..search import title_of

HERE = Path(__file__).parent
FILES = ("problems.css",)
LINK = '<a class="tf-solve" href="{}">Solve it in Colab</a>'
HINT = '<details class="tf-hint"><summary>{}</summary>{}{}</details>'
CODE = re.compile(r"`([^`]+)`")


def cells_of_problems(doctree: nodes.document) -> Iterator[nodes.container]:
    """The cells of code below the heading *Problems*."""
    for section in doctree.findall(nodes.section):
        if title_of(section) == "Problems":
            yield from filter(is_cell, section.findall(nodes.container))


def is_verdict(cell: nodes.container) -> bool:
    """Whether what a cell shows only says that something is, or is not, right yet."""
    shown = cell.children[1:]
    code = code_of(cell)
    said = "".join(each.astext() for each in shown).lstrip()
    graded = is_stub(code) or (is_answer(code) and "check." in code)
    return bool(shown) and (said.startswith("✓") or (graded and said[:1] in "✗✓"))


def rework(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take verdicts away; add link and hints to what is to be written."""
    if app.builder.format != "html":
        return
    for cell in list(cells_of_problems(doctree)):
        code = code_of(cell)
        if is_verdict(cell):
            for each in cell.children[1:]:
                cell.remove(each)
        if is_stub(code):
            cell += nodes.raw(text=work(app, docname, code), format="html")


def work(app: Sphinx, docname: str, code: str) -> str:
    """Return what stands below a function to write."""
    link = ""
    if app.config.html_theme_options.get("repository_url"):
        link = LINK.format(escape(colab_link(app, docname)))
    stub = stub_of(code)
    hints = hints_of(getattr(check, stub[0])) if stub else ()
    return f'<div class="tf-work">{link}{staged(hints)}</div>' if link or hints else ""


def staged(hints: tuple[str, ...]) -> str:
    """Return the hints as folds, each in the one before."""
    html = ""
    if not hints:
        return html
    for at, (step, hint) in reversed(list(enumerate(zip(STEPS, hints, strict=True)))):
        is_code = step == STEPS[-1]
        text = f"<pre>{escape(hint)}</pre>" if is_code else f"<p>{in_html(hint)}</p>"
        html = HINT.format(f"Hint {at + 1} of {len(hints)}: {step}", text, html)
    return html


def in_html(hint: str) -> str:
    """Return a hint with its code marked."""
    return CODE.sub(r"<code>\1</code>", escape(hint, quote=False))


def copy_files(app: Sphinx, problem: Exception | None) -> None:
    """Put the style on the site."""
    if problem or app.builder.format != "html":
        return
    publish(app, HERE, FILES)


def setup(app: Sphinx) -> None:
    """Connect to the build, before cells fold."""
    app.connect(
        "builder-inited", lambda app: app.add_css_file(f"{HERE.name}/problems.css")
    )
    app.connect("doctree-resolved", rework, priority=390)
    app.connect("build-finished", copy_files)
