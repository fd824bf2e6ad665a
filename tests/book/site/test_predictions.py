"""What the extension covers, tried on small documents."""

from __future__ import annotations

import importlib
import types

import pytest
from docutils import nodes


@pytest.fixture(scope="module")
def predictions():
    return importlib.import_module("tformer_book.site.predictions")


def text(words):
    return nodes.paragraph(words, words)


def question(words="How many?", *choices):
    quotation = nodes.block_quote("", text(f"Predict, then run. {words}"))
    items = [nodes.list_item("", text(choice)) for choice in choices]
    if items:
        quotation += nodes.bullet_list("", *items)
    return quotation


def cell(shown=None):
    made = nodes.container("", nodes.container("", text("code")), classes=["cell"])
    if shown:
        made += nodes.container("", text(shown), classes=["cell_output"])
    return made


def covered(predictions, *content):
    """The section after covering, and for each cover what it hides."""
    section = nodes.section("", *content)
    document = nodes.document(None, None, "", section)
    builder = types.SimpleNamespace(format="html")
    predictions.cover(types.SimpleNamespace(builder=builder), document, "page")
    covers = list(document.findall(predictions.Cover))
    return section, [[each.astext() for each in cover] for cover in covers]


def test_the_output_and_what_is_said_of_it_are_covered_up_to_the_next_cell(predictions):
    content = [question(), cell("42"), text("It is 42."), cell("43"), text("Next.")]
    section, hidden = covered(predictions, *content)
    assert hidden == [["42", "It is 42."]]
    assert section.index(content[1]) + 1 == section.index(section.children[2])
    assert section.children[-1].astext() == "Next."


def test_a_cell_that_shows_nothing_is_passed_over(predictions):
    _, hidden = covered(predictions, question(), cell(), cell("42"), text("So it is."))
    assert hidden == [["42", "So it is."]]


def test_cells_that_follow_without_a_word_are_covered_too(predictions):
    content = [question(), cell("42"), cell("and a chart"), text("So."), cell("43")]
    _, hidden = covered(predictions, *content)
    assert hidden == [["42", "code\n\nand a chart", "So."]]


def test_a_figure_to_play_with_is_never_covered_with_an_answer(predictions):
    figure = cell("figure")
    figure.children[1] += nodes.raw(text='<div class="tf-widget">', format="html")
    _, hidden = covered(predictions, question(), cell("42"), figure, text("Play."))
    assert hidden == [["42"]]


def test_a_comment_ends_the_answer(predictions):
    end = nodes.raw(text="<!-- end of the answer -->\n", format="html")
    content = [question(), cell("42"), text("It is."), end, text("Now the next step.")]
    _, hidden = covered(predictions, *content)
    assert hidden == [["42", "It is."]]


def test_the_next_question_is_never_covered_by_the_one_before(predictions):
    content = [question("A?"), cell("a"), text("It is a."), question("B?"), cell("b")]
    _, hidden = covered(predictions, *content)
    assert hidden == [["a", "It is a."], ["b"]]


def test_a_question_without_an_output_in_its_section_covers_nothing(predictions):
    inner = nodes.section("", cell("42"))
    section, hidden = covered(predictions, question(), text("Think."), inner)
    assert hidden == []
    assert "form" not in section.children[0].astext()


def test_an_answer_found_by_playing_is_not_covered(predictions):
    figure = cell("figure")
    figure.children[1] += nodes.raw(text='<div class="tf-widget">', format="html")
    _, hidden = covered(predictions, question(), figure)
    assert hidden == []


def test_a_list_offers_choices_and_without_one_the_reader_types(predictions):
    section, _ = covered(predictions, question("How?", "2", "a < b"), cell("2"))
    html = section.children[0].astext()
    assert html.count('type="radio"') == 2
    assert 'value="a &lt; b"' in html
    assert 'type="text"' not in html
    section, _ = covered(predictions, question(), cell("2"))
    assert 'type="text"' in section.children[0].astext()


def test_the_comment_may_stand_behind_a_later_cell(predictions):
    end = nodes.raw(text="<!-- end of the answer -->\n", format="html")
    content = [
        question(),
        cell("42"),
        text("It is."),
        cell("42 again"),
        end,
        text("So"),
    ]
    _, hidden = covered(predictions, *content)
    assert hidden == [["42", "It is.", "code\n\n42 again"]]


def test_the_answering_cell_names_the_answer_for_the_form(predictions):
    right = cell("42")
    right["cell_metadata"] = {"tformer": {"answer": {"choice": 2, "says": "42 & more"}}}
    section, _ = covered(predictions, question("How many?", "41", "42"), right)
    form = section[0].astext()
    assert (
        'data-answer="{&quot;choice&quot;: 2, &quot;says&quot;: &quot;42 &amp; more'
        in form
    )
    assert "novalidate" in form  # an empty one gets our own message
    assert "required" not in form


def test_a_form_without_an_answer_says_nothing_of_one(predictions):
    section, _ = covered(predictions, question(), cell("42"))
    assert "data-answer" not in section[0].astext()


def test_paper_leaves_out_that_there_is_something_to_run(predictions):
    strong = nodes.strong("", predictions.OPENING)
    quotation = nodes.block_quote("", nodes.paragraph("", "", strong))
    predictions.mark_run(quotation)
    assert quotation.astext() == predictions.OPENING
    [mark] = quotation.findall(nodes.inline)
    assert mark["classes"] == ["tf-run"] and mark.astext() == ", then run"
