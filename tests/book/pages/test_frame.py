"""The frame of every page: one left edge, three widths, letters, bar, side bar, 404."""

from __future__ import annotations

import json
import re

import pytest

from tformer_book.press import browser as driver
from tformer_book.press.chapters import address

CHAPTER = address("multi-head")
PLAY = ("journey", "lab", "playground")
# Where text, code, output, formulas, tables and figures begin and may end.
EDGES = """() => {
  const start = document.querySelector('.bd-article h2').getBoundingClientRect().left;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const parts = {
    prose: 'section > :is(p, ul, ol)', wide: 'section > div.cell, .tfk, figcaption',
    letters: '.cell_input pre',
  };
  const found = [];
  for (const [kind, which] of Object.entries(parts))
    for (const e of document.querySelectorAll(`.bd-article :is(${which})`)) {
      if (!e.checkVisibility() || e.parentElement.closest('.tfk, details')) continue;
      const box = e.getBoundingClientRect();
      const pad = kind === 'letters' ? parseFloat(getComputedStyle(e).paddingLeft) : 0;
      found.push([kind, box.left + pad - start, (box.right - start) / rem]);
    }
  return found;
}"""
# What a heading looks like beside those below it.
HEADINGS = """() => ['h1', 'h2', 'h3'].map((each) => {
  const style = getComputedStyle(document.querySelector(`.bd-article ${each}`));
  return [parseFloat(style.fontSize), Number(style.fontWeight), style.fontFamily];
})"""
MEASURE = """() => {
  for (let i = 0; i < 3; i++) {
    const label = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    document.body.append(label);
    label.getBoundingClientRect();
    label.remove();
  }
}"""
BEHIND = """(door) => {  // the bar
  const { bottom } = door.getBoundingClientRect();
  scrollBy({ top: bottom - 10, behavior: 'instant' });
}"""
LINKS = """() => [...document.querySelectorAll(
    '.bd-article section > p a:not(.tf-term), .bd-article td a:not(.tf-term)')]
  .filter((each) => each.checkVisibility())
  .map((each) => [Boolean(each.closest('td')), getComputedStyle(each).color])"""


@pytest.mark.parametrize("name", ["multi-head", "attention", "training"])
def test_everything_begins_at_one_edge_and_ends_at_one_of_two(visit, name):
    with visit(address(name), size="desk", settle=False) as seen:
        edges = seen.page.evaluate(EDGES)
    assert {kind for kind, *_ in edges} == {"prose", "wide", "letters"}
    for kind, left, right in edges:
        assert abs(left) <= 1, (kind, left)
        assert right <= (37.1 if kind == "prose" else 46.1), (kind, right)


def test_a_heading_outweighs_those_below_it(visit):
    with visit(CHAPTER, settle=False) as seen:
        (h1, _, family), (h2, heavy, _), (h3, light, _) = seen.page.evaluate(HEADINGS)
    assert h1 > h2 > h3
    assert heavy > light
    assert family.startswith("Literata")


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_hardly_anything_moves_when_the_letters_come_late(chromium, site, size):
    width, height = driver.SIZES[size]
    context = chromium.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.add_init_script(driver.OBSERVE)

    def late(route):
        page.wait_for_timeout(1500)
        route.continue_()

    page.route("**/*.woff2", late)
    page.goto(f"{site}{CHAPTER}", wait_until="load")
    page.evaluate("document.fonts.ready")
    page.wait_for_function("() => document.fonts.check('18px Literata')")
    page.wait_for_timeout(300)
    assert page.evaluate("window.__shift") <= 0.05
    context.close()


def test_letters_that_the_families_lack_stand_in_code_as_wide_as_the_others(visit):
    with visit(CHAPTER, settle=False) as seen:
        widths = seen.page.evaluate(
            """() => ['aaaa', '→→→→', '✓✓✓✓'].map((text) => {
              const span = document.createElement('span');
              span.style.cssText = 'font: 16px var(--tf-code); position: absolute';
              span.textContent = text;
              document.body.append(span);
              return span.getBoundingClientRect().width;
            })"""
        )
    assert widths[0] == pytest.approx(32, abs=0.5)  # half of the height, each
    assert widths[1] == pytest.approx(32, abs=2)


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_what_a_chart_measures_restyles_little_of_the_page(chromium, visit, size):
    # Each label that is measured restyled the whole page once: 22 seconds to print it.
    with visit(address("attention"), size=size, draw=False, settle=False) as seen:
        chromium.start_tracing(page=seen.page, categories=["devtools.timeline"])
        seen.page.evaluate(MEASURE)
        events = json.loads(chromium.stop_tracing())["traceEvents"]
        page = seen.page.locator("*").count()
    restyled = [
        event["args"]["elementCount"]
        for event in events
        if event["name"] == "UpdateLayoutTree" and "elementCount" in event["args"]
    ]
    assert len(restyled) >= 3
    assert max(restyled) < page / 10


