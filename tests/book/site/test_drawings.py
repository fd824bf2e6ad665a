"""Diagrams that chapters type become drawings."""

from __future__ import annotations

import json
import re

from docutils import nodes

from tformer_book.press.chapters import chapters
from tformer_book.site import drawings

TYPED = """“it” x ──W_Q──→ query ─┐
                       ├─→ scores
each x ──W_K──→ key ───┘"""


def test_a_typed_diagram_becomes_lines_arrows_and_words():
    svg = drawings.svg(TYPED)
    assert svg.count("<text") == 7  # “it” x, W_Q, query, scores, each x, W_K, key
    assert svg.count("<path d=") == 3  # heads of arrows
    assert not set(svg) & {*drawings.SIDES, "→"}


def test_a_diagram_says_its_words_to_a_screen_reader():
    label = re.search(r'aria-label="([^"]*)"', drawings.svg(TYPED))[1]
    assert label.startswith("“it” x W_Q query; scores; each x")


def test_words_of_the_contract_have_its_colours():
    svg = drawings.svg(TYPED)
    for name in ("query", "key"):
        assert f'class="tf-{name}">{name}<' in svg
    assert ">scores<" in svg.replace(' class="tf-query"', "")


def test_a_line_keeps_clear_of_letters_and_meets_other_lines():
    ends = [cell.end("r")[0] - cell.x for cell in drawings.cells(["──┐ ─W"], "─")]
    assert ends == [4, 4, 1]


def test_only_diagrams_are_drawn():
    def blocks(text, language):
        document = nodes.literal_block(text, text, language=language)
        parent = nodes.section("", document)
        drawings.draw(None, parent)
        return [type(each) for each in parent.children]

    assert blocks(TYPED, "text") == [nodes.raw]
    assert blocks(TYPED, "python") == [nodes.literal_block]
    assert blocks("a → b ── c", "text") == [nodes.literal_block]


def test_every_sign_of_the_books_diagrams_is_drawn():
    found = 0
    for path in chapters():
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            text = "".join(cell["source"])
            for typed in re.findall(r"```text\n(.*?)```", text, re.S):
                if drawings.is_drawing(typed):
                    found += 1
                    words = re.sub(
                        r"<[^>]*>|aria-label=\"[^\"]*\"", "", drawings.svg(typed)
                    )
                    assert not re.search("[\u2500-\u25ff]", words), path.name
    assert found >= 5
