"""The setup cell: the first code cell of every chapter, written from one template.

Where tformer is there in the right version the cell does nothing. Elsewhere (in Colab)
it installs the package, and moves nothing that is installed already, least of all
torch, numpy and ipywidgets: all of them become constraints. What it installs is the
archive of the release that ``[tool.tformer]`` in pyproject.toml names, checked by its
SHA-256; before the first release, the archive of the branch.

Usage: ``python -m tformer_book.press.setup_cell [--write] [CHAPTER.ipynb ...]``;
without --write it says which chapters differ. ``--release``, once the tag of this
version is on the host, downloads its archive, notes its checksum and writes the cells.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tformer_book.press.chapters import (
    ROOT,
    chapters,
    project,
    pyproject,
    read,
    source,
    tags,
)

BRANCH = "main"  # the one that Colab's buttons open, too (_config.yml)
TAG = "setup"
CELL_ID = "setup"
TEMPLATE = """\
# Setup: does nothing where tformer is installed; in Colab it installs it, once.
from importlib.metadata import PackageNotFoundError, distributions, version

VERSION = "@VERSION@"
ARCHIVE = "@REPOSITORY@/archive/refs/@ARCHIVE@"
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
    pip = [sys.executable, "-m", "pip", "install", "-q", "-c", str(constraints)]
    pip += [f"tformer[notebooks] @ {ARCHIVE}"]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(
            f"tformer {VERSION} could not be installed. Is there a network? "
            f"Then run this cell again. pip said:\\n{done.stderr[-1500:]}"
        )
    print(f"tformer {VERSION} is installed; everything below just runs.")
"""


def render(repository: str = "", version: str = "", sha256: str | None = None) -> str:
    """Return the cell's code.

    Args:
        repository: its address; pyproject.toml's unless given.
        version: of the package; this one unless given.
        sha256: of that version's archive, or "" to install the branch; unless given,
            what pyproject.toml says of the latest release.
    """
    about, release = project(), pyproject()["tool"]["tformer"]
    version = version or about["version"]
    if sha256 is None:
        sha256 = release["sha256"] if release["version"] == version else ""
    # pip compares an archive with the checksum at the end of its address.
    archive = (
        f"tags/v{version}.zip#sha256={sha256}" if sha256 else f"heads/{BRANCH}.zip"
    )
    text = TEMPLATE.replace("@VERSION@", version).replace("@ARCHIVE@", archive)
    text = text.replace("@REPOSITORY@", repository or about["urls"]["Repository"])
    return text.rstrip("\n")


def note_release() -> None:
    """Write version and checksum of this version's archive into pyproject.toml.

    Raises:
        OSError: the host has no such tag, or is away.
    """
    about = project()
    tag = f"archive/refs/tags/v{about['version']}.zip"
    with urllib.request.urlopen(f"{about['urls']['Repository']}/{tag}") as answer:
        digest = hashlib.file_digest(answer, "sha256").hexdigest()
    path = ROOT / "pyproject.toml"
    text = path.read_text("utf-8")
    for key, value in (("version", about["version"]), ("sha256", digest)):
        pattern = rf'(\[tool\.tformer\]\n(?:[^\[].*\n)*?{key} = )"[^"]*"'
        text = re.sub(pattern, rf'\g<1>"{value}"', text)
    path.write_text(text, "utf-8")
    print(f"v{about['version']}: {digest}")


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
    parser.add_argument("--release", action="store_true")
    options = parser.parse_args()
    if options.release:
        try:
            note_release()
        except OSError as error:
            print(f"no archive of this version's tag: {error}", file=sys.stderr)
            return 1
        options.write = True
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
