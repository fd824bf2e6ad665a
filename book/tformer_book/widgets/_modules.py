"""The figures' ES modules and style sheets: what imports what, with and without a host.

A page of the book gets these files as they are (`publish`), and its browser follows
their imports. A notebook has no host to ask, so there a figure's state contains all the
modules that it needs (`module_text`), and ``kit/link.js`` gives each its own address.
Either way the browser links them: nothing here rewrites a program.

Imports come first in a file, before anything else, so that they can be read without
understanding the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
LINK = FOLDER / "kit" / "link.js"
SUFFIXES = (".js", ".css")

_TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.*?\*/)
    | "(?P<double>[^"\\\n]*)" | '(?P<single>[^'\\\n]*)'
    | (?P<word>[\w$@]+) | (?P<mark>.)""",
    re.S | re.X,
)
_RENDER = """
const address = link({modules});
export default {{
  async render(view) {{
    return (await import(address)).default.render(view);
  }},
}};
"""


class Import(NamedTuple):
    """A file that another one imports; where its address begins and ends there."""

    file: Path
    start: int
    end: int
    stop: int  # the end of the whole line of the program


def imports(path: Path) -> list[Import]:
    """What a module or a style sheet imports.

    Args:
        path: begins with its imports, each ``import … from "./x.js";`` or
            ``import "./x.js";`` in a module, ``@import "./x.css";`` in a style sheet.

    Raises:
        ValueError: an import is of another form, or names a file that is not there.
    """
    text = path.read_text(encoding="utf-8")
    keyword = "@import" if path.suffix == ".css" else "import"
    tokens = (each for each in _TOKEN.finditer(text) if not each["gap"])
    found: list[Import] = []
    for first in tokens:
        if first[0] != keyword:
            break
        inside = next((each for each in tokens if _is_address_or_wrong(each)), first)
        name = inside["double"] or inside["single"] or ""
        end = next(tokens, None)
        file = (path.parent / name).resolve()
        if not name.startswith(".") or end is None or end[0] != ";":
            line = text[first.start() :].partition("\n")[0]
            raise ValueError(
                f'{path.name} has {line!r}; write {keyword} … "./other{path.suffix}"; '
                "with a semicolon"
            )
        if not file.is_file():
            raise ValueError(f"{path.name} imports {name!r}, which is not there")
        found.append(Import(file, inside.start() + 1, inside.end() - 1, end.end()))
    return found


def _is_address_or_wrong(token: re.Match[str]) -> bool:
    """Whether it is the string of an import, or what no import has before it."""
    return not (token["word"] or token[0] in ("{", "}", "*", ","))


def needed(path: Path) -> list[Path]:
    """A file and all that it imports, each once, dependencies first.

    Raises:
        ValueError: as `imports`; or files import each other.
    """
    found: list[Path] = []

    def visit(file: Path, above: tuple[Path, ...]) -> None:
        if file in above:
            raise ValueError(f"{file.name} imports itself, through {above[-1].name}")
        if file not in found:
            for each in imports(file):
                visit(each.file, (*above, file))
            found.append(file)

    visit(path.resolve(), ())
    return found


def linked(path: Path) -> str:
    """A module with everything it needs, as JSON for ``link`` in ``kit/link.js``.

    Returns:
        A list of ``[name, parts]``, the module itself last. Every second part is the
        name of a module before it, in the place of that module's address.
    """
    names = {file: str(number) for number, file in enumerate(needed(path))}
    modules = []
    for file, name in names.items():
        text, done = file.read_text(encoding="utf-8"), 0
        parts = []
        for each in imports(file):
            parts += [text[done : each.start], names[each.file]]
            done = each.end
        modules.append([name, [*parts, text[done:]]])
    return json.dumps(modules, ensure_ascii=False)


def module_text(path: Path) -> str:
    """A figure's module for a notebook: one text that needs no other files."""
    link = LINK.read_text(encoding="utf-8")
    return link + _RENDER.format(modules=linked(path))


def style_text(path: Path) -> str:
    """A style sheet after those that it imports, each once."""
    texts = []
    for file in needed(path):
        head = max((each.stop for each in imports(file)), default=0)
        texts.append(file.read_text(encoding="utf-8")[head:].lstrip("\n"))
    return "\n".join(texts)


def files() -> list[Path]:
    """Every module and style sheet."""
    return sorted(each for each in FOLDER.rglob("*.*") if each.suffix in SUFFIXES)


def publish(folder: Path, *more: Path) -> Path:
    """Write the modules and style sheets for a page's browser to follow.

    They get a folder whose name changes when any of them does, so that no browser mixes
    old files with new ones. Folders of other versions are removed.

    Args:
        folder: where to create that folder.
        more: files for the same place, such as the script that brings figures to life.

    Returns:
        The folder of this version.
    """
    names = {file.relative_to(FOLDER): file for file in files()}
    names |= {Path(file.name): file for file in more}
    digest = hashlib.sha256()
    for name, file in names.items():
        digest.update(f"{name.as_posix()}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    version = folder / digest.hexdigest()[:12]
    if not version.exists():
        shutil.rmtree(folder, ignore_errors=True)
        for name, file in names.items():
            (version / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, version / name)
    return version
