"""A model trains in the page: played, paused, broken, asked, compared."""

from __future__ import annotations

import itertools
import re

import pytest
from driven import Driven

from tformer_book.press import browser as driver
from tformer_book.press.chapters import ROOT
from tformer_book.widgets import Playground

# What a page of the book has around a figure: a title's address, and *Copy link*.
CAPTION = """() => {
  const figure = document.createElement("figure");
  figure.className = "tf-figure";
  figure.id = "figure-playground";
  const box = document.querySelector(".tf-widget");
  box.replaceWith(figure);
  const copy = document.createElement("button");
  copy.className = "tf-copy";
  const said = document.createElement("span");
  said.className = "tf-copied";
  figure.append(box, copy, said);
}"""
LINKS = ROOT / "book/tformer_book/site/figures/figures.js"


class Shown(Driven):
    """What a reader does with the figure, and sees."""

    selector = ".tfpg"

    def chosen(self, name):
        return self.control(name).locator("option:checked").text_content()

    def step(self):
        return int(self.root.get_attribute("data-step"))

    def status(self):
        return self.root.locator(".tfpg-status").first.inner_text()

    def problem(self):
        return self.root.locator(".tfpg-problem").inner_text()

    def until(self, condition, argument=None):
        self.page.wait_for_function(condition, arg=argument, timeout=driver.PATIENCE)

    def at_step(self, n):
        self.until("n => Number(document.querySelector('.tfpg').dataset.step) >= n", n)

    def evaluated(self, n):
        """Wait until exactly this step is what the figure shows, evaluated, too."""
        self.until(
            """n => { const {step, evaluated} = document.querySelector('.tfpg').dataset;
            return Number(step) === n && Number(evaluated) === n; }""",
            n,
        )

    def one_step(self):
        now = self.step()
        self.control("one-step").click()
        self.evaluated(now + 1)

    def curves(self):
        return [
            line.get_attribute("points")
            for line in self.root.locator(".tfpg-charts polyline").all()
        ]

    def says(self, text):
        """Wait until the model's answer has this text."""
        answer = self.root.locator(".tfpg-answer")
        answer.filter(has_text=text).wait_for(timeout=driver.PATIENCE)


@pytest.fixture
def opened(figure_page, playing):
    with playing(figure_page(Playground(), settle=False), ".tfpg[data-ready]") as seen:
        shown = Shown(seen)
        shown.says("should be hgfedcba")  # it has been asked, and has learned nothing
        yield shown


def test_it_learns_to_reverse_and_pauses_when_told(opened):
    opened.control("play").click()
    assert opened.control("play").inner_text() == "Pause"
    opened.says("hgfedcba ✓")
    opened.control("play").click()
    at = opened.step()
    assert at > 50
    opened.page.wait_for_timeout(400)
    assert opened.step() <= at + 10  # what was on its way
    large = opened.root.locator(".tfpg-large")
    assert "head 1. Each row’s largest weight: ⟨bos⟩ to" in large.get_attribute(
        "aria-label"
    )


def test_a_chart_says_what_will_grow_in_it_until_it_does(opened):
    waits = opened.root.locator(".tfpg-awaits")
    assert waits.all_text_contents() == [
        "Press Play and watch the loss fall here.",
        "And here, watch what it gets right grow.",
    ]
    opened.one_step()
    assert waits.count() == 0


def test_the_same_seed_gives_the_same_numbers_and_another_one_others(opened):
    def three_steps():
        for _ in range(3):
            opened.one_step()
        return opened.curves()

    first = three_steps()
    opened.control("again").click()
    opened.evaluated(0)
    assert three_steps() == first
    opened.control("reseed").click()
    opened.evaluated(0)
    assert "seed 2" in opened.status()
    assert three_steps() != first


