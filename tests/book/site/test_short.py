"""Paragraphs that paper does not part."""

from __future__ import annotations

from docutils import nodes

from tformer_book.site import pages


def test_only_paragraphs_of_two_lines_are_marked():
    short, long = ("word " * 30).strip(), ("word " * 60).strip()
    section = nodes.section("", *(nodes.paragraph("", each) for each in (short, long)))
    pages.mark_short(None, section)
    assert [each["classes"] for each in section] == [["tf-short"], []]
