"""The problems of a chapter, found by reading its notebook.

They stand below the heading *Problems*. A paragraph that begins with a bold number
opens one. What follows belongs to it, up to the next:

- a code cell whose function raises ``NotImplementedError``, and which hands it to
  ``check.<grader>``, is work for the autograder;
- covered text (``<details>``), cells that begin with ``# Solution``, and hints in
  brackets are answers: a handout has none of them;
- other code works on what the chapter has computed further up. It stays there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tformer_book.press.chapters import read, source, tags
from tformer_book.press.labels import is_answer

HEADING = re.compile(r"^#{2,3} .*$", re.M)
OPENS = re.compile(r"^\*\*(\d+)\.\*\* ", re.M)
COVERED = re.compile(r"<details\b.*?</details>", re.S)
SUMMARY = re.compile(r"</?details[^>]*>|<summary>.*?</summary>", re.S)
MAGIC = re.compile(r"^[%!].*$", re.M)
HARDER = "*(harder)*"


class NotAProblem(ValueError):
    """A chapter's problems are not laid out as this room reads them."""


@dataclass(frozen=True)
class Graded:
    """A function that the reader writes and a grader checks.

    Attributes:
        label: the problem's number, and a letter if it asks for several functions.
        grader: its name in `tformer_book.check`.
        function: what the reader's function is called.
        stub: the code cell to fill in.
        solution: the chapter's own function, with its check.
    """

    label: str
    grader: str
    function: str
    stub: str
    solution: str


@dataclass
class Problem:
    """What a chapter asks, and what it answers.

    Attributes:
        number: as the chapter counts.
        asks: what a handout shows, in order: text, or a function to write.
        answers: what only the teacher gets, in order.
        hints: taken out of the text.
        in_chapter: whether its code needs what the chapter has computed.
    """

    number: str
    asks: list[str | Graded] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    in_chapter: bool = False

    @property
    def graded(self) -> list[Graded]:
        """The functions to write."""
        return [part for part in self.asks if isinstance(part, Graded)]

    @property
    def harder(self) -> bool:
        """Whether the chapter marks it so."""
        return any(HARDER in part for part in self.asks if isinstance(part, str))


@dataclass(frozen=True)
class Chapter:
    """What a course needs of a chapter.

    Attributes:
        path: of the notebook.
        title: its heading.
        given: import statements and constants, by the name that they bind.
        problems: in order.
    """

    path: Path
    title: str
    given: dict[str, str]
    problems: list[Problem]

    @property
    def label(self) -> str:
        """Its number as people say it, such as "5"; its file's name if it has none."""
        number = self.path.stem.partition("-")[0]
        return str(int(number)) if number.isdigit() else self.path.stem

    def problem(self, number: str) -> Problem:
        """Return a problem by its number.

        Raises:
            NotAProblem: the chapter has no such problem.
        """
        for problem in self.problems:
            if problem.number == number:
                return problem
        raise NotAProblem(f"{self.path.name} has no problem {number}")


def load(path: Path) -> Chapter:
    """Read a chapter.

    Raises:
        NotAProblem: its problems are not laid out as above.
    """
    cells = read(path)["cells"]
    title = source(cells[0]).splitlines()[0].removeprefix("# ")
    try:
        found = problems(problem_cells(cells))
    except NotAProblem as wrong:
        raise NotAProblem(f"{path.name}: {wrong}") from None
    return Chapter(path, title, given(cells), found)


