"""Citations: links that lead to an entry of the bibliography, and links back.

A chapter cites by ``[Xiong and others, 2020](bibliography.md#xiong2020)``, which reads
well in Colab and on GitHub, too. Here such a link becomes a citation as
sphinxcontrib-bibtex knows it, and each entry of the bibliography names the pages that
cite it. A key that does not exist stays a link to a heading, about which MyST warns.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode
from sphinxcontrib.bibtex.citation_target import CitationTarget
from sphinxcontrib.bibtex.roles import CitationRef

PAGE = "book/bibliography"


def note_citations(app: Sphinx, doctree: nodes.document) -> None:
    """Tell the bibliography what a page cites; its first link gets an address."""
    domain: Any = app.env.get_domain("cite")
    seen: set[str] = set()
    for link in doctree.findall(addnodes.pending_xref):
        key = link.get("reftargetid") or ""
        if link.get("reftarget") != PAGE or not key:  # a link to the whole page
            continue
        if key not in domain.bibdata.data.entries:
            continue
        link["cites"] = key
        if key not in seen:
            seen.add(key)
            link["ids"] = [f"cite-{key}"]
            cited = CitationRef(
                f"cite-{key}", app.env.docname, 0, [CitationTarget(key, "", "")]
            )
            domain.citation_refs.append(cited)


class CitationLinks(SphinxPostTransform):
    """Lead citations to their entries, before MyST looks for headings (at 9)."""

    default_priority = 8

    def run(self, **kwargs: Any) -> None:
        """Replace each citation on a page by a link."""
        for link in list(self.document.findall(addnodes.pending_xref)):
            if key := link.get("cites"):
                made = reference(self.app, self.env.docname, PAGE, key)
                made["ids"] = link["ids"]
                made += link[0].children
                link.replace_self(made)


class LinksBack(SphinxPostTransform):
    """Name below each entry the pages that cite it; bibtex makes entries (at 5)."""

    default_priority = 6

    def run(self, **kwargs: Any) -> None:
        """Add a paragraph to every entry on the page."""
        if self.env.docname != PAGE:
            return
        domain: Any = self.env.get_domain("cite")
        for entry in self.document.findall(nodes.list_item):
            key = next(iter(entry["ids"]), "")
            citing = sorted(
                ref.docname for ref in domain.citation_refs if ref.targets[0].key == key
            )
            if not citing:
                continue
            text = nodes.paragraph("", "Cited in ", classes=["tf-cited-in"])
            for name in citing:
                made = reference(self.app, PAGE, name, f"cite-{key}")
                made += nodes.Text(self.env.titles[name].astext())
                text += [made, nodes.Text(", " if name != citing[-1] else ".")]
            entry += text


def reference(app: Sphinx, page: str, to: str, anchor: str) -> nodes.reference:
    """Return an empty link from one page to a place on another."""
    return make_refnode(app.builder, page, to, anchor, [])


def changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the bibliography anew each time: any page may cite more, or less."""
    return [PAGE] if PAGE in env.all_docs else []


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.setup_extension("sphinxcontrib.bibtex")
    app.connect("doctree-read", note_citations)
    app.connect("env-updated", changed)
    app.add_post_transform(CitationLinks)
    app.add_post_transform(LinksBack)
