"""Cards beside links to terms, works and figures."""

from __future__ import annotations

import json

import pytest

from tformer_book.press.chapters import HTML, address

PAGE = address("attention")
WORK = ".bd-article a[href*='bibliography.html#']:visible"
TERM = ".bd-article a.tf-term:visible"
BOXES = """async (link) => {
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  const boxes = [document.querySelector("#tf-card"), link].map((e) => {
    const {left, right, top, bottom} = e.getBoundingClientRect();
    return {left, right, top, bottom};
  });
  return [...boxes, innerWidth, innerHeight];
}"""


@pytest.fixture
def reading(visit):
    """Open the page as a reader has it, with nothing under the pointer."""

    def open_page(name=PAGE, **options):
        return visit(name, settle=False, **options)

    return open_page


def card_of(seen):
    return seen.page.locator("#tf-card")


def point_at(seen, link):
    link.scroll_into_view_if_needed()
    link.hover()
    card_of(seen).wait_for(state="visible")


def leave(seen):
    seen.page.mouse.move(2, 2)


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_a_card_is_in_the_window_and_not_upon_its_link(reading, size):
    with reading(size=size, dark=size == "phone") as seen:
        for link in seen.page.locator(WORK).all()[:3]:
            point_at(seen, link)
            card, word, width, height = link.evaluate(BOXES)
            assert card["left"] >= 0
            assert card["right"] <= width
            assert card["top"] >= 0
            assert card["bottom"] <= height
            assert card["bottom"] <= word["top"] or card["top"] >= word["bottom"]
            leave(seen)
            card_of(seen).wait_for(state="hidden")
        point_at(seen, link)
        assert seen.overflow() == []
        assert seen.axe(within="#tf-card") == []
        assert seen.layout_shift() < 0.1
        assert seen.errors == []


def test_a_card_can_be_pointed_at_and_goes_with_escape(reading):
    with reading() as seen:
        link = seen.page.locator(WORK).first
        point_at(seen, link)
        card_of(seen).hover()
        seen.page.wait_for_timeout(600)
        assert card_of(seen).is_visible()
        assert link.get_attribute("aria-describedby") == "tf-card"
        seen.page.keyboard.press("Escape")
        assert not card_of(seen).is_visible()
        leave(seen)
        seen.page.wait_for_timeout(400)
        point_at(seen, link)  # and comes again


def test_the_keyboard_shows_a_card_and_a_tap_shows_none(reading):
    with reading() as seen:
        link = seen.page.locator(WORK).first
        link.evaluate("(e) => e.focus({focusVisible: true})")
        card_of(seen).wait_for(state="visible")
        assert card_of(seen).locator("strong").inner_text()
        seen.page.keyboard.press("Tab")
        card_of(seen).wait_for(state="hidden")
        link.dispatch_event("pointerover", {"pointerType": "touch", "bubbles": True})
        seen.page.wait_for_timeout(500)
        assert not card_of(seen).is_visible()


def test_nothing_is_fetched_before_a_reader_points(reading):
    script = HTML / "_static/hover/hover.js"
    assert script.stat().st_size < 4096
    with reading() as seen:
        seen.page.wait_for_load_state("networkidle")
        assert not [
            each for each in seen.asked if "/hover/" in each and ".json" in each
        ]
        point_at(seen, seen.page.locator(WORK).first)
        assert sum("works.json" in each for each in seen.asked) == 1


def test_terms_and_figures_have_cards_as_well(reading):
    with reading() as seen:
        # Two links as text would write them.
        seen.page.evaluate("""() => {
          const [first] = document.querySelectorAll('.bd-article section > p');
          first.innerHTML += '<a href="glossary.html#term-gate">a gate</a> in '
            + '<a href="#figure-one-query">a figure</a>';
        }""")
        point_at(seen, seen.page.get_by_role("link", name="a gate"))
        assert len(card_of(seen).locator("p").inner_text()) > 20
        leave(seen)
        card_of(seen).wait_for(state="hidden")
        point_at(seen, seen.page.get_by_role("link", name="a figure"))
        assert card_of(seen).locator("strong").inner_text() == "Figure 5.1: One query"
        seen.page.wait_for_function(
            "() => document.querySelector('#tf-card img')?.naturalWidth > 600"
        )


def test_a_word_of_the_glossary_is_marked_once_and_only_in_text(reading):
    with reading() as seen:
        found = seen.page.locator("a.tf-term").evaluate_all(
            """(links) => links.map((link) => [link.getAttribute("href"),
            Boolean(link.closest("h1, h2, h3, code, a a, .sd-card, figcaption"))])"""
        )
        addresses = [address for address, _ in found]
        assert len(addresses) == len(set(addresses)) > 5
        assert not any(is_misplaced for _, is_misplaced in found)
        cards = json.loads((HTML / "_static/hover/terms.json").read_text("utf-8"))
        assert {f"book/{address}" for address in addresses} <= set(cards)
        point_at(seen, seen.page.locator(TERM).first)
        assert card_of(seen).locator("p").inner_text()
    with reading("book/glossary.html") as seen:
        assert not seen.page.locator("a.tf-term").count()


def test_a_first_tap_on_a_marked_word_shows_its_card_and_a_second_leads_on(
    chromium, site
):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    try:
        page.goto(site + PAGE)
        word = page.locator(TERM).first
        word.tap()
        page.locator("#tf-card").wait_for(state="visible")
        assert page.url.endswith(PAGE)
        page.locator(".bd-article h1:visible").tap()  # elsewhere: it goes
        page.locator("#tf-card").wait_for(state="hidden")
        word.tap()
        page.locator("#tf-card").wait_for(state="visible")
        word.tap()
        page.wait_for_url("**/glossary.html#term-*")
    finally:
        context.close()
