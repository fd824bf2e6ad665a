"""The sessions as the page *For teachers* shows them, in the book's Markdown."""

from __future__ import annotations

import re

from tformer_book.course.problems import Chapter
from tformer_book.course.sessions import REFERENCE, Session, sessions, worth
from tformer_book.press.chapters import read, source

TIME = re.compile(r"^\*\*Time:\*\* (.+?)(?:, as long again for the problems)?\. ", re.M)


def text() -> str:
    """Return all sessions, each below a heading of the third level."""
    return "\n\n".join(session_text(session) for session in sessions())


def session_text(session: Session) -> str:
    """Return one session: reading, aims, plan, what is graded, what comes next."""
    chapters = session.by_key()

    def linked(reference: re.Match[str]) -> str:
        chapter, number = chapters[reference[1]], reference[2]
        return f"[{chapter.label}.{number}]({chapter.path.name}#problems)"

    plan = [REFERENCE.sub(linked, row) for _, row in session.plan]
    needs = REFERENCE.sub(linked, session.needs)
    minutes = [each for each, _ in session.plan]
    graded = session.graded()
    write = [f"{chapter.label}.{part.label}" for chapter, _, part in graded]
    total = sum(worth(problem) for _, problem, _ in graded)
    lines = [
        f"### Session {session.number}: {session.title}",
        f"**Read before:** {'; '.join(map(reading, session.chapters))}.",
        f"**Bring along:** {needs}",
        "**Afterwards students can**",
        "\n".join(f"- {aim}," for aim in session.aims)[:-1] + ".",
        "\n".join(
            ["| Minutes | In class |", "|---|---|"]
            + [f"| {n} | {row} |" for n, row in zip(minutes, plan, strict=True)]
        ),
        f"**To write:** the functions of problems {listed(write)}, at home unless the "
        f"plan has them in class. The autograder gives {total} points for them.",
    ]
    if session.further:
        lines.append(f"**To read on:** {session.further}")
    return "\n\n".join(lines)


def reading(chapter: Chapter) -> str:
    """Return a chapter with the time that it says it takes."""
    said = TIME.search(source(read(chapter.path)["cells"][0]))
    link = f"[{chapter.title}]({chapter.path.name})"
    return f"{link} ({said[1]})" if said else link


def listed(words: list[str]) -> str:
    """Return words as a sentence lists them."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if words[1:] else words[0]
