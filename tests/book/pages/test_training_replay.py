"""The recorded run, scrubbed and played, against the record."""

import pytest
from driven import Driven

from tformer.pretrained import load_history
from tformer_book.press import browser as driver
from tformer_book.press.chapters import address
from tformer_book.widgets import TrainingReplay

pytestmark = pytest.mark.xdist_group("training-replay")
CHAPTER = address("training")


class Replay(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tfrp"

    def __init__(self, seen):
        super().__init__(seen)
        self.frames = load_history()["replay"]

    def frame(self):
        return int(self.control("frame").input_value())

    def step(self):
        chart = self.root.locator(".tfrp-chart")
        return int(chart.get_attribute("data-step"))

    def translation(self):
        return self.root.locator(".tfrp-said").get_attribute("data-exact")

    def weights(self):
        rows = self.root.locator(".tfk-grid tbody tr")
        return rows.evaluate_all(
            "all => all.map(r => [...r.querySelectorAll('[data-cell]')]"
            ".map(c => Number(c.dataset.exact)))"
        )

    def agrees(self, sentence=0):
        kept = self.frames[self.frame()]
        assert self.step() == kept["step"]
        assert self.translation() == kept["sentences"][sentence]["translation"]
        assert self.weights() == kept["sentences"][sentence]["cross_attention"]


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    with playing(figure_page(TrainingReplay()), ".tfrp") as seen:
        yield seen


@pytest.fixture
def replay(opened):
    shown = Replay(opened)
    shown.control("sentence").select_option("0")
    shown.control("frame").press("Home")
    shown.root.scroll_into_view_if_needed()
    return shown


def test_it_opens_at_the_first_checkpoint(replay):
    assert replay.frame() == 0
    replay.agrees()


def test_scrubbing_shows_what_was_recorded(replay):
    for sentence in (0, 1, 2, 3):
        replay.control("sentence").select_option(str(sentence))
        replay.control("frame").press("Home")
        for _ in replay.frames[1:]:
            replay.control("frame").press("ArrowRight")
            replay.agrees(sentence)
        assert replay.frame() == len(replay.frames) - 1


def test_rows_are_german_queries_and_columns_english_keys(replay):
    kept = replay.frames[0]["sentences"][0]
    rows = replay.root.locator(".tfk-grid tbody th").all_inner_texts()
    columns = replay.root.locator(".tfk-grid thead th").all_inner_texts()
    plain = [piece.strip("▁") for piece in kept["predicted_pieces"]]
    assert rows[:-1] == plain[:-1]
    assert rows[-1] == columns[-1] == "⟨eos⟩"
    assert columns[:-1] == [piece.strip("▁") for piece in kept["source_pieces"]][:-1]
    assert "query \\ English, key" in replay.root.locator(".tfk-axes").inner_text()


def test_buttons_step_and_stop_at_the_ends(replay):
    assert replay.control("back").is_disabled()
    replay.control("forward").click()
    assert replay.frame() == 1
    replay.control("end").click()
    assert replay.frame() == len(replay.frames) - 1
    assert replay.control("forward").is_disabled()
    replay.control("back").click()
    replay.agrees()
    replay.control("start").click()
    assert replay.frame() == 0


def test_a_click_on_the_loss_curve_goes_to_the_nearest_checkpoint(replay):
    ground = replay.root.locator('[data-handle="loss"]')
    box = ground.bounding_box()
    for i, kept in enumerate(replay.frames):
        share = kept["step"] / replay.frames[-1]["step"]
        ground.click(
            position={"x": min(share, 0.999) * box["width"], "y": box["height"] / 2}
        )
        assert replay.frame() == i


def test_dragging_along_the_curve_scrubs(replay):
    box = replay.root.locator('[data-handle="loss"]').bounding_box()
    y = box["y"] + box["height"] / 2
    replay.page.mouse.move(box["x"] + 5, y)
    replay.page.mouse.down()
    replay.page.mouse.move(box["x"] + box["width"] - 2, y, steps=6)
    replay.page.mouse.up()
    assert replay.frame() == len(replay.frames) - 1
    replay.agrees()


def test_it_plays_to_the_end_and_can_be_paused(replay):
    for _ in range(5):
        replay.control("forward").click()
    replay.control("play").click()
    assert replay.control("play").inner_text() == "Pause"
    assert replay.frame() == 6
    replay.control("play").click()
    assert replay.control("play").inner_text() == "Play"
    assert replay.frame() == 6
    replay.control("play").click()
    play = replay.root.locator('[data-control="play"]', has_text="Play")
    play.wait_for(timeout=driver.PATIENCE)
    assert replay.frame() == len(replay.frames) - 1
    replay.agrees()


def test_played_at_the_end_it_begins_again_and_one_before_it_stops(replay):
    replay.control("end").click()
    replay.control("play").click()
    assert replay.frame() == 0
    assert replay.control("play").inner_text() == "Pause"
    replay.control("end").click()  # any other button pauses
    assert replay.control("play").inner_text() == "Play"
    replay.control("back").click()
    replay.control("play").click()
    assert replay.frame() == len(replay.frames) - 1
    assert replay.control("play").inner_text() == "Play"


def test_words_that_are_new_are_marked(replay):
    assert replay.root.locator(".tfrp-said u").count() == 0
    replay.control("forward").click()
    before, after = (
        set(kept["sentences"][0]["translation"].split()) for kept in replay.frames[:2]
    )
    marked = replay.root.locator(".tfrp-said u").all_inner_texts()
    assert after - before <= set(marked)


def test_a_cell_tells_what_it_means(replay):
    replay.control("end").click()
    kept = replay.frames[-1]["sentences"][0]
    cell = replay.root.locator('[data-cell="2-4"]')
    cell.focus()
    said = replay.root.locator(".tfrp-readout").inner_text()
    assert "About to write “überquert”" in said
    assert f"{kept['cross_attention'][2][4]:.3f} of its attention to “cross”" in said
    cell.press("ArrowDown")
    said = replay.root.locator(".tfrp-readout").inner_text()
    assert f"{kept['cross_attention'][3][4]:.3f}" in said
    replay.root.locator('[data-cell="0-0"]').hover()
    said = replay.root.locator(".tfrp-readout").inner_text()
    assert f"{kept['cross_attention'][0][0]:.3f}" in said


def test_the_learning_rate_can_be_laid_over(replay):
    line = replay.root.locator(".tfrp-line.tfrp-rate")
    assert not line.is_visible()
    replay.control("rate").check(force=True)
    assert line.is_visible()
    replay.control("rate").uncheck(force=True)


def test_the_tables_have_all_checkpoints_and_all_weights(replay):
    summaries = replay.root.locator("summary")
    for i in range(summaries.count()):
        summaries.nth(i).click()
    tables = replay.root.locator("details")
    rows = tables.nth(0).locator("tbody tr")
    assert rows.count() == len(replay.frames)
    for row, kept in zip(rows.all(), replay.frames, strict=True):
        texts = row.locator("th, td").all_inner_texts()
        assert texts[0] == f"{kept['step']:,}"
        assert texts[3] == kept["sentences"][0]["translation"]
    weights = tables.nth(1).locator("tbody tr").first.locator("td").all_inner_texts()
    wanted = replay.frames[0]["sentences"][0]["cross_attention"][0]
    assert [float(x) for x in weights] == pytest.approx(wanted, abs=0.0051)
    for i in range(summaries.count()):
        summaries.nth(i).click()


def test_it_says_that_it_was_recorded_and_how(replay):
    said = replay.root.locator(".tfrp-source").inner_text()
    assert said.startswith("Recorded, not computed here")
    assert "the same German at each step" in said


def test_a_screen_reader_hears_step_loss_and_translation(replay):
    replay.control("forward").click()
    live = replay.root.locator("[aria-live]")
    live.filter(has_text=replay.translation()).wait_for(timeout=driver.PATIENCE)


def test_playing_moves_nothing_else_on_the_page(replay):
    height = replay.root.bounding_box()["height"]
    for sentence in range(4):
        replay.control("sentence").select_option(str(sentence))
        for name in ("start", "end", "back"):
            replay.control(name).click(force=True)
            found = replay.root.bounding_box()["height"]
            assert found == pytest.approx(height, abs=1)


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_it_is_accessible_and_fits(figure_page, playing, size):
    with playing(figure_page(TrainingReplay(), size=size), ".tfrp") as seen:
        assert seen.axe() == []
        assert seen.overflow() == []


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_curve_and_map_are_seen_together(figure_page, size):
    with figure_page(TrainingReplay(), size=size) as seen:
        curve, map_ = (
            seen.page.locator(each).bounding_box()
            for each in (".tfrp-chart", ".tfrp .tfk-grid")
        )
        if size == "wide":
            assert map_["x"] >= curve["x"] + curve["width"]
        else:
            assert map_["y"] >= curve["y"] + curve["height"]
        below = max(each["y"] + each["height"] for each in (curve, map_))
        assert below - curve["y"] < driver.SIZES[size][1]


def test_a_finger_scrubs_along_the_curve(figure_page, finger):
    with figure_page(TrainingReplay(), size="phone") as seen:
        replay = Replay(seen)
        ground = seen.page.locator('[data-handle="loss"]')
        ground.scroll_into_view_if_needed()
        box = ground.bounding_box()
        y = box["y"] + box["height"] / 2
        finger(seen.page, (box["x"] + 30, y), (box["x"] + box["width"] - 2, y + 40))
        assert replay.frame() == len(replay.frames) - 1


def test_nothing_runs_by_itself_for_a_reader_who_wants_stillness(figure_page, playing):
    with playing(figure_page(TrainingReplay(), dark=True), ".tfrp") as seen:
        replay = Replay(seen)
        assert not replay.control("play").is_visible()
        replay.control("forward").click()
        replay.agrees()
        moving = seen.page.locator('[data-cell="0-0"]').evaluate(
            "e => getComputedStyle(e).transitionDuration"
        )
        assert moving == "0s"
        assert seen.axe() == []


def test_the_chapter_shows_it_as_a_record(visit, playing):
    with playing(visit(CHAPTER, settle=False), ".tfrp", state="attached") as seen:
        assert seen.page.locator(".tfrp-source").inner_text().startswith("Recorded")
