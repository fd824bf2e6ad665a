"""What a link to a page shows elsewhere: description, title, picture.

The description is what a chapter teaches ("After this chapter you can …"), else the
page's first paragraph, cut at the end of a sentence or at a semicolon. The picture
is drawn when the site is built: number, title, and a pattern of attention weights (how
well the sinusoids of two positions match) that differs from page to page. Absolute
addresses begin with the site's own (``html_baseurl``), which ``make address`` sets.
"""

from __future__ import annotations

import io
import re
import textwrap
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from PIL import Image
from sphinx import addnodes
from sphinx.application import Sphinx

from tformer import figures

from .formulas import in_a_line
from .pages import CHAPTER

FOLDER = "_static/social"
SIZE = (1200, 630)  # pixels, what the networks ask for
COLOURS = 64  # of the palette: flat areas and the edges of letters need no more
LONGEST = 200  # characters of a description
SHORTEST = 40  # of a paragraph that says something
AIM = "After this chapter you can "
NAMELESS = {  # pages to which Sphinx gives no title
    "genindex": "Index of names",
    "py-modindex": "Index of modules",
    "search": "Search",
}
INK, PAPER, QUIET, ACCENT = map(figures.day, ("ink", "paper", "muted", "accent"))


def spoken(node: nodes.Node) -> str:
    """The text of a paragraph, its formulas as one would type them."""
    if isinstance(node, nodes.math):
        return in_a_line(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, (nodes.raw, nodes.comment)):
        return ""
    return "".join(spoken(child) for child in node.children)


def shortened(text: str) -> str:
    """The sentences or parts of one that fit whole, or else the words that do."""
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    ends = [end.end(1) for end in re.finditer(r"([.?!][”)]?|;)\s", text[: LONGEST + 1])]
    if ends and ends[-1] >= SHORTEST:
        return re.sub(";$", ".", text[: ends[-1]])
    return textwrap.shorten(text, LONGEST, placeholder=" …")


def description(page: nodes.document | None, title: str, book: str) -> str:
    """What a page is for: its aim, its first paragraph, or its title if it has none."""
    texts = [
        spoken(paragraph).strip()
        for paragraph in (page.findall(nodes.paragraph) if page else ())
        # Not the example that is quoted, nor what a cell printed.
        if isinstance(paragraph.parent, (nodes.section, addnodes.desc_content))
    ]
    for text in sorted(texts, key=lambda each: not each.startswith(AIM)):
        if len(text) >= SHORTEST:
            return shortened(text)
    return f"{title}, in the interactive book “{book}”."


@cache
def weights(number: int, length: int = 12) -> np.ndarray:
    """Attention weights among positions, by their sinusoids alone."""
    positions = np.arange(length)[:, None] * (1 + number % 7) / 2
    angles = positions / 100.0 ** (np.arange(8) / 8)
    waves = np.hstack([np.sin(angles), np.cos(angles)])
    scores = waves @ waves.T / np.sqrt(waves.shape[1])
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def picture(title: str, book: str) -> bytes:
    """The card of a page: a PNG of ``SIZE``."""
    from matplotlib.figure import Figure

    chapter = re.match(r"(\d\d) (.+)", title)
    number, name = chapter.groups() if chapter else ("", title)
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=PAPER)
    axes = figure.add_axes((0.66, 0.17, 0.3, 0.3 * SIZE[0] / SIZE[1]))
    axes.imshow(
        weights(int(number or sum(map(ord, name)))), cmap=figures.weight_colours()
    )
    axes.set_axis_off()
    lines = textwrap.wrap(name, 17, max_lines=4, placeholder=" …")
    figure.text(0.06, 0.82, number, size=40, color=QUIET, weight="bold")
    figure.text(
        0.06,
        0.5,
        "\n".join(lines),
        size=44 if len(lines) < 3 else 34,
        color=INK,
        weight="bold",
        va="center",
        parse_math=False,
    )
    figure.text(0.06, 0.1, book, size=20, color=QUIET)
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", facecolor=PAPER)
    small = io.BytesIO()
    flat = Image.open(drawn).convert("RGB").quantize(COLOURS)
    flat.save(small, format="PNG", optimize=True)
    return small.getvalue()


def describe(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the tags into the page's head, and draw its picture."""
    book = app.config.html_title
    title = context.get("title") or NAMELESS.get(pagename, book)
    title = unescape(" ".join(re.sub(r"<[^>]*>", "", title).split()))
    place = Path(app.outdir) / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    # Lists made of other pages, and pages without a text, share one card.
    name = pagename.replace("/", "-") if doctree else "book"
    file = place / f"{name}.png"
    if doctree or not file.exists():
        file.write_bytes(picture(title if doctree else book, book))
    site = app.config.html_baseurl.rstrip("/")
    about = description(doctree, title, book)
    address = f"{site}/{app.builder.get_target_uri(pagename)}"
    tags = {
        "name": {
            "description": about,
            "twitter:card": "summary_large_image",
        },
        "property": {
            "og:type": "article" if CHAPTER.match(pagename) else "website",
            "og:site_name": book,
            "og:title": title,
            "og:description": about,
            "og:url": address,
            "og:image": f"{site}/{FOLDER}/{file.name}",
            "og:image:width": str(SIZE[0]),
            "og:image:height": str(SIZE[1]),
            "og:image:alt": f"{title}: {book}" if title != book else book,
        },
    }
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n<meta {key}="{tag}" content="{escape(content)}">'
        for key, contents in tags.items()
        for tag, content in contents.items()
    )


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("html-page-context", describe, priority=980)
