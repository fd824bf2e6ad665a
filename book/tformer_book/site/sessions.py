"""The sessions of the course, on the page for teachers.

They are declared once, in ``book/tformer_book/course/sessions.toml``, from which ``make
course`` makes the material. In the page a fence named ``{sessions}`` marks their place.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

from tformer_book.course import page, sessions

PAGE = "book/for-teachers"
PLACE = re.compile(r"^```\{sessions\}\n```$", re.M)


def put_sessions(app: Sphinx, docname: str, content: list[str]) -> None:
    """Put the sessions in their place, before the page is read."""
    if docname != PAGE:
        return
    text = page.text()
    content[0] = PLACE.sub(lambda _: text, content[0])
    for path in (
        sessions.FILE,
        *(c.path for s in sessions.sessions() for c in s.chapters),
    ):
        app.env.note_dependency(str(path))


def setup(app: Sphinx) -> None:
    """Run whenever Sphinx reads a page."""
    app.connect("source-read", put_sessions)
