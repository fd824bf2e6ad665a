"""The figure of *Multi-head attention*, by mouse and keyboard, against the package."""

import json

import pytest
import torch
from driven import Driven
from torch.testing import assert_close

from tformer_book.press import browser as driver
from tformer_book.widgets import HeadSplit
from tformer_book.widgets.head_split import MISTAKES, STAGES, WIDTHS, WORDS

pytestmark = pytest.mark.xdist_group("head-split")
LEFT, RIGHT = "right", "wrong"


class Cutting(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfhs"

    def size(self, words, width, heads):
        if not self.control("words").is_visible():
            self.root.locator(".tfhs-sizes > summary").click()
        self.control("words").evaluate(
            "(e, x) => { e.value = x; e.dispatchEvent(new Event('input')); }", words
        )
        self.pick(f"width-{WIDTHS.index(width)}")
        self.pick(f"heads-{heads - 1}")

    def start(self):
        self.size(3, 8, 2)
        self.pick("stage-2")
        self.pick("mistake-0")
        self.pick("word-2")

    def side(self, side):
        return self.root.locator(f'[data-side="{side}"]')

    def block(self, side, number):
        return self.side(side).locator(f'[data-block="{number}"]')

    def exact(self, side, number):
        rows = self.block(side, number).locator("tbody tr")
        read = "all => all.map(e => Number(e.dataset.exact))"
        found = [row.locator("[data-cell]").evaluate_all(read) for row in rows.all()]
        return torch.tensor(found, dtype=torch.float64)

    def texts(self, side, number):
        rows = self.block(side, number).locator("tbody tr")
        return [row.locator("[data-cell]").all_inner_texts() for row in rows.all()]

    def framed(self, side, number):
        cells = self.block(side, number).locator(".tfhs-word")
        return cells.evaluate_all("all => all.map(e => e.dataset.cell)")

    def note(self, side):
        return self.side(side).locator(".tfhs-note").inner_text()

    def where(self):
        return self.root.locator(".tfhs-where").inner_text()


@pytest.fixture(scope="module")
def opened(figure_page):
    with figure_page(HeadSplit()) as seen:
        seen.page.wait_for_selector(".tfhs", timeout=driver.PATIENCE)
        yield seen
        assert seen.errors == []
        assert seen.third_party == []


@pytest.fixture
def cutting(opened):
    shown = Cutting(opened)
    shown.start()
    shown.root.scroll_into_view_if_needed()
    return shown


def test_the_transpose_gives_each_head_its_numbers_of_every_word(cutting):
    for head in range(2):
        wanted = [[f"{w[0]}{4 * head + j}" for j in range(4)] for w in WORDS[:3]]
        assert cutting.texts(LEFT, head) == wanted
    assert cutting.texts(RIGHT, 0) == [
        ["d0", "d1", "d2", "d3"],
        ["d4", "d5", "d6", "d7"],
        ["i0", "i1", "i2", "i3"],
    ]
    assert "Head 1 has numbers of it and tired only" in cutting.note(RIGHT)


def test_a_framed_word_is_one_row_in_every_head_by_the_right_way_only(cutting):
    cutting.pick("word-1")  # dog
    row = [f"0-{j}" for j in range(4)]
    assert [cutting.framed(LEFT, head) for head in range(2)] == [row, row]
    both = row + [f"1-{j}" for j in range(4)]
    assert [cutting.framed(RIGHT, head) for head in range(2)] == [both, []]
    cutting.pick("word-0")
    assert cutting.framed(LEFT, 0) == []


MOVES = "e => e.getAnimations({ subtree: true }).length"


def test_numbers_travel_to_their_heads_and_keep_their_colours(cutting):
    cutting.pick("stage-0")
    place = """(e, id) => { const c = e.querySelector(`[data-id="${id}"]`);
      const box = c.getBoundingClientRect();
      return [box.x, box.y, getComputedStyle(c).backgroundColor]; }"""
    for side in (LEFT, RIGHT):
        board = cutting.side(side).locator(".tfhs-board")
        board.evaluate(MOVES)
    left, right = (cutting.side(s).locator(".tfhs-board") for s in (LEFT, RIGHT))
    before = [board.evaluate(place, "0,5") for board in (left, right)]
    cutting.pick("stage-2")
    assert left.evaluate(MOVES) > 0 and right.evaluate(MOVES) > 0
    start = [board.evaluate(place, "0,5") for board in (left, right)]
    assert [s[2] for s in start] == [b[2] for b in before]  # colours
    for board in (left, right):
        board.evaluate("e => e.getAnimations({ subtree: true }).map(a => a.finish())")
        assert board.evaluate("e => e.querySelectorAll('[data-id]').length") == 24
    after = [board.evaluate(place, "0,5") for board in (left, right)]
    assert after[0] != start[0] and [a[2] for a in after] == [b[2] for b in before]
    # d5 belongs to head 1: by the wrong way it ends in the block of head 0.
    owner = """(e, id) => e.querySelector(`[data-id='${id}']`)
      .closest('[data-block]').dataset.block"""
    assert left.evaluate(owner, "0,5") == "1"
    assert right.evaluate(owner, "0,5") == "0"


def test_the_results_travel_when_heads_are_merged(cutting):
    cutting.pick("stage-3")
    cutting.pick("stage-4")
    assert cutting.side(LEFT).locator(".tfhs-board").evaluate(MOVES) > 0
    cutting.pick("stage-5")  # W_O makes new numbers: none of them was there before
    assert cutting.side(LEFT).locator(".tfhs-board").evaluate(MOVES) == 0


def test_nothing_travels_for_readers_who_want_stillness(cutting):
    cutting.page.emulate_media(reduced_motion="reduce")
    try:
        cutting.pick("stage-0")
        cutting.pick("stage-2")
        assert cutting.side(LEFT).locator(".tfhs-board").evaluate(MOVES) == 0
    finally:
        cutting.page.emulate_media(reduced_motion="no-preference")


def test_play_goes_on_by_itself(cutting):
    cutting.pick("stage-0")
    cutting.control("play").click()
    assert cutting.control("stage-1").is_checked()
    cutting.page.wait_for_timeout(3600)
    assert cutting.control("stage-2").is_checked()
    cutting.control("play").click()


def test_a_legend_is_shown_only_for_heads_that_there_are(cutting):
    cutting.pick("heads-2")  # 3 heads do not divide 8 numbers
    assert cutting.root.locator(".tfhs-legend").is_hidden()
    cutting.pick("heads-3")
    assert cutting.root.locator(".tfhs-key").count() == 4


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("size", [(3, 8, 2), (4, 12, 3), (5, 8, 4), (2, 6, 1)])
def test_every_step_shows_the_packages_numbers(cutting, mistake, size):
    cutting.size(*size)
    cutting.pick(f"mistake-{MISTAKES.index(mistake)}")
    figure = HeadSplit(*size, mistake=mistake)
    for side, made in ((LEFT, figure.right), (RIGHT, figure.wrong)):
        cutting.pick("stage-0")
        assert_close(cutting.exact(side, 0), figure.x)
        cutting.pick("stage-2")
        for head in range(size[2]):
            assert_close(cutting.exact(side, head), made["split"][head])
        cutting.pick("stage-3")
        for head in range(size[2]):
            assert_close(cutting.exact(side, 2 * head), made["weights"][head])
            assert_close(cutting.exact(side, 2 * head + 1), made["heads"][head])
        cutting.pick("stage-4")
        assert_close(cutting.exact(side, 0), made["merged"])
        cutting.pick("stage-5")
        assert_close(cutting.exact(side, 0), made["output"])


def test_the_cut_stands_between_word_and_head(cutting):
    cutting.pick("stage-1")
    x = HeadSplit().x
    for word in range(3):
        assert_close(cutting.exact(LEFT, word), x[word].view(2, 4))
    assert cutting.block(LEFT, 0).locator("tbody th").all_inner_texts() == [
        "head 0",
        "head 1",
    ]


def test_the_buttons_walk_through_the_steps_and_stop_at_the_ends(cutting):
    cutting.pick("stage-0")
    assert cutting.control("back").is_disabled()
    for i in range(1, len(STAGES)):
        cutting.control("forward").click()
        assert cutting.control(f"stage-{i}").is_checked()
    assert cutting.control("forward").is_disabled()
    cutting.control("back").click()
    assert cutting.control("stage-4").is_checked()


def test_the_keyboard_chooses_a_step_and_walks_the_numbers(cutting):
    cutting.control("stage-2").focus()
    cutting.page.keyboard.press("ArrowRight")
    assert cutting.control("stage-3").is_checked()
    cutting.control("stage-2").focus()
    cutting.page.keyboard.press("ArrowLeft")
    cutting.control("stage-2").check(force=True)
    cutting.block(RIGHT, 0).locator('[data-cell="0-0"]').focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        cutting.page.keyboard.press(key)
    x = HeadSplit().x
    value = f"{x[0, 6]:.1f}".replace("-", "−")
    wanted = f"head 0, row 1, number 2: it is {value}, number 6 of “dog”"
    assert wanted in cutting.where()
    assert "made for head 1" in cutting.where()


def test_pointing_at_a_number_tells_where_it_comes_from(cutting):
    cutting.pick("stage-4")
    cutting.block(LEFT, 0).locator('[data-cell="1-5"]').hover()
    assert "100\xa0% from numbers of head 1, asked for by “it”" in cutting.where()
    cutting.pick("stage-5")
    cutting.block(LEFT, 0).locator('[data-cell="1-5"]').hover()
    assert "head 0 and" in cutting.where()
    assert "head 1" in cutting.where()


def test_what_cannot_be_shared_out_is_refused_in_the_packages_words(cutting):
    cutting.pick("heads-2")
    refusal = cutting.root.locator("[data-refusal]")
    assert refusal.is_visible()
    with pytest.raises(ValueError, match="must be a positive multiple") as refused:
        _ = HeadSplit(3, 8, 3).right
    assert str(refused.value) in refusal.inner_text()
    assert not cutting.side(LEFT).is_visible()
    cutting.pick("width-3")
    assert cutting.side(LEFT).is_visible()
    assert not refusal.is_visible()


def test_the_words_say_who_no_longer_hears_whom(cutting):
    cutting.size(4, 8, 4)
    cutting.pick("stage-4")
    assert "dog hears only dog" in cutting.note(RIGHT)
    assert "Each row has its word’s outputs" in cutting.note(LEFT)
    for mistake in (1, 2):
        cutting.pick(f"mistake-{mistake}")
        assert "what other words asked for" in cutting.note(RIGHT)
    cutting.pick("stage-2")
    assert "Still the same" in cutting.note(RIGHT)


def test_the_table_behind_the_picture_has_the_outputs(cutting):
    cutting.root.locator("summary", has_text="as a table").click()
    rows = cutting.root.locator("details tbody tr")
    shown = [
        [float(x.replace("−", "-")) for x in row.locator("td").all_inner_texts()]
        for row in rows.all()
    ]
    figure = HeadSplit()
    wanted = torch.cat([figure.right["output"], figure.wrong["output"]])
    assert_close(torch.tensor(shown).double(), wanted, rtol=0, atol=6e-3)
    cutting.root.locator("summary", has_text="as a table").click()


def test_a_step_is_announced_once_the_reader_pauses(cutting):
    cutting.pick("stage-3")
    live = cutting.root.locator("[aria-live]")
    live.filter(has_text="Step 4, Attend").wait_for(timeout=driver.PATIENCE)


def test_walking_through_the_steps_moves_nothing_else_on_the_page(cutting):
    height = cutting.root.bounding_box()["height"]
    for mistake in range(3):
        cutting.pick(f"mistake-{mistake}")
        for stage in range(len(STAGES)):
            cutting.pick(f"stage-{stage}")
            found = cutting.root.bounding_box()["height"]
            assert found == pytest.approx(height, abs=1), (mistake, stage)


def test_every_control_has_a_name(cutting):
    unnamed = cutting.root.locator(
        "input:not([type=hidden]), select, button"
    ).evaluate_all(
        """all => all.filter(e => !(e.ariaLabel || e.labels?.[0]?.textContent.trim()
        || e.textContent.trim())).map(e => e.outerHTML)"""
    )
    assert unnamed == []


@pytest.mark.parametrize(
    ("size", "dark"),
    [("wide", True), ("phone", False), ("phone", True), ("zoomed", False)],
)
def test_the_figure_keeps_its_place_and_is_accessible(figure_page, size, dark):
    with figure_page(HeadSplit(), size=size, dark=dark) as seen:
        shown = Cutting(seen)
        shown.root.wait_for(timeout=driver.PATIENCE)
        assert seen.axe() == []
        assert seen.layout_shift() <= 0.1
        for words, width, heads in ((3, 8, 2), (5, 12, 4), (2, 8, 3)):
            shown.size(words, width, heads)
            for stage in range(len(STAGES)):
                shown.pick(f"stage-{stage}")
                assert seen.overflow() == []
        shown.start()
        for stage in (3, 5):
            shown.pick(f"stage-{stage}")
            assert seen.axe() == []
        assert seen.errors == []


def test_the_state_is_what_the_kernel_hears(cutting):
    made = json.loads(cutting.root.locator(".tfhs-two").get_attribute("data-made"))
    figure = HeadSplit()
    for found, wanted in zip(made, (figure.right, figure.wrong), strict=True):
        for step, value in wanted.items():
            assert_close(torch.tensor(found[step]).double(), value)
