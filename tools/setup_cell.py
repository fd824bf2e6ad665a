"""The setup cell: the first code cell of every chapter, written from one template.

Where tformer is there in the right version the cell does nothing. Elsewhere (in Colab)
it installs the package at the tag of that version, and moves nothing that is installed
already, least of all torch, numpy and ipywidgets: all of them become constraints.

Usage: ``python tools/setup_cell.py [--write] [CHAPTER.ipynb ...]``; without --write it
says which chapters differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from chapters import chapters, project, read, source, tags

TAG = "setup"
CELL_ID = "setup"
TEMPLATE = """\
# Setup: does nothing where tformer is installed; in Colab it installs it, once.
from importlib.metadata import PackageNotFoundError, distributions, version

VERSION, REPOSITORY = "@VERSION@", "@REPOSITORY@"
try:
    missing = version("tformer") != VERSION
except PackageNotFoundError:
    missing = True
if missing:
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    keep = {}  # what is here stays as it is: torch, numpy, ipywidgets, ...
    for found in distributions():
        name = found.metadata["Name"]
        if name and name != "tformer" and found.version[:1].isdigit():
            keep.setdefault(name.lower().replace("_", "-"), f"{name}=={found.version}")
    constraints = Path(tempfile.mkdtemp()) / "constraints.txt"
    constraints.write_text("\\n".join(keep.values()))
    package = f"tformer[notebooks] @ {REPOSITORY}/archive/refs/tags/v{VERSION}.zip"
    pip = [sys.executable, "-m", "pip", "install", "-q", "-c", str(constraints)]
    done = subprocess.run([*pip, package], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(
            f"tformer {VERSION} could not be installed. Is there a network? "
            f"Then run this cell again. pip said:\\n{done.stderr[-1500:]}"
        )
    print(f"tformer {VERSION} is installed; everything below just runs.")
"""


def render(repository: str = "", version: str = "") -> str:
    """Return the cell's code for this version of the package."""
    about = project()
    text = TEMPLATE.replace("@VERSION@", version or about["version"])
    text = text.replace("@REPOSITORY@", repository or about["urls"]["Repository"])
    return text.rstrip("\n")


def setup_cell() -> dict[str, Any]:
    """Return the whole cell, as a notebook stores it."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": CELL_ID,
        # remove-cell: of no use on a page; in a notebook it is there, folded.
        "metadata": {"cellView": "form", "tags": [TAG, "remove-cell"]},
        "outputs": [],
        "source": render().splitlines(keepends=True),
    }


def is_right(notebook: dict[str, Any]) -> bool:
    """Say whether a chapter's first code cell is the setup cell, to the letter."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    wanted = setup_cell()
    return (
        bool(code)
        and source(code[0]) == source(wanted)
        and tags(code[0]) == tags(wanted)
        and sum(TAG in tags(cell) for cell in code) == 1
    )


def put(notebook: dict[str, Any]) -> None:
    """Replace a chapter's setup cell, or put one before its first code cell."""
    cells = [cell for cell in notebook["cells"] if TAG not in tags(cell)]
    code = (i for i, cell in enumerate(cells) if cell["cell_type"] == "code")
    cells.insert(next(code, len(cells)), setup_cell())
    notebook["cells"] = cells


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    wrong = 0
    for path in options.files or [p for p in chapters() if p.is_file()]:
        notebook = read(path)
        if is_right(notebook):
            continue
        if options.write:
            put(notebook)
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
            print(f"setup cell written: {path.name}")
        else:
            wrong += 1
            print(f"setup cell differs: {path.name} (make setup-cells)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
