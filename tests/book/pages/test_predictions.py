"""What a prediction is about stays covered until the reader has made one."""

from __future__ import annotations

import contextlib
import re

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
    """Open the page as a reader has it: `visit` draws all of it, as for a printer."""

    @contextlib.contextmanager
    def open_page():
        with visit(PAGE, settle=False) as seen:
            asked(seen).locator("form").wait_for()
            seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
            yield seen

    return open_page


def test_the_output_shows_after_an_answer_and_the_answer_beside_it(reading):
    with reading() as seen:
        cover = cover_of(seen)
        form = asked(seen).locator("form")
        assert not cover.locator("> div").is_visible()
        form.locator("button[type=submit]").click()  # with nothing typed
        assert not cover.locator("> div").is_visible()
        form.get_by_label("Your prediction").fill("the third and the seventh")
        form.locator("button[type=submit]").click()
        assert cover.locator("> div").is_visible()
        assert "the third and the seventh" in cover.locator(".tf-said").inner_text()
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
