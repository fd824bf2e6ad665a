"""The figure of *Data*, driven by mouse and keyboard, against `tformer.data`."""

import json

import pytest
from driven import Driven

from tformer_book.press import browser as driver
from tformer_book.widgets import BatchPacker
from tformer_book.widgets.batch_packer import CUTS, LENGTHS, ORDERS


class Packer(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfbp"

    def batches(self):
        return json.loads(self.root.locator("svg").get_attribute("data-batches"))

    def said(self):
        return self.root.locator(".tfbp-said").inner_text()

    def row(self, order, cut):
        cells = self.root.locator(f'[data-method="{order}-{cut}"] td')
        return [float(x) for x in cells.evaluate_all("a => a.map(e=>e.dataset.exact)")]

    def agrees(self, **settings):
        wanted = BatchPacker(**settings)
        assert self.batches() == wanted.batches
        sizes = [b * (s + t) for b, s, t in wanted.shapes]
        at = ORDERS.index(wanted.order), CUTS.index(wanted.cut)
        row = [len(sizes), wanted.waste, max(sizes), min(sizes)]
        assert self.row(*at) == pytest.approx(row)
        assert f"{100 * wanted.waste:.1f}\N{NO-BREAK SPACE}%" in self.said()


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(BatchPacker(), settle=False)
    with playing(visit, ".tfbp") as seen:
        yield seen


@pytest.fixture
def packer(opened):
    shown = Packer(opened)
    shown.pick("order-0")
    shown.pick("cut-0")
    shown.control("sentences").fill("8")
    shown.control("tokens").fill("256")
    return shown


def test_each_method_packs_as_the_package_does(packer):
    for i, order in enumerate(ORDERS):
        for j, cut in enumerate(CUTS):
            packer.pick(f"order-{i}")
            packer.pick(f"cut-{j}")
            packer.agrees(order=order, cut=cut)


def test_sorting_saves_padding_and_a_budget_evens_the_steps(packer):
    waste = {(i, j): packer.row(i, j)[1] for i in (0, 1) for j in (0, 1)}
    assert waste[1, 0] < 0.5 * waste[0, 0]
    assert waste[1, 1] < 0.5 * waste[0, 1]
    largest = {(i, j): packer.row(i, j)[2] for i in (0, 1) for j in (0, 1)}
    assert largest[1, 1] <= 256 < largest[1, 0]


def test_sliders_move_by_key_and_one_pair_a_batch_needs_no_padding(packer):
    packer.press("sentences", "ArrowLeft", 2)
    packer.agrees(sentences=6)
    packer.press("sentences", "Home")
    packer.agrees(sentences=1)
    assert ": 48 steps" in packer.said() and "0 are padding" in packer.said()
    packer.pick("cut-1")
    packer.press("tokens", "Home")
    longest = max(map(sum, LENGTHS))
    packer.agrees(sentences=1, cut=CUTS[1], tokens=longest)


def test_one_bar_for_each_side_and_hatching_where_there_is_padding(packer):
    bars = packer.root.locator("rect.tfbp-source, rect.tfbp-target")
    hatched = packer.root.locator("rect.tfbp-padding:not([data-none])")
    assert bars.count() == 2 * len(LENGTHS)
    figure = BatchPacker()
    padded = sum(
        figure.lengths[row][side] < shape[1 + side]
        for rows, shape in zip(figure.batches, figure.shapes, strict=True)
        for row in rows
        for side in (0, 1)
    )
    assert hatched.count() == padded


TOPS = """() => [...document.querySelectorAll('.tfbp-source')]
  .map(e => e.getBoundingClientRect().y)"""


def test_bars_glide_to_their_places_when_they_are_sorted(packer):
    packer.page.wait_for_timeout(900)
    before = packer.page.evaluate(TOPS)
    packer.control("order-1").evaluate("e => e.click()")
    soon = packer.page.evaluate(f"""() => new Promise(done => setTimeout(
        () => done(({TOPS})()), 250))""")
    packer.page.wait_for_timeout(1200)
    after = packer.page.evaluate(TOPS)
    moved = [
        (a, b, c)
        for a, b, c in zip(before, soon, after, strict=True)
        if abs(a - c) > 20
    ]
    assert len(moved) > len(LENGTHS) / 2
    on_the_way = [b for a, b, c in moved if min(a, c) + 1 < b < max(a, c) - 1]
    assert len(on_the_way) > len(moved) / 2


def test_with_reduced_motion_bars_are_there_at_once(figure_page):
    with figure_page(BatchPacker(), dark=True) as seen:  # dark asks for stillness, too
        Packer(seen).pick("order-1")
        at_once = seen.page.evaluate(TOPS)
        seen.page.wait_for_timeout(900)
        assert seen.page.evaluate(TOPS) == at_once


def test_the_table_behind_the_picture_has_its_batches(packer):
    packer.root.locator("summary").click()
    rows = packer.root.locator("details tbody tr")
    shown = [tuple(map(int, row.locator("td").all_inner_texts())) for row in rows.all()]
    assert [row[:3] for row in shown] == BatchPacker().shapes
    assert sum(row[4] for row in shown) / sum(row[3] for row in shown) == pytest.approx(
        BatchPacker().waste
    )
    packer.root.locator("summary").click()


def test_a_choice_is_announced_once_the_reader_pauses(packer):
    packer.pick("order-1")
    live = packer.root.locator("[aria-live]")
    live.filter(has_text="Sorted by length").wait_for(timeout=driver.PATIENCE)


def test_playing_moves_nothing_else_on_the_page(packer):
    height = packer.root.bounding_box()["height"]
    packer.press("sentences", "Home")
    packer.pick("order-1")
    packer.pick("cut-1")
    packer.press("tokens", "End")
    assert packer.root.bounding_box()["height"] == pytest.approx(height, abs=1)


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_and_can_be_read(figure_page, size, dark):
    with figure_page(BatchPacker(), size=size, dark=dark) as seen:
        assert seen.overflow() == []
        assert seen.axe() == []
        assert seen.layout_shift() <= 0.1
