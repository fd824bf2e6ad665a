"""The heads of the trained model on a page of their own, against PyTorch."""

import itertools
import math
import re

import pytest
import torch
from driven import Driven

from tformer.analysis import trace
from tformer_book.press import browser as driver
from tformer_book.widgets import Heads
from tformer_book.widgets._model import RUNNING
from tformer_book.widgets.heads import damage

pytestmark = pytest.mark.xdist_group("heads")
SENTENCES = [
    "A man is playing the guitar.",
    "The small child reads a book in the park.",
]
RECORDED = 1 / 510  # one byte for each weight
BUSY = '[data-busy="true"]'


class Explorer(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfh"

    def head(self, layer, head):
        return self.root.locator(
            f'[data-head="{layer}-{"mean" if head is None else head}"]'
        )

    def site(self, name):
        self.pick(f"site-{['encoder', 'decoder', 'cross'].index(name)}")

    def tab(self, name):
        self.control(f"tab-{name}").click()

    def pane(self, name="first"):
        return self.root.locator(f'[data-pane="{name}"]')

    def weights(self, pane="first"):
        cells = (
            self.pane(pane)
            .locator("[data-cell]")
            .evaluate_all(
                "all => all.map(e => [...e.dataset.cell.split('-'), e.dataset.exact])"
            )
        )
        n_columns = max(int(j) for _, j, _ in cells) + 1
        return torch.tensor([float(w) for _, _, w in cells]).view(-1, n_columns)

    def cell(self, i, j, pane="first"):
        return self.pane(pane).locator(f'[data-cell="{i}-{j}"]')

    def where(self):
        return self.root.locator("[data-where]").inner_text()

    def german(self, which):
        return self.root.locator(f'[data-german="{which}"]')

    def settled(self):
        self.page.wait_for_function(
            f"() => !document.querySelector('{BUSY}')", timeout=driver.PATIENCE
        )

    def ask(self, text):
        self.control("text").fill(text)
        self.control("ask").click()
        self.settled()

    def odds(self):
        shown = self.root.locator("[data-odds]")
        return [float(shown.get_attribute(f"data-{x}")) for x in ("before", "after")]

    def agrees(self, expected, tolerance):
        torch.testing.assert_close(self.weights(), expected, rtol=0, atol=tolerance)


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(Heads(), settle=False)
    with playing(visit, ".tfh") as seen:
        yield seen


@pytest.fixture
def explorer(opened):
    """The figure as it was at first, whatever a test before did with it."""
    shown = Explorer(opened)
    shown.site("cross")
    shown.tab("knock")
    for name in ("form-0", "compare-0", "sort-0"):
        shown.pick(name)
    if shown.control("restore").is_enabled():
        shown.control("restore").click()
    shown.settled()
    shown.head(2, 0).click()
    if shown.control("text").input_value() != RUNNING:
        shown.ask(RUNNING)
    return shown


def asked_for_the_model(seen):
    return [url for url in seen.asked if "/model/" in url]


def test_the_recorded_example_shows_at_once_and_asks_for_nothing(
    figure_page, translator
):
    maps = translator.attention(RUNNING)
    with figure_page(Heads()) as seen:
        shown = Explorer(seen)
        for site in ("encoder", "decoder", "cross"):
            shown.site(site)
            for layer, head in ((0, 0), (2, 5), (1, 3)):
                shown.head(layer, head).click()
                shown.agrees(getattr(maps, site)[layer, head], RECORDED)
        shown.head(1, None).click()
        shown.agrees(maps.cross[1].mean(0), RECORDED)
        assert shown.german("whole").inner_text().strip() == maps.translation
        assert asked_for_the_model(seen) == []
        assert seen.errors == []


@pytest.mark.parametrize("text", SENTENCES)
def test_every_map_of_a_typed_sentence_is_pytorchs(explorer, translator, text):
    explorer.ask(text)
    maps = translator.attention(text)
    for site in ("encoder", "decoder", "cross"):
        explorer.site(site)
        weights = getattr(maps, site)
        for layer in range(weights.size(0)):
            for head in range(weights.size(1)):
                explorer.head(layer, head).click()
                explorer.agrees(weights[layer, head], 1e-3)
            explorer.head(layer, None).click()
            explorer.agrees(weights[layer].mean(0), 1e-3)
    german = explorer.german("whole").inner_text().strip()
    assert german == maps.translation == translator.translate(text)


def written(maps):
    """Source, target and predicted pieces as the figure writes them."""
    names = {"<s>": "⟨bos⟩", "</s>": "⟨eos⟩"}
    return [
        [names.get(piece, piece) for piece in pieces]
        for pieces in (maps.source_pieces, maps.target_pieces, maps.predicted_pieces)
    ]


def test_rows_and_columns_have_the_pieces_of_their_site(explorer, translator):
    maps = translator.attention(RUNNING)
    source, target, predicts = written(maps)
    axes = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }
    for site, (rows, columns) in axes.items():
        explorer.site(site)
        table = explorer.pane().locator("table")
        assert table.locator("tbody th").all_inner_texts() == rows
        head = table.locator("thead th:not(.tfk-extra)")
        assert head.all_inner_texts() == columns
        predicted = table.locator("tbody .tfk-extra").all_inner_texts()
        assert predicted == ([] if site == "encoder" else predicts)


