"""What a link to a page shows elsewhere: description, title, picture.

The description is what a chapter teaches ("After this chapter you can …"), else the
page's first paragraph, cut at the end of a sentence or at a semicolon. The picture
is drawn when the site is built: number, title, what the page promises, and the crossing
lines of attention weights (how well the sinusoids of two positions match), which differ
from page to page. Absolute addresses begin with the site's own (``html_baseurl``),
which ``make address`` sets.
"""

from __future__ import annotations

import io
import re
import tempfile
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
from tformer_book.press.chapters import ROOT

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
VENDOR = ROOT / "book/_static/vendor"
ROMAN, CODE = "literata/roman.woff2", "inconsolata/code.woff2"
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
def weights(number: int, length: int = 7) -> np.ndarray:
    """Attention weights among positions, by their sinusoids alone."""
    positions = np.arange(length)[:, None] * (1 + number % 7) / 2
    angles = (positions + number) / 100.0 ** (np.arange(8) / 8)
    waves = np.hstack([np.sin(angles), np.cos(angles)])
    scores = np.roll(waves, number % length, axis=0) @ waves.T * 0.35
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@cache
def letters(name: str, weight: int) -> Any:
    """One of the site's fonts, for matplotlib, which knows neither woff2 nor axes."""
    from fontTools.ttLib import TTFont
    from fontTools.varLib import instancer
    from matplotlib.font_manager import FontProperties, fontManager

    font, family = TTFont(VENDOR / name), f"{Path(name).parent} {weight}"
    instancer.instantiateVariableFont(font, {"wght": weight}, inplace=True)
    for entry in font["name"].names:
        if entry.nameID == 1:
            entry.string = family
    font.flavor = None
    file = Path(tempfile.mkdtemp()) / "font.ttf"
    font.save(file)
    fontManager.addfont(file)
    return FontProperties(family=[family, "DejaVu Sans"])  # which has signs, too


def lines_between(axes: Any, shares: np.ndarray) -> None:
    """Draw weights: words above for columns, words below for rows, lines between."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    curve = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    length = len(shares)
    for i, row in enumerate(shares):
        for j, share in enumerate(row):
            points = [(j, 1), (j, 0.4), (i, 0.6), (i, 0)]
            axes.add_patch(
                PathPatch(
                    Curve(points, curve),
                    fill=False,
                    capstyle="round",
                    color=ACCENT,
                    alpha=0.12 + 0.88 * share,
                    linewidth=0.8 + 9 * share,
                )
            )
    for y in (0, 1):
        axes.plot(range(length), [y] * length, "o", color=ACCENT, ms=13)
    axes.set(xlim=(-0.4, length - 0.6), ylim=(-0.08, 1.08))
    axes.set_axis_off()


def picture(title: str, book: str, promise: str) -> bytes:
    """The card of a page: a PNG of ``SIZE``."""
    from matplotlib.figure import Figure

    chapter = re.match(r"(\d\d) (.+)", title)
    number, name = chapter.groups() if chapter else ("", title)
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=PAPER)
    axes = figure.add_axes((0.63, 0.16, 0.32, 0.68))
    lines_between(axes, weights(int(number or sum(map(ord, name)))))
    read, bold = letters(ROMAN, 400), letters(ROMAN, 700)
    code = letters(CODE, 600)
    lines = textwrap.wrap(name, 19, max_lines=3, placeholder=" …")
    size = 46 if len(lines) < 3 else 38
    plain: dict[str, Any] = {"parse_math": False, "va": "top"}
    figure.text(0.06, 0.9, number, fontproperties=code, size=30, color=ACCENT, **plain)
    figure.text(
        0.06, 0.8, "\n".join(lines), fontproperties=bold, size=size, color=INK, **plain
    )
    said = "\n".join(textwrap.wrap(promise, 46, max_lines=4, placeholder=" …"))
    figure.text(
        0.06, 0.47, said, fontproperties=read, size=19, color=INK, linespacing=1.45,
        **plain,
    )  # fmt: skip
    figure.text(0.06, 0.1, book, fontproperties=bold, size=17, color=QUIET, **plain)
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
        promise = description(doctree, title, book) if doctree else ""
        file.write_bytes(picture(title if doctree else book, book, promise))
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
