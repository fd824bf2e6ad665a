"""Learning rate and target distribution, dragged and typed, against the package."""

import json

import pytest
import torch
from driven import Driven

from tformer.loss import cross_entropy
from tformer.schedule import inverse_square_root
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address
from tformer_book.widgets import ScheduleAndSmoothing
from tformer_book.widgets.schedule_and_smoothing import BY_HAND, SPREADS

pytestmark = pytest.mark.xdist_group("schedule-and-smoothing")
CHAPTER = address("training")
BASE, BIG, CHAPTERS = range(3)  # the presets


class Curves(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfss"

    def handle(self, name):
        return self.root.locator(f'[data-handle="{name}"]')

    def said(self, name):
        """The text beside a slider."""
        name = self.control(name).get_attribute("id")
        return self.root.locator(f'output[for="{name}"]').inner_text()

    def rate(self):
        return float(self.root.locator(".tfss-worked").get_attribute("data-exact"))

    def curve(self):
        chart = self.root.locator("[data-rates]")
        return json.loads(chart.get_attribute("data-rates"))

    def fact(self, name):
        return self.root.locator(f'[data-fact="{name}"]').inner_text()

    def nats(self):
        return [
            float(
                self.root.locator(f'[data-fact="{name}"]').get_attribute("data-exact")
            )
            for name in ("cross", "entropy", "divergence")
        ]

    def bar(self, kind, i):
        bar = self.root.locator(f'[data-bar="{kind}-{i}"]')
        return float(bar.get_attribute("data-exact"))

    def drag(self, name, across, down):
        """Move a handle by so many CSS pixels."""
        self.handle(name).scroll_into_view_if_needed()
        box = self.handle(name).bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + across, y + down, steps=5)
        self.page.mouse.up()


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    with playing(figure_page(ScheduleAndSmoothing()), ".tfss-part") as seen:
        yield seen


@pytest.fixture
def curves(opened):
    shown = Curves(opened)
    shown.pick("schedule-1")
    shown.pick("schedule-0")
    shown.pick("target-1")
    shown.pick("target-0")
    for name in ("log-steps", "log-bars"):
        shown.control(name).set_checked(False, force=True)
    return shown


def test_it_opens_with_the_papers_base_model_at_its_peak(curves):
    wanted = inverse_square_root(4000, d_model=512, warmup_steps=4000)
    assert curves.rate() == pytest.approx(wanted, rel=1e-9)
    assert curves.fact("peak") == "6.99 × 10⁻⁴"
    assert curves.fact("share") == "4.0\xa0%"


@pytest.mark.parametrize(
    ("preset", "d_model", "warmup_steps", "total"),
    [
        (BASE, 512, 4000, 100_000),
        (BIG, 1024, 4000, 300_000),
        (CHAPTERS, 128, 600, 1600),
    ],
)
def test_every_preset_draws_the_packages_curve(
    curves, preset, d_model, warmup_steps, total
):
    curves.pick(f"schedule-{preset}")
    points = curves.curve()
    assert len(points) > 5
    for step, rate in points:
        wanted = inverse_square_root(step, d_model=d_model, warmup_steps=warmup_steps)
        assert rate == pytest.approx(wanted, rel=1e-9)
    assert curves.said("total") == f"{total:,}"
    curves.press("step", "End")
    wanted = inverse_square_root(total, d_model=d_model, warmup_steps=warmup_steps)
    assert curves.rate() == pytest.approx(wanted, rel=1e-9)


def test_arrow_keys_change_width_warm_up_factor_and_length(curves):
    curves.press("d_model", "ArrowLeft")
    curves.press("warmup", "ArrowRight", 2)
    curves.press("factor", "ArrowRight", 8)
    assert (curves.said("d_model"), curves.said("factor")) == ("384", "2")
    warmup = int(curves.said("warmup").replace(",", ""))
    assert warmup > 4000
    wanted = inverse_square_root(4000, d_model=384, warmup_steps=warmup, scale=2)
    assert curves.rate() == pytest.approx(wanted, rel=1e-9)
    curves.press("total", "Home")
    assert curves.said("step") == "100"
    assert curves.root.locator("dt").filter(has_text="the run ends first").count() == 1