def test_the_keyboard_walks_the_heads_shows_one_and_knocks_it_out(explorer, translator):
    page = explorer.page
    explorer.head(0, 0).click()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.head") == "1-2"
    page.keyboard.press("Enter")
    explorer.agrees(translator.attention(RUNNING).cross[1, 2], RECORDED)
    page.keyboard.press("k")
    explorer.settled()
    with trace.head_gains(translator.model, {("cross", 1, 2): 0.0}):
        german = translator.translate(RUNNING)
    assert explorer.german("without").inner_text().strip() == german
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.head") == "1-mean"
    stops = explorer.root.locator('[data-head][tabindex="0"]')
    assert stops.count() == 1  # one stop for the Tab key


def test_a_head_is_shown_large_while_it_is_pointed_at_and_kept_by_a_click(
    explorer, translator
):
    maps = translator.attention(RUNNING)
    title = explorer.root.locator(".tfh-title")
    explorer.head(1, 3).hover()
    explorer.agrees(maps.cross[1, 3], RECORDED)
    assert "Layer 1, head 3 preview" in title.inner_text()
    assert "layer 2, head 0" in explorer.control("knock").inner_text()
    explorer.page.mouse.move(0, 0)
    explorer.agrees(maps.cross[2, 0], RECORDED)
    explorer.head(1, 3).click()
    explorer.page.mouse.move(0, 0)
    explorer.agrees(maps.cross[1, 3], RECORDED)
    explorer.page.keyboard.press("ArrowLeft")
    explorer.agrees(maps.cross[1, 2], RECORDED)
    explorer.control("text").focus()
    explorer.agrees(maps.cross[1, 3], RECORDED)


def test_a_finger_that_passes_a_head_shows_nothing_else(explorer):
    before = explorer.weights()
    explorer.head(1, 3).dispatch_event("pointerenter", {"pointerType": "touch"})
    torch.testing.assert_close(explorer.weights(), before)


def boxes(explorer):
    parts = (".tfh-overview", ".tfh-pictures", ".tfh-where", "[role=tabpanel]")
    return explorer.page.evaluate(
        """parts => parts.map((part) => {
          const { x, y, width, height } = document.querySelector(part)
            .getBoundingClientRect();
          const [left, top] = [x, y + scrollY].map(Math.round);
          return { x: left, y: top, width, height };
        })""",
        parts,
    )


def test_another_head_or_site_moves_nothing(explorer):
    before = boxes(explorer)
    for layer, head in ((0, 0), (1, None), (1, 4)):
        explorer.head(layer, head).hover()
        assert boxes(explorer) == before
        explorer.head(layer, head).click()
        assert boxes(explorer) == before
    explorer.site("encoder")
    assert boxes(explorer) == before


