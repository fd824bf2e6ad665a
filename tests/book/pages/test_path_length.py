"""The figure of *Transduction*, by mouse and keyboard, against `analysis.paths`."""

import json

import pytest
from driven import Driven

from tformer.analysis import paths
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address
from tformer_book.widgets import PathLength

CHAPTER = address("transduction")
pytestmark = pytest.mark.xdist_group(CHAPTER)


class Figure(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfpl"

    def control(self, name):
        kind = "input" if name in ("start", "end") else ""  # buttons bear them, too
        return self.root.locator(f'{kind}[data-control="{name}"]')

    def pick(self, kind):
        self.control(f"kind-{paths.KINDS.index(kind)}").check(force=True)

    def place(self, name):
        return int(self.control(name).input_value()) - 1

    def shown(self, name):
        """The value beside a slider."""
        output = self.control(name).locator("xpath=..").locator("output")
        return int(output.inner_text().replace(",", ""))

    def route(self):
        drawing = self.root.locator("svg.tfpl-drawing")
        return json.loads(drawing.get_attribute("data-path"))

    def row(self, kind):
        cells = self.root.locator(f'tr[data-kind="{kind}"] td')
        return tuple(cells.evaluate_all("all => all.map(e => Number(e.dataset.exact))"))

    def said(self):
        return self.root.locator(".tfpl-said").inner_text()

    def hand(self, name):
        box = self.root.locator(f'[data-hand="{name}"]').bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def agrees(self):
        """Every number of the table is the package's, and the path is as long."""
        figure = PathLength(
            length=self.shown("length"),
            start=self.place("start"),
            end=self.place("end"),
            width=self.shown("width"),
            kernel=self.shown("kernel"),
        )
        assert {kind: self.row(kind) for kind in paths.KINDS} == figure.table
        [now] = self.root.locator("[aria-current]").all()
        kind = now.get_attribute("data-kind")
        route = self.route()
        assert len(route) - 1 == figure.table[kind][0]
        assert (route[0][0], route[-1][0]) == (figure.start, figure.end)


@pytest.fixture(scope="module")
def opened(chromium, site, playing):
    visit = driver.visit(chromium, site, CHAPTER, settle=False)
    with playing(visit, ".tfpl") as seen:
        yield seen


@pytest.fixture
def figure(opened):
    """The figure as the page opens it: 12 words, from “dog” to “it”."""
    shown = Figure(opened)
    shown.pick("recurrent")
    lengths = shown.control("length")
    lengths.evaluate("e => { e.value = 10; e.dispatchEvent(new Event('input')); }")
    for name, place in (("start", 2), ("end", 9), ("kernel", 3), ("width", 6)):
        shown.control(name).evaluate(
            f"e => {{ e.value = {place}; e.dispatchEvent(new Event('input')); }}"
        )
    return shown


def test_the_page_shows_the_packages_numbers(figure):
    for kind in paths.KINDS:
        figure.pick(kind)
        figure.agrees()
    figure.pick("recurrent")
    assert "From “dog” to “it”, 7 places apart: 8 steps" in figure.said()


def test_arrow_keys_move_the_two_tokens(figure):
    figure.press("end", "ArrowRight", 2)
    assert figure.place("end") == 10
    figure.press("start", "ArrowLeft")
    assert figure.place("start") == 0
    assert figure.row("recurrent")[0] == 11
    figure.agrees()
    figure.press("start", "End")  # now the signal travels to the left
    assert figure.place("start") == 11
    figure.agrees()


def test_arrow_keys_choose_the_layer(figure):
    figure.press("kind-0", "ArrowRight")
    assert "4 layers of kernels" in figure.said()
    figure.agrees()


def test_the_mouse_drags_both_ends(figure):
    figure.root.scroll_into_view_if_needed()
    step = (figure.hand("end")[0] - figure.hand("start")[0]) / 7
    for name, by in (("end", 3), ("start", -1)):
        before = figure.place(name)
        x, y = figure.hand(name)
        figure.page.mouse.move(x, y)
        figure.page.mouse.down()
        figure.page.mouse.move(x + by * step, y + 9, steps=4)
        figure.page.mouse.up()
        assert figure.place(name) == before + by
    assert "“The” to “.”, 11 places apart: 12 steps" in figure.said()
    figure.agrees()


def test_more_tokens_keep_the_two_in_proportion(figure):
    figure.pick("convolution")
    figure.press("length", "ArrowRight", 7)
    assert figure.shown("length") == 64
    figure.agrees()
    figure.press("length", "End")
    assert figure.shown("length") == 1024
    figure.agrees()
    figure.press("length", "Home")
    assert figure.shown("length") == 2
    figure.agrees()


def test_width_and_kernel_count(figure):
    figure.press("width", "ArrowLeft", 6)
    figure.press("kernel", "ArrowRight", 6)
    assert (figure.shown("width"), figure.shown("kernel")) == (8, 9)
    assert figure.row("self-attention")[3] == 12 * 12 * 8
    assert figure.row("self-attention")[3] > figure.row("recurrent")[3]  # n > d
    assert figure.row("convolution")[0] == 1
    figure.agrees()


def test_a_screen_reader_hears_the_sentence(figure):
    figure.pick("self-attention")
    live = figure.root.locator("[aria-live]")
    live.filter(has_text="1 step, however far").wait_for(timeout=driver.PATIENCE)


@pytest.fixture
def alone(figure_page):
    """The figure on a page of its own."""
    with figure_page(PathLength(), size="phone") as seen:
        yield Figure(seen)


def test_a_pulse_runs_along_the_path_and_counts_its_steps(alone):
    pulse, count = alone.root.locator(".tfpl-pulse"), alone.root.locator(".tfpl-count")
    assert count.inner_text() == "0 of 8 steps"
    alone.control("play").click()
    alone.control("play").filter(has_text="Play").wait_for(timeout=driver.PATIENCE)
    assert count.inner_text() == "8 of 8 steps"
    end = alone.root.locator('[data-hand="end"]')
    for axis in ("cx", "cy"):
        assert float(pulse.get_attribute(axis)) == float(end.get_attribute(axis))
    live = alone.root.locator("[aria-live]")
    live.filter(has_text="has gone 8 steps of 8").wait_for(timeout=driver.PATIENCE)
    alone.pick("self-attention")
    assert count.inner_text() == "0 of 1 step"
    alone.control("forward").click()
    assert count.inner_text() == "1 of 1 step"
    assert alone.control("forward").is_disabled()


def test_the_two_dots_say_who_they_are_and_move_by_keys(alone):
    dot = alone.page.get_by_role("slider", name="to token").first
    hand = alone.root.locator('[data-hand="end"]')
    assert hand.get_attribute("role") == "slider"
    assert hand.get_attribute("aria-valuetext") == "9, it"
    hand.focus()
    alone.page.keyboard.press("ArrowRight")
    assert hand.get_attribute("aria-valuetext") == "10, was"
    assert alone.place("end") == 9
    assert dot.count() == 1


def test_a_finger_drags_a_dot_in_any_direction(alone, finger):
    alone.root.locator("svg").scroll_into_view_if_needed()
    (x, y), (other, _) = alone.hand("end"), alone.hand("start")
    before = alone.page.evaluate("scrollY")
    step = (x - other) / 7
    finger(alone.page, (x, y), (x + 2 * step, y + 90))
    assert alone.place("end") == 10
    assert alone.page.evaluate("scrollY") == before


@pytest.mark.parametrize("look", [{}, {"size": "phone"}, {"dark": True}], ids=str)
def test_it_fits_and_can_be_read(figure_page, look):
    with figure_page(PathLength(), **look) as seen:
        seen.page.locator('[data-control="forward"]').click()
        assert seen.axe() == []
        assert seen.overflow() == []
