"""Teacher forcing beside decoding, driven by mouse and keyboard, against PyTorch."""

import math

import pytest
import torch
from driven import Driven

from tformer import decode
from tformer_book.press import browser as driver
from tformer_book.widgets import TeacherForcing
from tformer_book.widgets.teacher_forcing import CHANGED, GIVEN, RUNNING

pytestmark = pytest.mark.xdist_group("teacher-forcing")
LABEL, P, LIKELIEST, MOVED, OWN, OWN_P = 1, 2, 3, 4, 6, 7
PARTED = 2  # counted from 0


class Lesson(Driven):
    """What a reader can do with the figure, and what it shows."""

    selector = ".tft"

    def column(self, j, exact=False):
        """A column of the table, as texts or as numbers."""
        cells = self.root.locator(f".tft-rows tbody td:nth-child({j + 2})")
        if not exact:
            return cells.all_inner_texts()
        found = cells.evaluate_all("all => all.map(e => e.dataset.exact)")
        return [None if x is None else float(x) for x in found]

    def go(self, position):
        self.control("step").fill(str(position + 1))

    def to_the_end(self):
        self.control("step").press("End")

    def side(self, name):
        """The bars of a distribution: {piece: p}."""
        rows = self.root.locator(f'[data-side="{name}"] tr[data-piece]')
        return {
            row.get_attribute("data-piece"): float(
                row.locator("td[data-exact]").get_attribute("data-exact")
            )
            for row in rows.all()
        }

    def track(self, name):
        """The pieces of "trunk", "teacher" or "own", as far as they can be seen."""
        tiles = self.root.locator(f'[data-line="{name}"] .tft-tile:not([data-later])')
        return tiles.evaluate_all("all => all.map(e => e.dataset.piece)")

    def verdict(self):
        return self.root.locator(".tft-verdict").inner_text()

    def teach(self, german):
        self.control("german").fill(german)
        self.control("german").press("Enter")
        self.wait()

    def ask(self, text):
        self.control("text").fill(text)
        self.control("text").press("Enter")
        self.wait()

    def wait(self):
        self.page.wait_for_timeout(50)
        self.root.locator("form.tfk-ask:not(.tft-form):not([data-busy])").wait_for(
            timeout=driver.PATIENCE
        )


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    visit = figure_page(TeacherForcing())
    with playing(visit) as seen:
        seen.page.locator(".tft summary", has_text="Position by position").click()
        yield seen


@pytest.fixture
def lesson(opened):
    return Lesson(opened)


def agrees(lesson, translator, text, german):
    scored = translator.score(text, german)
    shown = [p for p in lesson.column(P, exact=True) if p is not None]
    assert shown == pytest.approx(
        [math.exp(x) for x in scored.log_probabilities], abs=1e-3
    )
    assert f"log p {scored.log_probability:.2f}".replace("-", "−") in lesson.verdict()
    source_ids = torch.tensor([translator.encode(text)])
    (own,) = decode.greedy(translator.model, source_ids, max_len=128)
    (mine,) = decode.score(translator.model, source_ids, [own])
    shown = [p for p in lesson.column(OWN_P, exact=True) if p is not None]
    assert shown == pytest.approx(
        [math.exp(x) for x in mine.log_probabilities], abs=1e-3
    )


def test_the_recorded_example_shows_without_the_model(lesson, translator):
    agrees(lesson, translator, RUNNING, GIVEN)
    assert f"part at position {PARTED + 1}" in lesson.verdict()
    assert lesson.control("step").input_value() == str(PARTED + 1)
    assert not [url for url in lesson.seen.asked if "/model/" in url]


def test_decoding_fills_step_by_step_beside_one_pass(lesson):
    lesson.control("start").click()
    assert lesson.column(OWN)[1] == "…"
    assert all(lesson.column(LABEL))
    lesson.control("forward").click()
    assert lesson.column(OWN)[1].startswith("=")
    lesson.control("step").focus()
    lesson.page.keyboard.press("End")
    assert "…" not in lesson.column(OWN)
    lesson.control("back").click()
    assert lesson.control("step").input_value() == str(len(lesson.column(OWN)) - 1)


def test_both_distributions_are_equal_until_they_part(lesson):
    for position in (0, PARTED):
        lesson.go(position)
        assert lesson.side("teacher") == pytest.approx(lesson.side("own"), abs=1e-5)
    lesson.go(PARTED + 1)
    assert lesson.side("teacher").keys() != lesson.side("own").keys()
    assert lesson.column(OWN)[PARTED].startswith("≠")
    assert lesson.column(LIKELIEST)[PARTED].startswith("≠")


def test_two_tracks_of_text_part_where_the_model_takes_another_piece(
    lesson, translator
):
    source_ids = torch.tensor([translator.encode(RUNNING)])
    (own,) = decode.greedy(translator.model, source_ids, max_len=128)
    own = [translator.tokenizer.id_to_piece(i) for i in own] + ["</s>"]
    given = translator.score(RUNNING, GIVEN).pieces
    lesson.to_the_end()
    trunk, teacher, mine = map(lesson.track, ("trunk", "teacher", "own"))
    assert len(trunk) == PARTED
    assert trunk + teacher == given
    assert trunk + mine == own[: len(trunk + mine)]
    marked = lesson.root.locator(".tft-parts")
    assert marked.evaluate_all("all => all.map(e => e.dataset.piece)") == [
        teacher[0],
        mine[0],
    ]


