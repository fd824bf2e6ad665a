"""Predictions: what follows from one is covered until the reader has made it.

A quotation that begins with "Predict, then run." covers what the next cell shows, the
cells that follow without a word between, and the text after them, up to the next cell,
the next prediction or the end of the section. A comment ``<!-- end of the answer -->``
moves that end, to before the next cell or behind it.
The cover is a fold, which works without scripts; ``predictions.js`` asks for an answer
first, keeps it in the browser, and shows it beside what came out. A list in the
quotation offers choices. In a notebook nothing is covered: its outputs come by running.

The cell that gives the answer may name it in its metadata, ``"tformer": {"answer":
…}``: ``{"choice": 3}`` (counted from 1), or ``{"number": 32}``, which a reader may miss
by two per cent or by the share ``"within"``, get a verdict, to which ``"says"`` adds;
a string is what a free answer is compared with.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from ..assets import publish

HERE = Path(__file__).parent
FILES = ("predictions.js", "predictions.css")
OPENING = "Predict, then run."
SUMMARY = "Show what comes out"
END = "<!-- end of the answer -->"
# In the page from the start, so that nothing moves; of no use without scripts.
FORM = (
    '<form class="tf-guess pst-js-only" id="{name}" novalidate{answer}>{field}'
    f'<button type="submit">{SUMMARY}</button>'
    '<button type="button" class="tf-skip">Skip</button>'
    '<p class="tf-missing" role="alert"></p></form>'
)
FIELD = (
    '<input type="text" name="answer" autocomplete="off" '
    'placeholder="Your prediction" aria-label="Your prediction">'
)
CHOICE = '<input type="radio" form="{name}" name="answer" value="{value}"> '


class Cover(nodes.General, nodes.Element):
    """A fold over what would give an answer away."""


def open_fold(translator: Any, node: Cover) -> None:
    """Write the beginning of the fold."""
    translator.body.append(
        f'<details class="tf-cover"><summary>{SUMMARY}</summary>\n<div>\n'
    )


def close_fold(translator: Any, node: Cover) -> None:
    """Write its end."""
    translator.body.append("</div>\n</details>\n")


def is_prediction(node: nodes.Node) -> bool:
    """Whether it asks the reader for a prediction."""
    return isinstance(node, nodes.block_quote) and node.astext().startswith(OPENING)


def is_cell(node: nodes.Node) -> bool:
    """Whether it is a cell of code, with or without what it showed."""
    return isinstance(node, nodes.container) and "cell" in node["classes"]


def outputs(cell: nodes.container) -> list[nodes.Element]:
    """What a cell showed."""
    return [
        each
        for each in cell.children
        if isinstance(each, nodes.container) and "cell_output" in each["classes"]
    ]


def hidden_by(prediction: nodes.block_quote) -> tuple[nodes.Element, list[nodes.Node]]:
    """The cell whose output a prediction is about, and the nodes that give it away.

    Raises:
        LookupError: no cell with an output follows in the same section.
    """
    section = prediction.parent
    after = section.children[section.index(prediction) + 1 :]
    ends = next(
        (
            i
            for i, each in enumerate(after)
            if isinstance(each, nodes.section) or is_prediction(each)
        ),
        len(after),
    )
    after = after[:ends]
    start = next((i for i, e in enumerate(after) if is_cell(e) and outputs(e)), None)
    if start is None:
        raise LookupError(prediction.astext())
    cell, rest = after[start], after[start + 1 :]
    first_text = next(
        (i for i, e in enumerate(rest) if not is_cell(e) or is_figure([e])), len(rest)
    )
    next_cell = next(
        (i for i in range(first_text, len(rest)) if is_cell(rest[i])), None
    )
    stop = next((i for i, e in enumerate(rest) if is_end(e)), next_cell)
    return cell, [*outputs(cell), *rest[:stop]]


def mark_run(prediction: nodes.block_quote) -> None:
    """Mark what the opening says of running: paper leaves it out."""
    before, run, after = OPENING.partition(", then run")
    for opening in prediction.findall(nodes.strong):
        if opening.astext() == OPENING:
            mark = nodes.inline("", run, classes=["tf-run"])
            opening.children = []
            opening += [nodes.Text(before), mark, nodes.Text(after)]


def cover(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put what each prediction is about under a fold, behind its cell."""
    if app.builder.format != "html":
        return
    predictions = [each for each in doctree.findall() if is_prediction(each)]
    for number, prediction in enumerate(predictions, start=1):
        prediction["classes"].append("tf-predict")
        mark_run(prediction)
        try:
            cell, hidden = hidden_by(prediction)
        except LookupError:
            continue  # the answer stands elsewhere: in a figure, in the next section
        if is_figure(hidden):
            continue  # a figure to find the answer with
        add_form(prediction, f"tf-prediction-{number}", answer_of(cell))
        for node in hidden:
            node.parent.remove(node)
        section = cell.parent
        section.insert(section.index(cell) + 1, Cover("", *hidden))


def answer_of(cell: nodes.Element) -> str | dict[str, Any] | None:
    """Return the answer that a cell names."""
    return cell.get("cell_metadata", {}).get("tformer", {}).get("answer")


def add_form(
    prediction: nodes.block_quote, name: str, answer: str | dict[str, Any] | None
) -> None:
    """Let the reader answer: choose from the quotation's list, or type."""
    choices = list(prediction.findall(nodes.list_item))
    for choice in choices:
        text = choice.children[0]
        button = CHOICE.format(name=name, value=escape(choice.astext()))
        label = nodes.raw(text=f"<label>{button}", format="html")
        text.children[:] = [
            label,
            *text.children,
            nodes.raw(text="</label>", format="html"),
        ]
    told = "" if answer is None else f' data-answer="{escape(json.dumps(answer))}"'
    form = FORM.format(name=name, answer=told, field="" if choices else FIELD)
    prediction.append(nodes.raw(text=form, format="html"))


def is_end(node: nodes.Node) -> bool:
    """Whether it is the comment that says where an answer ends."""
    return isinstance(node, nodes.raw) and END in node.astext()


def is_figure(nodes_: list[nodes.Node]) -> bool:
    """Whether something in them can be played with."""
    raws = [raw for each in nodes_ for raw in each.findall(nodes.raw)]
    return any("tf-widget" in raw.astext() for raw in raws)


def copy_files(app: Sphinx, problem: Exception | None) -> None:
    """Put script and style on the site."""
    if problem or app.builder.format != "html":
        return
    publish(app, HERE, FILES)


def add_files(app: Sphinx) -> None:
    """Load them with every page."""
    app.add_js_file(f"{HERE.name}/predictions.js", type="module")
    app.add_css_file(f"{HERE.name}/predictions.css")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.add_node(Cover, html=(open_fold, close_fold))
    app.connect("builder-inited", add_files)
    app.connect("doctree-resolved", cover)
    app.connect("build-finished", copy_files)
