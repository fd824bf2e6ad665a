"""The first page's figure, driven by mouse, keyboard and finger."""

import copy
import re
from itertools import pairwise

import pytest
import torch

from tformer import load_pretrained
from tformer.translator import Translator
from tformer_book.press.browser import PATIENCE
from tformer_book.widgets import FirstTranslation, first_translation

FIRST = "Why did you not call me yesterday?"
SENTENCES = {
    FIRST: first_translation.SENTENCES[FIRST],
    "My brother has bought a new car.": {"Mein": "my"},
}


@pytest.fixture(scope="module")
def opened(figure_page, playing):
    page = figure_page(FirstTranslation(SENTENCES), settle=False)
    with playing(page, ".tff") as seen:
        yield seen.page


def come_to_rest(page):
    """The first sentence, played anew to its end: nobody has pointed at its words."""
    page.set_viewport_size({"width": 1100, "height": 900})
    for sentence in (1, 0):
        page.locator(f'[data-control="sentence-{sentence}"]').check(force=True)
    page.get_by_role("button", name="Play again").wait_for()


def german(page):
    return [
        each.inner_text()
        for each in page.locator(".tff-german button:not([data-hidden])").all()
    ]


def test_it_writes_word_by_word_until_the_sentence_is_there(opened):
    opened.locator('[data-control="sentence-1"]').check(force=True)
    opened.wait_for_function(
        "() => 2 =="
        " document.querySelectorAll('.tff-german button:not([data-hidden])').length"
    )
    assert german(opened) == ["Mein", "Bruder"]
    assert opened.locator('[data-control="again"]').inner_text() == "Skip"
    headline = opened.inner_text(".tff-key")
    assert headline.startswith(
        "To write “Bruder” (brother), this model looked most at “brother”"
    )
    assert "Nobody" not in headline  # until it stands still
    opened.wait_for_function(
        "() => !document.querySelector('.tff-german [data-hidden]')"
    )
    assert " ".join(german(opened)) == "Mein Bruder hat ein neues Auto gekauft ."
    opened.get_by_role("button", name="Play again").wait_for()
    assert opened.inner_text(".tff-key").endswith("Nobody told it where to look.")
    opened.locator(".tff-german button").first.click()
    assert "Nobody" not in opened.inner_text(".tff-key")  # it was said


def test_who_does_not_want_to_wait_has_it_all_at_once(opened):
    again = opened.get_by_role("button", name="Play again")
    again.wait_for()
    again.click()
    assert len(german(opened)) <= 1
    opened.get_by_role("button", name="Skip").click()
    assert len(german(opened)) == 8
    opened.wait_for_timeout(1000)
    assert again.is_visible() and len(german(opened)) == 8


def test_words_that_need_a_second_line_stand_in_columns(opened):
    opened.locator(".tff textarea").fill(
        "The children are playing with a small dog in the garden because the sun is"
        " shining today."
    )
    opened.get_by_role("button", name="Translate").click()
    opened.get_by_text("Kinder", exact=True).wait_for()
    beside = opened.locator(".tff-pair[data-columns]")
    for width, is_beside in ((1100, 0), (390, 1), (1100, 0)):
        opened.set_viewport_size({"width": width, "height": 900})
        beside.wait_for(state="attached" if is_beside else "detached")
        places = [
            each.bounding_box() for each in opened.locator(".tff-english button").all()
        ]
        edges = [
            place["x"] + place["width"] if is_beside else place["y"] for place in places
        ]
        assert max(edges) - min(edges) < 1


def test_a_word_that_is_chosen_shows_where_it_came_from(opened):
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.locator(".tff-german button", has_text="gestern").click(force=True)
    assert "It gave “yesterday”\u00a0" in opened.inner_text(".tff-told")
    opened.keyboard.press("ArrowLeft")
    assert "To write “mich”" in opened.inner_text(".tff-key")
    opened.keyboard.press("Home")
    assert "To write “Warum”" in opened.inner_text(".tff-key")
    strong = opened.locator(".tff-lines path[data-at]")
    assert strong.count() >= 1
    assert opened.locator(".tff-lines path").count() > 2 * strong.count()


