"""An autograder in Otter's format: a test file for each function that is graded.

The files are of Otter's exception-based kind. Each calls a grader of
`tformer_book.check` on the student's function, and fails with the grader's message.
``autograder.zip`` is what
``otter run`` takes.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

from tformer_book.course.problems import Chapter, Graded, Problem
from tformer_book.course.sessions import Session, worth
from tformer_book.press.setup_cell import render

TEST = '''\
"""Problem {label}: calls the student's {function}."""

from otter.test_files import test_case

OK_FORMAT = False

name = "{name}"
points = {points}


@test_case(name="{function}", points={points}, hidden=False)
def test_{function}(env):
    from tformer_book import check

    mine = env.get("{function}")
    assert mine is not None, "There is no {function}: was the function renamed?"
    result = check.{grader}(mine)
    assert result.passed, result.message
'''
CONFIG = {"lang": "python", "show_stdout": False, "show_hidden": True}
STAMP = (1980, 1, 1, 0, 0, 0)  # so that equal tests make an equal archive


def name_of(chapter: Chapter, part: Graded) -> str:
    """Return the name of a test, such as "q05_7"."""
    label = chapter.label
    return (
        f"q{int(label):02}_{part.label}" if label.isdigit() else f"{label}_{part.label}"
    )


def test_of(chapter: Chapter, problem: Problem, part: Graded) -> str:
    """Return the test of one function."""
    return TEST.format(
        label=f"{chapter.label}.{part.label}",
        function=part.function,
        grader=part.grader,
        name=name_of(chapter, part),
        points=worth(problem),
    )


def files(session: Session) -> dict[str, str]:
    """Return what an autograder consists of, by path in its folder."""
    made = {
        f"tests/{name_of(chapter, part)}.py": test_of(chapter, problem, part)
        for chapter, problem, part in session.graded()
    }
    made["otter_config.json"] = json.dumps(CONFIG, indent=2) + "\n"
    [archive] = re.findall(r'^ARCHIVE = "(.+)"$', render(), re.M)  # as in the notebook
    made["requirements.txt"] = f"tformer @ {archive}\n"
    return made


def write(session: Session, folder: Path) -> None:
    """Write the autograder of a session; tests of an earlier one are removed."""
    for old in folder.glob("tests/*.py"):
        old.unlink()
    made = files(session)
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with zipfile.ZipFile(folder / "autograder.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(made):
            file.writestr(zipfile.ZipInfo(name, STAMP), made[name])
