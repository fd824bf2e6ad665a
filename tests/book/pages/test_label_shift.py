"""The figure of *The decoder*, by mouse and keyboard, against Python's slices."""

import itertools

import pytest
from driven import Driven

from tformer_book.press import browser as driver
from tformer_book.widgets import LabelShift
from tformer_book.widgets.label_shift import CUTS

NAMES = list(CUTS)


class Shift(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfls"

    def pick(self, inputs, labels):
        self.control(f"inputs-{NAMES.index(inputs)}").check(force=True)
        self.control(f"labels-{NAMES.index(labels)}").check(force=True)

    def line(self, row, name):
        line = f'[data-row="{row}"] .tfls-{name} > :not([data-gone])'
        texts = self.root.locator(line).all_inner_texts()
        return [text for text in texts if text]

    def lefts(self, name):
        """Where each piece of the first row's ribbon begins, in pixels."""
        tiles = self.root.locator(f'[data-row="0"] .tfls-{name} .tfls-tile')
        return [round(tile.bounding_box()["x"]) for tile in tiles.all()]

    def said(self):
        return self.root.locator(".tfls-said").inner_text()


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    with playing(figure_page(LabelShift(), settle=False), ".tfls") as seen:
        yield seen


@pytest.fixture
def shift(opened):
    shown = Shift(opened)
    shown.pick("[:, :-1]", "[:, 1:]")
    shown.control("ignore").check(force=True)
    return shown


def test_every_cut_shows_what_slicing_gives(shift):
    for inputs, labels in itertools.product(CUTS, CUTS):
        shift.pick(inputs, labels)
        wanted = LabelShift(inputs=inputs, labels=labels).lessons
        if wanted is None:
            assert "stops with an error" in shift.said()
            assert set(shift.line(0, "kind")) == {"error"}
            continue
        for k, row in enumerate(wanted):
            assert shift.line(k, "reads") == [reads for reads, *_ in row]
            assert shift.line(k, "says") == [says for _, says, _ in row]
            assert [x[2:] for x in shift.line(k, "kind")] == [kind for *_, kind in row]


def test_arrow_keys_choose_a_cut_and_space_counts_the_padding(shift):
    shift.control("labels-1").focus()
    shift.page.keyboard.press("ArrowLeft")
    assert "what it has just read" in shift.said()
    shift.page.keyboard.press("ArrowRight")
    assert "That is right" in shift.said()
    shift.control("ignore").focus()
    shift.page.keyboard.press("Space")
    assert "labels are ⟨pad⟩, and they count" in shift.said()
    live = shift.root.locator("[aria-live]")
    live.filter(has_text="they count").wait_for(timeout=driver.PATIENCE)


def test_the_label_ribbon_slides_one_place_under_the_input(shift):
    shift.pick("[:, :]", "[:, :]")
    shift.page.wait_for_timeout(1000)
    aligned = shift.lefts("says")
    assert aligned == shift.lefts("reads")
    shift.pick("[:, :-1]", "[:, 1:]")
    shift.page.wait_for_timeout(1000)
    assert shift.lefts("reads") == aligned
    assert shift.lefts("says")[1:] == pytest.approx(aligned[:-1], abs=1)


def test_play_cuts_step_by_step_until_the_cut_is_right(shift):
    shift.pick("[:, :]", "[:, :]")
    shift.control("play").click()
    assert "stops with an error" in shift.said()
    shift.control("play").filter(has_text="Play").wait_for(timeout=driver.PATIENCE)
    assert "That is right" in shift.said()
    shift.control("back").click()
    assert "stops with an error" in shift.said()


def test_with_reduced_motion_the_ribbon_is_there_at_once(figure_page):
    with figure_page(LabelShift(), dark=True) as seen:  # dark asks for stillness, too
        shift = Shift(seen)
        before = shift.lefts("says")
        shift.pick("[:, :]", "[:, :]")
        assert shift.lefts("says") == shift.lefts("reads") != before


def test_playing_moves_nothing_else_on_the_page(shift):
    height = shift.root.bounding_box()["height"]
    for inputs, labels in itertools.product(CUTS, CUTS):
        shift.pick(inputs, labels)
        assert shift.root.bounding_box()["height"] == pytest.approx(height, abs=1)


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_and_can_be_read(figure_page, size, dark):
    with figure_page(LabelShift(), size=size, dark=dark) as seen:
        assert seen.overflow() == []
        assert seen.axe() == []
        shift = Shift(seen)
        shift.pick("[:, 1:]", "[:, :-1]")
        shift.control("ignore").uncheck(force=True)
        assert seen.axe() == []
        assert seen.layout_shift() <= 0.1