def test_english_words_are_walked_along_as_german_ones_are(opened):
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.locator(".tff-german button", has_text="mich").click(force=True)
    opened.keyboard.press("Shift+Tab")
    assert "gave “Why”" in opened.inner_text(".tff-told")
    opened.keyboard.press("ArrowDown")
    assert "gave “did”" in opened.inner_text(".tff-told")
    opened.keyboard.press("End")
    assert "gave “?”" in opened.inner_text(".tff-told")


def test_on_a_phone_all_sentences_stand_in_columns(opened):
    opened.set_viewport_size({"width": 390, "height": 844})
    opened.locator(".tff textarea").fill("Come in!")
    opened.get_by_role("button", name="Translate").click()
    opened.get_by_text("herein", exact=False).or_(
        opened.get_by_text("Komm", exact=False)
    ).first.wait_for()
    assert opened.locator(".tff-pair[data-columns]").count() == 1
    opened.set_viewport_size({"width": 1100, "height": 900})
    opened.locator(".tff-pair:not([data-columns])").wait_for()


def test_an_english_word_shows_what_it_was_looked_at_for(opened):
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.locator(".tff-german button", has_text="mich").click(force=True)
    opened.locator(".tff-english button", has_text="yesterday").click()
    told = opened.inner_text(".tff-told")
    assert "“gestern” gave “yesterday”\u00a0" in told
    assert opened.locator(".tff-german [data-at]").count() == 0
    word = opened.locator(".tff-english button", has_text="yesterday").evaluate(
        "({ offsetLeft: x, offsetWidth: w }) => [x, x + w]"
    )
    lines = strong_lines(opened)
    assert len(lines) > 1
    for start, _, width, _ in lines:  # they begin at the word
        assert word[0] <= start - width / 2 <= start + width / 2 <= word[1]


def test_lines_lie_side_by_side_and_are_as_wide_as_their_shares(opened):
    """… so that how a word divides its attention can be read off where they end."""
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.locator(".tff-german button", has_text="hast").click(force=True)
    lines = sorted(strong_lines(opened), key=lambda line: line[1])
    assert len(lines) > 1
    for (_, left, width, _), (_, right, next_width, _) in pairwise(lines):
        assert right - left == pytest.approx((width + next_width) / 2, abs=0.2)
    for _, _, width, share in lines:
        assert width / share == pytest.approx(lines[0][2] / lines[0][3], rel=0.05)


def strong_lines(opened):
    """Where each line of the chosen word starts and ends, its width and its share."""
    found = opened.locator(".tff-lines path[data-at]").evaluate_all(
        """lines => lines.map(line => {
          const numbers = line.getAttribute("d").match(/[\\d.]+/g).map(Number);
          const of = (name) => parseFloat(line.style.getPropertyValue(name));
          return [numbers[0], numbers.at(-2), of("stroke-width"), of("--share")];
        })"""
    )
    return [tuple(each) for each in found]


def test_an_english_word_answers_while_the_translation_is_still_written(opened):
    for sentence in (1, 0):  # choosing another one plays it
        opened.locator(f'[data-control="sentence-{sentence}"]').check(force=True)
    opened.get_by_role("button", name="Skip").wait_for()
    opened.locator(".tff-english button", has_text="yesterday").hover()
    assert "gave “yesterday”" in opened.inner_text(".tff-told")
    assert len(german(opened)) == 8
    assert opened.get_by_role("button", name="Play again").is_visible()


def test_all_lines_are_back_after_the_mouse_has_left(opened):
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.get_by_role("button", name="Play again").wait_for()
    opened.locator(".tff-german button", has_text="mich").hover()
    picked = opened.locator(".tff-pair[data-picked]")
    assert picked.count() == 1
    opened.locator(".tff textarea").hover()
    picked.wait_for(state="detached")
    assert "To write “mich”" in opened.inner_text(".tff-key")  # what is told stays


