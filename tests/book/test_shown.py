"""What a cell makes to be shown reaches the page: only a cell's last value does."""

from __future__ import annotations

import ast

import pytest

from tformer_book.press.chapters import chapters, read, source


def lost(code: str) -> list[str]:
    """Calls of ``show`` whose result no page gets, since more of the cell follows."""
    lines = [line for line in code.splitlines() if not line.lstrip().startswith("%")]
    return [
        ast.unparse(each.value.func)
        for each in ast.parse("\n".join(lines)).body[:-1]
        if isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Call)
        and ast.unparse(each.value.func).startswith("show.")
    ]


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_nothing_that_is_made_to_be_shown_is_lost(path):
    cells = [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]
    found = {cell["id"]: lost(source(cell)) for cell in cells}
    assert not {name: calls for name, calls in found.items() if calls}


def test_a_figure_before_an_assertion_is_lost():
    assert lost("show.figure(a)\nassert a") == ["show.figure"]
    assert lost("assert a\nshow.figure(a)") == []
