"""What the line above folded code says: a cell's own label, or one made from its code.

Shared by the site, the table of chapters and the tests.
"""

from __future__ import annotations

import ast
import re
from typing import Any

LESSON = "lesson"  # the tag of a cell whose code stands open
ASIDE = "aside"  # … of one that folds together with what it shows
ANSWER = re.compile(
    r"# (Solution|Solutions) (to problem )?(.+?)(?:[.:] |[.:]?$|, run)", re.M
)
CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Parts of a class whose names alone say too little.
VAGUE = {"attend", "extend", "forward", "hidden", "step", "train", "__getitem__"}
SHOWN = " as the package has {}"
MOST = 3  # labels in one line; of more, the rest is counted
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")


def is_answer(code: str) -> bool:
    """Whether it answers a problem: its comment in the first line says so."""
    return code.startswith("# Solution")


def is_stub(code: str) -> bool:
    """Whether it has a function for the reader to complete."""
    return "raise NotImplementedError" in code or any(
        isinstance(each, ast.FunctionDef) and ast.unparse(each.body[-1]) == "..."
        for each in parsed(code)
    )


def parsed(code: str) -> list[ast.stmt]:
    """Return a cell's statements, without commands to the notebook (``%pip``)."""
    return ast.parse(re.sub(r"^[%!].*$", "", code, flags=re.M)).body


def folds_whole(code: str, tags: set[str]) -> bool:
    """Whether what a cell shows folds with its code, however the switch stands."""
    return ASIDE in tags or is_answer(code)


def label(code: str, metadata: dict[str, Any]) -> str:
    """Return what a cell's line says.

    Args:
        code: the cell's.
        metadata: the cell's; ``"tformer": {"code": "…"}`` goes first.
    """
    told = metadata.get("tformer", {})
    if "code" in told:
        return str(told["code"])
    if found := ANSWER.match(code):
        one, _, problems = found.groups()
        start = "Solution to problem" if one == "Solution" else "Check of solutions"
        return f"{start} {problems}"
    body = parsed(code)
    return (
        stub(code, body)
        or source(body)
        or figure(body, told.get("title", ""))
        or imports(body)
        or names(body)
    )


def stub(code: str, body: list[ast.stmt]) -> str:
    """What the reader is asked to write."""
    found = [each.name for each in body if isinstance(each, ast.FunctionDef)]
    return f"{' and '.join(found)}, for you to write" if is_stub(code) else ""


def source(body: list[ast.stmt]) -> str:
    """What a cell takes out of the package to show it."""
    match body:
        case [ast.Expr(ast.Call(func=ast.Attribute(attr="source"), args=[thing]))]:
            whole = ast.unparse(thing).split(".")
            kept = whole[-2:] if whole[-1] in VAGUE else whole[-1:]
            return ".".join(kept) + SHOWN.format("it")
    return ""


def figure(body: list[ast.stmt], title: str) -> str:
    """The figure that a cell ends in: a call of its class, or a name given to one."""
    made = {
        each.targets[0].id: each.value
        for each in body
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
    }
    last = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    last = made.get(last.id) if isinstance(last, ast.Name) else last
    if not isinstance(last, ast.Call):
        return ""
    kind = ast.unparse(last.func).split(".")[0]
    if not re.match(r"[A-Z][a-z]", kind):
        return ""
    if any(each.arg == "compact" for each in last.keywords):
        return "the map of the model"
    words = CAPITAL.sub(" ", kind)
    return f"the figure “{title or words.capitalize()}”"


def imports(body: list[ast.stmt]) -> str:
    """Whether a cell begins with several imports, as a chapter's first one does."""
    first = body[:2]
    is_import = all(isinstance(each, ast.Import | ast.ImportFrom) for each in first)
    return "imports" if len(first) == 2 and is_import else ""


def names(body: list[ast.stmt]) -> str:
    """What a cell defines, if nothing better can be said of it."""
    found: list[str] = []
    for each in body:
        if isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.append(each.name)
        elif isinstance(each, ast.Assign):
            targets = (node for target in each.targets for node in ast.walk(target))
            found += [node.id for node in targets if isinstance(node, ast.Name)]
    different = list(dict.fromkeys(found))[:MOST]
    return " ".join(("how we get", listed(different))) if different else "a few lines"


def listed(several: list[str]) -> str:
    """Return “a, b and c”."""
    *before, last = several
    return f"{', '.join(before)} and {last}" if before else last


def line(labels: list[str]) -> str:
    """Return one line for neighbours, without saying anything twice."""
    different = list(dict.fromkeys(labels))
    shown = [each for each in different if each.endswith(SHOWN.format("it"))]
    if len(shown) > 1 and shown == different:
        parts = [each.removesuffix(SHOWN.format("it")) for each in shown]
        return f"Code: {listed(parts)}{SHOWN.format('them')}"
    if (rest := len(different) - MOST) > 1:
        many = NUMBERS[rest - 2] if rest - 2 < len(NUMBERS) else rest
        different[MOST:] = [f"and {many} more"]
    said = "; ".join(different).replace("; Checked: ", "; checked: ")
    return said if said.startswith("Checked: ") else f"Code: {said}"


def aside(label: str) -> str:
    """Return the line of a cell that folds whole."""
    return label[:1].upper() + label[1:]
