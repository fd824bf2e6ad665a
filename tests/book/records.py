"""What a chapter says, and what a recorded measurement found."""

from __future__ import annotations

import ast
import json
from typing import Any

from tformer_book.press.chapters import ROOT, chapter, read, source


def cells(key: str) -> dict[str, str]:
    """The text of each cell of a chapter, by the cell's name."""
    return {cell["id"]: source(cell) for cell in read(chapter(key))["cells"]}


def recorded(key: str) -> Any:
    """The value that a chapter's cell ``recorded`` writes down."""
    statement = ast.parse(cells(key)["recorded"]).body[0]
    assert isinstance(statement, ast.Assign)
    return ast.literal_eval(statement.value)


def result(name: str) -> Any:
    """A measurement as it was recorded: ``results/name.json``."""
    return json.loads((ROOT / f"results/{name}.json").read_text("utf-8"))
