"""The two figures of *Before you start*, by mouse and keyboard, against torch."""

import pytest
import torch
from driven import Driven

from tformer_book.widgets import MatrixProduct, SoftmaxBars

pytestmark = pytest.mark.xdist_group("basics")


def figures():
    labels = ["street", "dog", "house", "was"]
    return MatrixProduct(), SoftmaxBars(labels, [2.0, 1.0, 0.0, -1.0])


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(*figures(), settle=False)
    with playing(visit, ".tfmx", ".tfsb") as seen:
        yield seen


class Product(Driven):
    """What a reader can do with the product, and what it shows."""

    selector = ".tfmx"

    def matrix(self, name):
        cells = self.root.locator(f'input[data-control^="{name}-"]').all()
        places = [c.get_attribute("data-control").split("-")[1:] for c in cells]
        rows = 1 + max(int(i) for i, _ in places)
        values = [float(c.input_value()) for c in cells]
        return torch.tensor(values).reshape(rows, -1)

    def product(self):
        cells = self.root.locator("button[data-exact]")
        return cells.evaluate_all("all => all.map(e => Number(e.dataset.exact))")

    def agrees(self):
        wanted = self.matrix("a") @ self.matrix("b")
        assert self.product() == wanted.flatten().tolist()

    def chosen(self):
        return self.root.locator('[aria-pressed="true"]').get_attribute("data-control")


class Bars(Driven):
    """What a reader can do with the bars, and what they show."""

    selector = ".tfsb"

    def scores(self):
        return torch.tensor(
            [float(self.control(f"score-{j}").input_value()) for j in range(4)]
        )

    def shares(self):
        cells = self.root.locator("[data-share][data-exact]")
        return cells.evaluate_all("all => all.map(e => Number(e.dataset.exact))")

    def agrees(self):
        temperature = float(self.control("temperature").input_value())
        wanted = (self.scores() / temperature).softmax(-1)
        assert self.shares() == pytest.approx(wanted.tolist(), rel=0, abs=1e-6)


@pytest.fixture
def product(opened):
    shown = Product(opened)
    shown.control("reset").click()
    return shown


@pytest.fixture
def bars(opened):
    shown = Bars(opened)
    shown.control("reset").click()
    return shown


def test_the_product_on_the_page_is_torchs(product):
    assert product.product() == [5, 4, 8, 3]
    product.agrees()


def test_a_number_that_is_typed_changes_its_row_of_the_product_only(product):
    cell = product.control("a-0-1")
    cell.fill("-3")
    product.agrees()
    assert product.product()[2:] == [8, 3]
    assert "(−3) × 2" in product.text(".tfmx-worked")
    cell.fill("")  # half typed: nothing happens, and the number comes back
    product.control("forward").focus()
    assert cell.input_value() == "-3"
    product.agrees()


def test_arrow_keys_walk_through_the_product_and_round_its_edges(product):
    product.press("c-0-0", "ArrowRight")
    assert product.chosen() == product.focused() == "c-0-1"
    product.press("c-0-1", "ArrowUp")
    assert product.chosen() == product.focused() == "c-1-1"
    assert product.text(".tfmx-worked").endswith(
        "0 × 4 + 1 × 0 + 3 × 1 = 0 + 0 + 3 = 3."
    )
    product.heard("Entry 2, 2 is 3.")


def test_a_click_chooses_an_entry_and_the_buttons_step(product):
    product.control("c-1-0").click()
    assert product.chosen() == "c-1-0"
    lit = product.root.locator(".tfmx-on input")
    names = lit.evaluate_all("all => all.map(e => e.dataset.control)")
    assert set(names) == {"a-1-0", "a-1-1", "a-1-2", "b-0-0", "b-1-0", "b-2-0"}
    product.control("forward").click()
    assert product.chosen() == "c-1-1"
    assert product.control("forward").is_disabled()
    product.control("back").focus()
    product.press("back", "Enter")
    assert product.chosen() == "c-1-0"


RUN = """e => [...e.querySelectorAll('.tfmx-chip')].map(c => c.textContent)"""
MOVES = "e => e.getAnimations({ subtree: true }).length"


