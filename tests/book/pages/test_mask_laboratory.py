"""The figure of *Masks*, driven by mouse and keyboard, against PyTorch."""

import json

import pytest
import torch
from driven import Driven

from tformer.attention import attention
from tformer.masks import causal_mask
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address
from tformer_book.widgets import MaskLaboratory

CHAPTER = address("masks")
pytestmark = pytest.mark.xdist_group(CHAPTER)
ENCODER, DECODER, PADDED, CROSS = range(4)
STATE = 'script[type="application/vnd.jupyter.widget-state+json"]'


class Laboratory(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfml"

    def __init__(self, seen):
        super().__init__(seen)
        states = json.loads(self.page.locator(STATE).first.text_content())["state"]
        self.sites = next(
            s["state"]["sites"] for s in states.values() if "sites" in s["state"]
        )

    def set(self, name, on):
        self.control(name).set_checked(on, force=True)

    def go(self, number):
        """Another place, then back to its right mask, −∞ and float32."""
        self.pick(f"site-{number}")
        self.pick("fill-0")
        self.pick("precision-0")
        self.pick("stage-2")
        self.control("reset").click()
        return self.sites[number]

    def change(self, j):
        self.control("change").select_option(str(j + 1))
        return [float(x) for x in self.data("moved")]

    def data(self, name):
        return json.loads(
            self.root.locator("table").first.get_attribute(f"data-{name}")
        )

    def cell(self, i, j):
        return self.root.locator(f'[data-cell="{i}-{j}"]')

    def weights(self, number):
        size = len(self.sites[number]["keys"])
        cells = self.root.locator("[data-cell]").evaluate_all(
            "all => all.map(e => e.dataset.exact)"
        )
        return torch.tensor([float(x) for x in cells]).view(-1, size).double()

    def agrees(self, number, mask):
        """The weights and outputs on the screen are those of `tformer.attention`."""
        scores = torch.tensor(self.sites[number]["scores"])
        size = scores.size(-1)
        output, weights = attention(
            scores * size**0.5,
            torch.eye(size),
            torch.tensor(self.sites[number]["values"]),
            mask=mask,
        )
        torch.testing.assert_close(
            self.weights(number), weights.double(), rtol=0, atol=1e-6
        )
        torch.testing.assert_close(
            torch.tensor(self.data("outputs")), output, rtol=0, atol=1e-5
        )

    def verdict(self):
        return self.root.locator(".tfml-beside").inner_text()


def keys(site):
    return torch.tensor(site["real_keys"])


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(MaskLaboratory(), settle=False)
    with playing(visit, ".tfml") as seen:
        yield seen


@pytest.fixture
def laboratory(opened):
    shown = Laboratory(opened)
    shown.go(ENCODER)
    return shown


def test_the_right_mask_of_every_place_gives_the_packages_weights(laboratory):
    for number in (ENCODER, DECODER, PADDED, CROSS):
        site = laboratory.go(number)
        mask = keys(site).expand(len(site["queries"]), -1)
        if number in (DECODER, PADDED):
            mask = mask & causal_mask(len(site["keys"]))
        laboratory.agrees(number, mask)
        assert "right mask" in laboratory.verdict()


def test_the_verdict_stands_beside_the_map_in_words_and_in_colour(laboratory):
    judged = laboratory.root.locator(".tfml-judged")
    colour = "e => getComputedStyle(e).color"
    assert judged.inner_text() == "✓ The right mask"
    right = judged.evaluate(colour)
    laboratory.root.locator('[data-cell="1-6"]').click()
    assert judged.inner_text() == "✗ A wrong mask"
    assert judged.evaluate(colour) != right
    beside = laboratory.root.locator(".tfml-beside").bounding_box()
    map_ = laboratory.root.locator(".tfml-map").bounding_box()
    assert beside["x"] >= map_["x"] + map_["width"]
    assert map_["y"] <= beside["y"] < map_["y"] + map_["height"]
    assert "Click a cell" in laboratory.root.locator(".tfml-hint").inner_text()


def test_a_link_brings_back_the_cells_that_were_clicked(laboratory):
    cell = laboratory.root.locator('[data-cell="1-6"]')
    before = laboratory.verdict()
    cell.click()
    clicked = laboratory.verdict()
    held = laboratory.root.locator('input[data-control="flips"]')
    text = held.input_value()
    assert text
    cell.click()
    assert laboratory.verdict() == before
    for value, wanted in ((text, clicked), ("99999", clicked), ("", before)):
        held.evaluate(
            "(e, text) => { e.value = text; e.dispatchEvent(new Event('change')); }",
            value,
        )
        assert laboratory.verdict() == wanted


def test_a_click_forbids_a_cell_and_a_second_one_allows_it(laboratory):
    site = laboratory.go(CROSS)
    mask = keys(site).repeat(len(site["queries"]), 1)
    laboratory.cell(2, 3).click()
    mask[2, 3] = False
    laboratory.agrees(CROSS, mask)
    assert "1 cell" in laboratory.verdict()
    laboratory.cell(2, 3).click()
    mask[2, 3] = True
    laboratory.agrees(CROSS, mask)


def test_the_keyboard_walks_the_cells_and_space_opens_the_future(laboratory):
    laboratory.go(DECODER)
    laboratory.cell(0, 0).click()
    laboratory.cell(0, 0).click()
    laboratory.page.keyboard.press("ArrowDown")
    laboratory.page.keyboard.press("End")
    laboratory.page.keyboard.press("Home")
    laboratory.page.keyboard.press("ArrowRight")
    laboratory.page.keyboard.press("ArrowRight")
    focused = laboratory.page.evaluate("document.activeElement.dataset.cell")
    assert focused == "1-2"
    laboratory.page.keyboard.press("Space")
    mask = causal_mask(len(laboratory.sites[DECODER]["keys"])).clone()
    mask[1, 2] = True
    laboratory.agrees(DECODER, mask)
    assert "future leaks through 1 cell" in laboratory.verdict()
    tabs = laboratory.root.locator('[data-cell][tabindex="0"]')
    assert tabs.count() == 1  # one stop for the Tab key, not a hundred


def test_a_changed_token_moves_its_past_only_without_a_causal_mask(laboratory):
    laboratory.go(DECODER)
    moved = laboratory.change(3)
    assert moved[:3] == [0, 0, 0]
    assert all(x > 0 for x in moved[3:])
    laboratory.set("causal", False)
    moved = [float(x) for x in laboratory.data("moved")]
    assert all(x > 0 for x in moved)
    assert "moves" in laboratory.verdict()


def test_changed_padding_moves_nothing_until_it_is_seen(laboratory):
    site = laboratory.go(CROSS)
    pad = site["real_keys"].index(False)
    assert laboratory.change(pad) == [0] * len(site["queries"])
    laboratory.set("padding", False)
    assert all(float(x) > 0 for x in laboratory.data("moved"))
    assert "Padding is seen" in laboratory.verdict()


def test_an_empty_row_is_nan_with_infinity_and_uniform_with_a_number(laboratory):
    site = laboratory.go(ENCODER)
    laboratory.set("queries", True)
    assert laboratory.weights(ENCODER)[-1].isnan().all()
    assert laboratory.cell(len(site["queries"]) - 1, 0).inner_text() == "NaN"
    assert "NaN" in laboratory.verdict()
    for fill in (1, 2, 3):
        laboratory.pick(f"fill-{fill}")
        uniform = torch.full((len(site["keys"]),), 1 / len(site["keys"])).double()
        torch.testing.assert_close(
            laboratory.weights(ENCODER)[-1], uniform, rtol=0, atol=1e-6
        )
        assert "uniform" in laboratory.verdict()


def test_float16_cannot_hold_minus_a_billion(laboratory):
    laboratory.go(ENCODER)
    laboratory.pick("precision-1")
    scores = torch.tensor(laboratory.sites[ENCODER]["scores"]).half()
    half = scores.masked_fill(~keys(laboratory.sites[ENCODER]), -torch.inf)
    torch.testing.assert_close(
        laboratory.weights(ENCODER), half.softmax(-1).double(), rtol=2e-3, atol=1e-7
    )
    laboratory.pick("fill-1")
    assert "65504" in laboratory.verdict()
    laboratory.pick("stage-1")
    assert laboratory.cell(0, len(scores) - 1).inner_text() == "−∞"


def test_the_table_behind_the_picture_has_its_numbers(laboratory):
    laboratory.go(CROSS)
    laboratory.root.locator("summary").click()
    rows = laboratory.root.locator("details tbody tr")
    shown = [
        [float(x) for x in row.locator("td").all_inner_texts()] for row in rows.all()
    ]
    torch.testing.assert_close(
        torch.tensor(shown).double(), laboratory.weights(CROSS), rtol=0, atol=6e-4
    )
    laboratory.root.locator("summary").click()


def test_findings_are_announced_once_the_reader_pauses(laboratory):
    laboratory.go(DECODER)
    laboratory.set("causal", False)
    live = laboratory.root.locator("[aria-live]")
    live.filter(has_text="future leaks").wait_for(timeout=driver.PATIENCE)


def test_cells_say_who_asks_whom_and_what_came_out(laboratory):
    site = laboratory.go(CROSS)
    label = laboratory.cell(1, 0).get_attribute("aria-label")
    assert f"query {site['queries'][1]}, key {site['keys'][0]}, allowed" in label


def test_playing_moves_nothing_else_on_the_page(laboratory):
    height = laboratory.root.bounding_box()["height"]
    laboratory.go(DECODER)
    laboratory.set("causal", False)
    laboratory.change(2)
    laboratory.go(ENCODER)
    laboratory.set("queries", True)
    laboratory.pick("precision-1")
    laboratory.pick("fill-1")
    laboratory.pick("stage-1")
    assert laboratory.root.bounding_box()["height"] == pytest.approx(height, abs=1)


def test_every_control_has_a_name(laboratory):
    unnamed = laboratory.root.locator(
        "input:not([type=hidden]), select, button"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []
