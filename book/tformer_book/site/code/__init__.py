"""Read or Code: only code that is the lesson stands open, unless the reader wants all.

A cell with the tag ``lesson`` stands open. Every other cell folds to one thin line that
says what is in it (`tformer_book.press.labels`), and neighbours share a line; what a
cell shows stays. A cell with the tag ``aside`` folds together with what it shows, and
so does a problem's solution, however the switch stands.

The folds are in the page from the build, so nothing moves and no script is needed.
``code.js`` opens them all where the reader has chosen *Code*, and keeps that choice.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from tformer_book.press import labels

from ..assets import publish

HERE = Path(__file__).parent
FILES = ("code.js", "code.css")
SWITCH = "code-switch.html"
# Before anything is drawn: a reader who wants all code sees no page that opens up.
EARLY = (
    'try{document.documentElement.dataset.tfCode=localStorage.getItem("tf-code")'
    '||"read"}catch{}'
)


class CodeFold(nodes.General, nodes.Element):
    """A line that says what is in a cell, and the cell's code below it."""


def open_fold(translator: Any, node: CodeFold) -> None:
    """Write the beginning of the fold."""
    kind = "tf-code tf-aside" if node["aside"] else "tf-code"
    follows = " data-follows" if node["follows"] else ""
    # Paper has only what the code prints: there it is a heading of that.
    on_screen = r'<span class="tf-screen">\g<0></span>'
    first, *others = escape(node["says"]).split("; ")  # the cells that are folded here
    summary = re.sub("^Code: ", on_screen, first)
    if others:
        summary += f'<span class="tf-screen">; {"; ".join(others)}</span>'
    translator.body.append(
        f'<details class="{kind}" data-group="{node["group"]}"{follows}>'
        f"<summary>{summary}</summary>\n"
    )


def close_fold(translator: Any, node: CodeFold) -> None:
    """Write its end."""
    translator.body.append("</details>\n")


def is_cell(node: nodes.Node) -> bool:
    """Whether it is a cell whose code the page has."""
    return (
        isinstance(node, nodes.container)
        and node.get("nb_element") == "cell_code"
        and bool(node.children)
        and isinstance(node[0], nodes.container)
        and node[0].get("nb_element") == "cell_code_source"
    )


def code_of(cell: nodes.Element) -> str:
    """The code of a cell."""
    return cell[0].astext()


def tags_of(cell: nodes.Element) -> set[str]:
    """The tags of a cell."""
    return set(cell["cell_metadata"].get("tags", []))


def folds_whole(cell: nodes.Element) -> bool:
    """Whether what it shows folds with its code."""
    return labels.folds_whole(code_of(cell), tags_of(cell))


def groups(doctree: nodes.document) -> list[list[nodes.Element]]:
    """Return the cells that fold; those that share a line stand together."""
    found: list[list[nodes.Element]] = []
    last: nodes.Element | None = None  # whose line the next cell may share
    for cell in filter(is_cell, doctree.findall(nodes.container)):
        if labels.LESSON in tags_of(cell):
            last = None
        elif folds_whole(cell):
            found.append([cell])
            last = None
        else:
            if last is not None and follows(last, cell):
                found[-1].append(cell)
            else:
                found.append([cell])
            last = cell
    return found


def follows(before: nodes.Element, cell: nodes.Element) -> bool:
    """Whether nothing that a reader sees stands between two cells."""
    if before.parent is not cell.parent:
        return False
    place = cell.parent.children
    between = place[place.index(before) + 1 : place.index(cell)]
    return all(isinstance(each, nodes.Invisible) for each in between)


def fold(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put all code that isn't the lesson under its line."""
    if app.builder.format != "html":
        return
    for number, cells in enumerate(groups(doctree), start=1):
        said = [labels.label(code_of(each), each["cell_metadata"]) for each in cells]
        for at, cell in enumerate(cells):
            whole = folds_whole(cell)
            inside = cell.children[:] if whole else cell.children[:1]
            line = labels.line(said[at:] if not at else said[at : at + 1])
            says = labels.aside(said[0]) if whole else line
            for each in inside:
                cell.remove(each)
            folded = CodeFold("", *inside, group=number, says=says)
            folded["follows"], folded["aside"] = at > 0, whole
            cell.insert(0, folded)


def has_folds(doctree: nodes.document | None) -> bool:
    """Whether the switch does anything on a page."""
    return doctree is not None and any(
        not each["aside"] for each in doctree.findall(CodeFold)
    )


def add_switch(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Tell the template whether a page has something to switch."""
    context["tf_folds_code"] = has_folds(doctree)


def switch_in_header(app: Sphinx, config: Any) -> None:
    """Put the switch before the other buttons of the header."""
    config.templates_path.append(str(HERE))
    options = config.html_theme_options
    options["article_header_end"] = [SWITCH, "article-header-buttons.html"]


def copy_files(app: Sphinx, problem: Exception | None) -> None:
    """Put script and style on the site."""
    if problem or app.builder.format != "html":
        return
    publish(app, HERE, FILES)


def add_files(app: Sphinx) -> None:
    """Load them with every page."""
    app.add_js_file(None, body=EARLY)
    app.add_js_file(f"{HERE.name}/code.js", type="module")
    app.add_css_file(f"{HERE.name}/code.css")


def setup(app: Sphinx) -> None:
    """Connect to the build; before predictions, which move what cells show."""
    app.add_node(CodeFold, html=(open_fold, close_fold))
    app.connect("config-inited", switch_in_header)
    app.connect("builder-inited", add_files)
    app.connect("doctree-resolved", fold, priority=400)
    app.connect("html-page-context", add_switch)
    app.connect("build-finished", copy_files)
