"""Which chapters the book has, and where. Shared by the tools and the tests."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "_build"
HTML = BUILD / "html"
EXECUTED = BUILD / "executed"
NUMBER = re.compile(r"^\d\d-")


def pyproject() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def project() -> dict[str, Any]:
    """Return its [project] table."""
    return pyproject()["project"]


def pages() -> list[Path]:
    """Return every file that _toc.yml names, in order."""
    found: list[str] = []

    def walk(node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                walk(item)
        elif isinstance(node, dict):
            for key, value in node.items():
                if key in ("root", "file"):
                    found.append(value)
                elif isinstance(value, (list, dict)):
                    walk(value)

    walk(yaml.safe_load((ROOT / "_toc.yml").read_text()))
    paths = []
    for name in found:
        choices = [ROOT / name, ROOT / f"{name}.ipynb", ROOT / f"{name}.md"]
        paths.append(next((p for p in choices if p.is_file()), ROOT / name))
    return paths


def chapters() -> list[Path]:
    """Return the notebooks among the pages."""
    return [path for path in pages() if path.suffix == ".ipynb"]


def key(path: Path) -> str:
    """Return what tables and tests call a page, whatever its file is called.

    That is the file's name without its number (``training``, or ``api/data`` in a
    folder), unless a notebook's metadata says ``"tformer": {"key": "…"}``. There a
    notebook that is renamed keeps its key.
    """
    if path.suffix == ".ipynb":
        said = read(path)["metadata"].get("tformer", {})
        if "key" in said:
            return str(said["key"])
    page = path.relative_to(ROOT / "book").with_suffix("")
    return page.with_name(NUMBER.sub("", page.name)).as_posix()


@cache
def keys() -> dict[str, Path]:
    """Return the pages of _toc.yml by their keys, in order.

    Raises:
        ValueError: two pages have the same key.
    """
    found: dict[str, Path] = {}
    for path in pages():
        first = found.setdefault(key(path), path)
        if first is not path:
            raise ValueError(
                f"{first.name} and {path.name} have the same key, {key(path)!r}; give "
                'one of them another: "tformer": {"key": "…"} in its metadata'
            )
    return found


def chapter(name: str) -> Path:
    """Return the page that has a key.

    Raises:
        KeyError: there is none.
    """
    if name not in keys():
        raise KeyError(f"no page has the key {name!r}; there are {', '.join(keys())}")
    return keys()[name]


def docname(path: Path) -> str:
    """Return what Sphinx calls a page: its place below the root, without suffix."""
    return path.relative_to(ROOT).with_suffix("").as_posix()


def address(name: str, anchor: str = "") -> str:
    """Return where a page with this key, or a section, is below the site's root.

    Args:
        name: the key of the page.
        anchor: with its ``#``.
    """
    return f"{docname(chapter(name))}.html{anchor}"


def read(path: Path) -> dict[str, Any]:
    """Read a notebook as plain JSON."""
    return json.loads(path.read_text(encoding="utf-8"))


def source(cell: dict[str, Any]) -> str:
    """Return a cell's text; notebooks store it as a string or a list of lines."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def without_modules(models: dict[str, Any]) -> None:
    """Leave in the states of figures what they show, and not the code that shows it.

    A page of the site takes the code from the package, by the figure's name.
    """
    for model in models.values():
        if model["state"].get("figure"):
            del model["state"]["_esm"], model["state"]["_css"]


def tags(cell: dict[str, Any]) -> set[str]:
    """Return a cell's tags."""
    return set(cell.get("metadata", {}).get("tags", []))
