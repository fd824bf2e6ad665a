"""The review cards in a browser: asked, graded, kept; and read without any script."""

from __future__ import annotations

import json
import re

import pytest

from tformer_book.press.chapters import HTML, address

PAGE = "book/review.html"
FRONT, BACK = "#tf-deck .tf-deck-front", "#tf-deck .tf-deck-back"
KEY = "tf-cards:"
STORE = f"""() => Object.fromEntries(Object.entries(localStorage)
  .filter(([key]) => key.startsWith('{KEY}'))
  .map(([key, text]) => [key.slice({len(KEY)}), JSON.parse(text)]))"""

# For the cards alone: the theme's own scripts don't expect it.
FORBID = """for (const name of ['getItem', 'setItem']) {
  const original = Storage.prototype[name];
  Storage.prototype[name] = function (key, ...rest) {
    if (key.startsWith('tf-cards:')) throw new Error('forbidden');
    return original.call(this, key, ...rest);
  };
}"""


@pytest.fixture
def reviewing(visit, playing):
    """Open the page when its deck has asked the first question."""
    return lambda name=PAGE, **options: playing(
        visit(name, settle=False, **options), f"{FRONT}:not(:empty)"
    )


def due(seen):
    return int(re.search(r"Due today: (\d+)", seen.page.inner_text("#tf-deck"))[1])


def test_a_review_by_keyboard_survives_a_reload(reviewing):
    with reviewing() as seen:
        before, first = due(seen), seen.page.inner_text(FRONT)
        seen.page.focus(".tf-deck-show")
        seen.page.keyboard.press("3")  # not before the answer is there
        seen.page.keyboard.press("Space")
        assert seen.page.is_visible(BACK)
        seen.page.keyboard.press("3")  # good
        assert not seen.page.is_visible(BACK)
        second = seen.page.inner_text(FRONT)
        assert second != first
        seen.page.keyboard.press("Space")
        seen.page.keyboard.press("1")  # again
        assert due(seen) == before - 1
        known = seen.page.evaluate(STORE)
        assert sorted(each["passed"] for each in known.values()) == [0, 1]
        seen.page.reload()
        seen.page.wait_for_selector(f"{FRONT}:not(:empty)")
        assert due(seen) == before - 1
        assert seen.page.inner_text(FRONT) == second  # still to be known today


def test_a_chapters_link_leads_to_its_own_cards(reviewing):
    chapter = address("attention")
    number = chapter.removeprefix("book/")[:2]
    html = (HTML / chapter).read_text("utf-8")
    assert html.count(f'href="review.html#chapter-{number}"') == 1
    with reviewing(f"{PAGE}#chapter-{number}") as seen:
        seen.page.wait_for_function(
            "title => document.querySelector('.tf-deck-chosen').textContent === title",
            arg=f"{number} Attention",
        )
        assert seen.page.inner_text(".tf-deck-place") == f"{number} Attention"
        assert due(seen) < 20
        top = "document.getElementById('tf-deck').getBoundingClientRect().top"
        assert 0 <= seen.page.evaluate(top) < 300


def test_at_first_the_cards_of_chapters_that_were_read_are_dealt(reviewing):
    places = "#tf-deck .tf-deck-chapters input:checked"
    chosen = "#tf-deck .tf-deck-chosen"
    with reviewing() as seen:
        every = seen.page.locator(places).count()
        assert seen.page.text_content(chosen) == "all"
        assert every > 10
        for chapter in (address("attention"), address("masks")):
            name = chapter.removesuffix(".html")
            seen.page.evaluate("name => localStorage[`tf-read:${name}`] = 'read'", name)
        seen.page.reload()
        seen.page.wait_for_selector(f"{FRONT}:not(:empty)")
        assert seen.page.locator(places).count() == 2
        assert seen.page.text_content(chosen) == "those that you have read"
        assert seen.page.inner_text(".tf-deck-place").endswith(("Attention", "Masks"))
        seen.page.click(".tf-deck-choice summary")
        seen.page.click(".tf-deck-every")
        assert seen.page.locator(places).count() == every


def test_a_store_that_is_broken_or_forbidden_costs_no_more_than_its_content(reviewing):
    tomorrow = dict.fromkeys(("passed", "ease", "interval", "asked", "due"), 7)
    tomorrow["again"] = False
    keep = "([key, text]) => localStorage.setItem(key, text)"
    with reviewing() as seen:
        seen.page.evaluate(keep, [f"{KEY}a-card-of-tomorrow", json.dumps(tomorrow)])
        first = seen.page.get_attribute("details.tf-card", "data-card")
        for text in ("{", "null", "[1]", '{"passed": "many"}'):
            seen.page.evaluate(keep, [KEY + first, text])
            seen.page.reload()
            seen.page.click(".tf-deck-show")
            seen.page.click("text=Good")
        known = seen.page.evaluate(STORE)
        assert known["a-card-of-tomorrow"] == tomorrow
        assert known[first]["passed"] == 1
        seen.page.add_init_script(FORBID)
        seen.page.reload()
        before = due(seen)
        seen.page.click(".tf-deck-show")
        seen.page.click("text=Easy")
        assert due(seen) == before - 1
        assert "keeps nothing" in seen.page.inner_text("#tf-deck")


@pytest.mark.parametrize("dark", [False, True])
def test_the_deck_fits_a_phone(reviewing, dark):
    with reviewing(size="phone", dark=dark) as seen:
        seen.page.click(".tf-deck-choice summary")
        seen.page.click(".tf-deck-show")
        assert seen.overflow() == []
        assert seen.axe() == []


def test_without_scripts_and_on_paper_the_answers_are_there(reviewing):
    html = (HTML / PAGE).read_text("utf-8")
    assert len(re.findall(r'<details class="tf-card" data-card=', html)) >= 120
    with reviewing() as seen:
        answer = seen.page.locator("details.tf-card > div").first
        assert not answer.is_visible()
        seen.page.emulate_media(media="print")
        assert answer.is_visible()
        assert not seen.page.is_visible("#tf-deck")
