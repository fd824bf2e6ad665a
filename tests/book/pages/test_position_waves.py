"""The figure of *Positions*, driven by mouse and keyboard, against the package."""

import json

import pytest
import torch
from driven import Driven
from torch.testing import assert_close

from tformer.positions import sinusoids
from tformer_book.press import browser as driver
from tformer_book.widgets import PositionWaves
from tformer_book.widgets.position_waves import LENGTH, REACH, VARIANTS, variant_table

pytestmark = pytest.mark.xdist_group("position waves")
START = {"d": 32, "position": 12, "offset": 6, "pair": 2}
BASE = 11  # the place of 10,000 on its slider


class Waves(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfp"

    def beside(self, variant):
        self.control(f"variant-{VARIANTS.index(variant)}").check(force=True)

    def step(self, number):
        self.control(f"step-{number}").check(force=True)

    def start(self):
        self.step(2)
        self.set("base", BASE)
        for name, value in START.items():
            self.set(name, value)
        self.beside(VARIANTS[0])

    def value(self, name):
        return int(self.control(name).input_value())

    def similarity(self):
        chart = self.root.locator(".tfp-chart")
        return torch.tensor(json.loads(chart.get_attribute("data-similarity")))

    def tip(self, kind, who):
        tip = self.root.locator(f'[data-tip="{kind}-{who}"]')
        return json.loads(tip.get_attribute("data-exact"))

    def fact(self, name):
        return [
            self.root.locator(f'[data-fact="{name}-{kind}"]').inner_text()
            for kind in ("right", "wrong")
        ]

    def low(self):
        """Red, green and blue at the scale's 0."""
        read = """(root) => {
          const probe = document.createElement('i');
          probe.style.color = 'var(--tf-low)';
          root.append(probe);
          const { color } = getComputedStyle(probe);
          probe.remove();
          return color.match(/\\d+/g).map(Number);
        }"""
        return self.root.evaluate(read)

    def pixel(self, number, row, column):
        """Red, green and blue, read from a copy, so that the browser stays quiet."""
        read = """(canvas, [x, y]) => {
          const copy = document.createElement('canvas');
          Object.assign(copy, { width: canvas.width, height: canvas.height });
          const context = copy.getContext('2d', { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          return [...context.getImageData(x, y, 1, 1).data].slice(0, 3);
        }"""
        canvas = self.root.locator("canvas").nth(number)
        return canvas.evaluate(read, [column, row])

    def click(self, kind, across, down):
        box = self.root.locator(f'[data-handle="{kind}"]').bounding_box()
        self.page.mouse.click(
            box["x"] + across * box["width"], box["y"] + down * box["height"]
        )


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(PositionWaves(), settle=False)
    with playing(visit, ".tfp") as seen:
        yield seen


@pytest.fixture
def waves(opened):
    shown = Waves(opened)
    shown.start()
    shown.root.scroll_into_view_if_needed()
    return shown


def tables(d=32, base=10_000.0, variant=VARIANTS[0]):
    wrong = variant_table(variant, LENGTH, d, base=base)
    return [sinusoids(LENGTH, d, base=base), wrong]


def test_the_curves_are_the_packages_products(waves):
    for variant in VARIANTS:
        waves.beside(variant)
        for p in (0, 12, 63):
            waves.set("position", p)
            for found, table in zip(
                waves.similarity(), tables(variant=variant), strict=True
            ):
                wanted = (table[p : p + REACH] * table[p]).sum(1)
                assert_close(found, wanted, rtol=0, atol=1e-4)


def test_width_and_base_make_another_table(waves):
    waves.set("base", 5)  # 100
    waves.set("d", 8)
    table = tables(8, 100.0)[0]
    wanted = (table[12 : 12 + REACH] * table[12]).sum(1)
    assert_close(waves.similarity()[0], wanted, rtol=0, atol=1e-4)
    assert waves.value("pair") == 2
    waves.set("pair", 3)
    waves.set("d", 4)
    assert waves.value("pair") == 1  # the last one that is left


def test_the_hands_stand_where_sine_and_cosine_say(waves):
    for variant in VARIANTS:
        columns = [2, 18] if "halves" in variant else [4, 5]
        waves.beside(variant)
        right, wrong = tables(variant=variant)
        for who, p in (("here", 12), ("there", 18)):
            cos, sin = waves.tip("right", who)
            assert [sin, cos] == pytest.approx(right[p, 4:6].tolist(), abs=1e-6)
            cos, sin = waves.tip("wrong", who)
            assert [sin, cos] == pytest.approx(wrong[p, columns].tolist(), abs=1e-6)


def test_it_begins_with_one_wave_and_shows_more_only_when_asked(figure_page, playing):
    shown = {}
    with playing(figure_page(PositionWaves(), settle=False), ".tfp") as seen:
        page = Waves(seen)
        for number in range(3):
            page.step(number)
            inputs = page.root.locator('input[type="range"]:visible').count()
            maps = page.root.locator("canvas:visible").count()
            shown[number] = (inputs, maps, page.root.locator("svg:visible").count())
    assert shown[0] == (2, 0, 1)  # position and pair; no map; the wave
    assert shown[1] == (5, 1, 3)
    assert shown[2] == (5, 2, 5)


def test_the_hand_and_its_wave_stand_at_the_same_height(waves):
    waves.step(0)
    table = tables()[0]
    for p, pair in ((12, 2), (40, 0), (63, 15)):
        waves.set("position", p)
        waves.set("pair", pair)
        tip = waves.root.locator('[data-tip="wave"]')
        cos, sin = json.loads(tip.get_attribute("data-exact"))
        wanted = table[p, 2 * pair : 2 * pair + 2].tolist()
        assert [sin, cos] == pytest.approx(wanted, abs=1e-6)
        dot = waves.root.locator(".tfp-wave .tfp-tip").nth(1)
        assert dot.get_attribute("cy") == tip.get_attribute("cy")


def test_play_moves_the_position_until_it_is_stopped(waves):
    waves.step(0)
    waves.control("play").click()
    waves.page.wait_for_timeout(1500)
    waves.control("play").click()
    stopped = waves.value("position")
    assert stopped > START["position"]
    waves.page.wait_for_timeout(800)
    assert waves.value("position") == stopped


def test_a_finger_drags_along_the_wave_and_the_page_may_still_scroll(waves):
    waves.step(0)
    wave = waves.root.locator(".tfp-wave")
    assert wave.evaluate("e => getComputedStyle(e).touchAction") == "pan-y"
    box = waves.root.locator('[data-handle="wave"]').bounding_box()
    middle = box["y"] + box["height"] / 2
    waves.page.mouse.move(box["x"] + 5, middle)
    waves.page.mouse.down()
    waves.page.mouse.move(box["x"] + box["width"] * 30 / 63, middle, steps=4)
    waves.page.mouse.up()
    assert waves.value("position") == 30


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_the_figure_is_no_wider_than_the_page(figure_page, playing, size):
    with playing(figure_page(PositionWaves(), size=size, settle=False), ".tfp") as seen:
        box = Waves(seen).root.bounding_box()
        assert box["x"] + box["width"] <= seen.page.viewport_size["width"]


def test_the_maps_have_positions_as_rows_and_dimensions_as_columns(waves):
    right, wrong = tables()
    for number, table in enumerate((right, wrong)):
        for row, column in ((0, 0), (0, 1), (2, 0), (90, 6), (127, 31), (5, 8)):
            red, _, blue = waves.pixel(number, row, column)
            x = table[row, column].item()
            if abs(x) > 0.2:
                assert (blue > red) == (x > 0)
            elif abs(x) < 0.05:
                near = zip(waves.pixel(number, row, column), waves.low(), strict=True)
                assert all(abs(a - b) < 15 for a, b in near)


def test_moving_p_moves_the_curve_of_the_doubled_exponent_only(waves):
    before = waves.similarity()
    waves.control("position").focus()
    for _ in range(5):
        waves.page.keyboard.press("ArrowRight")
    assert waves.value("position") == 17
    after = waves.similarity()
    assert_close(after[0], before[0], rtol=0, atol=1e-5)
    assert (after[1] - before[1]).abs().max() > 0.5


def test_a_click_into_a_map_chooses_position_and_pair(waves):
    waves.click("map-right", 20.5 / 32, 40.5 / LENGTH)
    assert (waves.value("position"), waves.value("pair")) == (40, 10)
    waves.beside("sin | cos halves")
    waves.click("map-wrong", 20.5 / 32, 30.5 / LENGTH)  # column 20 = 16 + pair 4
    assert (waves.value("position"), waves.value("pair")) == (30, 4)


def test_a_click_into_the_curve_chooses_the_offset(waves):
    waves.click("chart", (36 + 354 * 44 / 63) / 400, 0.5)
    assert waves.value("offset") == 44


def test_the_facts_tell_right_from_wrong(waves):
    assert waves.fact("error")[0] == "0.000"
    assert float(waves.fact("error")[1]) > 0.5
    low, high = waves.fact("spread")[0].split(" … ")
    assert low == high
    waves.beside("sin | cos halves")
    for name in ("product", "spread", "error", "waves", "still", "nearest"):
        assert waves.fact(name)[0] == waves.fact(name)[1]
    assert "only another layout" in waves.root.locator(".tfp-verdict").inner_text()
    waves.beside("no base")
    assert "(0, 44)" in waves.fact("nearest")[1]


def test_the_table_behind_the_maps_has_their_numbers(waves):
    waves.root.locator("summary").click()
    rows = waves.root.locator("details tbody tr")
    shown = [
        [float(x.replace("−", "-")) for x in row.locator("td").all_inner_texts()]
        for row in rows.all()
    ]
    right, wrong = tables()
    wanted = torch.stack([right[12], wrong[12], right[18], wrong[18]], dim=1)
    assert_close(torch.tensor(shown), wanted, rtol=0, atol=6e-4)
    waves.root.locator("summary").click()


def test_findings_are_announced_once_the_reader_pauses(waves):
    waves.set("offset", 44)
    live = waves.root.locator("[aria-live]")
    live.filter(has_text="Rows 12 and 56").wait_for(timeout=driver.PATIENCE)


def test_playing_moves_nothing_else_on_the_page(waves):
    height = waves.root.bounding_box()["height"]
    for variant in VARIANTS:
        waves.beside(variant)
        for d, base, k in ((128, 14, 63), (4, 0, 0)):
            waves.set("d", d)
            waves.set("base", base)
            waves.set("offset", k)
            assert waves.root.bounding_box()["height"] == pytest.approx(height, abs=1)


def test_every_control_has_a_name(waves):
    unnamed = waves.root.locator(
        "input:not([type=hidden]), select, button"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []
