"""Store chapters as git wants them: no outputs, stable ids, one layout.

Usage: ``python -m tformer_book.press.strip [--check] [CHAPTER.ipynb ...]``
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

from tformer_book.press.chapters import ROOT, read, source

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
CELL_KEYS = {"tags", "mystnb", "tformer", "cellView", "editable", "slideshow"}
NOTEBOOK_KEYS = {"tformer", "mystnb"}
VALID_ID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")


def stripped(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return the chapter without outputs, counts and editors' leftovers."""
    seen: set[str] = set()
    cells = []
    for number, cell in enumerate(notebook["cells"]):
        metadata = {k: v for k, v in cell.get("metadata", {}).items() if k in CELL_KEYS}
        name = cell.get("id", "")
        if not VALID_ID.match(name) or name in seen:
            text = f"{number}:{source(cell)}".encode()
            name = hashlib.sha256(text).hexdigest()[:8]
        seen.add(name)
        kept: dict[str, Any] = {"cell_type": cell["cell_type"]}
        if cell["cell_type"] == "code":
            kept["execution_count"] = None
        kept |= {"id": name, "metadata": metadata}
        if cell["cell_type"] == "code":
            kept["outputs"] = []
        kept["source"] = source(cell).splitlines(keepends=True)
        cells.append(kept)
    metadata = notebook.get("metadata", {})
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": KERNEL,
            "language_info": {"name": "python"},
            **{k: v for k, v in metadata.items() if k in NOTEBOOK_KEYS},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def text_of(notebook: dict[str, Any]) -> str:
    """Return the chapter's file as it should be."""
    return json.dumps(stripped(notebook), indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = 0
    for path in options.files or sorted((ROOT / "book").glob("*.ipynb")):
        wanted = text_of(read(path))
        if path.read_text(encoding="utf-8") == wanted:
            continue
        wrong += 1
        if options.check:
            print(f"strip: {path.name} is not as stored (make strip)")
        else:
            path.write_text(wanted, encoding="utf-8")
            print(f"strip: {path.name}")
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