def test_the_large_map_stands_beside_all_heads_or_right_below_on_a_phone(
    figure_page, explorer
):
    grid, large, *_ = boxes(explorer)
    assert grid["x"] + grid["width"] <= large["x"]
    assert grid["y"] <= large["y"] < grid["y"] + grid["height"]
    with figure_page(Heads(), size="phone") as seen:
        grid, large, _, panel = boxes(Explorer(seen))
    below = grid["y"] + grid["height"]
    assert below <= large["y"] < below + 110  # the German stands between
    assert large["y"] + large["height"] <= panel["y"]


@pytest.mark.parametrize("site", ["encoder", "decoder", "cross"])
def test_the_sharpest_heads_can_come_first(explorer, translator, site):
    explorer.site(site)
    explorer.pick("sort-1")
    shown = explorer.root.locator("[data-head]").evaluate_all(
        "all => all.map(e => e.dataset.head.split('-').map(Number))"
    )
    weights = getattr(translator.attention(RUNNING), site)
    sharpness = weights.max(-1).values.mean(-1)
    found = [sharpness[layer, head].item() for layer, head in shown]
    assert len({tuple(each) for each in shown}) == 18
    assert all(a >= b - RECORDED for a, b in itertools.pairwise(found))
    explorer.head(*shown[0]).click()
    explorer.agrees(weights[tuple(shown[0])], RECORDED)
    explorer.page.keyboard.press("ArrowRight")
    explorer.agrees(weights[tuple(shown[1])], RECORDED)


def test_heads_are_sorted_by_the_cell_that_the_reader_keeps(explorer, translator):
    """Which head goes from this German piece to that English one?"""
    weights = translator.attention(RUNNING).cross[:, :, 1, 1]
    explorer.pick("sort-2")  # nothing is kept yet: by place
    assert explorer.root.locator(".tfh-overview small").count() == 0
    missing = explorer.root.get_by_text("No cell is kept yet")
    assert missing.is_visible()
    explorer.cell(1, 1).click()
    assert missing.count() == 0
    assert "attends most to" in explorer.where()
    shown = explorer.root.locator("[data-head]").evaluate_all(
        "all => all.map(e => e.dataset.head.split('-').map(Number))"
    )
    found = [weights[layer, head].item() for layer, head in shown]
    assert all(a >= b - 2 * RECORDED for a, b in itertools.pairwise(found))  # both
    assert max(found) > 0.5 > min(found)
    texts = explorer.root.locator(".tfh-overview small").all_inner_texts()
    for text, weight in zip(texts, found, strict=True):
        assert float(text.split("\n")[1]) == pytest.approx(weight, abs=0.01)
    explorer.cell(1, 3).click()  # another cell of the row: still kept
    assert "Kept" in explorer.where()
    explorer.cell(1, 3).click()
    assert "Kept" not in explorer.where()


def test_the_tabs_are_walked_by_arrows(explorer):
    explorer.control("tab-knock").focus()
    explorer.page.keyboard.press("ArrowRight")
    assert explorer.focused() == "tab-damage"
    assert explorer.control("knock").is_visible()
    explorer.page.keyboard.press("Enter")
    assert explorer.control("sweep").is_visible()
    assert not explorer.control("knock").is_visible()
    assert explorer.control("tab-damage").get_attribute("aria-selected") == "true"


def test_without_heads_the_translation_is_pytorchs(explorer, translator):
    whole = translator.translate(RUNNING)
    before = translator.score(RUNNING, whole).log_probability
    out = {}

    def agrees():
        explorer.settled()
        with trace.head_gains(translator.model, out):
            german = translator.translate(RUNNING)
            after = translator.score(RUNNING, whole).log_probability
        shown = explorer.german("without").inner_text()
        assert shown.split() == german.split()
        assert explorer.odds() == pytest.approx([before, after], abs=1e-2)
        marked = explorer.german("without").locator("mark").all_inner_texts()
        assert set(marked) <= set(german.split())
        struck = explorer.german("whole").locator("s").all_inner_texts()
        assert bool(marked or struck) == (german != whole)
        return german

    for site, layer, head in (("cross", 2, 2), ("cross", 1, 4), ("encoder", 0, 2)):
        explorer.site(site)
        explorer.control(f"knock-{layer}-{head}").click()
        out[site, layer, head] = 0.0
        agrees()
    explorer.site("cross")
    for layer in range(3):  # nothing of the English sentence reaches the decoder
        explorer.head(layer, None).click()
        explorer.control("knock").click()
        out |= {("cross", layer, head): 0.0 for head in range(6)}
    assert agrees() != whole
    explorer.control("restore").click()
    assert explorer.german("without").inner_text() == "–"
    assert explorer.root.locator("mark, s").count() == 0