def problem_cells(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells below the heading *Problems*, without what else is in them."""
    kept: list[dict[str, Any]] = []
    inside = False
    for cell in cells:
        if cell["cell_type"] != "markdown":
            kept += [cell] * inside
            continue
        text = ""
        for part in re.split(r"^(?=## )", source(cell), flags=re.M):
            if part.startswith("## "):
                inside = part.splitlines()[0] == "## Problems"
            text += part * inside
        text = HEADING.sub("", text).strip()
        if text:
            kept.append({**cell, "source": text})
    return kept


def problems(cells: list[dict[str, Any]]) -> list[Problem]:
    """Return the problems that these cells pose.

    Raises:
        NotAProblem: text or code stands before the first, or one has no solution.
    """
    found: list[Problem] = []
    for at, cell in enumerate(cells):
        after = cells[at + 1] if at + 1 < len(cells) else None
        if cell["cell_type"] == "markdown":
            lead, *opened = re.split(OPENS, source(cell))
            if lead.strip() and found:
                _continue(found[-1], lead.strip(), after)
            for number, text in zip(opened[::2], opened[1::2], strict=True):
                found.append(Problem(number))
                _ask(found[-1], text.strip())
        elif found:
            _code(found[-1], source(cell), cells[at + 1 :])
    for problem in found:
        if len(problem.graded) > 1:
            letters = iter("abcdefgh")
            problem.asks = [
                replace(part, label=part.label + next(letters))
                if isinstance(part, Graded)
                else part
                for part in problem.asks
            ]
    return found


def _ask(problem: Problem, text: str) -> None:
    """Take in text: what is asked, what is covered, what is a hint."""
    problem.answers += [SUMMARY.sub("", each).strip() for each in COVERED.findall(text)]
    text, hints = without_hints(COVERED.sub("", text))
    problem.hints += hints
    if text.strip():
        problem.asks.append(text.strip())


def _continue(problem: Problem, text: str, after: dict[str, Any] | None) -> None:
    """Take in text that does not open a problem.

    It asks if a function to write follows. If other code follows, it leads up to that,
    and stays in the chapter. Else it is said after the solution, and may tell it.
    """
    if after and after["cell_type"] == "code":
        if stub_of(source(after)):
            _ask(problem, text)
            return
        if not is_answer(source(after)):
            return
    bare = SUMMARY.sub("", text).strip()
    if bare:
        problem.answers.append(bare)


def _code(problem: Problem, code: str, later: list[dict[str, Any]]) -> None:
    """Take in a code cell."""
    if stub := stub_of(code):
        grader, function = stub
        made = solution_of(grader, later)
        problem.asks.append(Graded(problem.number, grader, function, code, made))
    elif code.startswith("# Solution to"):
        if not is_solution_of_a_grader(code):
            problem.answers.append(f"```python\n{code}\n```")
    elif not is_answer(code) and later:
        # A stub that its chapter judges by itself: a solution follows at once.
        problem.in_chapter |= source(later[0]).startswith("# Solution to")


def parsed(code: str) -> ast.Module:
    """Read a cell's code; commands to the notebook (``%pip``, ``!ls``) are left out."""
    return ast.parse(MAGIC.sub("", code))


def stub_of(code: str) -> tuple[str, str] | None:
    """Return grader and function of a cell that has a function to write, else None."""
    tree = parsed(code)
    missing = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(each, ast.Raise)
            and isinstance(each.exc, ast.Name)
            and each.exc.id == "NotImplementedError"
            for each in ast.walk(node)
        )
    }
    return next(((g, f) for g, f in checks(tree) if f in missing), None)


def checks(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each ``check.<grader>(<function>)`` of some code."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "check"
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Name)
        ):
            yield node.func.attr, node.args[0].id


def is_solution_of_a_grader(code: str) -> bool:
    """Say whether a cell solves what a grader checks."""
    return any(checks(parsed(code)))


def solution_of(grader: str, later: list[dict[str, Any]]) -> str:
    """Return the solution from the cells that follow, up to its check.

    What comes after the check compares with what the chapter has computed.

    Raises:
        NotAProblem: there is none.
    """
    for cell in later:
        code = source(cell)
        if cell["cell_type"] == "code" and code.startswith("# Solution to"):
            for statement in parsed(code).body:
                if grader in [found for found, _ in checks(statement)]:
                    return "\n".join(code.splitlines()[: statement.end_lineno])
    raise NotAProblem(f"no solution of what check.{grader} checks")


def without_hints(text: str) -> tuple[str, list[str]]:
    """Take ``(Hint: …)`` out of a text; brackets inside a hint are part of it."""
    hints = []
    while (start := text.find("(Hint:")) >= 0:
        depth, end = 0, start
        for end in range(start, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        hints.append(text[start + 6 : end].strip())
        text = text[:start].rstrip() + text[end + 1 :]
    return text, hints


def given(cells: list[dict[str, Any]]) -> dict[str, str]:
    """Return what binds the names that a chapter starts from.

    That is each name that it imports, and each constant: a name in capitals.
    """
    found = {}
    for cell in cells:
        if cell["cell_type"] != "code" or "setup" in tags(cell):
            continue
        for node in parsed(source(cell)).body:
            match node:
                case ast.Import(names=several):
                    for name in several:
                        bound = name.asname or name.name.partition(".")[0]
                        found[bound] = ast.unparse(ast.Import([name]))
                case ast.ImportFrom(module=module, names=several):
                    for name in several:
                        one = ast.ImportFrom(module, [name], 0)
                        found[name.asname or name.name] = ast.unparse(one)
                case ast.Assign(targets=[ast.Name(id=bound)]) if bound.isupper():
                    found.setdefault(bound, ast.unparse(node))
    return found


def names_in(code: str) -> set[str]:
    """Return the names that some code reads."""
    return {node.id for node in ast.walk(parsed(code)) if isinstance(node, ast.Name)}