def test_links_have_one_colour_in_tables_too(visit):
    with visit(address("notation"), settle=False) as seen:
        links = seen.page.evaluate(LINKS)
    assert {in_table for in_table, _ in links} == {True, False}
    assert len({colour for _, colour in links}) == 1


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_the_bar_leads_to_what_is_to_play_with(visit, size):
    with visit(CHAPTER, size=size, settle=False) as seen:
        for name in PLAY:
            link = seen.page.locator(f".bd-header-article .tf-{name}-link")
            assert link.is_visible()
            assert link.get_attribute("href").endswith(f"{name}.html")


def test_the_one_way_to_run_a_chapter_is_a_link_in_words(visit):
    with visit(CHAPTER, settle=False) as seen:
        bar = seen.page.locator(".bd-header-article")
        assert bar.locator(".dropdown").count() == 0
        link = bar.get_by_role("link", name="Open in Colab")
        assert link.is_visible()


def test_the_menu_is_folded_but_for_the_part_that_is_read(visit):
    parts = ".bd-sidebar-primary details.tf-part"
    with visit(CHAPTER, settle=False) as seen:
        menu = seen.page.locator(parts)
        assert menu.count() >= 4
        opened = seen.page.locator(f"{parts}[open]")
        assert opened.count() == 1
        assert opened.locator("li.current > a").is_visible()
        folded = menu.last
        assert folded.get_attribute("open") is None
        folded.locator("> summary").press("Enter")
        assert folded.locator("a").first.is_visible()


def test_escape_closes_the_drawer_and_leaves_no_tooltip(visit):
    with visit(CHAPTER, size="phone", settle=False) as seen:
        page = seen.page
        toggle = page.locator("button.primary-toggle")
        toggle.click()
        page.wait_for_selector("#pst-primary-sidebar-modal[open]")
        page.keyboard.press("Escape")
        page.wait_for_selector("#pst-primary-sidebar-modal[open]", state="hidden")
        page.wait_for_timeout(400)
        assert page.locator(".tooltip:visible").count() == 0
        assert toggle.evaluate("e => e === document.activeElement")


@pytest.mark.parametrize("side", ["primary", "secondary"])
def test_a_drawer_has_a_button_that_puts_it_away(visit, side):
    with visit(CHAPTER, size="phone", settle=False) as seen:
        page = seen.page
        toggle = page.locator(f".bd-header-article .{side}-toggle")
        assert page.locator(".tf-shut:visible").count() == 0
        toggle.click()
        drawer = page.locator(f"#pst-{side}-sidebar-modal")
        drawer.locator(".tf-shut").click()
        drawer.wait_for(state="hidden")
        page.wait_for_function("document.activeElement.matches('.bd-header-article *')")


def test_the_first_pages_side_bar_has_it_too(visit):
    with visit(address("intro"), size="desk", settle=False) as seen:
        toggle = seen.page.locator(".bd-header-article .primary-toggle")
        shut = seen.page.locator(".bd-sidebar-primary .tf-shut")
        toggle.click()
        shut.click()
        shut.wait_for(state="hidden")
        assert toggle.evaluate("e => e === document.activeElement")


def test_a_phone_searches_from_the_drawer(visit):
    with visit(CHAPTER, size="phone", settle=False) as seen:
        page = seen.page
        page.locator("button.primary-toggle").click()
        page.wait_for_selector("#pst-primary-sidebar-modal[open]")
        page.locator("#pst-primary-sidebar-modal .search-button-field").click()
        field = page.locator("#pst-search-dialog input[type=search]")
        field.fill("masks")
        page.wait_for_selector("#pst-search-dialog a:visible")
        assert field.evaluate("e => e === document.activeElement")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_page_for_wrong_addresses_follows_the_books_own_switch(chromium, mode):
    context = chromium.new_context(
        color_scheme="light" if mode == "dark" else "dark", base_url=None
    )
    page = context.new_page()
    page.add_init_script(f"localStorage.setItem('mode', '{mode}')")
    base = "https://tformer-book.github.io/tformer/"
    folder = driver.HTML

    def answer(route):
        file = folder / route.request.url.removeprefix(base)
        route.fulfill(path=file if file.is_file() else folder / "404.html")

    context.route("**/*", answer)
    page.goto(f"{base}no/such/page")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    channel = int(ground.split("(")[1].split(",")[0])
    assert (channel < 60) == (mode == "dark")
    doors = page.locator(".doors a")
    assert doors.count() == 4
    page.get_by_role("searchbox").fill("beam search")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**/search.html?q=beam+search")
    context.close()


def test_the_ways_in_are_on_the_first_screen_however_low_it_is(visit):
    with visit(address("intro"), size="desk", settle=False) as seen:
        doors = seen.page.locator(".tf-doors a").first
        figure = seen.page.locator("#figure-first-translation")
        for height in (900, 780, 700):
            seen.page.set_viewport_size({"width": 1440, "height": height})
            box, picture = doors.bounding_box(), figure.bounding_box()
            assert box["y"] + box["height"] < picture["y"] < height
            promise = seen.page.locator("h1 + p strong").bounding_box()
            assert box["y"] + box["height"] <= promise["y"]  # beside the title
            title = seen.page.get_by_role("heading", level=1).bounding_box()
            assert (
                box["y"] < title["y"] + title["height"] / 2 < box["y"] + box["height"]
            )
            text = seen.page.locator(".bd-article section > p").nth(1)
            assert text.bounding_box()["width"] < 660  # no wider than elsewhere


@pytest.mark.parametrize(
    ("width", "height"), [(1440, 900), (1366, 650), (1280, 720), (360, 740)]
)
def test_the_first_screen_has_the_field_for_a_sentence_of_one_s_own(
    visit, width, height
):
    size = "phone" if width < 600 else "desk"
    with visit(address("intro"), size=size) as seen:
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.page.get_by_role("button", name="Play again").wait_for()
        field = seen.page.locator(".tff textarea").bounding_box()
        assert field["y"] + field["height"] <= height
        if size == "phone":  # where what is below begins off the screen
            return
        html = (driver.HTML / address("intro")).read_text("utf-8")
        kept = re.search(r'"tf-widget" style="([^"]+)" data-words', html)[1]
        room, high = seen.page.locator(".tf-widget[data-words]").evaluate(
            "(box, kept) => { box.style.cssText = kept;"
            " return [parseFloat(getComputedStyle(box).minHeight),"
            " box.querySelector('.tff').offsetHeight]; }",
            kept,
        )
        assert abs(room - high) < 12  # what is below does not move when it is drawn


def test_the_first_page_is_open_and_its_side_bar_waits_for_its_button(visit):
    with visit(address("intro"), size="desk", settle=False) as seen:
        page = seen.page
        bar = page.locator("#pst-primary-sidebar")
        assert not bar.is_visible()
        assert page.locator(".bd-header-article .tf-home").is_visible()
        assert page.locator(".bd-header-article .search-button").is_visible()
        figure = page.locator("#figure-first-translation")
        left = figure.bounding_box()["x"]
        for put_away in (
            lambda: page.keyboard.press("Escape"),
            lambda: page.mouse.click(900, 600),
        ):
            page.locator(".primary-toggle").click()
            bar.get_by_role("link", name="Attention", exact=False).first.wait_for()
            assert figure.bounding_box()["x"] == left  # it lies over the page
            assert bar.evaluate("bar => bar.contains(document.activeElement)")
            put_away()
            bar.wait_for(state="hidden")


@pytest.mark.parametrize("size", ["desk", "narrow"])
def test_who_has_gone_past_the_first_page_s_door_finds_it_in_the_bar(visit, size):
    with visit(address("intro"), size=size, settle=False) as seen:
        doors = seen.page.get_by_role("link", name="Start reading")
        doors.first.wait_for()
        assert doors.count() == 1  # the one on the page
        seen.page.evaluate("document.fonts.ready")
        seen.page.wait_for_selector(".tff-german button")  # nothing moves any more
        doors.first.evaluate(BEHIND)
        again = seen.page.locator(".tf-door")
        again.wait_for()
        box, menu = again.bounding_box(), seen.page.locator(".primary-toggle").first
        assert box["x"] + box["width"] < seen.page.viewport_size["width"]
        assert box["x"] > menu.bounding_box()["x"] + menu.bounding_box()["width"]
        assert seen.overflow() == []
        # (Playwright's own click may scroll up to where the bar stands in the page.)
        seen.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        seen.page.wait_for_url(f"**/{address('before-you-start')}")


def test_keys_reach_the_first_page_s_door_before_its_figure(visit):
    with visit(address("intro"), size="desk", settle=False) as seen:
        page = seen.page
        page.locator(".tff-german button").first.wait_for()
        page.locator(".tf-doors a").focus()
        reached = []
        for _ in range(3):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.parentElement.lang"))
        assert reached[:2] == ["en", "de"]  # a word of each sentence


def test_the_first_sentence_is_there_before_any_script(visit):
    with visit(address("intro"), size="desk", settle=False) as seen:
        box = seen.page.locator("#figure-first-translation .tf-widget")
        assert box.get_attribute("data-words") == "Why did you not call me yesterday ?"
        before = "delete box.dataset.ready; return getComputedStyle(box, '::before')"
        assert "call me" in box.evaluate(f"box => {{ {before}.content; }}")
