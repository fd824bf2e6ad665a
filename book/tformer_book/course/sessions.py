"""The sessions, as `sessions.toml` declares them, with the chapters that they read."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tformer_book.course.problems import Chapter, Graded, NotAProblem, Problem, load
from tformer_book.press import chapters

FILE = Path(__file__).with_name("sessions.toml")
MINUTES = 90
REFERENCE = re.compile(r"\{([\w-]+)\.(\d+)\}")
LINK = re.compile(r"(?<=\]\()([\w./-]*)(#[\w-]+)?(?=\))")


@dataclass(frozen=True)
class Session:
    """One meeting of the class.

    Attributes:
        number: from 1.
        title: what it is about.
        aims: what students can do afterwards.
        needs: what they should bring along.
        plan: minutes and what to do in them. Here and in ``needs``, ``{attention.3}``
            refers to a problem by the key of its chapter.
        chapters: to be read before.
        further: what a class may read next; often nothing.
    """

    number: int
    title: str
    aims: list[str]
    needs: str
    plan: list[tuple[int, str]]
    chapters: list[Chapter]
    further: str = ""

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"session-{self.number}"

    def by_key(self) -> dict[str, Chapter]:
        """Return the chapters that it reads, by their keys."""
        return {chapters.key(each.path): each for each in self.chapters}

    def in_class(self) -> list[tuple[Chapter, Problem]]:
        """Return the problems that the plan refers to.

        Raises:
            NotAProblem: there is no such problem in what the session reads.
        """
        read, found = self.by_key(), []
        for key, number in REFERENCE.findall(" ".join(text for _, text in self.plan)):
            if key not in read:
                raise NotAProblem(f"{self.name} does not read the chapter {key!r}")
            found.append((read[key], read[key].problem(number)))
        return found

    def graded(self) -> list[tuple[Chapter, Problem, Graded]]:
        """Return what the autograder judges; each function once.

        Raises:
            NotAProblem: two functions have one name, so that one would hide the other.
        """
        found: dict[str, tuple[Chapter, Problem, Graded]] = {}
        for chapter in self.chapters:
            for problem in chapter.problems:
                for part in problem.graded:
                    _, _, first = found.setdefault(
                        part.function, (chapter, problem, part)
                    )
                    if first.grader != part.grader:
                        raise NotAProblem(
                            f"{self.name}: {part.function} is two functions; rename "
                            f"the one of {chapter.path.name}"
                        )
        return list(found.values())


@cache
def points() -> dict[str, int]:
    """Return what a plain and a harder function are worth."""
    return tomllib.loads(FILE.read_text("utf-8"))["points"]


def worth(problem: Problem) -> int:
    """Return the points for each function of a problem."""
    return points()["harder" if problem.harder else "plain"]


@cache
def sessions() -> list[Session]:
    """Return all sessions, in order."""
    declared = tomllib.loads(FILE.read_text("utf-8"))["session"]
    return [
        Session(
            number,
            each["title"],
            each["aims"],
            each["needs"],
            [(minutes, text) for minutes, text in each["plan"]],
            [load(chapters.chapter(key)) for key in each["reading"]],
            each.get("further", ""),
        )
        for number, each in enumerate(declared, start=1)
    ]


@cache
def site() -> str:
    """Return the address of the book's pages on the web."""
    config = yaml.safe_load((chapters.ROOT / "_config.yml").read_text("utf-8"))
    return config["html"]["baseurl"] + "book/"


def on_the_site(text: str, chapter: Path | None = None) -> str:
    """Turn a chapter's links into addresses that work from anywhere."""

    def address(found: re.Match[str]) -> str:
        page, anchor = found[1] or (chapter.name if chapter else ""), found[2] or ""
        return f"{site()}{Path(page).with_suffix('.html')}{anchor}" if page else ""

    return LINK.sub(address, text)
