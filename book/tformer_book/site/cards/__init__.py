"""Review cards: questions from the chapters, asked again after growing intervals.

They stand in ``book/cards.toml``, by the chapters' keys, each with the section that
answers it. On the page ``book/review`` the directive ``{cards}`` lists all of them as
folds, by chapter, and ``{deck}`` makes the box in which ``review.js`` asks them;
``schedule.js`` is the rule that says when. The answers' links are written as in any
page, so the build warns about one that leads nowhere. ``anki`` writes the same cards
for Anki.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from tformer_book.press.chapters import chapter

from ..assets import publish
from ..pages import CHAPTER
from . import anki

HERE = Path(__file__).parent
BOOK = HERE.parents[2]
CARDS = BOOK / "cards.toml"
PAGE = "book/review"
FOLDER = "cards"  # in _static
FILES = ("schedule.js", "progress.js", "review.js", "cards.css")


@dataclass(frozen=True)
class Card:
    """A question and its answer.

    Attributes:
        id: under which a reader's browser remembers it: never to be changed.
        page: the chapter, as its file is called.
        section: the anchor of the section that answers it.
        front: the question, in Markdown.
        back: the answer, in Markdown.
    """

    id: str
    page: str
    section: str
    front: str
    back: str

    @property
    def source(self) -> str:
        """A link to the section, which takes its title for a text."""
        return f"[]({self.page}.ipynb#{self.section})"


def cards() -> list[Card]:
    """All cards, in the order of the book."""
    chapters = tomllib.loads(CARDS.read_text(encoding="utf-8"))
    return [
        Card(page=chapter(key).stem, **card)
        for key, found in chapters.items()
        for card in found
    ]


def anchor(page: str) -> str:
    """Where a chapter's cards stand on the page: ``chapter-05``."""
    found = CHAPTER.match(f"book/{page}")
    return f"chapter-{found[1]}" if found else page


def heading(page: str) -> str:
    """A chapter's title, after its number if it has one."""
    notebook = json.loads((BOOK / f"{page}.ipynb").read_text(encoding="utf-8"))
    title = notebook["cells"][0]["source"][0].removeprefix("# ").strip()
    found = CHAPTER.match(f"book/{page}")
    return f"{found[1]} {title}" if found else title


class Fold(nodes.General, nodes.Element):
    """A card in the list: its question, under which its answer is folded."""


class Question(nodes.General, nodes.TextElement):
    """What a fold shows while it is closed."""


def open_fold(translator: Any, node: Fold) -> None:
    """Write the beginning of a card."""
    translator.body.append(f'<details class="tf-card" data-card="{node["card"]}">')


def close_fold(translator: Any, node: Fold) -> None:
    """Write its end."""
    translator.body.append("</div></details>\n")


def open_question(translator: Any, node: Question) -> None:
    """Write the beginning of its question."""
    translator.body.append("<summary>")


def close_question(translator: Any, node: Question) -> None:
    """Go on with its answer."""
    translator.body.append("</summary>\n<div>")


class List(SphinxDirective):
    """All cards, in a section for each chapter."""

    def run(self) -> list[nodes.Node]:
        """Return the sections; made anew when a chapter has another title or name."""
        self.env.note_dependency(str(CARDS))
        sections: dict[str, nodes.section] = {}
        for card in cards():
            if card.page not in sections:
                self.env.note_dependency(str(BOOK / f"{card.page}.ipynb"))
                title = heading(card.page)
                sections[card.page] = nodes.section(
                    "",
                    nodes.title(title, title),
                    ids=[anchor(card.page)],
                    classes=["tf-cards"],
                )
            sections[card.page] += self.fold(card)
        return [*sections.values()]

    def fold(self, card: Card) -> Fold:
        """One card of the list."""
        front, back, source = map(self.paragraph, (card.front, card.back, card.source))
        source["classes"].append("tf-card-source")
        source.insert(0, nodes.Text("From: "))
        return Fold("", Question("", "", *front.children), back, source, card=card.id)

    def paragraph(self, text: str) -> nodes.paragraph:
        """Markdown as the page's own parser reads it."""
        place = nodes.container()
        self.state.nested_parse(StringList([text], str(CARDS)), 0, place)
        [paragraph] = place.children
        assert isinstance(paragraph, nodes.paragraph)
        return paragraph


class Deck(SphinxDirective):
    """The box in which cards are asked; of no use without scripts."""

    def run(self) -> list[nodes.Node]:
        """Return the box as it is before the script fills it."""
        self.env.note_dependency(str(HERE / "deck.html"))
        html = (HERE / "deck.html").read_text(encoding="utf-8")
        return [nodes.raw(html, html, format="html")]


def link_cards(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """End each chapter that has cards with a link to them."""
    page = docname.removeprefix("book/")
    if page not in {card.page for card in cards()}:
        return
    text = nodes.Text("Review this chapter’s cards")
    link = make_refnode(app.builder, docname, PAGE, anchor(page), text)
    doctree[0] += nodes.paragraph("", "", link, classes=["tf-review-link"])


def add_files(
    app: Sphinx, pagename: str, templatename: str, context: Any, doctree: Any
) -> None:
    """Load script and style on the page of the cards."""
    if pagename == PAGE:
        app.add_js_file(f"{FOLDER}/review.js", type="module")
        app.add_css_file(f"{FOLDER}/cards.css")


def write_files(app: Sphinx, problem: Exception | None) -> None:
    """Put script, style and the file for Anki on the site."""
    if problem or app.builder.format != "html":
        return
    place = publish(app, HERE, FILES)
    text = anki.text(cards(), anchor, app.config.html_baseurl)
    (place / anki.NAME).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.add_node(Fold, html=(open_fold, close_fold))
    app.add_node(Question, html=(open_question, close_question))
    app.add_directive("cards", List)
    app.add_directive("deck", Deck)
    app.connect("doctree-resolved", link_cards)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write_files)
