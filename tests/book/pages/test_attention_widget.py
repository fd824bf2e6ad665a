"""The figure of *Attention*, driven by mouse and keyboard, against PyTorch."""

import json
import math

import pytest
import torch
from driven import Driven

from tformer.attention import attention
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address
from tformer_book.widgets import OneQuery
from tformer_book.widgets.one_query import EXAMPLES

CHAPTER = address("attention")
pytestmark = pytest.mark.xdist_group(CHAPTER)


class Figure(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfq"

    def __init__(self, seen, *, turns=False):
        super().__init__(seen)
        if not turns:  # what a reader does first ends the turn of the query
            self.root.dispatch_event("pointerdown")

    def start_again(self):
        self.control("example-0").check(force=True)
        self.control("reset").click()

    def value(self, name):
        return float(self.control(name).input_value())

    def weights(self):
        cells = self.root.locator("[data-weight]")
        return [
            float(x) for x in cells.evaluate_all("all => all.map(e => e.dataset.exact)")
        ]

    def output(self):
        cell = self.root.locator('[data-output="text"]')
        return json.loads(cell.get_attribute("data-exact"))

    def key(self, j):
        self.control("key").select_option(str(j))
        return [self.value("key-x"), self.value("key-y")]

    def expected(self, *, example=0):
        """PyTorch's weights and output for what the controls say."""
        words = EXAMPLES[example]
        query = torch.tensor([[self.value("query-x"), self.value("query-y")]]).double()
        key = torch.tensor([self.key(j) for j in range(5)]).double()
        value = torch.tensor(words["value"]).double()
        see = [[self.control(f"see-{j}").is_checked() for j in range(5)]]
        factor = 1.0 if self.control("scaled").is_checked() else math.sqrt(2)
        output, weights = attention(
            query * factor / self.value("temperature"),
            key,
            value,
            mask=torch.tensor(see),
        )
        return weights[0].tolist(), output[0].tolist()

    def agrees(self, **options):
        weights, output = self.expected(**options)
        assert self.weights() == pytest.approx(weights, rel=0, abs=1e-6)
        assert self.output() == pytest.approx(output, rel=0, abs=1e-6)

    def drag(self, handle, across, up):
        """Drag an arrow's tip by so many units of the plane."""
        grip = self.root.locator(f'[data-handle="{handle}"]')
        grip.scroll_into_view_if_needed()
        box = grip.bounding_box()
        plane = grip.locator("xpath=ancestor::*[local-name()='svg']").bounding_box()
        unit = plane["width"] / 7  # the plane runs from -3.5 to 3.5
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(x + across * unit / 2, y - up * unit / 2, steps=3)
        mouse.move(x + across * unit, y - up * unit, steps=3)
        mouse.up()


@pytest.fixture(scope="module")
def opened(chromium, site, playing):
    visit = driver.visit(chromium, site, CHAPTER, settle=False)
    with playing(visit, ".tfq") as seen:
        yield seen


@pytest.fixture
def figure(opened):
    shown = Figure(opened)
    shown.start_again()
    return shown


def test_the_numbers_on_the_page_are_pytorchs(figure):
    figure.agrees()
    assert figure.weights()[0] == max(figure.weights())


def test_at_first_it_asks_turns_once_by_itself_and_comes_back(figure_page, playing):
    watch = """(root) => new Promise((done) => {
      const shares = () => [...root.querySelectorAll("[data-weight]")].map(
        (each) => each.dataset.exact).join();
      const seen = new Set([shares()]);
      const timer = setInterval(() => seen.add(shares()), 30);
      setTimeout(() => { clearInterval(timer); done([seen.size, shares()]); }, 4000);
    })"""
    with playing(figure_page(OneQuery(step=4)), ".tfq") as seen:
        figure = Figure(seen, turns=True)
        assert figure.control("query-3").is_checked()
        assert not figure.root.locator('[data-output="text"]').is_visible()
        size, last = figure.root.evaluate(watch)
        assert size > 5
        figure.agrees()
        assert figure.weights() == pytest.approx([float(x) for x in last.split(",")])
    with playing(figure_page(OneQuery(), dark=True), ".tfq") as seen:  # and stillness
        size, _ = Figure(seen, turns=True).root.evaluate(watch)
        assert size == 1


def test_it_stops_turning_when_a_reader_takes_over(figure_page, playing):
    with playing(figure_page(OneQuery()), ".tfq") as seen:
        figure = Figure(seen, turns=True)
        figure.control("query-x").focus()
        figure.set("query-x", "-1")
        figure.agrees()
        assert figure.value("query-x") == -1


def test_dragging_the_query_recomputes_everything(figure):
    before = figure.weights()
    figure.drag("query", -1.5, 1.5)
    assert [figure.value("query-x"), figure.value("query-y")] == [0.5, 2.0]
    assert figure.weights() != before
    assert figure.weights()[2] == max(figure.weights())  # it now looks at the street
    figure.agrees()


def test_dragging_a_key_recomputes_everything_and_selects_it(figure):
    before = figure.weights()
    figure.drag("key-2", 2.0, -1.0)
    assert figure.control("key").input_value() == "2"
    assert [figure.value("key-x"), figure.value("key-y")] == [2.0, 1.0]
    assert figure.weights()[2] > before[2]
    figure.agrees()


def test_a_drag_ends_at_the_edge_of_the_plane(figure):
    figure.drag("query", 5, 0)
    assert figure.value("query-x") == 3
    figure.agrees()


def test_arrow_keys_move_the_query_and_a_key(figure):
    figure.press("query-x", "ArrowLeft", 10)
    assert figure.value("query-x") == pytest.approx(1.5)
    figure.agrees()
    figure.control("key").select_option("3")
    figure.press("key-y", "ArrowUp", 4)
    assert figure.value("key-y") == pytest.approx(0.7)
    figure.agrees()


def test_temperature_and_scale_answer_to_the_keyboard(figure):
    sharp = max(figure.weights())
    figure.press("temperature", "ArrowRight", 20)
    assert figure.value("temperature") == pytest.approx(3.0)
    assert max(figure.weights()) < sharp
    figure.agrees()
    figure.press("temperature", "ArrowLeft", 20)
    figure.press("scaled", "Space")
    assert max(figure.weights()) > sharp
    figure.agrees()


def test_a_hidden_word_gets_exactly_nothing(figure):
    before = figure.weights()
    figure.press("see-0", "Space")
    after = figure.weights()
    assert after[0] == 0
    # The others inherit in proportion to what they had.
    assert after[4] / after[2] == pytest.approx(before[4] / before[2])
    figure.agrees()


def test_the_last_visible_word_cannot_be_hidden(figure):
    for j in range(4):
        figure.control(f"see-{j}").uncheck()
    figure.press("see-4", "Space")
    assert figure.control("see-4").is_checked()
    assert figure.weights() == [0, 0, 0, 0, 1]
    live = figure.root.locator("[aria-live]")
    live.filter(has_text="at least one").wait_for(timeout=driver.PATIENCE)


def test_another_word_and_the_twin_sentence_ask_differently(figure):
    figure.press("query-3", "ArrowRight")  # from “it” to “tired”
    assert figure.control("query-4").is_checked()
    figure.agrees()
    figure.press("example-0", "ArrowRight")
    assert figure.control("example-1").is_checked()
    assert figure.control("query-3").is_checked()
    assert figure.weights()[2] == max(figure.weights())  # wide: the street
    figure.agrees(example=1)


def test_steps_uncover_the_table_from_left_to_right(figure):
    def visible():
        cells = figure.root.locator("thead th")
        return cells.evaluate_all(
            "all => all.map(e => getComputedStyle(e).visibility === 'visible')"
        )

    assert visible() == [True] * 5
    figure.press("step-4", "ArrowLeft", 4)  # back to 1 Compare
    assert visible() == [True, True, False, False, False]
    figure.press("step-0", "ArrowRight")
    assert visible() == [True, True, True, False, False]


def test_changes_are_announced_once_the_reader_pauses(figure):
    live = figure.root.locator("[aria-live]")
    figure.press("query-x", "ArrowLeft", 3)
    live.filter(has_text="it attends to dog").wait_for(timeout=driver.PATIENCE)
    text = live.inner_text()
    assert f"{100 * figure.weights()[0]:.0f}\xa0%" in text


def test_playing_moves_nothing_else_on_the_page(figure):
    height = figure.root.bounding_box()["height"]
    figure.press("step-4", "ArrowLeft", 3)
    figure.press("temperature", "Home")
    figure.press("see-0", "Space")
    figure.drag("query", -4, -2)
    assert figure.root.bounding_box()["height"] == pytest.approx(height, abs=1)


def test_every_control_has_a_name(figure):
    unnamed = figure.root.locator(
        "input:not([type=hidden]), select, button"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_jupyterlab_leaves_the_arrow_keys_to_the_sliders(figure):
    """It asks the focused element first, and only then the boxes around it."""
    slider = figure.root.locator('[data-control="temperature"]')
    slider.focus()
    for node in (figure.root, slider):
        assert node.get_attribute("data-lm-suppress-shortcuts") == "true"


@pytest.fixture
def alone(figure_page):
    """The figure on a page of its own, on a phone."""
    with figure_page(OneQuery(), size="phone") as seen:
        yield Figure(seen)


def middle(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize(("across", "down"), [(-30, 0), (0, 60), (-25, 50)])
def test_a_finger_drags_a_tip_in_any_direction_and_the_page_stays(
    alone, finger, across, down
):
    alone.root.locator("svg.tfq-plane").first.scroll_into_view_if_needed()
    grip = alone.root.locator('[data-handle="query"]')
    x, y = middle(grip)
    before = alone.page.evaluate("scrollY")
    finger(alone.page, (x, y), (x + across, y + down))
    assert middle(grip) == pytest.approx((x + across, y + down), abs=8)
    assert alone.page.evaluate("scrollY") == before


def test_a_finger_beside_the_tips_scrolls_the_page(alone, finger):
    plane = alone.root.locator("svg.tfq-plane").first.bounding_box()
    start = plane["x"] + 25, plane["y"] + plane["height"] - 25
    finger(alone.page, start, (start[0], start[1] - 200))
    alone.page.wait_for_function("scrollY > 100", timeout=driver.PATIENCE)


def test_rings_show_what_can_be_dragged(alone):
    rings, grips = alone.root.locator(".tfq-ring"), alone.root.locator(".tfq-grip")
    assert rings.count() == grips.count() == 6
    for ring, grip in zip(rings.all(), grips.all(), strict=True):
        assert ring.evaluate("e => getComputedStyle(e).stroke") != "none"
        at = "e => [e.getAttribute('cx'), e.getAttribute('cy')].join()"
        assert ring.evaluate(at) == grip.evaluate(at)


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_the_weights_stand_beside_the_plane_as_bars(figure_page, size):
    figure = OneQuery()
    with figure_page(figure, size=size) as seen:
        shown = Figure(seen)
        numbers = shown.root.locator(".tfq-much").all_inner_texts()
        assert [float(x) for x in numbers] == pytest.approx(shown.weights(), abs=0.006)
        shares = shown.root.locator(".tfq-shares").bounding_box()
        plane = shown.root.locator("svg.tfq-plane").first.bounding_box()
        if size == "wide":
            assert shares["x"] >= plane["x"] + plane["width"]
            assert shares["y"] < plane["y"] + plane["height"]
        assert shares["y"] + shares["height"] < driver.SIZES[size][1]
        shown.control("step-0").check(force=True)
        assert not shown.root.locator(".tfq-shares").is_visible()
        assert seen.axe() == []


def test_a_link_brings_back_every_handle_that_was_dragged(alone):
    was = [alone.key(j) for j in range(5)]
    held = alone.root.locator('input[data-control="keys"]')
    for text in ("1,1;2,2;0,-1;-1,0.5;0,0", "1,1;2,2", "1;2;3;4;5", "x,y;;;;"):
        held.evaluate(
            "(e, text) => { e.value = text; e.dispatchEvent(new Event('change')); }",
            text,
        )
        now = [alone.key(j) for j in range(5)]
        assert now == [[1, 1], [2, 2], [0, -1], [-1, 0.5], [0, 0]]
    assert now != was
    assert held.input_value() == "1,1;2,2;0,-1;-1,0.5;0,0"