def test_without_the_causal_mask_the_loss_falls_and_what_it_writes_is_wrong(opened):
    opened.control("switch-causal").uncheck()
    opened.control("play").click()
    opened.at_step(300)
    opened.control("play").click()
    label = opened.root.locator(".tfpg-chart svg").nth(1).get_attribute("aria-label")
    written, symbols = (
        float(each.split("\xa0")[0].split()[-1]) for each in label.split(";")
    )
    assert written < 20 < 80 < symbols


def test_settings_that_do_not_fit_are_said_and_not_taken(opened):
    opened.root.locator(".tfpg-group").nth(1).locator("summary").click()
    before = opened.status()
    assert "21,920 parameters" in before
    opened.control("width").select_option("0")  # 16
    opened.until(
        "!document.querySelector('.tfpg-status').textContent.includes('21,920')"
    )
    opened.control("task").select_option(label="Own lines")
    opened.until("document.querySelector('.tfpg-problem').textContent")
    assert "give 4 to 5000" in opened.problem()
    opened.control("play").click()
    assert opened.step() == 0
    opened.control("lines").fill("\n".join(f"{i} {i % 7}\t{i % 7}" for i in range(40)))
    opened.control("take-lines").click()
    opened.until("!document.querySelector('.tfpg-problem').textContent")
    opened.control("play").click()
    opened.at_step(20)


def test_another_task_brings_its_own_example(opened):
    opened.control("task").select_option(label="Sort")
    opened.says("should be 11234569")
    assert opened.control("text").input_value() == "31415926"


def test_a_sequence_with_strange_letters_is_told_so(opened):
    opened.control("text").fill("xyz")
    opened.says("“x”")
    opened.control("text").fill("")
    opened.says("Type a sequence")


def test_an_experiment_asks_first_and_tells_what_came_out(opened):
    opened.control("experiment").select_option(label="3 The leak")
    assert opened.control("run-both").is_disabled()
    opened.control("guess-2").check(force=True)
    opened.control("run-both").click()
    verdict = opened.root.locator(".tfpg-verdict")
    verdict.filter(has_text="After 300 steps").wait_for(timeout=driver.PATIENCE)
    assert verdict.get_attribute("data-expected") == "true"
    assert "Your guess was right." in verdict.inner_text()
    assert "(without)" in verdict.inner_text()

    said = verdict.inner_text()
    opened.control("experiment").select_option(label="1 No positions")
    assert verdict.inner_text() == ""
    assert verdict.get_attribute("data-expected") is None
    opened.control("experiment").select_option(label="3 The leak")
    assert verdict.inner_text() == said, "what came out is kept"
    assert verdict.get_attribute("data-expected") == "true"
    assert opened.root.locator(".tfpg-experiments .tfpg-chart svg").count() == 1
    assert opened.control("guess-2").is_checked()


def test_the_map_tells_the_weight_that_is_pointed_at(opened):
    opened.says("should be")
    title = opened.root.locator(".tfpg-map-title")
    large = opened.root.locator("canvas.tfpg-large")
    plain = title.inner_text()
    box = large.bounding_box()
    large.hover(position={"x": box["width"] - 5, "y": box["height"] - 5})
    assert re.search(r", head \d: \S+ → \S+, [\d.]+\s%$", title.inner_text())
    large.hover(position={"x": 5, "y": 5})  # beside the cells
    assert title.inner_text() == plain


def test_the_words_of_a_large_map_do_not_overlap(opened):
    opened.control("task").select_option(label="Own lines")
    line = " ".join("abcdefgh"[i % 8] for i in range(28))
    opened.control("lines").fill("\n".join(f"{line} {i}\t{i}" for i in range(8)))
    opened.control("take-lines").click()
    opened.control("text").fill(f"{line} 3")
    opened.says("writes")
    opened.root.locator(".tfpg-small label").first.click()  # of the source's words
    opened.page.evaluate(
        """() => {
          window.drawn = [];
          const pen = CanvasRenderingContext2D.prototype;
          const fill = pen.fillText;
          pen.fillText = function (...given) {
            if (this.textAlign === "right") window.drawn.push(given[2]);
            return fill.apply(this, given);
          };
        }"""
    )
    opened.control("text").fill(f"{line} 4")
    opened.until("window.drawn.length > 9")
    rows = sorted(set(opened.page.evaluate("() => window.drawn")))
    assert min(b - a for a, b in itertools.pairwise(rows)) >= 12


