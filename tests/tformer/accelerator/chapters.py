"""Run cells of a chapter as they stand, shortened by their own settings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

BOOK = Path(__file__).resolve().parents[3] / "book"


def run_cells(
    chapter: str, names: Iterable[str], shortened: dict[str, str]
) -> dict[str, Any]:
    """Run cells by their ids, in the chapter's order; give what they have defined.

    Args:
        chapter: the notebook's file, without its ending.
        names: the cells' ids.
        shortened: what to replace in their code; each must occur once.
    """
    cells = json.loads((BOOK / f"{chapter}.ipynb").read_text())["cells"]
    wanted = {cell["id"]: "".join(cell["source"]) for cell in cells}
    code = {name: wanted[name] for name in wanted if name in set(names)}
    assert code.keys() == set(names)
    for old, new in shortened.items():
        [name] = [each for each, source in code.items() if old in source]
        code[name] = code[name].replace(old, new)
    defined: dict[str, Any] = {"__name__": "__main__"}
    for name, source in code.items():
        exec(compile(source, f"{chapter}.ipynb, cell {name}", "exec"), defined)
    return defined
