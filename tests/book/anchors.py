"""The addresses that links in the book can have, read from its sources."""

from __future__ import annotations

import functools
import re

from myst_parser.mdit_to_docutils.base import default_slugify

from tformer_book.press.chapters import pages, read, source

DEPTH = 3  # _config.yml: headings down to here can be linked


def prose(path):
    """The Markdown of a page."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = [c for c in read(path)["cells"] if c["cell_type"] == "markdown"]
    return "\n\n".join(source(cell) for cell in cells)


@functools.cache
def anchors(path):
    """The headings of a page, as links name them."""
    text = re.sub(r"```.*?```", "", prose(path), flags=re.S)
    heads = re.findall(rf"^#{{1,{DEPTH}}} (.+)$", text, flags=re.M)
    # Formulas are no part of an address.
    return {default_slugify(re.sub(r"\$[^$]*\$|[*`]", "", head)) for head in heads}


def leads_somewhere(target):
    """Whether a page of the book has this address.

    A figure gets its name when the site is built, and the build then looks whether
    links to it arrive (a warning is an error).
    """
    name, _, anchor = target.partition("#")
    [page] = [path for path in pages() if path.name == name] or [None]
    if page is None or not anchor or anchor.startswith("figure-"):
        return page is not None
    return anchor in anchors(page)