def test_the_teachers_track_is_there_at_once_and_the_models_grows(lesson):
    lesson.to_the_end()
    whole = lesson.track("teacher"), lesson.track("own")
    lesson.go(PARTED)
    assert lesson.track("teacher") == whole[0]
    assert lesson.track("own") == whole[1][:1]
    lesson.control("forward").click()
    assert lesson.track("own") == whole[1][:2]


def test_play_writes_to_the_end_and_stops_there(lesson):
    lesson.go(10)
    lesson.control("play").click()
    assert lesson.control("play").inner_text() == "Pause"
    lesson.control("play").filter(has_text="Play").wait_for(timeout=driver.PATIENCE)
    assert lesson.control("step").input_value() == "14"


def test_tiles_are_reached_by_arrow_keys_and_by_clicks(lesson):
    lesson.root.locator('[data-line="own"] [data-tile="4"]').click()
    assert lesson.control("step").input_value() == "5"
    lesson.page.keyboard.press("ArrowRight")
    focused = lesson.page.evaluate("document.activeElement.dataset.tile")
    assert (focused, lesson.control("step").input_value()) == ("5", "6")
    lesson.page.keyboard.press("Home")
    assert lesson.page.evaluate("document.activeElement.dataset.tile") == "0"
    assert lesson.root.locator('.tft-tile[tabindex="0"]').count() == 1


def test_rows_are_reached_by_arrow_keys_and_by_clicks(lesson):
    lesson.go(2)
    lesson.root.locator('[data-row="2"]').focus()
    lesson.page.keyboard.press("ArrowDown")
    assert lesson.page.evaluate("document.activeElement.dataset.row") == "3"
    assert lesson.control("step").input_value() == "4"
    lesson.page.keyboard.press("Home")
    assert lesson.control("step").input_value() == "1"
    lesson.root.locator('[data-position="5"]').click()
    assert lesson.control("step").input_value() == "6"
    assert lesson.root.locator('[data-row][tabindex="0"]').count() == 1


def test_another_word_moves_only_later_positions_without_the_model(lesson, translator):
    lesson.go(13)
    lesson.control("other").click()
    agrees(lesson, translator, RUNNING, CHANGED)
    moved = lesson.column(MOVED, exact=True)
    assert moved[:10] == [0] * 10
    assert all(shift > 0 for shift in moved[10:])
    assert "all of them later ones" in lesson.verdict()
    lesson.control("other").click()
    assert lesson.control("german").input_value() == GIVEN
    assert not [url for url in lesson.seen.asked if "/model/" in url]


def test_the_table_behind_it_holds_both_distributions(lesson):
    behind = lesson.root.locator("details", has_text="The whole distributions")
    behind.locator("summary").click()
    rows = behind.locator("tbody tr")
    assert rows.count() == 14
    assert "▁Der" in rows.first.inner_text()
    behind.locator("summary").click()


def test_a_german_that_is_typed_is_scored_in_the_page(lesson, translator):
    german = "Der Hund ging nicht über die Straße, weil er müde war."
    lesson.teach(german)
    lesson.to_the_end()
    agrees(lesson, translator, RUNNING, german)
    moved = lesson.column(MOVED, exact=True)
    assert moved[:3] == [0, 0, 0]
    assert all(shift > 0 for shift in moved[3:6])
    lesson.teach(GIVEN)


def test_a_likely_piece_is_taught_instead_at_a_press(lesson):
    lesson.go(9)
    button = lesson.root.locator('[data-side="teacher"] [data-piece="▁es"] button')
    button.focus()
    lesson.page.keyboard.press("Enter")
    lesson.wait()
    assert lesson.control("german").input_value() == CHANGED
    assert lesson.column(LABEL)[9] == "▁es"
    assert lesson.column(MOVED, exact=True)[:10] == [0] * 10
    lesson.teach(GIVEN)


def test_a_new_sentence_is_taught_its_own_translation(lesson, translator):
    text = "Two dogs play in the snow."
    lesson.ask(text)
    lesson.to_the_end()
    german = translator.translate(text, beam_size=1)
    assert lesson.control("german").input_value() == german
    agrees(lesson, translator, text, german)
    assert "takes what the teacher gives, at every position" in lesson.verdict()
    assert lesson.track("teacher") == lesson.track("own") == []
    lesson.teach(german.replace("Schnee", "Park"))
    assert "part at position" in lesson.verdict()
    lesson.teach(" ")
    assert "nothing to teach" in lesson.root.locator("[data-said]").inner_text()


def test_findings_are_announced(lesson):
    lesson.control("start").click()
    live = lesson.root.locator("[aria-live]")
    live.filter(has_text="Position 1. The teacher says").wait_for(
        timeout=driver.PATIENCE
    )


@pytest.mark.parametrize("look", [{}, {"size": "phone"}, {"dark": True}], ids=str)
def test_it_is_accessible_and_fits(figure_page, look):
    with figure_page(TeacherForcing(), **look) as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
        assert seen.layout_shift() <= 0.01
        seen.page.locator('[data-control="other"]').click()
        seen.page.locator('[data-control="step"]').fill("12")
        for summary in seen.page.locator("summary").all():
            summary.click()
        assert seen.axe() == []
        assert seen.overflow() == []
