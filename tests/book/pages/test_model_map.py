"""The map of the whole Transformer, by mouse and keyboard, against the package."""

import itertools

import pytest
import torch
from driven import Driven

from tformer.config import TransformerConfig
from tformer.model import Transformer
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address
from tformer_book.widgets import BatchPacker, ModelMap
from tformer_book.widgets.model_map import GROUPS, PARTS

CHAPTER = address("transformer")
pytestmark = pytest.mark.xdist_group(CHAPTER)
PRESETS = [preset["name"] for preset in ModelMap().presets]


def href(key):
    """How a page of the book links to a chapter."""
    return address(key).removeprefix("book/")


def count(**fields):
    with torch.device("meta"):
        return Transformer(TransformerConfig(**fields)).n_parameters()


class Figure(Driven):
    """What a reader can do with the map, and what it shows."""

    selector = ".tfm:not(.tfm-compact)"

    def part(self, name):
        return self.root.locator(f'[data-part="{name}"]')

    def preset(self, name):
        self.control(f"preset-{PRESETS.index(name)}").check(force=True)

    def fact(self, name):
        return self.root.locator(f'[data-fact="{name}"]').inner_text()

    def total(self):
        return int(self.root.locator(".tfm-sum").get_attribute("data-exact"))

    def chosen(self):
        found = self.root.locator('[aria-selected="true"]')
        return found.evaluate_all("all => all.map(e => e.dataset.part)")

    def shown(self, name):
        return self.control(name).locator("xpath=..").locator("output").inner_text()


@pytest.fixture(scope="module")
def opened(chromium, site, playing):
    visit = driver.visit(chromium, site, CHAPTER, settle=False)
    with playing(visit, '.tfm [role="listbox"]', state="attached") as seen:
        yield seen


@pytest.fixture
def figure(opened):
    shown = Figure(opened)
    shown.preset("paper, base")
    shown.part("decoder.cross_attention").click()
    return shown


def test_the_papers_base_model_has_the_packages_count(figure):
    sizes = next(p["sizes"] for p in ModelMap().presets if p["name"] == "paper, base")
    sizes = {k: v for k, v in sizes.items() if k != "learned_positions"}
    assert figure.total() == count(**sizes) == 63_082_496
    assert "63,082,496" in figure.root.locator(".tfm-sum").inner_text()


def test_a_click_on_a_part_tells_all_about_it(figure):
    figure.part("encoder.feed_forward").click()
    assert figure.chosen() == ["encoder.feed_forward"]
    assert "(B, S, D) = (2, 14, 512)" in figure.fact("out")
    assert "(B, S, F) = (2, 14, 2048)" in figure.fact("inside")
    assert "2,099,712; × 6 layers = 12,598,272" in figure.fact("numbers")
    assert figure.fact("file") == "tformer/feedforward.py"
    figure.part("cross.mask").click()
    assert "(B, 1, 1, S) = (2, 1, 1, 14)" in figure.fact("out")
    assert "nothing to train" in figure.fact("numbers")


def test_arrow_keys_walk_from_part_to_part(figure):
    figure.part("decoder.cross_attention").focus()
    figure.page.keyboard.press("ArrowUp")
    assert figure.chosen() == ["cross.mask"]
    figure.page.keyboard.press("ArrowDown")
    assert figure.chosen() == ["decoder.cross_attention"]
    figure.page.keyboard.press("End")
    assert figure.chosen() == ["softmax"]
    figure.page.keyboard.press("Home")
    assert figure.chosen() == ["source_ids"]
    assert figure.page.evaluate("document.activeElement.dataset.part") == "source_ids"


def test_sliders_answer_to_the_keyboard_and_recount_everything(figure):
    before = figure.total()
    figure.control("n_decoder_layers").focus()
    figure.page.keyboard.press("ArrowLeft")
    assert figure.shown("n_decoder_layers") == "5"
    assert before - figure.total() == 4_204_032
    figure.control("target_length").focus()
    figure.page.keyboard.press("ArrowLeft")
    assert "(2, 8, 14, 14)" in figure.fact("inside")
    assert before - figure.total() == 4_204_032  # lengths cost no parameter


def test_heads_follow_a_width_that_they_no_longer_divide(figure):
    figure.preset("ours, released")
    assert figure.shown("n_heads") == str(ModelMap().n_heads)
    figure.control("d_model").focus()
    figure.page.keyboard.press("ArrowRight")
    width = int(figure.shown("d_model"))
    heads = int(figure.shown("n_heads"))
    assert width % heads == 0
    assert "NaN" not in figure.root.inner_text()


def test_untying_and_the_place_of_the_norm_change_the_count(figure):
    sizes = next(p["sizes"] for p in ModelMap().presets if p["name"] == "paper, base")
    sizes = {k: v for k, v in sizes.items() if k != "learned_positions"}
    figure.control("tied").focus()
    figure.page.keyboard.press("Space")
    assert figure.total() == count(**{**sizes, "tie_embeddings": False})
    figure.control("norm-1").check(force=True)
    assert figure.total() == count(**{**sizes, "tie_embeddings": False, "norm": "pre"})
    assert figure.part("encoder.final_norm").count() == 1
    figure.control("norm-0").check(force=True)
    assert figure.part("encoder.final_norm").count() == 0


def test_the_table_behind_lists_every_part_with_the_same_numbers(figure):
    figure.root.locator("summary").click()
    rows = figure.root.locator(".tfk-table tbody tr").evaluate_all(
        "all => all.map(r => [...r.cells].map(c => c.innerText))"
    )
    figure.root.locator("summary").click()
    assert len(rows) == len(PARTS)
    together = sum(int(row[-1].replace(",", "")) for row in rows)
    assert together == figure.total()


