"""Marks: where a page first uses a term of the glossary, the word leads to its card.

Only words that mean one thing in this book are marked, once on a page, and not on the
page that teaches them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

GLOSSARY = "book/glossary"
CLASS = "tf-term"
PAGES = re.compile(r"book/(\d\d-|claims|one-change|when-training|your-data|bring-your)")
PARENTHESIS = re.compile(r"\s*\(([^)]*)\)")
# Words that also mean something else, or that every page uses.
ORDINARY = {
    "activation",
    "attention",
    "averaging",
    "batch",
    "bias",
    "bottleneck",
    "clipping",
    "decoder",
    "encoder",
    "gain",
    "gate",
    "hash",
    "head",
    "hook",
    "id",
    "kernel",
    "key",
    "label",
    "leak",
    "loss",
    "memory",
    "normalisation",
    "parameter",
    "patience",
    "piece",
    "polarity",
    "precision",
    "probe",
    "projection",
    "query",
    "reference",
    "scaling",
    "seed",
    "signature",
    "split",
    "state",
    "tensor",
    "value",
    "weight",
}
# Where no mark belongs: what is a link, code, a formula, or a definition already.
CLOSED = (
    nodes.reference,
    addnodes.pending_xref,
    nodes.literal,
    nodes.strong,
    nodes.math,
    nodes.raw,
    nodes.title,
)


@dataclass
class Term:
    """A term, and where it stands and is taught."""

    anchor: str
    pages: set[str]  # that teach it


class Terms:
    """The glossary's terms, found in text by the forms that a text gives them."""

    def __init__(self, glossary: nodes.document) -> None:
        self.forms: dict[str, Term] = {}
        for item in glossary.findall(nodes.definition_list_item):
            pages = {
                f"book/{link['refuri'].partition('.html')[0]}"
                for link in item.children[-1].findall(nodes.reference)
                if link.get("refuri")
            }
            for each in item.findall(nodes.term):
                for form in forms_of(each.astext()):
                    self.forms[form] = Term(each["ids"][0], pages)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any form as a whole word, also in the plural; the longest first."""
        longest = sorted(self.forms, key=len, reverse=True)
        return re.compile(rf"\b({'|'.join(map(re.escape, longest))})s?\b", re.I)

    def find(self, text: str) -> Iterator[tuple[re.Match[str], Term]]:
        """Each use of a term in a text."""
        for found in self.pattern.finditer(text):
            word = found[1]
            known = self.forms.get(word) or self.forms.get(word[:1].lower() + word[1:])
            if known:
                yield found, known


def forms_of(name: str) -> list[str]:
    """How a text may call a term: "byte-pair encoding (BPE)" is either of the two."""
    short = [each for each in PARENTHESIS.findall(name) if each[-1:].isupper()]
    long = PARENTHESIS.sub("", name).split(", ")
    return [each for each in [*long, *short] if each not in ORDINARY]


class Marks:
    """Marks the pages of one build."""

    terms: Terms

    def mark(self, app: Sphinx, doctree: nodes.document, docname: str) -> None:
        """Mark the first use of each term on a page."""
        if app.builder.format != "html" or not PAGES.match(docname):
            return
        if not hasattr(self, "terms"):
            glossary = app.env.get_and_resolve_doctree(GLOSSARY, app.builder)
            self.terms = Terms(glossary)
        address = app.builder.get_relative_uri(docname, GLOSSARY)
        done: set[str] = set()
        for paragraph in list(doctree.findall(nodes.paragraph)):
            for text in list(paragraph.findall(nodes.Text)):
                if is_open(text, paragraph):
                    self.mark_text(text, address, done, docname)

    def mark_text(
        self, text: nodes.Text, address: str, done: set[str], docname: str
    ) -> None:
        """Turn the new terms of a text into links, and note them in ``done``."""
        pieces: list[nodes.Node] = []
        end = 0
        for found, term in self.terms.find(text):
            if term.anchor in done or docname in term.pages:
                continue
            done.add(term.anchor)
            uri = f"{address}#{term.anchor}"
            link = nodes.reference(
                "", found[0], internal=True, refuri=uri, classes=[CLASS]
            )
            pieces += [nodes.Text(text[end : found.start()]), link]
            end = found.end()
        if pieces:
            text.parent.replace(text, [*pieces, nodes.Text(text[end:])])


def is_open(text: nodes.Node, paragraph: nodes.Node) -> bool:
    """Whether nothing between a text and its paragraph is closed to marks."""
    node = text.parent
    while node is not paragraph:
        if isinstance(node, CLOSED):
            return False
        node = node.parent
    return True


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("doctree-resolved", Marks().mark)
