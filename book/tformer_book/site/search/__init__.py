"""The search: it answers with sections, best first, while one types.

Sphinx's own search leads to the tops of pages and knows no synonyms. Here every
section, glossary term and documented name of the book is an entry of ``sections.json``;
``ranking.js`` ranks them, ``search.js`` shows what was found in the theme's dialog and
on the search page. ``same.toml`` holds different wordings of one thing, and
``book/asked.toml`` how people ask for a section; the glossary's links count as well.
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tformer_book.press.chapters import address

from ..assets import publish
from ..formulas import in_a_line
from ..pages import CHAPTER

HERE = Path(__file__).parent
BOOK = HERE.parents[2]
FILES = ("ranking.js", "search.js", "search.css")
# Sections of the same name in every chapter: they repeat what others explain.
REPEATING = {
    "Build",
    "Compute",
    "Further reading",
    "Paper against code",
    "Play",
    "Problems",
    "Recall",
    "What explanations get wrong",
    "What to remember",
}
# What is no prose: code and what it printed, figures, notes that only repeat.
SKIPPED = (
    nodes.raw,
    nodes.literal_block,
    nodes.image,
    nodes.comment,
    nodes.math_block,
)
# What has an entry of its own, or is made of such.
OWN = (addnodes.desc, addnodes.glossary)
# Where a reader should be led first: the kinds of entry, and how much they count.
KINDS = {
    "chapter": 1.0,
    "page": 0.9,
    "term": 0.8,
    "problems": 0.5,  # and other sections that every chapter has
    "reference": 0.4,
    "source": 0.35,  # bibliography, errata, review cards
}


@dataclass
class Entry:
    """A place that a search can lead to.

    Attributes:
        url: from the site's root.
        title: the heading, the term or the name.
        path: titles of what it lies in, the page first.
        kind: one of ``KINDS``.
        text: its prose, without that of its subsections.
        name: its address as links in the book write it, which may differ.
    """

    url: str
    title: str
    path: list[str]
    kind: str
    text: str
    name: str = ""


def kind_of(docname: str) -> str:
    """What sort of page it is."""
    if CHAPTER.match(docname):
        return "chapter"
    if docname.startswith("book/api"):
        return "reference"
    if docname in ("book/bibliography", "book/errata", "book/review"):
        return "source"
    return "page"


def prose(node: nodes.Node) -> str:
    """The text of a node, without code, outputs and what has an entry of its own."""
    if isinstance(node, nodes.math):
        return in_a_line(node.astext())
    if isinstance(node, nodes.Text):
        return node.astext()
    if isinstance(node, (nodes.section, nodes.title, *OWN, *SKIPPED)):
        return ""
    if isinstance(node, nodes.container) and node.get("nb_element") == "cell_code":
        return ""
    between = "" if isinstance(node, nodes.TextElement) else " "
    return between.join(prose(child) for child in node.children)


def plain(text: str) -> str:
    """The text in one line."""
    return " ".join(text.split())


def title_of(section: nodes.section) -> str:
    """A section's heading."""
    [title] = [each for each in section.children if isinstance(each, nodes.title)]
    return plain(title.astext())


def entries_of(
    node: nodes.Element, url: str, path: list[str], kind: str
) -> Iterator[Entry]:
    """The entries of a page or a section: itself, then what is inside."""
    for child in node.children:
        if isinstance(child, nodes.section):
            title = title_of(child)
            # The first heading is the page itself; its address needs no anchor.
            own = f"{url}#{child['ids'][0]}" if path else url
            text = plain(" ".join(prose(each) for each in child.children))
            is_own = title not in REPEATING
            name = f"{url}#{child.get('slug') or child['ids'][0]}"
            yield Entry(own, title, path, kind if is_own else "problems", text, name)
            yield from entries_of(child, url, [*path, title], kind)
        elif isinstance(child, addnodes.glossary):
            yield from terms_of(child, url, path)
        elif isinstance(child, addnodes.desc):
            yield from names_of(child, url, path)
        elif isinstance(child, nodes.Element):
            yield from entries_of(child, url, path, kind)


