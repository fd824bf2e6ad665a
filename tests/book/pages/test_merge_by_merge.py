"""The figure of *Tokenization*, driven by mouse and keyboard, against the package."""

import json
from itertools import pairwise

import pytest
from driven import Driven

from tformer.tokenization.byte_pairs import BytePairEncoding
from tformer_book.widgets import MergeByMerge
from tformer_book.widgets.merge_by_merge import ENGLISH, GERMAN, PAPER

pytestmark = pytest.mark.xdist_group("merge by merge")
TRAINING = [ENGLISH, GERMAN, PAPER, "the street was wide and the dog was tired"] * 3


class Shown(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfmm"

    def __init__(self, seen, encoding):
        super().__init__(seen)
        self.encoding = encoding

    def click(self, name, times=1):
        for _ in range(times):
            self.control(name).click()

    def pick(self, i):
        self.control(f"from-{i}").check(force=True)

    def pieces(self):
        box = self.root.locator(".tfmm-pieces")
        return json.loads(box.get_attribute("data-pieces"))

    def cost(self):
        """Words, pieces, vocabulary, unknown characters, as the page counts them."""
        return json.loads(self.root.get_attribute("data-cost"))

    def merges(self):
        base = self.encoding.vocab_size - len(self.encoding.merges)
        return self.cost()[2] - base

    def text(self, name):
        return self.root.locator(name).inner_text()

    def agrees(self, text):
        """The pieces on the screen are those of an encoding with as many merges."""
        alphabet = [p for p in self.encoding.vocabulary if len(p) == 1]
        wanted = BytePairEncoding(alphabet, self.encoding.merges[: self.merges()])
        assert self.pieces() == wanted.pieces(text)
        words, n, size, unknown = self.cost()
        assert (words, n) == (len(text.split()), len(wanted.pieces(text)))
        assert size == wanted.vocab_size
        assert unknown == wanted.encode(text).count(wanted.unk_id)


@pytest.fixture(scope="module")
def encoding():
    return BytePairEncoding.train(TRAINING, 90)


@pytest.fixture(scope="module")
def opened(figure_page, encoding, playing):
    figure = MergeByMerge(encoding, corpus="four texts", n_merges=20)
    visit = figure_page(figure, settle=False)
    with playing(visit, ".tfmm") as seen:
        yield seen


@pytest.fixture
def shown(opened, encoding):
    page = Shown(opened, encoding)
    page.click("example-0")
    page.pick(0)
    if page.control("start").is_enabled():
        page.click("start")
    return page


def test_forward_goes_through_the_packages_steps_and_back_returns(shown, encoding):
    steps = encoding.steps(ENGLISH)
    assert len(steps) > 8
    for pieces in steps[:-1]:
        assert shown.pieces() == pieces
        shown.agrees(ENGLISH)
        shown.click("forward")
    assert shown.pieces() == steps[-1]
    assert shown.control("forward").is_disabled()
    assert "None of the other merges" in shown.text(".tfmm-next")
    for pieces in steps[-2::-1]:
        shown.click("back")
        assert shown.pieces() == pieces
    assert shown.control("back").is_disabled()


def test_the_next_merge_is_told_with_its_count_in_the_training_text(shown, encoding):
    pairs = {pair: i for i, pair in enumerate(encoding.merges)}
    symbols = encoding.steps(ENGLISH)[0]
    first = min(pairs[pair] for pair in pairwise(symbols) if pair in pairs)
    left, right = encoding.merges[first]
    told = shown.text(".tfmm-next")
    assert f"merge {first + 1} joins “{left}” and “{right}” to “{left + right}”" in told
    assert f"{encoding.counts[first]} times in the training text" in told
    row = shown.root.locator(".tfmm-table tbody tr").first.inner_text()
    assert row.split("\t")[1:] == [
        f"{left} + {right}",
        left + right,
        str(encoding.counts[first]),
    ]
    coming = shown.root.locator(".tfmm-coming").all_inner_texts()
    assert coming[:2] == [left, right]


def test_the_slider_and_the_dragged_line_choose_a_vocabulary(shown, encoding):
    shown.control("size").focus()
    shown.page.keyboard.press("End")
    assert shown.merges() == len(encoding.merges)
    shown.agrees(ENGLISH)
    shown.page.keyboard.press("Home")
    assert shown.merges() == 0
    shown.page.keyboard.press("PageUp")
    assert 0 < shown.merges() < len(encoding.merges)
    shown.agrees(ENGLISH)

    grip = shown.root.locator('[data-handle="size"]')
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    shown.page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 40)
    shown.page.mouse.down()
    few = shown.merges()
    shown.page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 40, steps=4)
    many = shown.merges()
    shown.page.mouse.move(box["x"] + 2 * box["width"], box["y"] + 40, steps=4)
    assert shown.merges() == len(encoding.merges)
    shown.page.mouse.up()
    shown.page.mouse.move(box["x"], box["y"] + 40)
    assert 0 < few < many < shown.merges() == len(encoding.merges)
    shown.agrees(ENGLISH)