def test_dragging_the_peak_moves_warm_up_and_factor(curves):
    before = curves.curve()
    curves.drag("peak", 60, 0)
    warmup = int(curves.said("warmup").replace(",", ""))
    assert warmup > 8000
    factor = float(curves.said("factor"))
    assert factor > 1.2  # the peak stayed as high, though it lies further right
    curves.drag("peak", 0, 40)
    assert float(curves.said("factor")) < factor
    assert curves.curve() != before
    wanted = inverse_square_root(
        warmup, d_model=512, warmup_steps=warmup, scale=float(curves.said("factor"))
    )
    assert curves.rate() == pytest.approx(wanted, rel=1e-9)


def test_a_click_into_the_chart_looks_at_that_step(curves):
    curves.handle("axis").scroll_into_view_if_needed()
    box = curves.handle("axis").bounding_box()
    curves.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 0.9 * box["height"])
    step = int(curves.said("step").replace(",", ""))
    assert step == pytest.approx(50_000, rel=0.02)
    wanted = inverse_square_root(step, d_model=512, warmup_steps=4000)
    assert curves.rate() == pytest.approx(wanted, rel=1e-9)
    curves.control("to-peak").click()
    assert curves.said("step") == "4,000"


def test_on_a_logarithmic_axis_both_arms_keep_their_numbers(curves):
    curves.pick("log-steps")
    for step, rate in curves.curve():
        wanted = inverse_square_root(step, d_model=512, warmup_steps=4000)
        assert rate == pytest.approx(wanted, rel=1e-9)
    curves.press("step", "Home")
    assert curves.rate() == pytest.approx(512**-0.5 * 4000**-1.5, rel=1e-9)


def test_the_table_behind_the_curve_has_its_numbers(curves):
    curves.root.locator("summary").first.click()
    rows = curves.root.locator("details tbody tr")
    found = dict(row.locator("th, td").all_inner_texts()[:2] for row in rows.all())
    curves.root.locator("summary").first.click()
    assert found["4,000"] == "6.99 × 10⁻⁴"
    assert found["16,000"] == "3.49 × 10⁻⁴"
    assert found["1"] == "1.75 × 10⁻⁷"


def ours(logits, size, epsilon):
    z = torch.full((size,), float(logits[5]), dtype=torch.float64)
    z[:5] = torch.tensor(logits[:5], dtype=torch.float64)
    return cross_entropy(z[None], torch.tensor([0]), pad_id=-1, smoothing=epsilon)


@pytest.mark.parametrize(("preset", "size"), [(0, 5), (1, 37_000), (2, 4000)])
def test_the_sum_below_the_bars_is_the_packages_loss(curves, preset, size):
    curves.pick(f"target-{preset}")
    for presses, epsilon in ((0, 0.1), (7, 0.17)):
        curves.press("epsilon", "ArrowRight", presses)
        cross, entropy, divergence = curves.nats()
        assert cross == pytest.approx(ours(BY_HAND, size, epsilon).item(), abs=1e-6)
        assert cross == pytest.approx(entropy + divergence, abs=1e-9)


def test_a_one_hot_target_has_no_entropy(curves):
    curves.press("epsilon", "Home")
    cross, entropy, divergence = curves.nats()
    assert entropy == 0
    assert cross == divergence
    assert "one-hot" in curves.root.locator(".tfss-verdict").inner_text()


def test_the_two_conventions_differ_in_what_the_label_keeps(curves):
    assert curves.bar("target", 0) == pytest.approx(0.92)
    curves.pick("spread-1")
    assert curves.bar("target", 0) == pytest.approx(0.9)
    assert curves.bar("target", 1) == pytest.approx(0.025)
    figure = ScheduleAndSmoothing(spread=SPREADS[1])
    assert curves.nats()[0] == pytest.approx(figure.losses.cross_entropy, abs=1e-6)


def test_a_dragged_bar_of_the_prediction_changes_the_loss(curves):
    before = curves.bar("prediction", 1)
    curves.drag("prediction-1", 0, -60)
    assert curves.bar("prediction", 1) > before + 0.15
    total = sum(curves.bar("prediction", i) for i in range(6))
    assert total == pytest.approx(1, abs=1e-9)


def test_dragging_the_labels_target_changes_epsilon(curves):
    curves.drag("target-0", 0, 40)
    assert float(curves.said("epsilon")) > 0.2
    kept = curves.bar("target", 0)
    assert kept == pytest.approx(1 - 0.8 * float(curves.said("epsilon")))