def test_words_are_tinted_that_lines_lead_to(opened):
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.locator(".tff-german button", has_text="mich").click(force=True)
    told = opened.inner_text(".tff-told")
    tinted = [
        word.inner_text()
        for word in opened.locator(".tff-english button").all()
        if word.evaluate("each => each.style.getPropertyValue('--share')") != "0"
    ]
    assert len(tinted) == opened.locator(".tff-lines path[data-at]").count()
    named = re.findall("“(.*?)”", told)
    assert named and set(named) == set(tinted)


def test_the_first_words_stand_there_when_the_page_opens(figure_page, playing):
    page = figure_page(FirstTranslation(SENTENCES), settle=False)
    with playing(page, ".tff") as seen:
        assert german(seen.page)[:2] == ["Warum", "hast"]


def test_what_asking_costs_is_said_to_who_is_about_to_ask(figure_page, playing):
    with playing(figure_page(FirstTranslation(SENTENCES)), ".tff") as seen:
        said = seen.page.locator(".tff [data-said]")
        assert "MB" not in said.inner_text()
        box = seen.page.locator(".tff textarea")
        assert box.input_value() == ""
        box.focus()
        assert "MB" in said.inner_text()


def test_an_example_leaves_the_field_and_what_was_typed_stays(opened):
    opened.locator('[data-control="sentence-0"]').check(force=True)
    box = opened.locator(".tff textarea")
    assert box.input_value() == ""
    box.click()
    opened.keyboard.type("A man")
    assert box.input_value() == "A man"
    opened.locator(".tff").click(position={"x": 1, "y": 1})
    box.click()
    opened.keyboard.type(" sleeps.")
    assert sorted(box.input_value()) == sorted("A man sleeps.")


def test_who_chooses_from_below_is_shown_the_translation(visit):
    with visit("book/intro.html", size="phone") as seen:
        page = seen.page
        page.locator(".tff-german button").first.wait_for()
        chip = page.locator(".tff .tfk-chip").last
        chip.scroll_into_view_if_needed()
        page.evaluate("scrollBy({ top: 400, behavior: 'instant' })")
        top = "document.querySelector('.tff-pair').getBoundingClientRect().top"
        assert page.evaluate(top) < 0
        chip.click()
        page.wait_for_function(f"() => {top} > 40")


def test_who_asks_sees_what_is_said_of_the_answer(visit):
    with visit("book/intro.html", size="phone", touch=True) as seen:
        page = seen.page
        page.locator(".tff-german button").first.wait_for()
        page.locator(".tff textarea").fill("Can you help me?")
        page.locator(".tff .tfk-ask-line button").click()
        said = page.locator(".tff .tfk-said", has_text="often wrong")
        said.wait_for(timeout=PATIENCE)
        page.wait_for_timeout(1000)  # it glides
        box = said.bounding_box()
        assert box["y"] + box["height"] <= page.viewport_size["height"]


@pytest.mark.parametrize("width", [390, 320])
def test_examples_share_a_line_on_a_phone(visit, width):
    with visit("book/intro.html", size="phone") as seen:
        seen.page.set_viewport_size({"width": width, "height": 740})
        chips = [
            each.bounding_box() for each in seen.page.locator(".tff .tfk-chip").all()
        ]
        assert len({chip["y"] for chip in chips}) == 1
        assert chips[0]["x"] + chips[0]["width"] < width
        last = seen.page.locator(".tff .tfk-chip").last
        last.locator("input").focus()  # by finger they glide
        seen.page.wait_for_timeout(500)
        assert 0 <= last.bounding_box()["x"] < width - last.bounding_box()["width"]
        assert seen.page.evaluate("document.documentElement.scrollWidth") == width


