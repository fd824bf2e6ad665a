"""What stands below a function to write, on small documents."""

from __future__ import annotations

import importlib
import types

import pytest
from docutils import nodes

from tformer_book.press.chapters import chapter, docname

PLACE = docname(chapter("multi-head"))
STUB = "def mine(x):\n    raise NotImplementedError\n\n\ncheck.split_heads(mine);"
REPOSITORY = {"repository_url": "https://github.com/one/book", "repository_branch": ""}


@pytest.fixture(scope="module")
def problems():
    return importlib.import_module("tformer_book.site.problems")


def cell(source, shown=""):
    written = nodes.container(
        "", nodes.literal_block(source, source), nb_element="cell_code_source"
    )
    made = nodes.container("", written, nb_element="cell_code", cell_metadata={})
    if shown:
        made += nodes.container("", nodes.literal_block(shown, shown))
    return made


def reworked(problems, *cells, title="Problems", options=REPOSITORY):
    section = nodes.section("", nodes.title(title, title), *cells)
    document = nodes.document(None, None, "", section)
    app = types.SimpleNamespace(
        builder=types.SimpleNamespace(format="html"),
        config=types.SimpleNamespace(html_theme_options=options),
    )
    problems.rework(app, document, PLACE)
    return [each.children[1:] for each in cells]


def test_a_stub_shows_a_link_to_colab_and_three_hints_and_no_verdict(problems):
    [[work]] = reworked(problems, cell(STUB, "✗ Your split_heads is not right yet."))
    html = work.astext()
    assert "not right" not in html
    assert f"github/one/book/blob/main/{PLACE}.ipynb" in html
    assert html.count('<details class="tf-hint">') == 3
    for at in range(1, 3):  # each in the fold of the one before
        assert html.index(f"Hint {at} of") < html.index(f"Hint {at + 1} of")
    assert html.endswith("</details></details></details></div>")
    assert "<code>" in problems.in_html("cut `x` first")


def test_where_no_repository_is_configured_there_is_no_link(problems):
    [[work]] = reworked(problems, cell(STUB), options={})
    assert "Solve it" not in work.astext()
    assert "tf-hint" in work.astext()


@pytest.mark.parametrize(
    ("code", "shown", "stays"),
    [
        ("# Solution to problem 7.\nassert check.split_heads(mine)", "✓ right", False),
        ("mine = 1", "✓ The model cannot tell them apart.", False),
        ("def a(x): ...  # your lines\nprint(a(1))", "✗ Not yet.", False),
        ("check.split_heads(by_view)", "✗ Your split_heads is not right yet.", True),
        ("# Solutions 3 to 6, run.\nprint(1)", "solutions 3 to 6 hold", True),
        ("print(1)", "1", True),
    ],
)
def test_only_verdicts_on_the_readers_work_go(problems, code, shown, stays):
    [rest] = reworked(problems, cell(code, shown))
    assert (shown in [each.astext() for each in rest]) == stays


def test_other_sections_keep_what_they_show(problems):
    [rest] = reworked(problems, cell(STUB, "✗ no"), title="Break it")
    assert [each.astext() for each in rest] == ["✗ no"]
