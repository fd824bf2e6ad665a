"""What the line above folded code says, and how little code stands open."""

from __future__ import annotations

import pytest

from tformer_book.press import labels
from tformer_book.press.chapters import chapters, read, source, tags

MOST_LINES = 80
NOT_FOLDED = {"setup", "remove-cell", "remove-input", "run-it", labels.LESSON}
each_chapter = pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)


def code_cells(path):
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


@each_chapter
def test_at_most_eighty_lines_of_a_page_stand_open(path):
    opened = [c for c in code_cells(path) if labels.LESSON in tags(c)]
    lines = [line for c in opened for line in source(c).splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES


@each_chapter
def test_every_cell_that_folds_says_what_is_in_it(path):
    for cell in code_cells(path):
        if tags(cell) & NOT_FOLDED:
            continue
        said = labels.label(source(cell), cell["metadata"])
        assert said != labels.names(labels.parsed(source(cell))), (
            f"{cell['id']}: say what is in it"
        )
        assert 3 < len(said) < 60, said
        assert not said.endswith((".", ":")), said


@each_chapter
def test_no_cell_folds_in_the_theme_s_way(path):
    for cell in code_cells(path):
        assert not tags(cell) & {"hide-input", "hide-cell", "hide-output"}, cell["id"]
        assert not {"code_prompt_show"} & set(cell["metadata"].get("mystnb", {}))
        assert not {labels.LESSON, labels.ASIDE} <= tags(cell), cell["id"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import math\nimport torch\ntorch.manual_seed(0);", "imports"),
        ("playing = OneQuery(selected=0)\nplaying", "the figure “One query”"),
        ("Heads.from_translator(\n    x\n)", "the figure “Heads”"),
        ("ModelMap(highlight='masks', compact=True)", "the map of the model"),
        ("show.source(byte_pairs.merge)", "merge as the package has it"),
        ("show.source(Residual.forward)", "Residual.forward as the package has it"),
        (
            "def mine(x):\n    raise NotImplementedError\n\n\ncheck.it(mine);",
            "mine, for you to write",
        ),
        ("def f(a): ...  # your lines\nprint(f(1))", "f, for you to write"),
        ("# Solution to problem 7b.\nx = 1", "Solution to problem 7b"),
        ("# Solution to problem 8: Viterbi.\nx = 1", "Solution to problem 8"),
        ("# Solutions 1 and 3 to 5, run.\nx = 1", "Check of solutions 1 and 3 to 5"),
        ("%pip install it\na, b = 1, 2\ndef f(): pass", "how we get a, b and f"),
    ],
)
def test_code_that_tells_what_it_is_needs_no_label(code, said):
    assert labels.label(code, {}) == said


def test_a_cell_s_own_label_and_a_figure_s_own_title_go_first():
    assert labels.label("import a\nimport b", {"tformer": {"code": "two"}}) == "two"
    titled = labels.label("Heads()", {"tformer": {"title": "The look across"}})
    assert titled == "the figure “The look across”"


@pytest.mark.parametrize(
    ("several", "line"),
    [
        (["chart of x"], "Code: chart of x"),
        (["table", "table", "chart"], "Code: table; chart"),
        (["a", "b", "c", "d"], "Code: a; b; c; d"),
        (["a", "b", "c", "d", "e"], "Code: a; b; c; and two more"),
        (["Checked: a = b"], "Checked: a = b"),
        (["table", "Checked: a = b"], "Code: table; checked: a = b"),
        (
            ["f as the package has it", "g as the package has it"],
            "Code: f and g as the package has them",
        ),
    ],
)
def test_neighbours_share_a_line(several, line):
    assert labels.line(several) == line