def test_arrow_keys_move_a_bar(curves):
    handle = curves.handle("prediction-0")
    before = curves.bar("prediction", 0)
    for _ in range(3):
        handle.press("ArrowUp")
    assert curves.bar("prediction", 0) == pytest.approx(before + 0.03, abs=1e-6)
    handle.press("PageDown")
    assert curves.bar("prediction", 0) == pytest.approx(before - 0.07, abs=1e-6)
    shown = float(handle.get_attribute("aria-valuenow"))
    assert shown == pytest.approx(curves.bar("prediction", 0), abs=1e-3)


def test_the_prediction_can_be_set_to_the_target(curves):
    curves.pick("target-2")
    curves.control("like-target").click()
    cross, entropy, divergence = curves.nats()
    assert divergence == pytest.approx(0, abs=1e-9)
    assert cross == pytest.approx(entropy)
    assert "its floor" in curves.root.locator(".tfss-verdict").inner_text()
    curves.control("sure").click()
    assert "pulls it down" in curves.root.locator(".tfss-verdict").inner_text()


def test_findings_are_announced_once_the_reader_pauses(curves):
    curves.press("epsilon", "ArrowRight")
    live = curves.root.locator("[aria-live]")
    live.filter(has_text="Cross-entropy").wait_for(timeout=driver.PATIENCE)


def test_playing_moves_nothing_else_on_the_page(curves):
    def height():
        return curves.root.bounding_box()["height"]

    before = height()
    for preset in range(3):
        curves.pick(f"schedule-{preset}")
        curves.press("step", "Home")
        assert height() == pytest.approx(before, abs=1)
    for preset in range(3):
        curves.pick(f"target-{preset}")
        for name in ("sure", "uniform", "like-target"):
            curves.control(name).click()
            assert height() == pytest.approx(before, abs=1)


def test_every_control_has_a_name(curves):
    unnamed = curves.root.locator(
        "input:not([type=hidden]), select, button, [role=slider]"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("part", ["schedule", "smoothing"])
def test_each_half_fits_and_has_no_serious_finding(figure_page, playing, part, size):
    figure = ScheduleAndSmoothing(part)
    with playing(figure_page(figure, size=size, dark=size == "phone"), ".tfss") as seen:
        assert seen.axe() == []
        assert seen.overflow() == []


def centre(handle):
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_finger_drags_a_handle_up_and_the_page_stays(figure_page, finger):
    with figure_page(ScheduleAndSmoothing("smoothing"), size="phone") as seen:
        shown = Curves(seen)
        grip = shown.handle("prediction-1")
        grip.scroll_into_view_if_needed()
        before, page = float(grip.get_attribute("data-exact")), "scrollY"
        stayed = seen.page.evaluate(page)
        x, y = centre(grip)
        finger(seen.page, (x, y), (x, y - 70))
        assert float(grip.get_attribute("data-exact")) > before + 0.15
        assert seen.page.evaluate(page) == stayed


def test_a_finger_drags_the_peak_down_and_sideways(figure_page, finger):
    with figure_page(ScheduleAndSmoothing("schedule"), size="phone") as seen:
        shown = Curves(seen)
        shown.handle("peak").scroll_into_view_if_needed()
        before = shown.curve()
        (x, y), stayed = centre(shown.handle("peak")), seen.page.evaluate("scrollY")
        finger(seen.page, (x, y), (x + 20, y + 60))
        assert max(shown.curve()) < max(before)
        assert seen.page.evaluate("scrollY") == stayed


def test_a_link_brings_back_the_prediction_that_was_dragged(figure_page):
    with figure_page(ScheduleAndSmoothing("smoothing")) as seen:
        shown = Curves(seen)
        held = shown.control("logits")
        was = held.input_value()
        shown.handle("prediction-2").press("PageUp")
        dragged, nats = held.input_value(), shown.nats()
        assert dragged != was
        for text, wanted in ((was, None), (dragged, nats), ("1,2", nats)):
            held.evaluate(
                "(e, text) => { e.value = text;"
                " e.dispatchEvent(new Event('change')); }",
                text,
            )
            if wanted:
                assert shown.nats() == pytest.approx(wanted, abs=1e-3)
            else:
                assert shown.nats() != pytest.approx(nats, abs=1e-3)


def test_the_chapter_shows_each_half_where_it_teaches_it(visit, playing):
    with playing(visit(CHAPTER, settle=False), ".tfss", state="attached") as seen:
        labels = seen.page.locator(".tfss").evaluate_all(
            "all => all.map(e => e.ariaLabel)"
        )
    assert labels == ["Label smoothing, to drag", "The learning rate, to drag"]