def terms_of(glossary: addnodes.glossary, url: str, path: list[str]) -> Iterator[Entry]:
    """The terms of the glossary, each with its explanation."""
    for item in glossary.findall(nodes.definition_list_item):
        term, meaning = item.children[0], item.children[-1]
        address = f"{url}#{term['ids'][0]}"
        yield Entry(address, plain(term.astext()), path, "term", plain(prose(meaning)))


def names_of(desc: addnodes.desc, url: str, path: list[str]) -> Iterator[Entry]:
    """The names of the package that are documented, with their docstrings."""
    for signature in desc.findall(addnodes.desc_signature):
        if signature.parent is desc and signature.get("ids"):
            name = signature["ids"][0]
            body = [each for each in desc if isinstance(each, addnodes.desc_content)]
            text = plain(" ".join(prose(each) for each in body))
            yield Entry(f"{url}#{name}", name, path, "reference", text)
    for content in desc.children:
        if isinstance(content, addnodes.desc_content):
            for child in content.children:
                if isinstance(child, addnodes.desc):
                    yield from names_of(child, url, path)


def taught(app: Sphinx) -> dict[str, list[str]]:
    """Address of a section -> the glossary's terms that are explained there."""
    found: dict[str, list[str]] = {}
    page = "book/glossary"
    resolved = app.env.get_and_resolve_doctree(page, app.builder)
    for item in resolved.findall(nodes.definition_list_item):
        for link in item.children[-1].findall(nodes.reference):
            place = posixpath.normpath(f"book/{link.get('refuri', '')}")
            found.setdefault(place, []).append(plain(item.children[0].astext()))
    return found


def asked() -> dict[str, list[str]]:
    """Name of a section, as links write it -> how people ask for it."""
    pages = tomllib.loads((BOOK / "asked.toml").read_text(encoding="utf-8"))
    return {
        address(key, f"#{section}"): questions
        for key, sections in pages.items()
        for section, questions in sections.items()
    }


def as_json(
    entries: list[Entry],
    terms: dict[str, list[str]],
    questions: dict[str, list[str]],
) -> list[dict]:
    """The entries, each with what people type to find it.

    Raises:
        ExtensionError: ``asked.toml`` names a section that the book doesn't have.
    """
    if missing := sorted(set(questions) - {entry.name for entry in entries}):
        raise ExtensionError(f"asked.toml: no such section: {', '.join(missing)}")
    return [
        {
            "url": entry.url,
            "title": entry.title,
            "path": entry.path,
            "kind": entry.kind,
            "words": "; ".join(
                [*terms.get(entry.url, []), *questions.get(entry.name, [])]
            ),
            "text": entry.text,
        }
        for entry in entries
    ]


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the entries beside the scripts; the search page needs no other."""
    if problem or app.builder.format != "html":
        return
    entries = [
        entry
        for docname in sorted(app.env.found_docs)
        for entry in entries_of(
            app.env.get_doctree(docname),
            app.builder.get_target_uri(docname),
            [],
            kind_of(docname),
        )
    ]
    same = tomllib.loads((HERE / "same.toml").read_text(encoding="utf-8"))["same"]
    content = {
        "kinds": KINDS,
        "same": same,
        "entries": as_json(entries, taught(app), asked()),
    }
    place = publish(app, HERE, FILES)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    (place / "sections.json").write_text(text, encoding="utf-8")


def add_files(app: Sphinx) -> None:
    """Load script and style with every page; the entries come when one searches."""
    app.add_js_file(f"{HERE.name}/search.js", type="module")
    app.add_css_file(f"{HERE.name}/search.css")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("builder-inited", add_files)
    app.connect("build-finished", write)
