"""What a chapter repeats from a recorded measurement."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from tformer_book.press.chapters import read, source


def recorded(path: Path) -> Any:
    """The value that a chapter's cell ``recorded`` writes down."""
    [cell] = [cell for cell in read(path)["cells"] if cell["id"] == "recorded"]
    statement = ast.parse(source(cell)).body[0]
    assert isinstance(statement, ast.Assign)
    return ast.literal_eval(statement.value)
