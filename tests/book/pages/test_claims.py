"""The list of claims: filtered by button, key and word, with and without scripts."""

from __future__ import annotations

import pytest

from tformer_book.press.chapters import address

PAGE = address("claims")
SHOWN = ".tf-claims tbody tr:visible"


@pytest.fixture
def opened(visit):
    """Open the page in a size; returns it with its helper functions."""

    def open_page(**options):
        return visit(PAGE, **options)

    return open_page


def shown(page, attribute):
    return {row.get_attribute(attribute) for row in page.locator(SHOWN).all()}


def status(page):
    return page.locator(".tf-claims [role=status]").inner_text()


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_buttons_and_words_narrow_the_list_together(opened, size):
    with opened(size=size) as seen:
        page = seen.page
        assert page.locator(SHOWN).count() == 60
        page.locator(".tf-claims label", has_text="wrong").click()
        assert shown(page, "data-verdict") == {"wrong"}
        page.locator(".tf-claims label", has_text="Attention, heads, masks").click()
        assert shown(page, "data-topic") == {"1"}
        page.locator(".tf-claims input[type=search]").fill("mask PADDING")
        left = page.locator(SHOWN).count()
        assert 0 < left < 5
        assert status(page) == f"{left} of 60 claims"
        page.locator(".tf-claims input[type=search]").fill("")
        page.locator(".tf-claims label", has_text="all (60)").first.click()
        page.locator(".tf-claims label", has_text="all (60)").last.click()
        assert page.locator(SHOWN).count() == 60
        assert seen.overflow() == []


def test_the_buttons_answer_to_the_arrow_keys(opened):
    with opened() as seen:
        page = seen.page
        page.locator(".tf-claims input[type=radio]").first.focus()
        page.keyboard.press("ArrowRight")
        assert shown(page, "data-verdict") == {"right"}
        page.keyboard.press("ArrowRight")
        assert shown(page, "data-verdict") == {"wrong"}


def test_a_row_leads_to_the_section_of_its_claim(opened):
    with opened() as seen:
        page = seen.page
        lost = page.eval_on_selector_all(
            ".tf-claims tbody a",
            "all => all.filter(a => !document.getElementById(a.hash.slice(1))"
            "?.querySelector('h3')?.textContent.includes(a.textContent)).length",
        )
        assert lost == 0
        page.locator(".tf-claims tbody a").nth(11).click()
        section = page.locator(f"[id='{page.url.partition('#')[2]}'] h3")
        assert section.inner_text().startswith("12.")
        assert section.bounding_box()["y"] < 300


def test_without_scripts_every_claim_is_there_and_the_buttons_still_filter(
    chromium, site
):
    page = chromium.new_page(java_script_enabled=False)
    page.goto(site + PAGE)
    assert page.locator(SHOWN).count() == 60
    assert not page.locator(".tf-claims input[type=search]").is_visible()
    page.locator(".tf-claims label", has_text="imprecise").click()
    assert shown(page, "data-verdict") == {"imprecise"}
    page.close()
