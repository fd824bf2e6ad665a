"""What a prediction is about stays covered until the reader has made one."""

from __future__ import annotations

import contextlib
import json
import re
from html import unescape

import pytest

from tformer_book.press.chapters import HTML, address

PAGE = address("embeddings")
QUESTION = "Which two of them will be equal?"


def asked(seen, text=QUESTION):
    return seen.page.locator("blockquote.tf-predict", has_text=text)


def cover_of(seen, text=QUESTION):
    question = asked(seen, text)
    return question.locator("xpath=following::details[contains(@class,'tf-cover')][1]")


@pytest.fixture
def reading(visit):
    """Open the page as a reader has it: its answers are covered."""

    @contextlib.contextmanager
    def open_page():
        with visit(PAGE, settle=False, draw=False) as seen:
            asked(seen).locator("form").wait_for()
            yield seen

    return open_page


def test_the_output_shows_after_an_answer_and_the_answer_beside_it(reading):
    with reading() as seen:
        cover = cover_of(seen)
        form = asked(seen).locator("form")
        assert not cover.locator("> div").is_visible()
        form.locator("button[type=submit]").click()  # with nothing typed
        assert not cover.locator("> div").is_visible()
        assert form.get_by_role("alert").inner_text().startswith("Type an answer first")
        form.get_by_label("Your prediction").fill("the third and the seventh")
        form.locator("button[type=submit]").click()
        assert cover.locator("> div").is_visible()
        said = cover.locator(".tf-said")
        assert "the third and the seventh" in said.inner_text()
        assert "Compare: those of “the”" in said.inner_text()  # a free answer
        assert said.evaluate("e => e === document.activeElement")
        assert not form.is_visible()
        seen.page.reload()
        cover.locator(".tf-said").filter(has_text="the third").wait_for()
        assert cover.locator("> div").is_visible()


def test_a_reader_may_skip_and_that_is_not_kept(reading):
    with reading() as seen:
        asked(seen).locator("button", has_text="Skip").click()
        assert cover_of(seen).locator("> div").is_visible()
        seen.page.reload()
        asked(seen).locator("form").wait_for()
        assert not cover_of(seen).locator("> div").is_visible()


ONE_OF = "parameters sits in its table?"


@pytest.mark.parametrize(
    ("choice", "verdict"),
    [
        ("A little over a quarter.", "Right: 27 %."),
        ("A twentieth", "Not quite: A little over a quarter, 27 %."),
    ],
)
def test_a_choice_gets_a_verdict(reading, choice, verdict):
    with reading() as seen:
        question, cover = asked(seen, ONE_OF), cover_of(seen, ONE_OF)
        question.locator("button[type=submit]").click()
        said = question.get_by_role("alert").inner_text()
        assert said.startswith("Choose an answer first")
        question.get_by_label(choice).check()
        assert not question.get_by_role("alert").is_visible()
        question.locator("button[type=submit]").click()
        assert verdict in cover.locator(".tf-said").inner_text()
        seen.page.reload()
        cover.locator(".tf-said").filter(has_text=verdict).wait_for()


@pytest.mark.parametrize(
    ("typed", "verdict"),
    [
        ("32", "Right: 32, half the width."),
        ("about 32.1?", "Right"),
        ("64", "Not quite: 32, half the width."),
        ("d / 2 = 32", "Right"),
        ("-32", "Not quite"),
        ("half the width", "Compare: 32"),
    ],
)
def test_a_number_gets_a_verdict(visit, typed, verdict):
    question = "what is the product of a row with itself?"
    with visit(address("positions"), settle=False, draw=False) as seen:
        form = asked(seen, question).locator("form")
        form.wait_for()
        form.get_by_label("Your prediction").fill(typed)
        form.locator("button[type=submit]").click()
        said = cover_of(seen, question).locator(".tf-said").inner_text()
        assert f"You predicted {typed}. {verdict}" in said.replace("\n", " ")


def test_without_scripts_the_cover_is_a_fold():
    html = (HTML / PAGE).read_text("utf-8")
    start = html.index(QUESTION)
    fold = html.index('<details class="tf-cover">', start)
    assert html.index("<summary>", fold) - fold < 60
    assert 'class="cell_output' not in html[start:fold]
    assert 'class="cell_output' in html[fold : html.index("</details>", fold)]


def test_printing_uncovers_everything_and_covers_it_again(reading):
    with reading() as seen:
        closed = "document.querySelectorAll('details.tf-cover:not([open])').length"
        before = seen.page.evaluate(closed)
        assert before > 3
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert seen.page.evaluate(closed) == 0
        seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert seen.page.evaluate(closed) == before


@pytest.mark.parametrize("path", sorted(HTML.glob("book/[01]*.html")), ids=str)
def test_nearly_every_prediction_has_its_cover(path):
    html = path.read_text("utf-8")
    questions = len(re.findall(r'<blockquote class="tf-predict', html))
    covers = html.count('<details class="tf-cover">')
    assert questions - covers <= 1
    assert covers <= questions


@pytest.mark.parametrize("path", sorted(HTML.glob("book/*.html")), ids=str)
def test_every_prediction_knows_its_answer(path):
    html = path.read_text("utf-8")
    asked = re.findall(r'<blockquote class="tf-predict.*?</blockquote>', html, re.S)
    for block in (each for each in asked if "<form" in each):
        words = re.sub("<[^>]*>|\\s+", " ", block)[:200]
        told = re.search('data-answer="([^"]*)"', block)
        assert told, words
        answer = json.loads(unescape(told[1]))
        choices = block.count('type="radio"')
        if choices:
            assert 1 <= answer["choice"] <= choices, words
        elif isinstance(answer, dict):
            assert answer["says"], words
            assert isinstance(answer["number"], int | float), words
        else:
            assert not answer.endswith("."), words