def test_it_can_be_played_by_keyboard(opened):
    play = opened.control("play")
    play.focus()
    opened.page.keyboard.press("Enter")
    opened.at_step(5)
    opened.page.keyboard.press("Space")
    assert play.inner_text() == "Play"


def test_a_run_is_kept_under_the_next_until_it_is_dropped(opened):
    kept = opened.root.locator(".tfpg-earlier")
    for _ in range(2):
        opened.one_step()
    curve = opened.curves()[2]  # of new sequences; the first is of a kept run
    opened.control("keep").click()
    assert "Kept to compare: Reverse. At step 2" in kept.inner_text()
    opened.until("() => document.querySelector('.tfpg-before').getAttribute('points')")
    assert opened.curves()[0] == curve
    opened.control("switch-positions").uncheck()
    opened.evaluated(0)
    opened.one_step()
    assert opened.curves()[0] == curve
    opened.control("keep").click()
    assert not kept.is_visible()
    opened.until("() => !document.querySelector('.tfpg-before').getAttribute('points')")
    opened.control("keep").click()
    assert "Reverse, Positions off. At step 1" in kept.inner_text()


def test_another_setting_leaves_the_run_before_in_the_chart(opened):
    before = opened.root.locator(".tfpg-earlier")
    opened.one_step()
    opened.one_step()
    curve = opened.curves()[2]
    opened.control("switch-positions").uncheck()
    opened.evaluated(0)
    opened.one_step()
    assert opened.curves()[0] == curve
    assert "The run before: Reverse. At step 2" in before.inner_text()
    opened.control("switch-causal").uncheck()
    opened.until(
        "document.querySelector('.tfpg-earlier').textContent.includes('Positions off')"
    )
    opened.control("switch-scale").uncheck()  # of a run without a step nothing is kept
    opened.evaluated(0)
    assert "Reverse, Positions off. At step 1" in before.inner_text()
    opened.control("task").select_option(label="Sort")
    opened.says("should be 11234569")
    assert not before.is_visible()


def test_three_steps_are_shown_where_they_are_to_be_done(opened):
    def marked(step):
        coach = opened.root.locator(".tfpg-coach")
        assert coach.inner_text().startswith(f"{step} of 3.")
        return opened.root.evaluate(
            """root => [...root.querySelectorAll('*')].filter(e =>
            getComputedStyle(e).outlineStyle === 'dashed').map(e => e.innerText)"""
        )

    done = opened.root.locator(".tfpg-done")
    assert marked(1) == ["Play"]
    assert done.count() == 0
    opened.one_step()
    done.wait_for()
    opened.control("coach-next").click()
    assert "cross 0.1" in marked(2)[0]
    opened.root.locator(".tfpg-small label", has_text="cross 0.0").click()
    done.wait_for()
    opened.control("coach-next").click()
    assert "Positions" in marked(3)[0]
    assert opened.control("coach-next").is_disabled()
    opened.control("switch-positions").uncheck()
    opened.one_step()
    done.wait_for()
    opened.control("coach-close").click()
    assert done.count() == 0
    opened.control("coach").click()
    assert marked(1) == []  # it has learned already


def test_controls_curves_and_maps_stand_on_the_first_screen(opened):
    left, middle, right = (
        opened.root.locator(each).bounding_box()
        for each in (".tfpg-set", ".tfpg-curves", ".tfpg-maps")
    )
    assert left["x"] + left["width"] <= middle["x"]
    assert middle["x"] + middle["width"] <= right["x"]
    for part in (".tfpg-break", ".tfpg-curves", ".tfpg-maps"):
        box = opened.root.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 900