def test_changes_are_announced(figure):
    live = figure.root.locator("[aria-live]")
    figure.part("unembedding").click()
    length = figure.shown("target_length")
    live.filter(has_text=f"unembedding: out (2, {length}, 37000)").wait_for(
        timeout=driver.PATIENCE
    )


def test_playing_moves_nothing_else_on_the_page(figure):
    height = figure.root.bounding_box()["height"]
    for part, preset in itertools.product(
        ["source_ids", "encoder.mask", "decoder.cross_attention", "unembedding"],
        ["paper, big", "tiny"],
    ):
        figure.preset(preset)
        figure.part(part).click()
        assert figure.root.bounding_box()["height"] == pytest.approx(height, abs=1)


def test_every_control_has_a_name(figure):
    unnamed = figure.root.locator(
        "input:not([type=hidden]), select, button, [role]"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.getAttribute('aria-label')
        || e.labels?.[0]?.textContent.trim() || e.textContent.trim()))
        .map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_on_a_phone_the_map_fits_and_its_text_can_be_read(chromium, site):
    with driver.visit(chromium, site, CHAPTER, size="phone", settle=False) as seen:
        seen.page.wait_for_selector(
            '.tfm [role="listbox"]', state="attached", timeout=driver.PATIENCE
        )
        figure = Figure(seen)
        figure.preset("paper, big")
        figure.part("decoder.feed_forward").click()
        assert "(B, T, F) = (2, 15, 4096)" in figure.fact("inside")
        too_wide = figure.root.locator("svg text").evaluate_all(
            """all => all.filter(t => { const r = t.parentNode.querySelector('rect');
            const a = t.getBoundingClientRect(), b = r?.getBoundingClientRect();
            return a.height < 10 || a.left < 0 || a.right > innerWidth ||
              (t.parentNode.dataset.part && (a.right > b.right || a.left < b.left)); })
            .map(t => t.textContent)"""
        )
        assert too_wide == []


def test_the_small_map_is_a_picture_with_a_text(opened):
    small = opened.page.locator(".tfm-compact svg").first
    assert small.get_attribute("role") == "group"
    assert "encoder on the left" in small.get_attribute("aria-label")
    assert opened.page.locator(".tfm-compact input").count() == 0


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_the_small_map_stays_small_beside_a_figure_that_comes_later(
    figure_page, playing, size
):
    def height(*later, wait):
        small = ModelMap(highlight="masks", compact=True)
        with playing(figure_page(small, *later, size=size), wait) as seen:
            return seen.page.locator(".tfm-compact").bounding_box()["height"]

    alone = height(wait=".tfm-compact svg")
    assert alone > 300
    assert height(BatchPacker(), wait=".tfbp") == pytest.approx(alone, abs=1)


@pytest.fixture
def small(figure_page):
    with figure_page(ModelMap(highlight="masks", compact=True), settle=True) as seen:
        yield seen.page


def test_boxes_of_a_small_map_lead_to_their_chapters(small):
    links = small.locator(".tfm-compact a")
    assert links.count() == small.locator(".tfm-compact [data-part]").count()
    for part, page in (
        ("encoder.self_attention", href("attention")),
        ("decoder.mask", href("masks")),
        ("softmax", href("decoding-and-scoring")),
    ):
        link = small.locator(f'.tfm-compact a:has([data-part="{part}"])')
        assert link.get_attribute("href") == page
        assert ", chapter " in link.get_attribute("aria-label")


def test_a_small_map_has_one_stop_for_the_tab_key_and_arrows_within(small):
    stops = small.locator('.tfm-compact a[tabindex="0"]')
    assert stops.count() == 1
    stops.focus()
    before = small.evaluate("document.activeElement.getAttribute('aria-label')")
    small.keyboard.press("ArrowUp")
    assert small.evaluate("document.activeElement.getAttribute('aria-label')") != before
    assert stops.count() == 1


def test_a_small_map_marks_the_boxes_of_the_chapter_one_is_in(small):
    assert small.locator(".tfm-compact a[aria-current]").count() == 0
    state = ModelMap(highlight="masks", compact=True).get_state()
    marked = small.evaluate(
        """async ([state, page]) => {
        const host = document.querySelector('script[src]').src;
        const { default: figure } = await import(
          new URL('model_map/model_map.js', host).href);
        history.replaceState(null, '', page);
        const el = document.createElement('div');
        document.body.append(el);
        figure.render({ model: { get: (name) => state[name] }, el });
        return [...el.querySelectorAll('a[aria-current="page"] [data-part]')]
          .map(e => e.dataset.part); }""",
        [state, href("masks")],
    )
    assert set(marked) == {*GROUPS["masks"], "decoder.self_attention"}


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_parts_are_stepped_through_by_buttons_and_lead_to_their_chapter(
    figure_page, size
):
    with figure_page(ModelMap(), size=size) as seen:
        root = seen.page.locator(".tfm")
        chapter = root.locator('[data-control="chapter"]')
        assert chapter.inner_text() == "The decoder"
        root.locator('[data-control="start"]').click()
        assert chapter.get_attribute("href") == href("tokenization")
        root.locator('[data-control="forward"]').click()
        root.locator('[data-control="forward"]').click()
        assert chapter.inner_text() == "Positions"
        tracks = root.locator('.tfm-sliders input[type="range"]')
        widths = tracks.evaluate_all(
            "all => all.map(e => e.getBoundingClientRect().width)"
        )
        assert min(widths) >= 120
        assert seen.axe() == []
