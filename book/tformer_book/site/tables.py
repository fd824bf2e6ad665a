"""Tables of words, which a phone shows as cards.

A row of sentences in four narrow columns is twenty lines high, and nobody reads down
them. On a phone each row becomes a card: the first cell is its title, and the others
follow, each after the name of its column (``tf-label``; elsewhere that is not shown).
Tables of numbers, and those of two columns, stay what they are.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

COLUMNS = 3  # from which on columns get narrow
LONG = 40  # letters of a cell that does not fit a narrow column


class TablesOfWords(SphinxPostTransform):
    """Mark them, and give every cell the name of its column."""

    default_priority = 900
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Look at every table of the page."""
        for table in self.document.findall(nodes.table):
            rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
            if len(rows) > 1 and is_of_words(rows):
                table["classes"].append("tf-cards")
                for row in rows[1:]:
                    name_columns(rows[0], row)


def is_of_words(rows: list[list[nodes.entry]]) -> bool:
    """Whether a table has several columns, and sentences in them."""
    texts = [cell.astext() for row in rows[1:] for cell in row[1:]]
    return len(rows[0]) >= COLUMNS and any(len(text) > LONG for text in texts)


def name_columns(heads: list[nodes.entry], cells: list[nodes.entry]) -> None:
    """Let every cell but the first begin with the name of its column."""
    for head, cell in list(zip(heads, cells, strict=False))[1:]:
        name = head.astext().strip()
        if name and cell.children and isinstance(cell[0], nodes.paragraph):
            cell[0].insert(0, nodes.inline("", f"{name}: ", classes=["tf-label"]))


def setup(app: Sphinx) -> None:
    """Register the transform."""
    app.add_post_transform(TablesOfWords)
