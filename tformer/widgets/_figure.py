"""The base of every figure on a page: one module and one style sheet, joined here.

A figure's front end is split into files, so that a reader, Node and a browser can open
each by itself; anywidget and the book's pages take a single ES module. Chapter 05 shows
the first figure made this way.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

_KIT = Path(__file__).parent / "kit" / "kit.css"
_IMPORT = re.compile(
    r"""^import\s+(\{[^}]*\}|\*\s+as\s+\w+)\s+from\s+["'](\.[^"']+)["'];?[ \t]*$""",
    re.M,
)
_EXPORT = re.compile(
    r"^export\s+(?=(?:async\s+)?(?:function\*?|const|let|class)\s+(\w+))", re.M
)
_CSS_IMPORT = re.compile(r"""^@import\s+["'](\.[^"']+)["'];[ \t]*$""", re.M)
_LEFT_OVER = re.compile(r"^(?:import\b.*|export\b(?!\s+default\b).*)$", re.M)


class PageFigure(anywidget.AnyWidget):
    """A figure that does its own maths in the page: a kernel helps, but is not needed.

    A subclass in the folder ``some_figure`` gets ``some_figure.js`` and
    ``some_figure.css`` from there, with what they import and the shared ``kit.css``
    joined in.

    Attributes:
        page_height: CSS pixels that the book's pages keep free, so nothing moves.
        page_height_narrow: the same on a phone; 0 means like ``page_height``.
    """

    page_height = traitlets.Int(0).tag(sync=True)
    page_height_narrow = traitlets.Int(0).tag(sync=True)

    _css: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        folder = Path(sys.modules[cls.__module__].__file__ or "").parent
        module = folder / f"{folder.name}.js"
        # (anywidget makes a class of its own for each figure, with _esm as a trait.)
        if "_esm" not in cls.__dict__ and module.exists():
            cls._esm = joined_module(module)
            cls._css = joined_style(module.with_suffix(".css"))
        super().__init_subclass__(**options)


def joined_module(path: Path) -> str:
    """One ES module out of a file and all that it imports, each file once.

    An imported file becomes a function that runs at once and returns its exports, so
    names that two files use for themselves do not meet.

    Args:
        path: the figure's module; it may ``import { a, b as c } from "./x.js"`` and
            ``import * as x from "./x.js"``, and files that it imports may, too.

    Returns:
        The source of a module without imports, with the exports of ``path``.

    Raises:
        ValueError: an import or export is of another form, or files import each other.
    """
    parts: list[str] = []
    names: dict[Path, str] = {}
    main = _resolved(path.resolve(), parts, names, ())
    return "\n".join([*parts, main])


def joined_style(path: Path) -> str:
    """The kit's style sheet, followed by the figure's own, if it has one.

    A line ``@import "./other.css";`` of it gives way to that file.
    """
    own = path.read_text(encoding="utf-8") if path.exists() else ""

    def imported(found: re.Match[str]) -> str:
        return (path.parent / found[1]).read_text(encoding="utf-8")

    return _KIT.read_text(encoding="utf-8") + _CSS_IMPORT.sub(imported, own)


def _resolved(
    path: Path, parts: list[str], names: dict[Path, str], above: tuple[Path, ...]
) -> str:
    """The text of `path`; files that it imports go to `parts`, before it."""
    if path in above:
        raise ValueError(f"{path.name} imports itself, through {above[-1].name}")
    text = path.read_text(encoding="utf-8")

    def imported(found: re.Match[str]) -> str:
        what, where = found.groups()
        other = (path.parent / where).resolve()
        if other not in names:
            body = _resolved(other, parts, names, (*above, path))
            exports = ", ".join(_EXPORT.findall(body))
            names[other] = f"module{len(names)}"
            parts.append(
                f"const {names[other]} = (() => {{\n{_EXPORT.sub('', body)}\n"
                f"return {{ {exports} }};\n}})(); // {other.name}"
            )
        if what.startswith("*"):
            return f"const {what.split()[-1]} = {names[other]};"
        renamed = re.sub(r"\s+as\s+", ": ", what)
        return f"const {renamed} = {names[other]};"

    text = _IMPORT.sub(imported, text)
    bad = _LEFT_OVER.search(_EXPORT.sub("", text))
    if bad or (above and re.search(r"^export\s+default\b", text, re.M)):
        line = bad.group() if bad else "export default"
        raise ValueError(
            f"{path.name} has {line!r}; write import {{ a, b as c }} from './x.js' and "
            "export function, const or class, each at the start of a line"
        )
    return text