def captioned(seen):
    """The figure as it stands on a page of the book, its link followed."""
    seen.page.wait_for_selector(".tf-widget[data-ready] .tfpg[data-ready]")
    seen.page.evaluate(CAPTION)
    seen.page.add_script_tag(path=LINKS, type="module")
    return Shown(seen)


def test_a_link_restores_task_switches_rate_seed_and_text(figure_page, playing):
    opened = figure_page(Playground(), settle=False)
    with playing(opened, ".tfpg[data-ready]") as seen:
        page = seen.page
        shown = captioned(seen)
        shown.control("task").select_option(label="Sort")
        shown.control("switch-positions").uncheck()
        shown.root.locator(".tfpg-group").nth(2).locator("summary").click()
        shown.control("rate").select_option(label="0.01")
        shown.control("reseed").click()
        shown.control("text").fill("40721")
        shown.says("should be 01247")
        page.locator(".tf-copy").click()
        link = page.url
        page.goto("about:blank")
        page.goto(link)
        again = captioned(seen)
        again.says("should be 01247")
        assert again.chosen("task") == "Sort"
        assert not again.control("switch-positions").is_checked()
        assert again.control("switch-causal").is_checked()
        assert again.chosen("rate") == "0.01"
        assert "seed 2" in again.status()
        assert again.control("text").input_value() == "40721"
        again.one_step()
        assert again.problem() == ""


LINES = "\n".join(f"{word}\t{word}s" for word in [f"word{n}" for n in range(60)])


def test_a_link_brings_own_lines_along_and_no_others(figure_page, playing):
    opened = figure_page(Playground(), settle=False)
    with playing(opened, ".tfpg[data-ready]") as seen:
        page = seen.page
        shown = captioned(seen)
        shown.control("task").select_option(label="Own lines")
        shown.control("lines").fill(LINES)
        shown.control("take-lines").click()
        shown.evaluated(0)
        page.locator(".tf-copy").click()
        link = page.url
        shown.control("task").select_option(label="Sort")
        page.locator(".tf-copy").click()
        assert "word1" in link and "word1" not in page.url
        page.goto("about:blank")
        page.goto(link)
        again = captioned(seen)
        again.evaluated(0)
        assert again.control("lines").input_value() == LINES
        again.one_step()
        assert again.problem() == ""


def test_a_text_too_long_for_a_link_is_said_to_be_left_out(figure_page, playing):
    opened = figure_page(Playground(), settle=False)
    with playing(opened, ".tfpg[data-ready]") as seen:
        shown = captioned(seen)
        shown.control("task").select_option(label="Own lines")
        shown.control("lines").fill("\n".join([LINES] * 8))
        shown.control("take-lines").click()
        shown.evaluated(0)
        seen.page.locator(".tf-copy").click()
        said = seen.page.locator(
            ".tf-copied", has_text="A text too long for a link is left out."
        )
        said.wait_for(timeout=driver.PATIENCE)
        assert "word1" not in seen.page.url


def test_without_lines_there_is_nothing_to_play(opened):
    opened.one_step()
    opened.control("task").select_option(label="Own lines")
    opened.root.locator(".tfpg-problem", has_text="there are none yet").wait_for()
    opened.control("play").click()
    opened.page.wait_for_timeout(500)
    assert opened.control("play").inner_text() == "Play"
    assert opened.step() == 0


def test_a_length_that_was_never_trained_is_told(opened):
    opened.control("text").fill("abc")
    opened.says("It has only ever seen 4 to 8 symbols.")
    opened.control("text").fill("abcd")
    opened.says("should be dcba")
    assert "only ever" not in opened.root.locator(".tfpg-answer").inner_text()


def test_two_runs_can_be_stopped(opened):
    go = opened.control("run-both")
    opened.control("guess-0").check(force=True)
    go.click()
    assert go.inner_text() == "Stop"
    assert opened.control("guess-1").is_disabled(), "no second thoughts"
    go.click()
    assert go.inner_text() == "Run both"
    assert go.is_disabled(), "guess first"


