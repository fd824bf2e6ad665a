"""The figure of transplanted states, driven by mouse and keyboard, against PyTorch."""

import pytest
from driven import Driven

from tformer_book.press import browser as driver
from tformer_book.widgets import Transplant
from tformer_book.widgets.transplant import transplants

pytestmark = pytest.mark.xdist_group("transplant")


class Transplanting(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tftp"

    def cell(self, depth, position):
        return self.root.locator(f'[data-cell="{depth}-{position}"]')

    def moved(self):
        cells = self.root.locator("[data-cell]").evaluate_all(
            "all => all.map(e => e.dataset.exact ?? null)"
        )
        return [None if x is None else float(x) for x in cells]

    def german(self, which):
        return self.text(f'[data-german="{which}"]').strip()

    def ask(self, text, donor):
        self.control("text").fill(text)
        self.control("donor").fill(donor)
        self.control("donor").press("Enter")
        self.page.wait_for_timeout(50)
        self.root.locator("form:not([data-busy])").wait_for(timeout=driver.PATIENCE)


@pytest.fixture(scope="module")
def example():
    return Transplant().example


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    with playing(figure_page(Transplant())) as seen:
        yield seen


@pytest.fixture
def figure(opened):
    return Transplanting(opened)


def test_the_recorded_map_shows_and_answers_before_anything_is_loaded(figure, example):
    assert figure.moved() == pytest.approx([c["moved"] for c in example["cells"]])
    assert figure.german("own") == example["text"]
    assert figure.german("other") == example["other"]
    for cell in example["cells"]:
        figure.cell(cell["depth"], cell["position"]).click()
        assert figure.german("patched") == cell["text"]
        marked = figure.root.locator('[data-german="patched"] mark').all_inner_texts()
        assert set(marked) <= set(cell["text"].split()) - set(example["text"].split())
    assert not [url for url in figure.seen.asked if "/model/" in url]


def test_arrow_keys_walk_through_the_map_and_it_is_said(figure, example):
    figure.cell(0, 0).click()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        figure.page.keyboard.press(key)
    cell = next(c for c in example["cells"] if (c["depth"], c["position"]) == (1, 3))
    assert figure.german("patched") == cell["text"]
    figure.heard(cell["text"])
    now = figure.root.locator(".tftp-now")
    assert now.get_attribute("data-cell") == "1-3"


def test_what_belongs_to_neither_sentence_is_framed(figure, example):
    framed = figure.root.locator(".tftp-new").evaluate_all(
        "all => all.map(e => e.dataset.cell)"
    )
    both = example["text"], example["other"]
    assert framed == [
        f"{c['depth']}-{c['position']}"
        for c in example["cells"]
        if c["text"] not in both
    ]
    assert framed


def test_the_differing_piece_has_both_names(figure):
    heads = figure.root.locator("thead th").all_inner_texts()
    assert [each.split() for each in heads if "\n" in each] == [["▁bike", "▁horse"]]


def test_two_sentences_that_are_typed_are_computed_in_the_page(figure, page_translator):
    texts = "The street was dry.", "The street was wet."
    wanted = transplants(page_translator, *texts)
    figure.ask(*texts)
    assert figure.moved() == pytest.approx(
        [c["moved"] for c in wanted["cells"]], abs=1e-3
    )
    figure.cell(1, 3).click()
    cell = next(c for c in wanted["cells"] if (c["depth"], c["position"]) == (1, 3))
    assert figure.german("patched") == cell["text"]
    figure.ask("", texts[1])
    assert "nothing to translate" in figure.text("[data-said]")
    assert figure.german("own") == wanted["text"]  # what was there stays


def test_an_example_fills_both_lines_and_asks(figure):
    figure.pick("example-2")
    figure.root.locator("form:not([data-busy])").wait_for(timeout=driver.PATIENCE)
    assert figure.control("donor").input_value().startswith("Two girls")
    assert "Mädchen" in figure.german("other")


@pytest.mark.parametrize("look", [{}, {"size": "phone"}, {"dark": True}], ids=str)
def test_it_fits_and_has_no_accessibility_finding(figure_page, look):
    with figure_page(Transplant(), **look) as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
        assert seen.layout_shift() <= 0.01
        seen.page.locator("summary").click()
        assert seen.axe() == []
        assert seen.overflow() == []