def test_knock_outs_in_quick_succession_end_with_the_last(figure_page, translator):
    """While the model is still being loaded, too."""
    with figure_page(Heads()) as seen:
        shown = Explorer(seen)
        heads = [(0, 1), (1, 4), (2, 2)]
        for layer, head in heads:
            shown.control(f"knock-{layer}-{head}").click()
        shown.settled()
        with trace.head_gains(
            translator.model, {("cross", *each): 0.0 for each in heads}
        ):
            german = translator.translate(RUNNING)
        assert shown.german("without").inner_text().split() == german.split()
        assert sum("safetensors" in x for x in asked_for_the_model(seen)) == 1


def test_the_button_knocks_out_the_head_in_large_or_a_whole_layer(explorer, translator):
    explorer.head(1, None).click()
    explorer.control("knock").click()
    explorer.settled()
    with trace.head_gains(
        translator.model, {("cross", 1, head): 0.0 for head in range(6)}
    ):
        german = translator.translate(RUNNING)
    assert explorer.german("without").inner_text().split() == german.split()
    pressed = explorer.root.locator('.tfh-overview [aria-pressed="true"]')
    assert pressed.count() == 6 + 1  # and the button of the layer
    assert "Restore" in explorer.control("knock").inner_text()
    explorer.control("knock").click()
    explorer.settled()
    assert "All heads are at work" in explorer.root.locator("[data-out]").inner_text()


def test_one_click_takes_a_whole_layer_or_all_cross_heads(explorer, translator):
    def german_without(layers):
        heads = [("cross", layer, head) for layer in layers for head in range(6)]
        with trace.head_gains(translator.model, dict.fromkeys(heads, 0.0)):
            return translator.translate(RUNNING)

    explorer.control("knock-1-mean").click()
    explorer.settled()
    without = explorer.german("without")
    assert without.inner_text().split() == german_without([1]).split()
    assert "cross layer 1: all" in explorer.root.locator("[data-out]").inner_text()
    everything = explorer.control("knock-site")
    assert everything.inner_text() == "Knock out all 18 cross-heads"
    everything.click()
    explorer.settled()
    assert without.inner_text().split() == german_without(range(3)).split()
    assert everything.inner_text() == "Restore all 18 cross-heads"
    everything.click()
    explorer.settled()
    assert "All heads are at work" in explorer.root.locator("[data-out]").inner_text()


def test_a_layer_of_which_some_heads_are_out_says_how_many(explorer):
    for head in (0, 3):
        explorer.control(f"knock-2-{head}").click()
    explorer.settled()
    layer = explorer.control("knock-2-mean")
    assert layer.inner_text() == "2/6 out"
    assert layer.get_attribute("aria-pressed") == "mixed"


def fallen(explorer):
    """The map of damage on the screen: {site: falls, layer by layer}."""
    sites = ("encoder", "decoder", "cross")
    exact = "all => all.map(e => e.dataset.exact ?? null)"
    cells = {
        site: explorer.root.locator(f'[data-damage="{site}"] [data-cell]')
        for site in sites
    }
    return {site: each.evaluate_all(exact) for site, each in cells.items()}


def agrees_with_pytorch(explorer, translator, text):
    wanted = damage(translator, text, translator.translate(text))
    for site, shown in fallen(explorer).items():
        assert [float(x) for x in shown] == pytest.approx(
            wanted[site].flatten().tolist(), abs=1e-3
        )


def test_the_recorded_map_of_damage_shows_before_anything_is_loaded(
    figure_page, translator
):
    with figure_page(Heads()) as seen:
        agrees_with_pytorch(Explorer(seen), translator, RUNNING)
        assert asked_for_the_model(seen) == []


