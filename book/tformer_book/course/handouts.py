"""Notebooks for a class: what is asked, and, for the teacher, what is answered."""

from __future__ import annotations

import ast
from typing import Any

from tformer_book.course.problems import Chapter, Graded, Problem, names_in
from tformer_book.course.sessions import Session, on_the_site, worth
from tformer_book.press import strip
from tformer_book.press.chapters import source
from tformer_book.press.setup_cell import setup_cell

ALWAYS = ("math", "torch", "F", "nn", "check")  # offered if a chapter imports them
TASK = """\
# Session {number}: {title}

{what} of **[{book}]({site})**, from the chapters {chapters}.

{how}"""
HOW = """\
Put your own lines where a cell says `raise NotImplementedError`, and run it: the \
checker tells you what it finds. Change no function's name, because the autograder \
looks for it. A problem without points is for paper; write your answer below it. Run \
the cells from the top: the first installs what is needed."""
IN_CHAPTER = (
    "*Solve this one [in the chapter]({url}), which has what its code works on.*"
)
ANSWER = "*Your answer:*"
AGAIN = "*You have written this function already: problem {label}.*"


def handout(session: Session) -> dict[str, Any]:
    """Return the notebook that students get: no solution, and no hint."""
    return _notebook(session, answers=False)


def answers(session: Session) -> dict[str, Any]:
    """Return the notebook for the teacher: the same problems with all their answers."""
    return _notebook(session, answers=True)


def _notebook(session: Session, *, answers: bool) -> dict[str, Any]:
    book, site = "The Transformer, Piece by Piece", on_the_site("[](intro.ipynb)")[3:-1]
    chapters = ", ".join(
        on_the_site(f"[{chapter.title}]({chapter.path.name})")
        for chapter in session.chapters
    )
    what = "Problems, with all answers," if answers else "Problems"
    how = "For teachers only: handouts have no answers." if answers else HOW
    text = TASK.format(
        number=session.number, title=session.title, what=what, book=book, site=site,
        chapters=chapters, how=how,
    )  # fmt: skip
    cells = [_markdown(text), setup_cell()]
    first = {part.function: (c, p, part) for c, p, part in session.graded()}
    in_class = {(c.label, p.number) for c, p in session.in_class()}
    known: list[str] = []
    for chapter in session.chapters:
        cells.append(_markdown(f"## {chapter.title}"))
        if new := [line for line in given(chapter) if line not in known]:
            cells.append(_code("\n".join(new)))
            known += new
        for problem in chapter.problems:
            again = {
                part.function: f"{c.label}.{old.label}"
                for part in problem.graded
                for c, p, old in [first[part.function]]
                if (c, p) != (chapter, problem)
            }
            here = (chapter.label, problem.number) in in_class
            cells += _cells(chapter, problem, again, here, answers)
    return strip.stripped({"cells": _named(cells), "metadata": {}})


def _cells(
    chapter: Chapter,
    problem: Problem,
    again: dict[str, str],
    in_class: bool,
    answers: bool,
) -> list[dict[str, Any]]:
    """Return the cells of one problem."""
    n_points = worth(problem) * (len(problem.graded) - len(again))
    about = [f"{n_points} points"] if n_points else []
    about += ["in class"] if in_class else []
    head = f"### Problem {chapter.label}.{problem.number}"
    head += f" ({', '.join(about)})" if about else ""
    cells, heading = [], head
    for part in problem.asks:
        if isinstance(part, Graded):
            if part.function in again:
                cells.append(_markdown(AGAIN.format(label=again[part.function])))
            else:
                cells.append(_code(part.solution if answers else part.stub))
            continue
        text = on_the_site(part, chapter.path)
        cells.append(_markdown(f"{heading}\n\n{text}" if heading else text))
        heading = ""
    if problem.in_chapter:
        url = on_the_site(f"[]({chapter.path.name}#problems)")[3:-1]
        cells.append(_markdown(IN_CHAPTER.format(url=url)))
    elif not problem.graded and not answers:
        cells.append(_markdown(ANSWER))
    if answers:
        said = [f"**Hint** (not in the handout): {each}" for each in problem.hints]
        said += [f"**Answer.**\n\n{each}" for each in problem.answers]
        cells += [_markdown(on_the_site(each, chapter.path)) for each in said]
    return cells


def given(chapter: Chapter) -> list[str]:
    """Return the imports and constants of a chapter that a right answer may need."""
    code = "\n".join(
        f"{part.solution}\n{part.stub}" for p in chapter.problems for part in p.graded
    )
    used = (names_in(code) | set(ALWAYS)) if code else set()
    return sorted(
        {line for name, line in chapter.given.items() if name in used}, key=_place
    )


def _place(line: str) -> tuple[int, bool, str]:
    """Return where a line stands: standard library, torch, tformer, constants."""
    node = ast.parse(line).body[0]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
    elif isinstance(node, ast.Import):
        module = node.names[0].name
    else:
        return 3, False, line
    groups = {"torch": 1, "tformer": 2, "tformer_book": 2}
    group = groups.get(module.partition(".")[0], 0)
    return group, isinstance(node, ast.ImportFrom), line


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": text}


def _named(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the cells ids that stay: the setup cell keeps its own."""
    for at, cell in enumerate(cells):
        cell.setdefault("id", f"cell-{at}")
        cell["source"] = source(cell)
    return cells
