"""Cards: what a link to a term, a work or a figure leads to, shown beside the link.

The texts come from the pages that are linked to: definitions from the glossary, works
from the bibliography, titles and descriptions from the figures. Each kind has a file,
``terms.json`` and so on, which ``hover.js`` fetches when a reader first points at such
a link. It maps addresses, from the site's root, to the lines of a card, title first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pybtex.database import Entry
from pybtex.richtext import Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from .. import citations
from ..assets import publish
from ..figures import Figure
from ..formulas import in_a_line
from ..search import plain
from . import marks
from .marks import GLOSSARY

HERE = Path(__file__).parent
FOLDER = "hover"  # in _static
FILES = ("hover.js", "hover.css")
MOST_NAMES = 3
Card = tuple[str, list[str]]  # an anchor, and the lines of its card


class TermAddresses(SphinxTransform):
    """Let text link to a term: ``[keys](glossary.md#term-key)``."""

    default_priority = 870

    def apply(self, **kwargs: Any) -> None:
        """Note the glossary's terms where MyST looks for places on a page."""
        if self.env.docname == GLOSSARY:
            slugs = self.env.metadata[GLOSSARY].setdefault("myst_slugs", {})
            for term in self.document.findall(nodes.term):
                for anchor in term["ids"]:
                    slugs[anchor] = (term.line, anchor, plain(term.astext()))


def terms(glossary: nodes.document) -> Iterator[Card]:
    """Each term with its definition."""
    for item in glossary.findall(nodes.definition_list_item):
        meaning = definition(item.children[-1])
        for term in item.findall(nodes.term):
            for anchor in term["ids"]:
                yield anchor, [plain(term.astext()), meaning]


def definition(node: nodes.Element) -> str:
    """A definition in one line, without the links to where its term is taught."""
    pieces = [piece for paragraph in node.children for piece in paragraph.children]
    while pieces and (is_link(pieces[-1]) or not pieces[-1].astext().strip(", ")):
        pieces.pop()
    return plain(
        "".join(
            in_a_line(each.astext()) if isinstance(each, nodes.math) else each.astext()
            for each in pieces
        )
    )


def is_link(node: nodes.Node) -> bool:
    """Whether it is a link, resolved or not."""
    return isinstance(node, (nodes.reference, addnodes.pending_xref))


def work(entry: Entry) -> list[str]:
    """Title, authors and year, and where it was published."""
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    names = [
        str(Text.from_latex(" ".join([*each.prelast_names, *each.last_names])))
        for each in people
    ]
    if len(names) > MOST_NAMES:
        names = [names[0], "others"]
    *first, last = names
    by = " and ".join([", ".join(first), last]) if first else last
    fields = {name: str(Text.from_latex(text)) for name, text in entry.fields.items()}
    places = ("journal", "booktitle", "howpublished", "publisher")
    where = next((fields[each] for each in places if each in fields), "")
    if not where and "eprint" in fields:
        where = f"arXiv:{fields['eprint']}"
    lines = [fields["title"], f"{by}, {fields['year']}", where]
    return [line for line in lines if line]


def figures(page: nodes.document) -> Iterator[Card]:
    """Each figure with its description."""
    for figure in page.findall(Figure):
        title = f"{figure.name}: {figure['title']}"
        yield figure["ids"][0], [title, figure["about"]]


def cards(app: Sphinx) -> dict[str, dict[str, list[str]]]:
    """The cards of each kind, by address from the site's root."""

    def at(docname: str, found: Iterator[Card]) -> dict[str, list[str]]:
        page = app.builder.get_target_uri(docname)
        return {f"{page}#{anchor}": lines for anchor, lines in found}

    bibliography: Any = app.env.get_domain("cite")
    works = bibliography.bibdata.data.entries.items()
    found: dict[str, dict[str, list[str]]] = {
        "terms": at(GLOSSARY, terms(app.env.get_doctree(GLOSSARY))),
        "works": at(citations.PAGE, ((key, work(entry)) for key, entry in works)),
        "figures": {},
    }
    for docname in sorted(app.env.found_docs):
        found["figures"] |= at(docname, figures(app.env.get_doctree(docname)))
    return found


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the cards beside the script."""
    if problem or app.builder.format != "html":
        return
    place = publish(app, HERE, FILES)
    for kind, found in cards(app).items():
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        (place / f"{kind}.json").write_text(text, encoding="utf-8")


def add_files(app: Sphinx) -> None:
    """Load script and style with every page; the cards come when one points."""
    app.add_js_file(f"{FOLDER}/hover.js", type="module")
    app.add_css_file(f"{FOLDER}/hover.css")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.add_transform(TermAddresses)
    app.connect("builder-inited", add_files)
    app.connect("build-finished", write)
    marks.setup(app)
