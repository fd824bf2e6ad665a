"""The search answers with sections while one types, by mouse, keyboard and touch."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tformer_book.press.chapters import HTML, ROOT, address


def found(seen, place="#tf-search-list"):
    return seen.page.locator(f"{place} a[role=option]")


def open_dialog(seen):
    seen.page.keyboard.press("Control+k")
    field = seen.page.locator("#pst-search-dialog input")
    field.wait_for()
    return field


def test_sections_come_while_one_types_and_enter_goes_to_the_first(visit):
    with visit("book/intro.html", settle=False) as seen:
        assert not [url for url in seen.asked if url.endswith("sections.json")]
        field = open_dialog(seen)
        field.press_sequentially("teacher forc")
        found(seen).first.wait_for()
        assert "Teacher forcing" in found(seen).first.inner_text()
        assert found(seen).first.get_attribute("aria-selected") == "true"
        field.press("Enter")
        seen.page.wait_for_url(f"**/{address('decoder', '#teacher-forcing')}")
        assert seen.third_party == []


def test_arrow_keys_walk_through_what_was_found(visit):
    with visit("book/intro.html", settle=False) as seen:
        field = open_dialog(seen)
        field.fill("mask")
        found(seen).first.wait_for()
        for key, index in [("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)]:
            field.press(key)
            chosen = seen.page.locator("#tf-search-list [aria-selected=true]")
            assert chosen.count() == 1
            name = field.get_attribute("aria-activedescendant")
            assert chosen.get_attribute("id") == name == f"tf-search-list-{index}"
        field.press("Escape")
        assert not seen.page.locator("#pst-search-dialog").is_visible()


def test_a_place_on_the_same_page_closes_the_dialog(visit):
    with visit(address("attention"), size="phone", settle=False) as seen:
        field = open_dialog(seen)
        field.fill("why divide by the square root")
        found(seen).first.wait_for()
        found(seen).first.click()
        there = address("attention", "#why-divide-by-the-square-root")
        seen.page.wait_for_url(f"**/{there}")
        assert not seen.page.locator("#pst-search-dialog").is_visible()


def test_nothing_found_is_said(visit):
    with visit("book/intro.html", settle=False) as seen:
        field = open_dialog(seen)
        field.fill("qzxv")
        status = seen.page.locator("#pst-search-dialog [role=status]")
        status.filter(has_text="Nothing in the book fits “qzxv”").wait_for()
        field.fill("")
        status.filter(has_text="Nothing").wait_for(state="detached")


def test_a_word_that_the_book_never_says_is_named_though_others_were_found(visit):
    with visit("book/intro.html", settle=False) as seen:
        field = open_dialog(seen)
        status = seen.page.locator("#pst-search-dialog [role=status]")
        field.fill("qzxv attention")
        status.filter(has_text="Not in this book: “qzxv”.").wait_for()
        found(seen).first.wait_for()
        field.fill("atention")  # misspelt, but known
        status.filter(has_text="Not in this book").wait_for(state="detached")


@pytest.mark.parametrize(
    ("typed", "section"),
    [
        ("how does it know the order of the words", "attention-does-not-see-order"),
        ("model outputs the same word over and over", "it-repeats-itself"),
        ("flashattention", "break-it-look-at-the-weights"),
        ("difference between chatgpt and this model", "who-changed-what"),
        ("Expected all tensors to be on the same device", "tensors-on-two-devices"),
    ],
)
def test_what_strangers_did_not_find_is_found(visit, typed, section):
    with visit("book/intro.html", settle=False) as seen:
        [urls] = seen.page.evaluate(ASK, [typed])
    assert section in [url.partition("#")[2] for url in urls[:2]]


def test_the_search_page_shows_what_its_address_asks_for(visit):
    with visit("search.html?q=label+smoothing", settle=False) as seen:
        first = found(seen, "#tf-search-page").first
        first.wait_for()
        assert "Label smoothing" in first.inner_text()
        field = seen.page.locator(".bd-search-container input")
        field.fill("kv cache")
        found(seen, "#tf-search-page").filter(has_text="key/value").first.wait_for()
        seen.page.wait_for_url("**/search.html?q=kv+cache")
        assert seen.third_party == []


def test_without_the_index_the_reader_is_told(visit):
    with visit("book/intro.html", settle=False) as seen:
        seen.page.route("**/sections.json", lambda route: route.abort())
        field = open_dialog(seen)
        field.fill("mask")
        status = seen.page.locator("#pst-search-dialog [role=status]")
        status.filter(has_text="could not start").wait_for()
        seen.page.unroute("**/sections.json")
        field.fill("masks")
        found(seen).first.wait_for()


@pytest.fixture(scope="module")
def entries():
    index = HTML / "_static/search/sections.json"
    return json.loads(index.read_text("utf-8"))["entries"]


def test_every_address_is_a_place_on_its_page(entries):
    pages: dict[str, str] = {}
    for entry in entries:
        page, _, anchor = entry["url"].partition("#")
        if page not in pages:
            pages[page] = (HTML / page).read_text("utf-8")
        assert not anchor or f'id="{anchor}"' in pages[page], entry["url"]


def test_code_and_outputs_are_no_prose(entries):
    [section] = [e for e in entries if e["url"] == address("attention")]
    assert "import torch" not in " ".join(
        e["text"] for e in entries if e["kind"] == "chapter"
    )
    assert section["kind"] == "chapter"


QUERIES = tomllib.loads(Path(__file__).with_name("queries.toml").read_text("utf-8"))
ASK = """async (queries) => {
  const place = new URL("../_static/search/", location.href);
  const { Finder } = await import(new URL("ranking.js", place));
  const book = await (await fetch(new URL("sections.json", place))).json();
  const finder = new Finder(book);
  return queries.map((query) =>
    finder.find(query, { limit: 3, typing: true }).map((entry) => entry.url));
}"""


def test_the_right_section_is_first_or_second_for_nine_queries_in_ten(visit):
    wanted = {
        query: address(page, f"#{section}")
        for page, sections in QUERIES.items()
        for section, queries in sections.items()
        for query in queries
    }
    with visit("book/intro.html", settle=False) as seen:
        found = seen.page.evaluate(ASK, list(wanted))
    missed = [
        (query, url, urls)
        for (query, url), urls in zip(wanted.items(), found, strict=True)
        if url not in urls[:2]
    ]
    assert len(wanted) >= 40
    assert len(missed) <= len(wanted) / 10, missed


def test_no_query_of_this_exam_was_taught_to_the_search():
    asked = tomllib.loads((ROOT / "book/asked.toml").read_text("utf-8"))
    taught = {
        phrase.lower()
        for sections in asked.values()
        for phrases in sections.values()
        for phrase in phrases
    }
    typed = {
        query
        for sections in QUERIES.values()
        for queries in sections.values()
        for query in queries
    }
    assert not typed & taught


PUBLIC = tomllib.loads(
    Path(__file__).with_name("asked_in_public.toml").read_text("utf-8")
)["query"]


def places(answers: list[str]) -> set[str]:
    """The addresses of sections that are named as in the file."""
    return {address(*re.split(r"(?=#)", answer)) for answer in answers}


def test_every_section_that_should_answer_is_in_the_index(entries):
    known = {entry["url"] for entry in entries}
    for query in PUBLIC:
        assert places(query["answers"]) <= known


def test_what_people_ask_in_public_is_answered_first_or_second(visit):
    typed = [query["typed"] for query in PUBLIC]
    with visit("book/intro.html", settle=False) as seen:
        found = seen.page.evaluate(ASK, typed)
    missed = [
        (query["typed"], urls)
        for query, urls in zip(PUBLIC, found, strict=True)
        if not set(urls[:2]) & places(query["answers"])
    ]
    assert len(PUBLIC) == 60
    assert sum("source" in query for query in PUBLIC) == 30
    assert len(missed) <= len(PUBLIC) / 10, missed


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("teecher forcing", "teacher forcing"),  # changed
        ("lable smoothing", "label smoothing"),  # swapped
        ("positonal encoding", "positional encoding"),  # left out
        ("warmmup", "warmup"),  # added
    ],
)
def test_one_wrong_letter_finds_what_was_meant(visit, typed, meant):
    with visit("book/intro.html", settle=False) as seen:
        [wrong, right] = seen.page.evaluate(ASK, [typed, meant])
    assert wrong[0] == right[0]


def test_whoever_wants_to_train_a_small_model_is_led_to_the_playground(visit):
    typed = [
        "train in the browser",
        "toy transformer",
        "reverse a sequence",
        "tiny transformer demo",
        "transformer sandbox",
        "small transformer in javascript",
    ]
    with visit("book/intro.html", settle=False) as seen:
        found = seen.page.evaluate(ASK, typed)
    assert [urls[0] for urls in found] == [address("playground")] * len(typed)


def test_a_symbol_is_found_as_one_types_it(visit):
    with visit("book/intro.html", settle=False) as seen:
        [found] = seen.page.evaluate(ASK, ["what does W_O do"])
    assert address("multi-head", "#what-the-last-matrix-does") in found[:2]


def test_the_order_of_two_words_does_not_matter(visit):
    with visit("book/intro.html", settle=False) as seen:
        [found, swapped] = seen.page.evaluate(
            ASK, ["softmax temperature", "temperature softmax"]
        )
    assert found[0] == swapped[0] == address("attention", "#temperature")
