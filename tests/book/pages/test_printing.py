"""A printed page shows what a reader would unfold, and cuts nothing off."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pypdf import PdfReader

from tformer_book import widgets
from tformer_book.press import pictures
from tformer_book.press.chapters import address

SEEN = """() => [...document.querySelectorAll('details.tf-solution')].map(
  (fold) => !fold.open && fold.lastElementChild.checkVisibility(
    {contentVisibilityAuto: true}))"""
CLIPPED = """() => [...document.querySelectorAll('.bd-article pre')].filter(
  (code) => code.scrollWidth > code.clientWidth + 1).map((code) => code.textContent)"""
A4 = {"width": 718, "height": 1045}  # pixels, less margins of a centimetre


def test_printed_every_solution_is_there_and_no_code_is_cut(visit):
    with visit(address("attention"), size="phone", settle=False) as seen:
        assert not any(seen.page.evaluate(SEEN))
        seen.page.emulate_media(media="print")
        seen.page.wait_for_function(f"() => ({SEEN})().every(Boolean)")
        assert seen.page.evaluate(SEEN)
        seen.page.set_viewport_size(A4)
        assert seen.page.evaluate(CLIPPED) == []


READY = """() => [...document.querySelectorAll('.tf-widget, .tf-plotly-box')].map(
  (box) => box.dataset.ready === 'true')"""


def test_ctrl_p_draws_every_figure_before_it_prints(visit):
    with visit(address("positions"), settle=False, draw=False) as seen:
        assert not all(seen.page.evaluate(READY))
        # (evaluate calls what it is given when that is a function: so two statements)
        seen.page.evaluate(
            f"window.print = () => {{ window.printed = ({READY})(); }}; undefined"
        )
        seen.page.keyboard.press("Control+p")
        seen.page.wait_for_function("() => window.printed")
        printed = seen.page.evaluate("window.printed")
        assert len(printed) > 3
        assert all(printed)


def test_a_figure_that_is_not_drawn_is_printed_as_a_picture(visit):
    with visit(address("multi-head"), settle=False, draw=False) as seen:
        # Printing asks for their modules at once, and these never come.
        seen.page.route("**/_static/tf/**", lambda route: None)
        undrawn = seen.page.locator(".tf-widget:not([data-ready])").count()
        paper = PdfReader(io.BytesIO(seen.page.pdf(prefer_css_page_size=True)))
    assert undrawn > 1
    assert sum(len(page.images) for page in paper.pages) >= undrawn
    text = [page.extract_text() for page in paper.pages]
    assert "06 Multi-head attention" in " ".join(text[0].split())
    assert "Contents" not in text[0]
    foot = "06 Multi-head attention · The Transformer, Piece by Piece"
    assert all(foot in " ".join(page.split()) for page in text)
    assert "not drawn" not in " ".join(text)
    assert len(text) <= 20


AROUND = """cell => [cell.previousElementSibling, cell.nextElementSibling].map(
  (each) => each.textContent.trim().slice(0, 30))"""


def test_on_paper_text_goes_before_a_figure_that_would_leave_a_hole(visit):
    with visit(address("positions")) as seen:
        cell = seen.page.locator(".cell.tag_late-2")
        on_screen = cell.evaluate(AROUND)
        following = "cell => cell.nextElementSibling.nextElementSibling.textContent"
        second = cell.evaluate(following).strip()[:30]
        seen.page.evaluate("dispatchEvent(new Event('beforeprint')); undefined")
        assert cell.evaluate(AROUND)[0] == second != on_screen[1]
        seen.page.evaluate("dispatchEvent(new Event('afterprint')); undefined")
        assert cell.evaluate(AROUND) == on_screen


def test_what_stands_under_a_cover_is_printed_after_the_text_too(visit):
    with visit(address("what-came-after")) as seen:
        output = seen.page.locator(".cell.tag_late-2 + .tf-cover .cell_output")
        second = "output => output.nextElementSibling.nextElementSibling.textContent"
        text = output.evaluate(second)
        seen.page.evaluate("dispatchEvent(new Event('beforeprint')); undefined")
        before = "output => output.previousElementSibling.textContent"
        assert output.evaluate(before) == text


def test_of_a_docstring_paper_has_what_it_says_first(visit):
    with visit(address("masks")) as seen:
        details = seen.page.locator(".tf-details", has_text="Returns:").first
        shown = "each => getComputedStyle(each).display"
        assert details.evaluate(shown) == "inline"
        seen.page.emulate_media(media="print")
        assert details.evaluate(shown) == "none"
        assert "Let every position see" in seen.page.inner_text(".bd-article")


ROOM = 297 - 15 - 17  # millimetres of a page, less its margins


def hole(page):
    """The share of a printed page that is empty at its end."""
    heights = []

    def see(text, cm, tm, *_):
        if text.strip():
            heights.append((tm[4] * cm[1] + tm[5] * cm[3] + cm[5]) * 25.4 / 72)

    page.extract_text(visitor_text=see)
    return (min(each for each in heights if each > 17) - 17) / ROOM


@pytest.mark.parametrize("name", ["attention", "decoding-and-scoring", "positions"])
def test_no_page_but_the_last_is_left_half_empty(visit, name):
    with visit(address(name)) as seen:
        paper = PdfReader(io.BytesIO(seen.page.pdf(prefer_css_page_size=True)))
    holes = [hole(page) for page in paper.pages]
    assert len(holes) <= 20
    assert min(holes) >= 0
    assert max(holes[:-1]) < 0.3


def test_what_only_a_screen_can_do_is_not_printed(visit):
    with visit(address("attention")) as seen:
        only = seen.page.locator(".tf-screen:not(summary *), section#play")
        assert only.count() == 3
        assert all(each.is_visible() for each in only.all())
        seen.page.emulate_media(media="print")
        assert not any(each.is_visible() for each in only.all())


PRESSED = ":is(.tfk-do, input[type=range], .tfk-chip:has(> input:not(:checked)))"


def test_a_figure_on_paper_has_nothing_to_press_but_says_how_it_is_set(visit):
    with visit(address("multi-head")) as seen:
        figure = seen.page.locator("#figure-head-split")
        figure.locator(".tfk").wait_for()
        controls = figure.locator(PRESSED)
        assert controls.count() > 8
        high = figure.bounding_box()["height"]
        seen.page.emulate_media(media="print")
        assert not any(each.is_visible() for each in controls.all())
        assert "there and back" in figure.inner_text()
        assert figure.bounding_box()["height"] < 0.8 * high


def test_a_caption_on_paper_says_how_the_figure_is_set(visit):
    with visit(address("multi-head")) as seen:
        figure = seen.page.locator("#figure-head-split")
        figure.locator(".tfk").wait_for()
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        said = figure.locator(".tf-set")
        assert not said.is_visible()  # on the screen its controls say it
        seen.page.emulate_media(media="print")
        assert said.inner_text().strip() == (
            "Settings: step: 5 Concatenate; no transpose: there and back; frame: it."
        )
        assert not any(each.is_visible() for each in figure.locator("legend").all())
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert said.count() == 1


def test_controls_of_one_name_stay_beside_what_they_set(visit):
    with visit(address("attention")) as seen:
        figure = seen.page.locator("#figure-one-query")
        figure.locator(".tfk").wait_for()
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        seen.page.emulate_media(media="print")
        said = figure.locator(".tf-set").inner_text()
        assert "who asks: it" in said and "across" not in said
        across = figure.locator(".tfk-slider", has_text="across")
        assert across.count() == 2 and all(each.is_visible() for each in across.all())


def test_pictures_follow_the_rules_for_paper():
    rules = pictures.on_paper()
    for path in Path(widgets.__file__).parent.rglob("*.css"):
        found = path.read_text("utf-8").count("@media print")
        assert len(pictures.PRINT.findall(path.read_text("utf-8"))) == found, path
    assert ".tfk-do" in rules
    assert rules.count("{") == rules.count("}")


def test_a_chart_that_is_not_drawn_says_so_on_paper(visit):
    with visit(address("positions"), settle=False, draw=False) as seen:
        seen.page.emulate_media(media="print")
        empty = seen.page.locator(".tf-plotly-box:not([data-ready])").last
        note = empty.evaluate("box => getComputedStyle(box, '::before').content")
        assert "Ctrl+P" in note


def test_a_chart_is_lower_on_paper_and_afterwards_as_wide_as_its_box(visit):
    size = """chart => {
      const drawn = chart.querySelector('.main-svg');
      const { width, height } = drawn.getBoundingClientRect();
      return [width, height, chart.clientWidth, chart.clientHeight];
    }"""
    with visit(address("encoder")) as seen:
        chart = seen.page.locator(".tf-plotly-box").first
        seen.page.evaluate("dispatchEvent(new Event('beforeprint')); undefined")
        _, height, _, room = chart.evaluate(size)
        assert height < 0.8 * room
        seen.page.evaluate("dispatchEvent(new Event('afterprint')); undefined")
        seen.page.set_viewport_size({"width": 700, "height": 900})
        seen.page.wait_for_function(
            f"chart => {{ const [w, h, x, y] = ({size})(chart);"
            " return w === x && h === y && x < 700; }",
            arg=chart.element_handle(),
        )


def test_paper_is_white_whatever_the_screen_shows(visit):
    theme = "document.documentElement.dataset.theme"
    with visit(address("positions"), dark=True, settle=False) as seen:
        page = seen.page
        page.wait_for_function(f"() => {theme} === 'dark'")
        page.evaluate(
            f"addEventListener('beforeprint', () => {{ window.printed = {theme} }})"
        )
        page.pdf()
        assert page.evaluate("window.printed") == "light"
        page.wait_for_function(f"() => {theme} === 'dark'")


def test_a_figure_with_steps_is_printed_at_its_last_and_goes_on_where_it_was(visit):
    with visit(address("training")) as seen:
        figure = seen.page.locator("#figure-one-gradient")
        figure.scroll_into_view_if_needed()
        place = figure.locator("output", has_text=" of ")
        place.wait_for()
        before, last = place.inner_text().split(" of ")
        assert before == "1" != last
        for event, step in (("beforeprint", last), ("afterprint", before)):
            seen.page.evaluate(f"dispatchEvent(new Event('{event}')); undefined")
            seen.page.wait_for_function(
                "([box, text]) => box.textContent === text",
                arg=[place.element_handle(), f"{step} of {last}"],
            )


def test_teacher_forcing_is_printed_where_the_two_part(visit):
    with visit(address("decoder")) as seen:
        figure = seen.page.locator("#figure-teacher-forcing")
        place = figure.locator("output", has_text=" of ")
        parting = place.inner_text()
        figure.locator("[data-control=end]").click()
        assert place.inner_text() != parting
        seen.page.evaluate("dispatchEvent(new Event('beforeprint')); undefined")
        assert place.inner_text() == parting


def test_a_figure_is_printed_as_its_cell_says_unless_the_reader_has_set_it(visit):
    with visit(address("masks")) as seen:
        places = seen.page.locator("#figure-mask-laboratory [data-control^=site]")
        set_to = "boxes => boxes.map((box) => box.checked).indexOf(true)"

        def printed():
            seen.page.evaluate("dispatchEvent(new Event('beforeprint')); undefined")
            on_paper = places.evaluate_all(set_to)
            seen.page.evaluate("dispatchEvent(new Event('afterprint')); undefined")
            return on_paper, places.evaluate_all(set_to)

        assert places.evaluate_all(set_to) == 0
        assert printed() == (1, 0)  # the decoder's, which the chapter speaks of
        for own in (3, 1):  # also where it is what paper would have had
            places.nth(own).check(force=True)
            assert printed() == (own, own)


def test_a_figure_that_printing_draws_stands_at_its_last_step_too(visit):
    with visit(address("decoding-and-scoring"), settle=False, draw=False) as seen:
        figure = seen.page.locator("#figure-beam-search .tf-widget")
        assert figure.get_attribute("data-ready") is None
        seen.page.evaluate("dispatchEvent(new Event('beforeprint')); undefined")
        figure.locator("output", has_text=" of ").wait_for(state="attached")
        now, last = figure.locator("output", has_text=" of ").inner_text().split(" of ")
        assert now == last != "1"
        about = seen.page.locator("#figure-beam-search .tf-about")
        assert not about.is_visible()
        seen.page.emulate_media(media="print")
        assert about.is_visible() and about.inner_text().endswith(".")


SHOWN = """(selector) => [...document.querySelectorAll(selector)].map((aside) => [
  ...aside.querySelectorAll('.cell_output, .cell_input')].map((part) =>
    [part.className.includes('cell_output'), part.checkVisibility(
      { contentVisibilityAuto: true })]))"""


def test_what_an_aside_computes_is_printed_and_its_code_is_not(visit):
    with visit(address("training"), settle=False) as seen:
        seen.page.emulate_media(media="print")
        asides = seen.page.evaluate(SHOWN, ".tf-aside:not(#problems *)")
        solutions = seen.page.evaluate(SHOWN, "#problems .tf-aside")
        outputs = [shown for each in asides for is_output, shown in each if is_output]
        code = [shown for each in asides for is_output, shown in each if not is_output]
    assert len(outputs) > 3 and all(outputs)
    assert len(code) > 3 and not any(code)
    shown = [shown for each in solutions for _, shown in each]
    assert len(shown) > 3 and not any(shown)


LABELS = """() => [...document.querySelectorAll(
  '.cell:has(> .tf-aside > .cell_output > .stream:first-child),'
  + '.cell:has(+ .tf-cover > div > .cell_output:first-child > .stream:first-child)')]
  .map((cell) => cell.querySelector(':scope > .tf-code > summary'))
  .filter((label) => label && !label.closest('#problems'))
  .map((label) => label.checkVisibility())"""


def test_what_hidden_code_prints_has_its_label(visit):
    with visit(address("attention"), settle=False) as seen:
        seen.page.emulate_media(media="print")
        shown = seen.page.evaluate(LABELS)
    assert len(shown) > 3 and all(shown)


def test_a_step_that_hides_the_mistake_is_not_printed(visit):
    with visit(address("multi-head")) as seen:
        figure = seen.page.locator("#figure-head-split")
        figure.locator(".tfk").wait_for()
        seen.page.evaluate("dispatchEvent(new Event('beforeprint')); undefined")
        assert figure.locator("[data-control^=stage]:checked").count() == 1
        labels = "box => box.closest('label').textContent"
        shown = figure.locator("[data-control^=stage]:checked").evaluate(labels)
        assert "Concatenate" in shown


LONG = """() => [...document.querySelectorAll(
  '.bd-article table:has(tr:nth-child(13)), .bd-article div[class*=highlight-]')]
  .map((each) => getComputedStyle(each).breakInside)"""


def test_long_tables_and_code_go_on_over_pages(visit):
    with visit(address("training"), settle=False) as seen:
        seen.page.emulate_media(media="print")
        found = seen.page.evaluate(LONG)
    assert len(found) > 5 and set(found) == {"auto"}


def test_on_paper_answers_have_letters_and_nothing_is_to_be_run(visit):
    with visit(address("attention")) as seen:
        paper = PdfReader(io.BytesIO(seen.page.pdf(prefer_css_page_size=True)))
    text = " ".join(" ".join(page.extract_text() for page in paper.pages).split())
    assert "Predict. The query is now" in text
    assert "then run" not in text
    assert "“dog” still" in text and "(a)" in text  # the letters come from the style
    assert len(paper.pages) <= 20