def test_a_sweep_draws_the_map_of_damage_of_another_sentence(explorer, translator):
    explorer.ask(SENTENCES[0])
    explorer.tab("damage")
    assert {x for each in fallen(explorer).values() for x in each} == {None}
    explorer.control("sweep").click()
    explorer.settled()
    agrees_with_pytorch(explorer, translator, SENTENCES[0])


def test_a_sweep_can_be_stopped_and_leaves_no_half_a_map(explorer):
    explorer.ask(SENTENCES[1])
    explorer.tab("damage")
    explorer.page.evaluate("""() => {
      const [map] = document.querySelectorAll(".tfh-damage");
      new MutationObserver((_, watch) => {
        if (!map.querySelector("[data-exact]")) return;
        watch.disconnect();
        map.querySelector("[data-control=sweep]").click();
      }).observe(map, { subtree: true, attributes: true, childList: true });
    }""")
    explorer.control("sweep").click()
    explorer.settled()
    said = explorer.root.locator(".tfh-damage [data-said]").inner_text()
    assert said == "Stopped."
    assert {x for each in fallen(explorer).values() for x in each} == {None}
    assert explorer.control("sweep").inner_text() == "Sweep all 54 heads"


def test_a_head_on_the_map_of_damage_says_its_number_and_a_click_knocks_it_out_alone(
    explorer, translator
):
    explorer.tab("damage")
    explorer.control("sweep").click()
    explorer.settled()
    explorer.control("knock-0-0").click()
    cell = explorer.root.locator('[data-damage="cross"] [data-cell="2-4"]')
    said = explorer.root.locator("[data-damage-said]")
    cell.hover()
    fall = abs(float(cell.get_attribute("data-exact")))
    assert f"{fall:.3f} nats a piece" in said.inner_text()
    cell.click()
    explorer.settled()
    with trace.head_gains(translator.model, {("cross", 2, 4): 0.0}):
        german = translator.translate(RUNNING)
    assert explorer.german("without").inner_text().split() == german.split()
    assert said.inner_text().endswith(f"Without it: “{german}”")
    explorer.page.keyboard.press("ArrowLeft")
    assert "layer 2, head 3" in said.inner_text()
    explorer.page.keyboard.press("Enter")
    explorer.settled()
    assert "cross layer 2: 3." in explorer.root.locator("[data-out]").inner_text()


def test_a_knock_out_is_tried_on_the_next_sentence_too(explorer, translator):
    explorer.control("knock-1-4").click()
    explorer.settled()
    explorer.ask(SENTENCES[1])
    with trace.head_gains(translator.model, {("cross", 1, 4): 0.0}):
        german = translator.translate(SENTENCES[1])
    assert explorer.german("without").inner_text().split() == german.split()


def test_a_row_is_read_out_on_hover_and_kept_by_a_click(explorer, translator):
    maps = translator.attention(RUNNING)
    weights = maps.cross[2, 0]
    source, target, predicts = written(maps)

    def said(i):
        j = int(weights[i].argmax())
        text = f"“{target[i]}” (next: “{predicts[i]}”) attends most to “{source[j]}”"
        return f"{text} {weights[i, j]:.2f}" in explorer.where()

    explorer.cell(3, 2).hover()
    assert said(3)
    explorer.cell(5, 2).hover()
    assert said(5)
    explorer.cell(6, 2).click()
    explorer.cell(3, 2).hover()
    assert said(6)
    explorer.page.keyboard.press("Escape")
    explorer.cell(3, 3).hover()
    assert said(3)
    explorer.cell(0, 0).click()  # keeps row 0 …
    explorer.page.keyboard.press("Enter")  # … and lets it go
    explorer.page.keyboard.press("ArrowDown")
    assert said(1)
    explorer.page.keyboard.press("Enter")
    explorer.page.keyboard.press("ArrowDown")
    assert said(1)
    explorer.page.keyboard.press("Escape")


