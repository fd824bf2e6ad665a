"""The figure of the residual stream, driven by mouse and keyboard, against PyTorch."""

import pytest
import torch
from driven import Driven

from tformer.analysis import trace
from tformer_book.press import browser as driver
from tformer_book.widgets import ResidualStream
from tformer_book.widgets._model import RUNNING

pytestmark = pytest.mark.xdist_group("residual-stream")
LENGTH, ADDED, COSINE, SAYS = range(4)


class Stream(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfrs"

    def pick(self, side, position):
        self.control(f"side-{side}").check()
        self.control(f"position-{position}").check()

    def column(self, j):
        cells = self.root.locator(f".tfrs-rows tbody td:nth-child({j + 2})")
        found = cells.evaluate_all("all => all.map(e => e.dataset.exact ?? null)")
        return [None if x is None else float(x) for x in found]

    def said(self):
        cells = self.root.locator(".tfrs-rows [data-piece]")
        return cells.evaluate_all("all => all.map(e => e.dataset.piece)")

    def now(self):
        return int(self.root.locator(".tfrs-now").get_attribute("data-step"))

    def title(self):
        return self.root.locator(".tfrs-title").inner_text()

    def list(self, name):
        rows = self.root.locator(f'[data-list="{name}"] tr[data-piece]')
        return rows.evaluate_all("all => all.map(e => e.dataset.piece)")

    def ask(self, text):
        self.control("text").fill(text)
        self.control("text").press("Enter")
        self.page.wait_for_timeout(50)
        self.root.locator("form:not([data-busy])").wait_for(timeout=driver.PATIENCE)


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    with playing(figure_page(ResidualStream())) as seen:
        yield seen


@pytest.fixture
def stream(opened):
    return Stream(opened)


def agrees(stream, translator, text, side, position):
    """What is on the screen is what `tformer.analysis.trace` sees in PyTorch."""
    model = translator.model
    source = torch.tensor([translator.encode(text)])
    german = translator.translate(text)
    target = torch.tensor([[1, *translator.encode(german)[:-1]]])
    sides = trace.residual_stream(model, source, target)
    writes = sides[side]
    lengths = [write.after[0, position].norm().item() for write in writes]
    added = [write.added[0, position].norm().item() for write in writes]
    assert stream.column(LENGTH) == pytest.approx(lengths, rel=1e-3)
    assert stream.column(ADDED) == pytest.approx(added, rel=1e-3)
    cosines = [write.cosine[0, position].item() for write in writes]
    assert stream.column(COSINE)[1:] == pytest.approx(cosines[1:], abs=1e-3)
    with torch.no_grad():
        if side == 1:
            states = torch.stack([write.after[0, position] for write in writes])
            logits = model.unembed(model.decoder.final_norm(states))
            best, ids = logits.softmax(-1).max(-1)
        else:
            rows = torch.nn.functional.normalize(model.source_embedding.weight, dim=-1)
            states = torch.stack([write.after[0, position] for write in writes])
            best, ids = (torch.nn.functional.normalize(states, dim=-1) @ rows.T).max(-1)
    assert stream.column(SAYS) == pytest.approx(best.tolist(), abs=1e-3)
    pieces = [translator.tokenizer.id_to_piece(int(i)) for i in ids]
    assert stream.said() == pieces


def test_the_recorded_example_shows_every_position_without_the_model(
    stream, translator
):
    for side, position in ((1, 1), (1, 7), (0, 0), (0, 9)):
        stream.pick(side, position)
        agrees(stream, translator, RUNNING, side, position)
    assert not [url for url in stream.seen.asked if "/model/" in url]


def test_rows_are_reached_by_arrow_keys_and_by_clicks(stream):
    stream.pick(1, 2)
    stream.root.locator('[data-row="10"]').focus()
    stream.page.keyboard.press("ArrowUp")
    assert stream.now() == 9
    assert stream.page.evaluate("document.activeElement.dataset.row") == "9"
    stream.page.keyboard.press("Home")
    assert stream.now() == 0
    assert "begins the stream" in stream.title()
    assert stream.list("before") == []
    stream.root.locator('[data-step="4"]').click()
    assert stream.now() == 4
    assert "Layer 0, feed-forward" in stream.title()
    assert len(stream.list("before")) == len(stream.list("after")) == 5
    assert stream.root.locator('[data-row][tabindex="0"]').count() == 1


def test_the_word_changes_part_by_part_above_the_arrows_and_the_table(stream):
    stream.pick(1, 1)
    said = stream.said()
    tiles = stream.root.locator(".tfrs-tile")
    for i, piece in enumerate(said):
        stream.control("step").fill(str(i + 1))
        assert stream.root.locator(".tfrs-word").inner_text() == piece
        assert tiles.nth(i).locator(".tfrs-piece").inner_text() == piece
        other = i > 0 and piece != said[i - 1]
        assert (tiles.nth(i).get_attribute("data-changed") == "true") == other
    assert len(set(said)) > 1
    tops = [
        stream.root.locator(each).bounding_box()["y"]
        for each in (".tfrs-word", ".tfrs-strip", ".tfrs-drawing", ".tfrs-rows")
    ]
    assert tops == sorted(tops)
    bottom = stream.root.locator(".tfrs-drawing").bounding_box()
    top = stream.root.bounding_box()["y"]
    assert bottom["y"] + bottom["height"] - top < driver.SIZES["wide"][1]


def test_play_goes_from_the_first_part_to_the_last_and_stops(stream):
    stream.pick(1, 4)
    begun = stream.root.evaluate(  # from the end it begins again
        """(root) => { root.querySelector('[data-control="play"]').click();
        return root.querySelector('[data-control="step"]').value }"""
    )
    assert begun == "1"
    stream.control("step").fill("9")
    assert stream.control("play").inner_text() == "Play"
    stream.control("play").click()
    stream.control("play").filter(has_text="Play").wait_for(timeout=driver.PATIENCE)
    assert stream.now() == 10


def test_words_are_reached_by_arrow_keys(stream):
    stream.pick(1, 1)
    stream.root.locator('[data-tile="3"]').click()
    stream.page.keyboard.press("ArrowRight")
    assert stream.page.evaluate("document.activeElement.dataset.tile") == "4"
    assert stream.now() == 4
    assert stream.root.locator('[data-tile][tabindex="0"]').count() == 1


def test_pieces_are_reached_by_arrow_keys(stream):
    stream.pick(0, 0)
    stream.control("position-0").focus()
    stream.page.keyboard.press("ArrowRight")
    assert stream.control("position-1").is_checked()
    before = stream.column(LENGTH)
    stream.page.keyboard.press("ArrowRight")
    assert stream.column(LENGTH) != before


def test_the_table_behind_it_names_five_pieces_for_each_part(stream):
    stream.pick(1, 1)
    stream.root.locator("summary").click()
    rows = stream.root.locator("details tbody tr")
    assert rows.count() == 11
    assert "°" in rows.nth(5).inner_text()
    assert rows.nth(5).inner_text().count(",") >= 4
    stream.root.locator("summary").click()


def test_findings_are_announced(stream):
    stream.pick(1, 3)
    stream.root.locator('[data-step="2"]').click()
    live = stream.root.locator("[aria-live]")
    live.filter(has_text="Layer 0, self-attention").wait_for(timeout=driver.PATIENCE)


def test_a_sentence_that_is_typed_is_followed_in_the_page(stream, translator):
    text = "Two dogs play in the snow."
    stream.ask(text)
    for side, position in ((1, 2), (0, 3)):
        stream.pick(side, position)
        agrees(stream, translator, text, side, position)
    stream.ask(" ")
    assert "nothing to translate" in stream.root.locator("[data-said]").inner_text()


@pytest.mark.parametrize("look", [{}, {"size": "phone"}, {"dark": True}], ids=str)
def test_it_fits_and_has_no_accessibility_finding(figure_page, look):
    with figure_page(ResidualStream(), **look) as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
        assert seen.layout_shift() <= 0.01
        seen.page.locator('[data-control="side-0"]').check(force=True)
        seen.page.locator('[data-step="3"]').click()
        seen.page.locator("summary").click()
        assert seen.axe() == []
        assert seen.overflow() == []
