"""Grade a notebook of three right and three wrong answers with Otter itself.

Usage, with Otter and this package in an environment of their own (see CONTRIBUTING):

    .venv/bin/python -m tformer_book.course.trial --otter ../otter/bin/otter

The right answers are the book's, the wrong ones come from ``tests/book/check/answers``.
The points that Otter gives must be exactly those, and each wrong answer must show what
the grader says about it. What is left blank gets nothing.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from tformer_book.course import handouts, otter
from tformer_book.course.problems import Graded
from tformer_book.course.sessions import Session, sessions, worth
from tformer_book.press.chapters import ROOT, source

GIVEN = {"math", "torch", "F"}  # what a handout imports, and a wrong answer may use


def submission(
    session: Session, n_right: int = 3, n_wrong: int = 3
) -> tuple[dict[str, Any], dict[str, tuple[int, str]]]:
    """Return a handout with answers put in, and what it should get.

    Args:
        session: which handout.
        n_right: how many functions get the book's answer; the first ones do.
        n_wrong: how many of the next get a wrong one; the others stay blank.

    Returns:
        notebook: as a student would hand it in.
        due: for each test its points, and the message that must be seen, if any.
    """
    notebook = handouts.handout(session)
    due, filled = {}, {}
    for at, (chapter, problem, part) in enumerate(session.graded()):
        name = otter.name_of(chapter, part)
        due[name] = (0, "Nothing to grade yet")
        if at < n_right:
            filled[part.stub] = part.solution
            due[name] = (worth(problem), "")
        elif n_wrong and (wrong := wrong_answer(part)):
            filled[part.stub], message = wrong
            due[name] = (0, message)
            n_wrong -= 1
    for cell in notebook["cells"]:
        cell["source"] = filled.get(source(cell), source(cell))
    return notebook, due


def wrong_answer(part: Graded) -> tuple[str, str] | None:
    """Return a wrong answer as a student's cell, and what its grader says.

    None if each of those known needs other functions.
    """
    from tformer_book import check

    if (folder := str(ROOT / "tests/book/check")) not in sys.path:
        sys.path.append(folder)
    from answers import load  # type: ignore[import-not-found]

    for answer in load():
        alone = inspect.isfunction(answer.mine) and not (
            inspect.getclosurevars(answer.mine).globals.keys() - GIVEN
        )
        wrong = answer.diagnosis not in ("correct", "endless")
        if answer.problem == part.grader and wrong and alone:
            with contextlib.redirect_stdout(io.StringIO()):
                message = getattr(check, part.grader)(answer.mine).message
            code = textwrap.dedent(inspect.getsource(answer.mine))
            [function] = ast.parse(code).body
            assert isinstance(function, ast.FunctionDef)
            function.name, function.decorator_list = part.function, []
            call = f"check.{part.grader}({part.function});"
            return f"{ast.unparse(function)}\n\n\n{call}", message
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--otter", required=True, help="the program of that name")
    parser.add_argument("--session", type=int, default=4)
    options = parser.parse_args()
    session = sessions()[options.session - 1]
    notebook, due = submission(session)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        otter.write(session, folder)
        (folder / "mine.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
        command = [options.otter, "run", "-a", "autograder.zip", "mine.ipynb"]
        clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(
            command, cwd=folder, env=clean, capture_output=True, text=True
        )
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            return 1
        results = json.loads((folder / "results.json").read_text("utf-8"))
    print(done.stdout)
    return judge(results, due)


def judge(results: dict[str, Any], due: dict[str, tuple[int, str]]) -> int:
    """Compare what Otter gave with what was due; 0 if they agree."""
    tests = {test["name"]: test for test in results["tests"] if "max_score" in test}
    wrong = 0
    for name, (points, message) in due.items():
        test = tests[name]
        seen = message in test["output"]
        agree = test["score"] == points and seen
        wrong += not agree
        mark = "as it should be" if agree else f"WRONG: {points} points, “{message}”"
        print(f"{name}: {test['score']:g} of {test['max_score']:g}, {mark}")
        if agree and message:
            print(textwrap.indent(textwrap.fill(message, 80), "    "))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