def test_typed_text_is_cut_with_the_same_merges(shown):
    shown.control("text").fill("the widest dog 犬!")
    shown.click("end")
    shown.agrees("the widest dog 犬!")
    assert shown.root.locator(".tfmm-unknown").all_inner_texts() == ["犬", "!"]
    assert "2 characters unknown" in shown.text(".tfmm-cost")
    shown.control("text").fill("")
    assert shown.pieces() == []
    assert "Nothing to cut yet" in shown.text(".tfmm-cost")
    shown.control("text").fill("dog")
    shown.agrees("dog")


def test_merges_can_be_learned_from_the_text_itself(shown):
    shown.click("example-3")
    wanted = BytePairEncoding.train([PAPER], 100)
    assert shown.pieces() == wanted.steps(PAPER)[0]
    first = shown.root.locator(".tfmm-table tbody tr").first.inner_text().split("\t")
    assert first == ["next", "e + s", "es", "9"]
    shown.click("forward", 5)
    assert shown.pieces() == BytePairEncoding.train([PAPER], 5).pieces(PAPER)
    shown.click("end")
    assert shown.pieces() == wanted.pieces(PAPER)
    assert shown.cost()[2] == wanted.vocab_size
    assert "nothing left to merge" in shown.text(".tfmm-next")


def test_the_table_behind_the_curve_has_its_numbers(shown, encoding):
    shown.root.locator("summary").click()
    rows = shown.root.locator(".tfk-table tbody tr").all_inner_texts()
    for row, pieces in ((rows[0], encoding.steps(ENGLISH)[0]), (rows[-1], None)):
        pieces = pieces or encoding.pieces(ENGLISH)
        assert row.split("\t")[1] == f"{len(pieces) / len(ENGLISH.split()):.2f}"
    shown.root.locator("summary").click()


def test_what_merges_flashes_and_what_was_there_before_does_not(shown):
    shown.click("example-3")
    flashing = shown.root.locator(".tfmm-flash")
    assert flashing.count() == 0
    shown.click("forward")
    assert set(flashing.all_inner_texts()) == {"es"} and flashing.count() == 9
    shown.click("forward")
    assert set(flashing.all_inner_texts()) == {"est"}
    shown.click("back")
    assert flashing.count() == 0


def test_play_merges_by_itself_until_it_is_stopped(shown):
    shown.click("example-3")
    letters = shown.pieces()
    shown.click("play")
    shown.page.wait_for_timeout(1500)
    shown.click("play")
    merged = shown.pieces()
    assert len(merged) < len(letters)
    shown.page.wait_for_timeout(1500)
    assert shown.pieces() == merged


def test_the_next_merges_stand_beside_the_pieces(shown):
    pieces = shown.root.locator(".tfmm-pieces").bounding_box()
    table = shown.root.locator(".tfmm-table").bounding_box()
    assert table["x"] >= pieces["x"] + pieces["width"]
    assert abs(table["y"] - pieces["y"]) < 5


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_stepping_moves_nothing_on_the_page(figure_page, encoding, size):
    figure = MergeByMerge(encoding, corpus="four texts")
    with figure_page(figure, size=size) as seen:
        page = Shown(seen, encoding)
        tall = "e => e.getBoundingClientRect().height"
        heights = set()
        for example in (0, 1, 3):
            page.click(f"example-{example}")
            page.click("forward", 3)
            heights.add(round(page.root.evaluate(tall)))
        assert len(heights) == 1
        assert size == "phone" or heights.pop() <= 700
        assert seen.overflow() == []
        assert seen.axe() == []