def test_who_has_not_pointed_at_a_word_is_asked_for_one_thing(opened):
    come_to_rest(opened)
    others = opened.locator(".tff-others button:visible")
    assert others.all_inner_texts() == ["Point at any word"]
    key = opened.get_by_text("thicker line = more attention")
    assert key.is_visible()
    translate = opened.get_by_role("button", name="Translate")
    clip = "(button) => getComputedStyle(button).clipPath"
    assert translate.evaluate(clip) == "inset(50%)"  # there is nothing to translate
    opened.locator(".tff textarea").focus()
    assert translate.evaluate(clip) == "none"
    opened.keyboard.press("Tab")
    assert translate.evaluate("(button) => button === document.activeElement")
    assert translate.evaluate(clip) == "none"
    opened.locator('[data-control="begin"]').click()  # at the word above it
    assert opened.evaluate("document.activeElement.dataset.control") == "word-1"
    assert "To write “hast”" in opened.inner_text(".tff-key")
    assert others.count() == 2
    opened.locator('[data-control="word-6"]').hover()
    boxes = opened.locator(".tff-others").bounding_box(), key.bounding_box()
    assert boxes[0]["x"] + boxes[0]["width"] > boxes[1]["x"]  # one lies over the other
    assert not key.is_visible()


LABELS = """() => {
  const above = (word) => {
    const { left, width, translate } = getComputedStyle(word, "::before");
    const [x, wide] = [word.offsetLeft + parseFloat(left), parseFloat(width)];
    return translate === "none" ? [x, x + wide] : [x - wide / 2, x + wide / 2];
  };
  const labels = [...document.querySelectorAll(".tff-english [data-share]")].map(above);
  return labels.toSorted(([a], [b]) => a - b);
}"""


@pytest.mark.parametrize("width", [700, 820, 1100])
def test_what_stands_above_the_words_lies_over_nothing(opened, width):
    opened.set_viewport_size({"width": width, "height": 900})
    for sentence in (1, 0):
        opened.locator(f'[data-control="sentence-{sentence}"]').check(force=True)
        opened.get_by_role("button", name="Play again").wait_for()
        named = 0
        for word in range(-1, 8):  # -1: as it stands
            if word >= 0:
                opened.locator(f'[data-control="word-{word}"]').focus()
            labels = opened.evaluate(LABELS)
            named += opened.locator(".tff-english [data-named]").count()
            assert all(a[1] < b[0] for a, b in pairwise(labels))
            seen = opened.locator(".tff-english [data-share]").evaluate_all(
                "(all) => all.map(({ offsetLeft: x, offsetWidth: w }) => [x, x + w])"
            )
            for start, *_ in strong_lines(opened):
                assert any(left <= start <= right for left, right in seen)
        assert named
    opened.set_viewport_size({"width": 1100, "height": 900})


def test_in_columns_shares_stand_beside_their_words(opened):
    opened.set_viewport_size({"width": 390, "height": 844})
    opened.locator('[data-control="sentence-0"]').check(force=True)
    for word in range(7):
        opened.locator(f'[data-control="word-{word}"]').focus()
        labels = opened.locator(".tff-english [data-share]").evaluate_all(
            """(words) => words.map((word) => {
              const { content, width } = getComputedStyle(word, "::before");
              return [content, word.dataset.share, word.offsetLeft - parseFloat(width)];
            })"""
        )
        assert labels
        for content, share, left in labels:
            assert content == f'"{share}"'
            assert left >= 0
    opened.set_viewport_size({"width": 1100, "height": 900})
    opened.locator(".tff-pair:not([data-columns])").wait_for()