def test_lines_have_the_weights_of_the_query_that_is_pointed_at(explorer, translator):
    explorer.pick("form-1")
    weights = translator.attention(RUNNING).cross[2, 0]
    explorer.control("query-4").hover()
    keys = explorer.pane().locator(".tfh-keys > span")
    exact = keys.evaluate_all("all => all.map(e => Number(e.dataset.exact))")
    torch.testing.assert_close(
        torch.tensor(exact, dtype=torch.float32), weights[4], rtol=0, atol=RECORDED
    )
    lines = explorer.pane().locator("svg g").nth(4).locator("line")
    assert abs(lines.count() - int((weights[4] >= 0.01).sum())) <= 1
    explorer.control("query-4").focus()
    explorer.page.keyboard.press("ArrowDown")
    explorer.page.keyboard.press("Enter")
    assert explorer.control("query-5").get_attribute("aria-pressed") == "true"
    explorer.control("query-1").hover()
    exact = keys.evaluate_all("all => all.map(e => Number(e.dataset.exact))")
    torch.testing.assert_close(
        torch.tensor(exact, dtype=torch.float32), weights[5], rtol=0, atol=RECORDED
    )
    explorer.page.keyboard.press("Escape")


def test_two_heads_stand_side_by_side_or_are_subtracted(explorer, translator):
    maps = translator.attention(RUNNING)
    explorer.pick("compare-1")
    explorer.control("other").select_option("layer 0, head 3")
    first, second = explorer.weights("first"), explorer.weights("second")
    torch.testing.assert_close(first, maps.cross[2, 0], rtol=0, atol=RECORDED)
    torch.testing.assert_close(second, maps.cross[0, 3], rtol=0, atol=RECORDED)
    left, right = (explorer.pane(x).bounding_box() for x in ("first", "second"))
    assert left["x"] + left["width"] <= right["x"]
    explorer.pick("compare-2")
    explorer.control("other").select_option("layer 2, mean of heads")
    explorer.agrees(maps.cross[2, 0] - maps.cross[2].mean(0), 2 * RECORDED)
    assert not explorer.pane("second").is_visible()


def test_the_table_behind_the_picture_has_its_numbers(explorer, translator):
    maps = translator.attention(RUNNING)
    summary = explorer.root.locator("summary", has_text="The same as a table")
    summary.click()
    rows = explorer.root.locator("details[open] tbody tr")
    cells = [row.locator("td").all_inner_texts() for row in rows.all()]
    shown = torch.tensor([[float(x) for x in row[:-1]] for row in cells])
    torch.testing.assert_close(shown, maps.cross[2, 0], rtol=0, atol=RECORDED + 6e-4)
    assert [row[-1] for row in cells] == written(maps)[2]
    summary.click()


def test_a_sentence_that_cannot_be_read_is_refused_in_words(explorer):
    before = explorer.weights()
    explorer.ask("   ")
    said = explorer.root.locator("[data-said]").first
    assert "nothing to translate" in said.inner_text()
    torch.testing.assert_close(explorer.weights(), before)


def test_a_recorded_knock_out_needs_no_model(figure_page, translator):
    figure = Heads(knocked_out=[("cross", 1, 4), ("encoder", 0, 2)])
    with figure_page(figure) as seen:
        shown = Explorer(seen)
        german = shown.german("without").inner_text()
        assert german.split() == figure.translation.split()
        with trace.head_gains(
            translator.model, {("cross", 1, 4): 0.0, ("encoder", 0, 2): 0.0}
        ):
            assert german.split() == translator.translate(RUNNING).split()
        assert all(math.isfinite(x) for x in shown.odds())
        assert asked_for_the_model(seen) == []
        shown.control("restore").click()
        assert asked_for_the_model(seen) == []


def test_the_first_knock_out_fetches_the_model_and_says_so(figure_page):
    with figure_page(Heads()) as seen:
        shown = Explorer(seen)
        shown.page.evaluate(
            """() => { window.heard = [];
            new MutationObserver(() => heard.push(
              document.querySelector('.tfh-knock [data-said]').textContent))
              .observe(document.querySelector('.tfh-knock'),
                {subtree: true, childList: true, characterData: true}); }"""
        )
        shown.control("knock-0-0").click()
        shown.settled()
        heard = shown.page.evaluate("heard")
        assert any(re.match(r"Loading the model: .* of .*\sMB", x) for x in heard)
        assert sum("safetensors" in x for x in asked_for_the_model(seen)) == 1
        assert seen.errors == []


