"""Draw the small diagrams that chapters type with box characters.

In a notebook such a diagram is a block of ``text``, good to read in Colab, on GitHub
and in a terminal. A page of the book draws the same lines as SVG: by day, by night and
on paper, with words for queries, keys and values in their colours.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from html import escape

from docutils import nodes
from sphinx.application import Sphinx

# Which sides of its cell a character reaches from the middle.
SIDES = {"─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu"}
SIDES |= {"├": "udr", "┤": "udl", "┬": "lrd", "┴": "lru", "┼": "lrud"}
HEADS = {"▶": "l", "→": "l", "↓": "u"}  # arrows come from this side
CORNERS = {"rd", "ld", "ru", "lu"}
WIDE, HIGH = 8, 22  # CSS pixels of a cell: code is half as wide as its 16 pixels
STEP = {
    "l": (-WIDE / 2, 0),
    "r": (WIDE / 2, 0),
    "u": (0, -HIGH / 2),
    "d": (0, HIGH / 2),
}
ROLES = {
    "query": re.compile(r"\b(?:query|queries|W_Q)\b|q[₀-₉]"),
    "key": re.compile(r"\b(?:keys?|W_K)\b|k[₀-₉]"),
    "value": re.compile(r"\b(?:values?|W_V)\b"),
}
TEXT = re.compile(
    rf"[^\s{''.join([*SIDES, *HEADS])}•]+(?: [^\s{''.join(SIDES)}▶→↓•]+)*"
)


def is_drawing(text: str) -> bool:
    """Whether a block of text is a diagram: it has corners or branches."""
    return bool(set(text) & (SIDES.keys() - {"─", "│"}))


def svg(text: str) -> str:
    """Return a diagram as SVG, a cell for each character."""
    rows = text.rstrip("\n").split("\n")
    width, height = WIDE * max(map(len, rows)) + 2, HIGH * len(rows)
    label = escape(
        "; ".join(" ".join(TEXT.findall(row)) for row in rows if row.strip())
    )
    drawn = {*SIDES, *HEADS, "+"}
    lines = " ".join(part for cell in cells(rows, drawn) for part in strokes(cell))
    tips = "".join(f'<path d="{tip(cell)}"/>' for cell in cells(rows, HEADS))
    dots = "".join(
        f'<circle cx="{cell.x:g}" cy="{cell.y:g}" r="3"/>' for cell in cells(rows, "•")
    )
    words = "".join(
        f'<text x="{WIDE * found.start():g}" y="{HIGH * (i + 0.5) + 5:g}"'
        f"{role(found[0])}>{escape(found[0])}</text>"
        for i, row in enumerate(rows)
        for found in TEXT.finditer(row)
        if found[0] != "+"
    )
    return (
        f'<div class="tf-drawing tf-scroll"><svg viewBox="-1 0 {width} {height}" '
        f'role="img" aria-label="{label}" style="width:{width}px;'
        f'min-width:{min(width, 460)}px"><path class="tf-strokes" d="{lines}"/>'
        f"<g>{tips}{dots}</g>{words}</svg></div>"
    )


@dataclass(frozen=True)
class Cell:
    """A character that is drawn, where its middle is, and what stands around it."""

    character: str
    x: float
    y: float
    left: str
    right: str
    below: str

    def end(self, side: str) -> tuple[float, float]:
        """Where a line to this side ends: a little before a letter."""
        dx, dy = STEP[side]
        beside = {"l": self.left, "r": self.right}.get(side, " ")
        is_letter = not (beside.isspace() or beside in {*SIDES, *HEADS, "+"})
        return self.x + dx * (0.25 if is_letter else 1), self.y + dy


def cells(rows: list[str], which: Container[str]) -> Iterator[Cell]:
    """Yield the characters of these kinds."""
    wide = max(map(len, rows)) + 1
    grid = [row.ljust(wide) for row in [*rows, ""]]
    for i, row in enumerate(grid[:-1]):
        for j, character in enumerate(row):
            if character in which:
                x, y = WIDE * (j + 0.5), HIGH * (i + 0.5)
                around = row[j - 1] if j else " ", row[j + 1], grid[i + 1][j]
                yield Cell(character, x, y, *around)


def strokes(cell: Cell) -> Iterator[str]:
    """Yield the lines of one character, as parts of an SVG path."""
    x, y = cell.x, cell.y
    sides = SIDES.get(cell.character) or HEADS.get(cell.character, "")
    if cell.character == "+":  # on a line, an addition
        yield f"M{x - 7:g} {y:g}a7 7 0 1 0 14 0a7 7 0 1 0 -14 0"
        yield f"M{x - 7:g} {y:g}H{x + 7:g}M{x:g} {y - 7:g}V{y + 7:g}"
        if "u" in SIDES.get(cell.below, ""):
            yield f"M{x:g} {y + 7:g}V{y + HIGH / 2:g}"
    elif sides in CORNERS:
        (ax, ay), (bx, by) = map(cell.end, sides)
        yield f"M{ax:g} {ay:g}Q{x:g} {y:g} {bx:g} {by:g}"
    else:
        for side in sides:
            to_x, to_y = cell.end(side)
            yield f"M{x:g} {y:g}L{to_x:g} {to_y:g}"


def tip(cell: Cell) -> str:
    """Return the head of an arrow."""
    if cell.character == "↓":
        return f"M{cell.x - 4:g} {cell.y:g}h8l-4 7z"
    return f"M{cell.x - 1:g} {cell.y - 4:g}v8l7 -4z"


def role(word: str) -> str:
    """Return the attribute for the colour of a word; most have none."""
    for name, pattern in ROLES.items():
        if pattern.search(word):
            return f' class="tf-{name}"'
    return ""


def draw(app: Sphinx, doctree: nodes.document) -> None:
    """Put drawings in the place of typed diagrams."""
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "text" and is_drawing(block.astext()):
            block.replace_self(nodes.raw("", svg(block.astext()), format="html"))


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("doctree-read", draw)