def test_a_word_that_came_close_can_be_written_instead_and_back(opened):
    opened.set_viewport_size({"width": 1100, "height": 900})
    opened.locator('[data-control="sentence-1"]').check(force=True)
    opened.locator('[data-control="sentence-0"]').check(force=True)
    again = opened.get_by_role("button", name="Play again")
    again.wait_for()
    opened.locator('[data-control="word-1"]').hover()
    others = opened.locator(".tff-others")
    expected = (
        r"What if it wrote “haben” \(polite\)\?\s*26\s%\slikely\s*"
        r"habt\s*have \(plural\)\s*6\s%"
    )
    assert re.search(expected, others.inner_text())
    opened.locator('[data-control="word-2"]').hover()
    assert others.inner_text().strip() == "no other word came close"
    opened.locator('[data-control="word-1"]').hover()
    opened.get_by_role("button", name="What if it wrote “haben” (polite)?").click()
    assert german(opened)[:2] == ["Warum", "haben"]
    assert opened.evaluate("document.activeElement.dataset.control") == "again"
    back = opened.get_by_role("button", name="Undo")
    back.wait_for()
    written = " ".join(german(opened))
    assert written == "Warum haben Sie mich gestern nicht angerufen ?"
    assert opened.locator(".tff-key").inner_text() == (
        "You chose “haben” over “hast”; the model then wrote “Sie” instead of “du”."
    )
    told = opened.locator(".tff-told").inner_text()
    assert told.startswith("“haben” goes with “Sie”, the polite “you”.")
    changed = opened.locator(".tff-german button[data-changed]")
    assert changed.all_inner_texts() == ["Sie"]
    back.click()
    again.wait_for()
    assert german(opened)[:3] == ["Warum", "hast", "du"]
    assert changed.count() == 0


def test_what_was_not_recorded_is_computed(opened):
    opened.locator(".tff textarea").fill("Do you sleep?")
    opened.get_by_role("button", name="Translate").click()
    again = opened.get_by_role("button", name="Play again")
    opened.get_by_text("Computed on your machine.").wait_for()
    again.wait_for()
    before = german(opened)
    word = opened.locator(".tff-german button[data-close]").first
    word.hover()
    other = opened.locator('[data-control="other-0"]')
    text = other.locator("span[lang=de]").inner_text().removesuffix("…")
    other.click()
    opened.wait_for_function(
        "word => [...document.querySelectorAll('.tff-german button')]"
        ".some(({ textContent }) => textContent.startsWith(word))",
        arg=text,
    )
    back = opened.get_by_role("button", name="Undo")
    back.wait_for()
    assert german(opened) != before
    back.click()
    again.wait_for()
    assert german(opened) == before


def test_each_choice_is_undone_by_itself_and_the_model_s_own_word_needs_no_undo(opened):
    opened.set_viewport_size({"width": 1100, "height": 900})
    opened.locator('[data-control="sentence-1"]').check(force=True)
    opened.locator('[data-control="sentence-0"]').check(force=True)
    again = opened.get_by_role("button", name="Play again")
    back = opened.get_by_role("button", name="Undo")
    for word in ("haben", "habt"):
        opened.locator(".tff-german").get_by_text("Warum").wait_for()
        opened.locator('[data-control="again"]:not(:text("Skip"))').wait_for()
        opened.locator('[data-control="word-1"]').hover()
        opened.locator(".tff-others").get_by_role("button", name=word).click()
        back.wait_for()
    opened.locator(".tff-key", has_text="You chose “habt” over “haben”").wait_for()
    back.click()
    opened.locator(".tff-key", has_text="You chose “haben” over “hast”").wait_for()
    opened.locator('[data-control="word-1"]').hover()
    opened.locator(".tff-others").get_by_role("button", name="hast").click()
    again.wait_for()  # it is the model's own
    assert german(opened)[:3] == ["Warum", "hast", "du"]


def test_it_comes_to_rest_at_the_word_that_is_named(opened):
    come_to_rest(opened)
    shares = opened.locator(".tff-english button").evaluate_all(
        "words => words.map(({ dataset }) => dataset.share ?? '')"
    )
    lines = sorted(strong_lines(opened))
    said = [int(each.split("\u00a0")[0]) for each in shares if each]
    assert said == pytest.approx([100 * share for *_, share in lines], abs=0.6)
    assert opened.locator(".tff-german [data-at]").inner_text() == "angerufen"