def test_a_row_slides_onto_its_column_and_the_pairs_stand_side_by_side(product):
    run = product.root.locator(".tfmx-run")
    product.control("c-1-1").click()  # row 0 1 3, column 4 0 1
    assert run.evaluate(MOVES) == 6
    assert run.evaluate(RUN) == ["0", "4", "1", "0", "3", "1", "3"]
    cell = product.control("a-1-2")
    cell.fill("7")  # numbers that change do not travel
    assert run.evaluate("e => e.querySelectorAll('.tfmx-chip')[4].textContent") == "7"
    product.page.wait_for_timeout(1800)
    cell.fill("8")
    assert run.evaluate(MOVES) == 0


def test_a_number_without_a_partner_stands_beside_a_question_mark(product):
    product.control("size-1").select_option(label="4")
    run = product.root.locator(".tfmx-run").evaluate(RUN)
    assert len(run) == 9 and run[7] == run[8] == "?"


def test_the_product_is_played_entry_by_entry(product):
    product.control("play").click()
    assert product.chosen() == "c-0-1"
    product.page.wait_for_timeout(3000)
    assert product.chosen() == "c-1-0"
    product.control("play").click()


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("kind", [MatrixProduct, SoftmaxBars])
def test_a_first_figure_fits(figure_page, playing, kind, size):
    with playing(figure_page(kind(), size=size, settle=False), ".tfk") as seen:
        assert seen.overflow() == []


def test_a_product_that_cannot_be_says_why(product):
    product.control("size-1").select_option(label="4")  # four columns of A
    assert product.product() == []
    assert "4 ≠ 3" in product.text(".tfmx-shapes")
    assert "fourth number of the row of A has no partner" in product.text(
        ".tfmx-worked"
    )
    alone = product.root.locator(".tfmx-alone input")
    assert alone.get_attribute("data-control") == "a-0-3"
    assert product.control("forward").is_disabled()
    product.control("size-2").select_option(label="4")  # four rows of B
    product.agrees()


def test_swapped_matrices_have_another_product(product):
    product.control("swap").click()
    assert len(product.product()) == 9
    product.agrees()
    product.control("transpose").click()  # (3, 2) and (3, 2)
    assert product.product() == []
    assert "2 ≠ 3" in product.text(".tfmx-shapes")


def test_the_shares_on_the_page_are_torchs(bars):
    assert bars.scores().tolist() == [2, 1, 0, -1]
    bars.agrees()


def test_a_score_answers_to_the_keyboard(bars):
    before = bars.shares()
    bars.press("score-3", "ArrowRight", 8)  # half a point each
    assert bars.scores()[3] == 3
    assert bars.shares()[3] > before[3]
    bars.agrees()
    bars.heard("was 0.6")


def test_a_score_answers_to_the_mouse(bars):
    box = bars.control("score-0").bounding_box()
    bars.control("score-0").click(position={"x": 4, "y": box["height"] / 2})
    assert bars.scores()[0] < -8
    bars.agrees()


def test_temperature_sharpens_and_flattens(bars):
    before = max(bars.shares())
    bars.press("temperature", "ArrowLeft", 5)
    assert max(bars.shares()) > before
    bars.agrees()
    bars.press("temperature", "End")
    assert max(bars.shares()) < before
    bars.agrees()


def test_a_constant_changes_nothing_until_the_powers_overflow(bars):
    before = bars.shares()
    bars.press("added", "ArrowRight", 18)  # 90
    assert bars.shares() == pytest.approx(before, rel=0, abs=1e-5)
    bars.press("subtract", "Space")
    cells = bars.root.locator("[data-share][data-exact]")
    shown = cells.evaluate_all("all => all.map(e => e.dataset.exact)")
    assert "NaN" in shown
    assert "∞ ÷ ∞" in bars.text(".tfsb-worked")
    bars.heard("overflow")
    bars.press("subtract", "Space")
    bars.agrees()


def test_both_figures_fit_a_dark_phone(figure_page):
    with figure_page(*figures(), size="phone", dark=True) as seen:
        assert seen.overflow() == []
        assert not [f for f in seen.axe() if "tfmx" in f or "tfsb" in f]
