"""The cards as a text file that Anki imports.

Lines that begin with ``#`` tell Anki how to read the rest. A card's first column is its
identifier, so a newer file updates the cards that somebody has, and keeps what Anki
knows about them. Formulas stay TeX, between round brackets with backslashes,
which Anki typesets.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

NAME = "tformer-cards.txt"
HEADER = """#separator:tab
#html:true
#notetype:Basic
#deck:The Transformer, Piece by Piece
#guid column:1
#tags column:4
#columns:guid\tFront\tBack\tTags
"""
MARKDOWN = MarkdownIt().use(
    dollarmath_plugin, renderer=lambda tex, _: rf"\({escape(tex)}\)"
)


def html(markdown: str) -> str:
    """One side of a card."""
    return str(MARKDOWN.renderInline(markdown))


def text(cards: Iterable[Any], tag: Callable[[str], str], site: str) -> str:
    """Return the file, with links to the sections on the book's site."""
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
    for card in cards:
        address = f"{site}book/{card.page}.html#{card.section}"
        back = f'{html(card.back)}<br><br><a href="{escape(address)}">Read on</a>'
        writer.writerow([f"tformer-{card.id}", html(card.front), back, tag(card.page)])
    return HEADER + lines.getvalue()
