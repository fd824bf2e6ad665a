"""The figure of one gradient, driven by mouse and keyboard, against PyTorch."""

import pytest
from driven import Driven

from tformer_book.widgets import OneGradient
from tformer_book.widgets.one_gradient import LAST_STEP

pytestmark = pytest.mark.xdist_group("one-gradient")


class Gradient(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfog"

    def numbers(self, box, which=":not(.tfog-gradient)"):
        cells = self.root.locator(f'[data-box="{box}"] table{which} td')
        found = cells.evaluate_all(
            "all => all.map(e => e.dataset.exact).filter(x => x !== undefined)"
        )
        return [float(x) for x in found]

    def go(self, step):
        self.control("step").fill(str(step + 1))


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    with playing(figure_page(OneGradient())) as seen:
        yield seen


@pytest.fixture
def figure(opened):
    return Gradient(opened)


def test_numbers_come_one_step_after_the_other(figure):
    figure.go(0)
    assert figure.numbers("x")
    assert figure.numbers("query") == []
    figure.control("forward").click()
    assert len(figure.numbers("query")) == 2
    assert figure.numbers("weights") == []
    assert figure.text("[data-loss]").endswith("?")
    figure.go(5)
    assert figure.text("[data-loss]").endswith("1.124")
    assert figure.numbers("logits", ".tfog-gradient") == []
    figure.go(6)
    assert sum(figure.numbers("logits", ".tfog-gradient")) == pytest.approx(0, abs=1e-9)


def test_what_comes_back_is_what_autograd_says(figure):
    figure.go(LAST_STEP - 1)
    for name, gradient in OneGradient().gradients.items():
        shown = figure.numbers(name, ".tfog-gradient")
        assert shown == pytest.approx(gradient.flatten().tolist())


def test_the_update_moves_the_matrices_the_weights_and_the_loss(figure):
    figure.go(LAST_STEP)
    python = OneGradient()
    before, after = python.losses
    assert figure.text("[data-loss]").endswith(f"{before:.3f} → {after:.3f}")
    assert figure.root.locator(".tfog-moved").count() > 8
    figure.control("rate").fill("0")
    assert figure.root.locator(".tfog-moved").count() == 0
    figure.control("rate").fill("1")


def test_another_answer_is_trained_towards(figure):
    figure.pick("target-1")
    figure.go(LAST_STEP)
    before, after = OneGradient(target=1).losses
    assert figure.text("[data-loss]").endswith(f"{before:.3f} → {after:.3f}")
    assert "“sie”" in figure.text("[data-loss]")
    figure.pick("target-0")


def test_steps_are_said(figure):
    figure.go(3)
    figure.heard("softmax")
    assert "softmax" in figure.text(".tfog-rule")
    assert figure.root.locator("[data-now]").get_attribute("data-box") == "weights"


@pytest.mark.parametrize("look", [{}, {"size": "phone"}, {"dark": True}], ids=str)
def test_it_fits_and_has_no_accessibility_finding(figure_page, look):
    with figure_page(OneGradient(step=LAST_STEP), **look) as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
        assert seen.layout_shift() <= 0.01
        height = seen.page.locator(".tfog").bounding_box()["height"]
        for step in range(LAST_STEP + 1):
            seen.page.locator('[data-control="step"]').fill(str(step + 1))
            now = seen.page.locator(".tfog").bounding_box()["height"]
            assert now == pytest.approx(height, abs=1), step
        assert seen.overflow() == []