def test_below_a_word_stands_the_one_that_came_close_to_it(opened):
    come_to_rest(opened)
    begin = opened.locator('[data-control="begin"]').bounding_box()
    opened.locator('[data-control="word-1"]').focus()
    word = opened.locator('[data-control="word-1"]').bounding_box()
    first = opened.locator('[data-control="other-0"]').bounding_box()
    assert begin["x"] == first["x"] and begin["y"] == first["y"]
    assert word["x"] == pytest.approx(first["x"], abs=2)  # it stands below it
    assert 0 < first["y"] - word["y"] - word["height"] < 40
    opened.locator('[data-control="other-0"]').click()
    opened.locator(".tff-key", has_text="You chose “haben”").wait_for()


def test_what_is_told_of_two_words_is_seen_at_both(opened):
    come_to_rest(opened)
    beside = opened.locator(".tff-german [data-with]")
    told = opened.locator(".tff-told")
    assert told.inner_text().strip() == ""  # its headline says it, and the words above
    assert beside.count() == 0
    opened.locator('[data-control="word-1"]').hover()
    assert "It gave" not in told.inner_text()
    assert "For “did\u00a0… call”, German says “have called”:" in told.inner_text()
    assert "“hast\u00a0…\u00a0angerufen”" in told.inner_text()
    assert beside.all_inner_texts() == ["angerufen"]  # "hast … angerufen"
    assert opened.locator(".tff-lines path[data-with]").count() == 2  # did, call
    opened.locator('[data-control="word-4"]').hover()
    assert beside.count() == 0  # nothing is told of "gestern"
    assert told.inner_text().startswith("It gave “yesterday”\u00a0")
    opened.set_viewport_size({"width": 390, "height": 900})
    opened.locator('[data-control="word-1"]').click()
    assert told.inner_text().startswith(
        "For “did\u00a0… call”"
    )  # beside the words, too
    opened.set_viewport_size({"width": 1100, "height": 900})


def test_below_each_german_word_stands_what_it_means(opened):
    opened.set_viewport_size({"width": 1100, "height": 900})
    glosses = (
        "() => [...document.querySelectorAll('.tff-german button')].map((word) =>"
        " getComputedStyle(word, '::after').content)"
    )
    opened.locator('[data-control="sentence-1"]').check(force=True)
    opened.get_by_role("button", name="Play again").wait_for()
    found = opened.evaluate(glosses)  # of these, what they usually mean
    assert found[:3] == ['"my"', '"brother"', '"has"']
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.get_by_role("button", name="Play again").wait_for()
    means = ["why", "have", "you", "me", "yesterday", "not", "called"]
    assert opened.evaluate(glosses) == [*(f'"{each}"' for each in means), "none"]
    opened.locator('[data-control="word-1"]').focus()
    assert opened.evaluate(glosses)[1] == '"have · 61\xa0% likely"'
    opened.locator('[data-control="other-0"]').click()
    opened.get_by_role("button", name="Undo").wait_for()
    assert opened.evaluate(glosses)[2] == '"you (polite)"'


def test_bars_are_as_long_as_words_were_probable(opened):
    come_to_rest(opened)
    drawn_of = "each => getComputedStyle(each).backgroundImage"
    bars = [opened.locator(f'[data-control="word-{i}"] span') for i in (1, 2)]
    for bar in bars:  # none is drawn until the reader has pointed at a word
        assert (
            re.findall(r"rgba?\(.*?\)", bar.evaluate(drawn_of))[0] == "rgba(0, 0, 0, 0)"
        )
    bars[0].hover()
    for bar, share in zip(bars, (61, 94), strict=True):
        drawn = bar.evaluate(drawn_of)
        assert "rgba(0, 0, 0, 0)" not in drawn
        length = re.search(r"calc\(.*?\)|[\d.]+%", drawn)[0]
        number = float(re.findall(r"[\d.]+", length)[-1])
        assert number == pytest.approx(share, abs=0.5)


