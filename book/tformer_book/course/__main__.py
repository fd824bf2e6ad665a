"""Write the material for a class: see `course`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from tformer_book.course import handouts, otter, slides
from tformer_book.course.problems import NotAProblem
from tformer_book.course.sessions import Session, sessions, worth
from tformer_book.press.chapters import ROOT

README = """\
# Material for a class

Made by `make course` from the chapters, and made anew each time: copy what you change.
The page *For teachers* of the book says how to use it.

- `handouts/`: what students get, a notebook for each session, without any answer
- `slides/`: a page to show for each session; open it in a browser
- `instructor/`: keep this one. For each session `answers.ipynb`, and the autograder:
  `autograder.zip` for `otter run`, with the `tests` that are in it

"""


def write(out: Path) -> list[str]:
    """Write everything, and return what there is to say about it."""
    said, lacking = [], set()
    for session in sessions():
        teacher = out / "instructor" / session.name
        _notebook(out / "handouts" / f"{session.name}.ipynb", handouts.handout(session))
        _notebook(teacher / "answers.ipynb", handouts.answers(session))
        otter.write(session, teacher)
        page, missing = slides.deck(session)
        lacking |= set(missing)
        (out / "slides").mkdir(exist_ok=True)
        (out / "slides" / f"{session.name}.html").write_text(page, encoding="utf-8")
        said.append(_line(session, page.count("<section>")))
    shutil.copy(slides.PLOTLY, out / "slides")
    (out / "README.md").write_text(README + table(said), encoding="utf-8")
    if lacking:
        names = ", ".join(sorted(lacking))
        said.append(f"slides have no figures of {names}: not executed (make execute)")
    return said


def _line(session: Session, n_slides: int) -> str:
    """Say what a session has."""
    graded = session.graded()
    total = sum(worth(problem) for _, problem, _ in graded)
    n_problems = sum(len(chapter.problems) for chapter in session.chapters)
    return (
        f"session {session.number}: {n_problems} problems, {len(graded)} functions "
        f"graded, {total} points, {n_slides} slides"
    )


def table(lines: list[str]) -> str:
    """Return lines as a list in Markdown."""
    return "".join(f"- {line}\n" for line in lines)


def _notebook(path: Path, notebook: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="course", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "course")
    options = parser.parse_args()
    try:
        said = write(options.out)
    except NotAProblem as wrong:
        print(f"course: {wrong}", file=sys.stderr)
        return 1
    for line in said:
        print(f"course: {line}")
    print(f"course: {options.out / 'README.md'} says what is there")
    return 0


if __name__ == "__main__":
    sys.exit(main())
