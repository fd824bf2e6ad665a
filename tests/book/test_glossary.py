"""Notation and glossary: found from every chapter, and leading to where things are."""

from __future__ import annotations

import re

import pytest
from anchors import leads_somewhere, prose

from tformer.decode import length_penalty_of
from tformer_book.press.chapters import ROOT, chapters, read, source

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def entries():
    """The glossary's terms in their order, each with its explanation."""
    text = (ROOT / "book/glossary.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```\{glossary\}\n(.*?)^```", text, flags=re.M | re.S)
    found = re.findall(r"^(\S.*)\n((?:  .+\n?)+)", block, flags=re.M)
    return [(term, meaning.strip()) for term, meaning in found]


ENTRIES = entries()


@pytest.mark.parametrize(
    "path",
    [p for p in chapters() if p.stem not in ("intro", "journey", "lab", "playground")],
    ids=lambda p: p.stem,
)
def test_every_chapter_links_the_notation_where_it_says_what_it_needs(path):
    first = source(read(path)["cells"][0])
    assert "Symbols and shape letters: [notation](notation.md)." in first


def test_the_glossary_has_every_term_once_and_in_order():
    terms = [re.sub(r"[^a-z0-9 ]", "", term.lower()) for term, _ in ENTRIES]
    assert len(terms) > 60
    assert terms == sorted(set(terms))


@pytest.mark.parametrize(("term", "meaning"), ENTRIES, ids=[e[0] for e in ENTRIES])
def test_a_term_of_the_glossary_leads_to_where_it_is_taught(term, meaning):
    targets = LINK.findall(meaning)
    assert targets, f"{term}: no link"
    for target in targets:
        assert leads_somewhere(target), f"{term}: nothing is at {target}"


def test_the_links_of_the_notation_lead_somewhere():
    targets = LINK.findall(prose(ROOT / "book/notation.md"))
    assert targets
    wrong = [t for t in targets if t != "glossary.md" and not leads_somewhere(t)]
    assert wrong == []


@pytest.mark.parametrize("path", chapters(), ids=lambda p: p.stem)
def test_cross_references_between_chapters_lead_to_a_heading(path):
    targets = set(LINK.findall(prose(path)))
    own = {f"{path.name}{target}" for target in targets if target.startswith("#")}
    others = {t for t in targets if re.match(r"[\w-]+\.ipynb(#|$)", t)}
    assert [t for t in sorted(own | others) if not leads_somewhere(t)] == []


def test_the_length_penalty_of_the_glossary_is_the_packages():
    [meaning] = [text for term, text in ENTRIES if term == "length penalty"]
    [formula] = re.findall(r"\$\(\((\d) \+ n\)/(\d)\)\^\\alpha\$", meaning)
    added, divisor = map(int, formula)
    for length in (1, 7, 30):
        assert length_penalty_of(length, 0.6) == ((added + length) / divisor) ** 0.6