def test_words_that_came_close_are_found_out_while_the_reader_reads(opened):
    opened.set_viewport_size({"width": 1100, "height": 900})
    opened.locator(".tff textarea").fill(
        "The central bank raised interest rates again."
    )
    opened.get_by_role("button", name="Translate").click()
    opened.get_by_text("Computed on your machine.").wait_for()
    opened.get_by_role("button", name="Play again").wait_for()
    word = opened.locator(".tff-german button[data-close]").first
    word.hover()
    others = opened.locator(".tff-others button [lang=de]")
    others.first.wait_for()
    opened.wait_for_function(
        "() => [...document.querySelectorAll('.tff-others button [lang=de]')]"
        ".every(({ textContent }) => !textContent.endsWith('…'))"
    )
    text = others.first.inner_text()
    others.first.click()
    assert text in german(opened)  # what stood there is what is written


def test_of_an_answer_it_is_said_what_the_model_has_read(opened):
    opened.locator(".tff textarea").fill("Do you sleep?")
    opened.get_by_role("button", name="Translate").click()
    opened.get_by_text("it is often wrong, even where").wait_for()


def test_without_an_engine_only_recorded_words_are_offered(figure_page):
    released = load_pretrained()
    model = copy.deepcopy(released.model)
    with torch.no_grad():
        model.decoder.final_norm.bias += 1e-6  # another model: the page can't run it
    own = FirstTranslation(SENTENCES, translator=Translator(model, released.tokenizer))
    with figure_page(own, settle=False) as seen:
        page = seen.page
        page.get_by_role("button", name="Play again").wait_for()
        close = page.locator(".tff-german button[data-close]")
        assert close.all_inner_texts() == ["hast", "gestern"]
        close.first.hover()
        page.get_by_role("button", name="What if it wrote “haben” (polite)?").click()
        page.get_by_role("button", name="Undo").wait_for()
        assert close.all_inner_texts() == ["haben"]  # and back


@pytest.mark.parametrize("width", [1100, 390, 360])
def test_what_came_close_stands_in_the_page(opened, width):
    opened.locator('[data-control="sentence-1"]').check(force=True)
    opened.locator('[data-control="sentence-0"]').check(force=True)
    opened.set_viewport_size({"width": width, "height": 900})
    opened.get_by_role("button", name="Play again").wait_for()
    close = opened.locator(".tff-german button[data-close]").all()
    for each in close:
        each.hover()
        box = opened.locator(".tff-others").bounding_box()
        assert box["width"] > 100
        assert opened.locator(".tff-others", has_text="What if it wrote “").count() == 1
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_nothing_typed_is_told_and_forgotten_with_the_next_example(opened):
    said = opened.locator(".tff [data-said]")
    opened.locator(".tff textarea").fill(" ")
    opened.get_by_role("button", name="Translate").click()
    opened.get_by_text("There is nothing to translate yet: type an English").wait_for()
    opened.locator('[data-control="sentence-1"]').check(force=True)
    assert said.inner_text() == ""


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("I ate a 🍕 today.", "“🍕” is not from one"),
        ("zxqv brlp mnkw tkkp", "Take this German with care"),
        ("A man sleeps.", ""),
    ],
)
def test_it_warns_of_a_sentence_that_the_model_does_not_know(opened, typed, said):
    opened.locator(".tff textarea, .tff input[type=text]").first.fill(typed)
    opened.get_by_role("button", name="Translate").click()
    opened.wait_for_function(
        "said => document.querySelector('.tff [data-said]').textContent"
        ".startsWith('Computed') && (said ? document.querySelector('.tff-remark')"
        ".textContent.includes(said) : !document.querySelector('.tff-remark')"
        ".textContent)",
        arg=said,
        timeout=60_000,
    )