@pytest.mark.parametrize(
    ("size", "dark"), [("wide", False), ("phone", False), ("phone", True)]
)
def test_the_figure_keeps_its_place_and_is_accessible(figure_page, size, dark):
    figure = Heads()
    with figure_page(figure, size=size, dark=dark) as seen:
        shown = Explorer(seen)
        assert seen.axe() == []
        assert seen.overflow() == []
        assert seen.layout_shift() <= 0.1
        for form in ("form-1", "compare-1", "form-0", "compare-2"):
            shown.pick(form)
            assert seen.overflow() == []
        assert seen.axe() == []
        assert seen.errors == []


KERNEL = """async () => {
  const states = JSON.parse(document.querySelector(
    'script[type="application/vnd.jupyter.widget-state+json"]').textContent).state;
  const { state } = Object.values(states).find((each) => each.state.figure);
  const { src } = document.querySelector('script[src$="widgets.js"]');
  const { default: figure } = await import(new URL("heads/heads.js", src));
  window.kernel = { heard: {}, listeners: {}, saved: 0 };
  window.set = (changes) => {
    Object.assign(state, changes);
    for (const name of Object.keys(changes))
      for (const each of kernel.listeners[`change:${name}`] ?? []) each();
  };
  const el = document.querySelector("main").appendChild(document.createElement("div"));
  el.id = "mine";
  const model = {
    get: (name) => state[name],
    set(name, value) { kernel.heard[name] = value; set({ [name]: value }); },
    save_changes: () => { kernel.saved++; },
    on: (name, each) => { (kernel.listeners[name] ??= []).push(each); },
    off: (name, each) => { kernel.listeners[name] = kernel.listeners[name]
      .filter((other) => other !== each); },
    send() {},
  };
  window.stop = figure.render({ model, el });
}"""


def test_the_state_is_shared_with_a_kernel(figure_page, translator):
    maps = translator.attention(RUNNING)
    with figure_page(Heads()) as seen:
        page = seen.page
        page.evaluate(KERNEL)
        shown = Explorer(seen)
        shown.root = page.locator("#mine .tfh")
        shown.site("encoder")
        shown.head(1, 4).click()
        shown.cell(3, 3).click()
        heard = page.evaluate("kernel.heard")
        assert heard == {"site": "encoder", "layer": 1, "head": 4, "locked": 3}
        assert page.evaluate("kernel.saved") >= 3
        page.evaluate("set({ site: 'cross', layer: 0, head: null, locked: -1 })")
        shown.agrees(maps.cross[0].mean(0), RECORDED)
        page.evaluate("set({ compare: 'beside', other: [2, 1] })")
        second = shown.weights("second")
        torch.testing.assert_close(second, maps.cross[2, 1], rtol=0, atol=RECORDED)
        assert asked_for_the_model(seen) == []
        page.evaluate(f"set({{ text: '{SENTENCES[0]}', compare: 'alone' }})")
        shown.settled()
        page.evaluate("set({ knocked_out: [['cross', 2, 2]] })")
        shown.settled()
        shown.agrees(translator.attention(SENTENCES[0]).cross[0].mean(0), 1e-3)
        with trace.head_gains(translator.model, {("cross", 2, 2): 0.0}):
            german = translator.translate(SENTENCES[0])
        assert shown.german("without").inner_text().split() == german.split()
        page.evaluate("stop()")
        assert page.evaluate("Object.values(kernel.listeners).flat().length") == 0
        assert seen.errors == []


def test_what_is_said_reaches_a_live_region(explorer):
    explorer.head(0, 2).click()
    live = explorer.root.locator("[aria-live]")
    live.filter(has_text="layer 0, head 2").wait_for(timeout=driver.PATIENCE)


def test_every_control_has_a_name(explorer):
    unnamed = explorer.root.locator(
        "input:not([type=hidden]), select, button"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []
