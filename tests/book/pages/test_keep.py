"""What the reader has done is kept, in the browser and nowhere else."""

from __future__ import annotations

import contextlib
import json

import pytest

from tformer_book.course.problems import load
from tformer_book.press.chapters import HTML, ROOT, address, chapters

CHAPTER = address("scale")
NAME = CHAPTER.removesuffix(".html")
PROGRESS = "book/progress.html"
STORE = (
    "Object.fromEntries(Object.entries(localStorage).filter(e => /^tf-/.test(e[0])))"
)
KEPT = {
    f"tf-problem:{NAME}:1": "solved",
    f"tf-problem:{NAME}:4": "solved",
    f"tf-read:{NAME}": "read",
    f"tf-prediction:{NAME}:Predict, then run. With the paper's": "at 3,072",
    f"tf-place:{NAME}": '{"id": "the-paper-s-bill", "title": "The bill", "at": 5}',
    "tf-cards:whatever": '{"seen": 3}',
}
# The store, as browsers forbid it; the theme cannot do without.
FORBIDDEN = """const real = window.localStorage;
Object.defineProperty(window, 'localStorage', {get() {
  if (new Error().stack.includes('/_static/keep/'))
    throw new DOMException('forbidden', 'SecurityError');
  return real;
}});"""
# To the end of each section before the problems, as fast as one can skim.
SKIM = """async () => {
  for (const part of document.querySelectorAll('article > section > section')) {
    if (part.id === 'problems') break;
    const end = part.getBoundingClientRect().bottom + scrollY;
    scrollTo({top: end - innerHeight / 2, behavior: 'instant'});
    await new Promise((done) => setTimeout(done, 600));
  }
}"""
JUMP = "scrollTo({top: document.body.scrollHeight, behavior: 'instant'})"


@pytest.fixture
def reading(visit):
    """Open a page in a browser that has kept something; no error may come."""

    @contextlib.contextmanager
    def open_page(name, kept=None, **options):
        with visit(name, settle=False, draw=False, **options) as seen:
            if kept is not None:
                fill = "all => Object.entries(all).map(e => localStorage.setItem(...e))"
                seen.page.evaluate(fill, kept)
                seen.page.reload()
            yield seen
            assert seen.errors == []
            assert seen.third_party == []

    return open_page


def mark(seen, name=NAME):
    file = name.removeprefix("book/")
    links = ".bd-sidebar-primary a.internal"
    return seen.page.locator(links, has_text=file[:2]).last.locator(".tf-mark")


def choose(seen, text):
    """Import a file of this text; what the page says to that."""
    file = {"name": "p.json", "mimeType": "application/json", "buffer": text.encode()}
    seen.page.evaluate("document.getElementById('tf-progress-said').textContent = ''")
    seen.page.locator("#tf-import").set_input_files(file)
    said = seen.page.locator("#tf-progress-said")
    said.filter(has_text=".").wait_for()
    return said.inner_text()


def row(seen, name=NAME):
    return seen.page.locator(f"tr[data-page='{name}'] td").all_inner_texts()


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_every_problem_of_a_chapter_can_be_ticked(path):
    html = (HTML / path.relative_to(ROOT)).with_suffix(".html").read_text("utf-8")
    numbers = [each.number for each in load(path).problems]
    assert html.count('<label class="tf-solved pst-js-only">') == len(numbers)
    assert all(f'data-problem="{number}"' in html for number in numbers)


def test_a_tick_is_kept_and_the_side_bar_counts_it(reading):
    with reading(CHAPTER) as seen:
        box = seen.page.get_by_label("Problem 2 solved")
        box.focus()
        seen.page.keyboard.press("Space")
        mark(seen).get_by_text("1/10").wait_for()
        seen.page.reload()
        mark(seen).get_by_text("1/10").wait_for()
        assert box.is_checked()
        box.uncheck()
        assert not any("tf-problem" in key for key in seen.page.evaluate(STORE))
        assert mark(seen).count() == 0


def test_a_chapter_is_read_when_the_end_of_each_section_was_seen(reading):
    with reading(CHAPTER) as seen:
        seen.page.evaluate(JUMP)
        seen.page.wait_for_timeout(800)
        assert f"tf-read:{NAME}" not in seen.page.evaluate(STORE)
        seen.page.evaluate(SKIM)
        mark(seen).get_by_text("✓").wait_for()
        assert not any("tf-seen" in key for key in seen.page.evaluate(STORE))


def test_the_progress_page_says_how_far_one_is_and_leads_on(reading):
    with reading(PROGRESS, {}) as seen:
        said, link = seen.page.locator("#tf-far-said"), seen.page.locator("#tf-far-on")
        said.filter(has_text="0 of").wait_for()
        assert link.inner_text() == "Begin with the first chapter"
        every = seen.page.locator("#tf-chapters tr").count()
        assert seen.layout_shift() < 0.001
        place = {"id": "the-paper-s-bill", "title": "The paper’s bill", "at": 1}
        seen.page.evaluate(
            "([name, place]) => { localStorage[`tf-read:${name}`] = 'read';"
            " localStorage[`tf-place:${name}`] = JSON.stringify(place); }",
            [NAME, place],
        )
        seen.page.reload()
        said.filter(has_text=f"1 of {every} chapters read").wait_for()
        bar = seen.page.locator("#tf-far").evaluate("e => e.value / e.max")
        assert bar == pytest.approx(1 / every)
        assert link.inner_text().endswith(", The paper’s bill")
        assert seen.axe() == []
        link.click()
        seen.page.wait_for_url(f"**/{CHAPTER}#the-paper-s-bill")


def test_a_link_leads_back_to_where_one_was_and_moves_nothing(reading):
    with reading(CHAPTER, {}) as seen:
        seen.page.locator("#the-paper-s-bill").evaluate("e => e.scrollIntoView()")
        seen.page.wait_for_function(f"() => localStorage['tf-place:{NAME}']")
        address = seen.page.url
        seen.page.goto(address.replace(CHAPTER, PROGRESS))
        seen.page.goto(address)
        link = seen.page.get_by_role(
            "link", name="Continue where you left off: The paper’s"
        )
        link.wait_for()
        assert seen.layout_shift() < 0.001
        title = seen.page.locator("article h1").bounding_box()
        line = link.bounding_box()
        assert line["y"] + line["height"] <= title["y"]
        link.click()
        top = "document.querySelector('#the-paper-s-bill').getBoundingClientRect().top"
        seen.page.wait_for_function(f"() => Math.abs({top}) < innerHeight / 3")


def test_the_first_page_leads_back_to_the_chapter_of_the_last_visit(reading):
    other = {"tf-place:book/lab": '{"id": "a", "title": "b", "at": 3}'}
    broken = {"tf-place:book/journey": '{"id": "a", ', "tf-place:x:y": "1"}
    with reading("book/intro.html", KEPT | other | broken) as seen:
        link = seen.page.locator(".tf-go-on a")
        link.filter(has_text="Scale: The bill").wait_for()
        assert link.get_attribute("href").endswith(f"{CHAPTER}#the-paper-s-bill")


def test_export_erase_and_import_bring_back_the_same(reading):
    with reading(PROGRESS, KEPT) as seen:
        filled = row(seen)
        asked = (HTML / CHAPTER).read_text("utf-8").count('<form class="tf-guess')
        assert filled[:2] == ["✓ yes", f"1 of {asked}"]
        assert filled[2] == "2 of 10"
        with seen.page.expect_download() as found:
            seen.page.get_by_role("button", name="Export").click()
        text = found.value.path().read_text("utf-8")
        seen.page.once("dialog", lambda dialog: dialog.dismiss())
        seen.page.get_by_role("button", name="Erase").click()
        assert seen.page.evaluate(STORE) == KEPT
        seen.page.once("dialog", lambda dialog: dialog.accept())
        seen.page.get_by_role("button", name="Erase").click()
        assert seen.page.evaluate(STORE) == {}
        assert row(seen)[0] == "–"
        assert "6 new" in choose(seen, text)
        assert seen.page.evaluate(STORE) == KEPT
        assert row(seen) == filled


def test_what_is_here_stays_when_a_file_says_otherwise(reading):
    theirs = {next(iter(KEPT)): "other", f"tf-problem:{NAME}:9": "solved"}
    file = {"format": "tformer-progress", "version": 1, "entries": theirs}
    with reading(PROGRESS, KEPT) as seen:
        assert "1 new" in choose(seen, json.dumps(file))
        assert seen.page.evaluate(STORE) == theirs | KEPT


def test_a_damaged_file_is_refused_in_one_sentence_and_changes_nothing(reading):
    good = {"format": "tformer-progress", "version": 1, "entries": {"tf-new": "1"}}
    damaged = [
        json.dumps(good)[:-5],
        "null",
        "[1, 2]",
        json.dumps({**good, "format": "another"}),
        json.dumps({**good, "entries": {"tf-new": "1", "mode": "dark"}}),
        json.dumps({**good, "entries": {"tf-new": "1", "tf-x": 5}}),
    ]
    with reading(PROGRESS, KEPT) as seen:
        for text in damaged:
            said = choose(seen, text)
            assert said.startswith("This file is damaged"), text
            assert said.endswith("Nothing has changed.")
        assert "newer edition" in choose(seen, json.dumps({**good, "version": 2}))
        assert seen.page.evaluate(STORE) == KEPT


@pytest.mark.parametrize("name", [CHAPTER, PROGRESS])
def test_where_the_browser_keeps_nothing_nothing_fails(reading, name):
    with reading(name) as seen:
        seen.page.add_init_script(FORBIDDEN)
        seen.page.reload()
        if name == CHAPTER:
            seen.page.get_by_label("Problem 2 solved").check()
            seen.page.evaluate(JUMP)
            seen.page.wait_for_timeout(600)
        else:
            assert "doesn't let" in seen.page.locator("#tf-progress-said").inner_text()


def test_answers_kept_by_address_are_found_again(reading):
    said = "At six hundred"
    with reading(CHAPTER) as seen:
        seen.page.locator(".tf-guess input").first.fill(said)
        seen.page.locator(".tf-guess button").first.click()
        [key] = [key for key in seen.page.evaluate(STORE) if "tf-prediction" in key]
        by_address = key.replace(f":{NAME}:", f":/old/base/{CHAPTER}:")
        seen.page.evaluate("localStorage.clear()")
        seen.page.evaluate("e => localStorage.setItem(...e)", [by_address, said])
        seen.page.reload()
        seen.page.locator(".tf-said", has_text=said).wait_for()
        kept = seen.page.evaluate(STORE)
        assert kept[key] == said
        assert by_address not in kept


def test_on_a_phone_in_the_dark_all_fits_and_the_drawer_has_the_marks(reading):
    with reading(PROGRESS, KEPT, size="phone", dark=True) as seen:
        assert seen.overflow() == []
        seen.page.locator(".primary-toggle").first.click()
        part = seen.page.locator(".bd-sidebar-primary .tf-part")
        part.filter(has_text="16").locator("summary").last.click()
        mark(seen).get_by_text("✓ 2/10").wait_for()
        assert mark(seen).is_visible()


def test_without_scripts_the_page_says_so():
    html = (HTML / PROGRESS).read_text("utf-8")
    assert "<noscript><p><strong>Your browser doesn't run scripts" in html
    assert 'class="tf-progress pst-js-only"' in html
