"""What folds, what stands open, and which cells share a line, on small documents."""

from __future__ import annotations

import importlib
import types

import pytest
from docutils import nodes


@pytest.fixture(scope="module")
def code():
    return importlib.import_module("tformer_book.site.code")


def text(words="Text."):
    return nodes.paragraph(words, words)


def cell(source, *tags, label="", shown=""):
    metadata = {"tags": list(tags)} | ({"tformer": {"code": label}} if label else {})
    written = nodes.container(
        "", nodes.literal_block(source, source), nb_element="cell_code_source"
    )
    made = nodes.container(
        "", written, nb_element="cell_code", classes=["cell"], cell_metadata=metadata
    )
    if shown:
        made += nodes.container("", text(shown), classes=["cell_output"])
    return made


def folded(code, *content):
    """For each fold of a document: its line, whether it follows, what is in it."""
    document = nodes.document(None, None, "", nodes.section("", *content))
    builder = types.SimpleNamespace(format="html")
    code.fold(types.SimpleNamespace(builder=builder), document, "page")
    return [
        (each["says"], each["follows"], each.astext())
        for each in document.findall(code.CodeFold)
    ]


def test_a_lesson_stands_open_and_the_rest_folds(code):
    found = folded(code, cell("x = 1", "lesson"), cell("y = 2", label="a chart"))
    assert found == [("Code: a chart", False, "y = 2")]


def test_what_a_folded_cell_shows_stays(code):
    drawn = cell("draw()", label="a chart", shown="the chart")
    assert folded(code, drawn) == [("Code: a chart", False, "draw()")]
    assert drawn.children[-1].astext() == "the chart"


def test_neighbours_share_the_first_one_s_line(code):
    a, b = cell("a", label="a table", shown="1"), cell("b", label="a chart", shown="2")
    found = folded(
        code, a, nodes.comment("", "unseen"), b, text(), cell("c", label="d")
    )
    assert found == [
        ("Code: a table; a chart", False, "a"),
        ("Code: a chart", True, "b"),
        ("Code: d", False, "c"),
    ]


def test_a_lesson_between_two_cells_parts_them(code):
    found = folded(
        code, cell("a", label="x"), cell("b", "lesson"), cell("c", label="y")
    )
    assert [says for says, _, _ in found] == ["Code: x", "Code: y"]


def test_an_aside_and_a_solution_fold_with_what_they_show(code):
    aside = cell("check()", "aside", label="check: the floor", shown="it holds")
    solution = cell("# Solution to problem 7.\nx = 1", shown="✓ right")
    found = folded(code, cell("a", label="a chart"), aside, solution)
    assert [says for says, _, _ in found] == [
        "Code: a chart",
        "Check: the floor",
        "Solution to problem 7",
    ]
    assert len(aside.children) == len(solution.children) == 1
    assert found[1][2] == "check()\n\nit holds"


def test_a_page_without_folds_has_no_switch(code):
    empty = nodes.document(None, None, "", text())
    assert not code.has_folds(empty) and not code.has_folds(None)
    only = nodes.document(None, None, "", cell("x", "aside", label="y"))
    code.fold(
        types.SimpleNamespace(builder=types.SimpleNamespace(format="html")), only, ""
    )
    assert not code.has_folds(only)
