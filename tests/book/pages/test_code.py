"""Read or Code: what stands open, what a line opens, and that the choice is kept."""

from __future__ import annotations

import re

import pytest

from tformer_book.press.chapters import HTML, address

PAGE = address("multi-head")
OPEN = "document.querySelectorAll('.tf-code:not(.tf-aside)[open]').length"
FOLDS = "document.querySelectorAll('.tf-code:not(.tf-aside)').length"
# Lines of code that a reader sees; code that the package shows is an output.
LINES = """[...document.querySelectorAll('.cell_input pre')]
  .filter((e) => e.checkVisibility())
  .flatMap((e) => e.textContent.trim().split('\\n')).filter((e) => e.trim()).length"""
PLACE = """() => document.getElementById('why-not-just-view')
  .getBoundingClientRect().top"""


@pytest.fixture
def reading(visit):
    """Open the page as a reader has it: `visit` draws all of it, as for a printer."""
    return lambda **options: visit(PAGE, settle=False, **options)


def test_at_first_only_the_lesson_stands_open(reading):
    with reading() as seen:
        assert seen.page.get_by_role("radio", name="Read", exact=True).is_checked()
        assert 20 < seen.page.evaluate(LINES) <= 80
        assert seen.page.evaluate(OPEN) == 0
        shown = seen.page.locator(".cell:has(> .tf-code:not(.tf-aside)) > .cell_output")
        assert shown.count() > 20
        assert shown.first.is_visible()


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_the_keyboard_switches_and_the_choice_holds_for_every_page(reading, size):
    with reading(size=size) as seen:
        read = seen.page.get_by_role("radio", name="Read", exact=True)
        group = seen.page.get_by_role("group", name="How much code to show")
        for each in group.locator("label").all():
            box = each.bounding_box()
            assert box["height"] >= 24
            assert box["width"] >= 24
        read.focus()
        seen.page.keyboard.press("ArrowRight")
        assert seen.page.get_by_role("radio", name="Code", exact=True).is_checked()
        everything = seen.page.evaluate(FOLDS)
        assert seen.page.evaluate(OPEN) == everything > 20
        assert not seen.page.locator(
            ".tf-code:not(.tf-aside) > summary"
        ).first.is_visible()
        assert seen.page.locator(".tf-aside[open]").count() == 0  # solutions stay
        assert seen.page.evaluate("localStorage.getItem('tf-code')") == "code"
        seen.page.goto(seen.page.url.replace(PAGE, address("attention")))
        assert seen.page.get_by_role("radio", name="Code", exact=True).is_checked()
        seen.page.wait_for_function(f"() => ({OPEN}) > 10")
        assert seen.layout_shift() < 0.1
        seen.page.get_by_role("radio", name="Read", exact=True).click()
        seen.page.wait_for_function(f"() => ({OPEN}) === 0")
        assert seen.overflow() == []
        assert seen.errors == []


def test_the_reader_s_place_stays_where_it_is(reading):
    with reading() as seen:
        seen.page.evaluate(
            "document.getElementById('why-not-just-view').scrollIntoView()"
        )
        seen.page.wait_for_timeout(500)
        for choice in ("Code", "Read"):
            before = seen.page.evaluate(PLACE)
            box = seen.page.get_by_role("radio", name=choice, exact=True).bounding_box()
            seen.page.mouse.click(box["x"] + 9, box["y"] + 9)
            seen.page.wait_for_timeout(500)
            assert abs(seen.page.evaluate(PLACE) - before) < 5


def test_a_line_opens_its_cells_and_those_of_its_neighbours(reading):
    with reading() as seen:
        line = seen.page.get_by_text("neighbours; chart of one head and two")
        line.scroll_into_view_if_needed()
        line.click()
        seen.page.wait_for_function(f"() => ({OPEN}) === 2")
        code = seen.page.locator(".tf-code[open] pre")
        assert "def circle" in code.first.inner_text()
        assert "figures.curves" in code.last.inner_text()
        line.click()
        seen.page.wait_for_function(f"() => ({OPEN}) === 0")


def test_without_scripts_every_cell_has_its_line(chromium, site):
    page = chromium.new_page(java_script_enabled=False)
    page.goto(site + PAGE)
    lines = page.locator(".tf-code:not(.tf-cover *) > summary")
    assert lines.count() > 30
    assert not [line for line in lines.all() if not line.is_visible()]
    assert not page.locator(".tf-switch").is_visible()
    lines.first.click()
    assert "import torch" in page.locator(".tf-code[open] pre").inner_text()
    page.close()


def test_paper_has_the_lesson_s_code_and_no_other(reading):
    with reading() as seen:
        seen.page.get_by_role("radio", name="Code", exact=True).click()
        seen.page.emulate_media(media="print")
        assert not seen.page.locator(".tf-code:not(.tf-aside) pre").first.is_visible()
        # What it has printed has a label; a picture has its caption.
        told, apart = (
            seen.page.locator(
                f".cell > .tf-code:has(+ .cell_output > .{kind}:first-child) > summary"
            ).evaluate_all("all => all.filter((e) => e.checkVisibility()).length")
            for kind in ("stream", "text_html")
        )
        assert told > 3 and not apart
        assert seen.page.evaluate(LINES) <= 80
        assert not seen.page.locator(".tf-code > summary").first.is_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_switch_and_lines_have_no_serious_finding(reading, dark):
    with reading(dark=dark) as seen:
        assert seen.axe(".bd-header-article") == []
        assert seen.axe(".tf-code", runOnly=["color-contrast"]) == []


@pytest.mark.parametrize(
    "path", sorted(HTML.glob("book/*.html")), ids=lambda path: path.stem
)
def test_no_two_lines_of_a_page_say_the_same(path):
    html = path.read_text("utf-8")
    assert "Toggle hidden content" not in html  # the theme's way
    found = re.findall(r'<details class="tf-code([^>]*)><summary>(.*?)</summary>', html)
    lines = [line for kind, line in found if "data-follows" not in kind]
    assert len(lines) == len(set(lines))
    assert not [line for line in lines if len(line) < 10]
    switched = [line for kind, line in found if "tf-aside" not in kind]
    assert ('class="tf-switch' in html) == bool(switched)
