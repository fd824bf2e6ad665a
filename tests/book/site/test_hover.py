"""The texts of the cards beside links."""

from __future__ import annotations

import importlib

import pytest
from docutils import nodes
from docutils.utils import new_document
from pybtex.database import parse_string


@pytest.fixture(scope="module")
def hover():
    return importlib.import_module("tformer_book.site.hover")


def work(hover, authors, **fields):
    told = "".join(f"{name} = {{{text}}}, " for name, text in fields.items())
    entry = f"@misc{{key, author = {{{authors}}}, year = {{2017}}, {told}}}"
    return hover.work(parse_string(entry, "bibtex").entries["key"])


def test_a_term_has_its_definition_without_the_links_below_it(hover):
    place = nodes.reference("", "Attention", refuri="chapter.html")
    formula = nodes.math("", r"-\log p^{\text{loss}}")
    text = nodes.paragraph("", "", nodes.Text("The mean of "), formula)
    text += [nodes.Text(", said of "), nodes.reference("", "keys", refuri="#key")]
    text += [nodes.Text(" only. "), place, nodes.Text(", "), place.deepcopy()]
    item = nodes.definition_list_item("", nodes.term("", "score", ids=["term-score"]))
    item += nodes.definition("", text)
    page = new_document("glossary")
    page += nodes.definition_list("", item)
    said = "The mean of -log p^(loss), said of keys only."
    assert list(hover.terms(page)) == [("term-score", ["score", said])]


def test_a_work_has_its_title_its_authors_and_where_it_appeared(hover):
    assert work(hover, "Ada Li and Bo Xu", title="{BLEU} x", journal="ACL") == [
        "BLEU x",
        "Li and Xu, 2017",
        "ACL",
    ]
    many = " and ".join(["Aäron van den Oord", "Bo Xu", "Cy Ng", "Di Wu"])
    assert work(hover, many, title="Wave", eprint="1609.1") == [
        "Wave",
        "van den Oord and others, 2017",
        "arXiv:1609.1",
    ]
    assert work(hover, "Ada Li", title="A page") == ["A page", "Li, 2017"]