def test_what_a_link_cannot_mean_is_left_out(figure_page, playing):
    opened = figure_page(Playground(), settle=False)
    with playing(opened, ".tfpg[data-ready]") as seen:
        page = seen.page
        sound = "switch-residual=0&text=jabe"
        for nonsense in ("seed=x", "seed=-3", "seed=1e99", "seed="):
            rest = "task=77&rate=fast&switch-scale=maybe&heads=&guess=9&__proto__=1"
            address = page.url.partition("#")[0]
            page.goto("about:blank")
            page.goto(f"{address}#figure=playground&{nonsense}&{rest}&{sound}")
            shown = captioned(seen)
            shown.says("should be ebaj")
            assert not shown.control("switch-residual").is_checked()
            assert shown.control("switch-scale").is_checked()
            assert shown.problem() == ""
            assert "seed 1" in shown.status()
            assert shown.control("seed").input_value() == "1"


def test_fingers_play_it_and_nothing_moves_that_need_not(figure_page, playing):
    opened = figure_page(
        Playground(), size="phone", dark=True, settle=False, touch=True
    )
    with playing(opened, ".tfpg[data-ready]") as seen:
        shown = Shown(seen)
        shown.says("should be hgfedcba")
        title = shown.root.locator(".tfpg-map-title").inner_text()
        shown.root.locator(".tfpg-small label").first.tap()
        assert shown.root.locator(".tfpg-map-title").inner_text() != title
        assert shown.root.locator(".tfpg-small input").first.is_checked()
        shown.control("switch-shift").tap()
        assert not shown.control("switch-shift").is_checked()
        shown.evaluated(0)
        shown.control("play").tap()
        shown.at_step(5)
        assert seen.page.evaluate("() => document.getAnimations().length") == 0
        shown.control("play").tap()
        assert shown.control("play").inner_text() == "Play"


def test_the_same_head_of_a_kept_run_stands_beside_the_new_one(opened):
    opened.one_step()
    twin = opened.root.locator(".tfpg-twin")
    assert not twin.is_visible()
    opened.root.locator(".tfpg-small label").first.click()
    large = opened.root.locator(".tfpg-large")
    kept = large.get_attribute("aria-label")
    opened.control("keep").click()
    opened.control("switch-positions").click()
    opened.evaluated(0)
    opened.one_step()
    assert twin.get_attribute("aria-label") == f"Kept to compare: {kept}"
    assert large.get_attribute("aria-label") != kept
    first, second = large.bounding_box(), twin.bounding_box()
    assert first["width"] == pytest.approx(second["width"], abs=60)
    assert (
        first["x"] + first["width"] < second["x"]
        or first["y"] + first["height"] < second["y"]
    )
    opened.control("keep").click()  # drops it
    assert not twin.is_visible()


def test_on_paper_there_are_charts_and_maps_but_nothing_to_press(opened):
    opened.one_step()
    opened.page.emulate_media(media="print")
    assert opened.root.locator(".tfpg-chart svg").first.is_visible()
    assert opened.root.locator(".tfpg-large").is_visible()
    assert not opened.control("play").is_visible()
    assert not opened.control("run-both").is_visible()


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_it_fits_and_every_reader_can_use_it(figure_page, playing, size):
    opened = figure_page(Playground(), size=size, dark=True, settle=False)
    with playing(opened, ".tfpg[data-ready]") as seen:
        shown = Shown(seen)
        shown.says("should be hgfedcba")
        assert seen.overflow() == []
        assert seen.axe() == []
        places = [".tfpg-charts", ".tfpg-own", ".tfpg-maps"]
        at_first = [shown.root.locator(each).bounding_box()["y"] for each in places]
        shown.control("play").click()
        shown.at_step(10)
        shown.control("play").click()
        now = [shown.root.locator(each).bounding_box()["y"] for each in places]
        assert now == at_first
