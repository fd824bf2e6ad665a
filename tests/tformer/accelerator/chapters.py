"""Run cells of a chapter as they stand, shortened by their own settings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tformer_book.press.chapters import chapter


def run_cells(
    key: str, names: Iterable[str], shortened: dict[str, str]
) -> dict[str, Any]:
    """Run cells by their ids, in the chapter's order; give what they have defined.

    Args:
        key: the chapter's.
        names: the cells' ids.
        shortened: what to replace in their code; each must occur once.
    """
    cells = json.loads(chapter(key).read_text(encoding="utf-8"))["cells"]
    wanted = {cell["id"]: "".join(cell["source"]) for cell in cells}
    code = {name: wanted[name] for name in wanted if name in set(names)}
    assert code.keys() == set(names)
    for old, new in shortened.items():
        [name] = [each for each, source in code.items() if old in source]
        code[name] = code[name].replace(old, new)
    defined: dict[str, Any] = {"__name__": "__main__"}
    for name, source in code.items():
        exec(compile(source, f"{key}, cell {name}", "exec"), defined)
    return defined
