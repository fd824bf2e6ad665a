"""The review cards: complete, answered by the book, asked by the rule, fit for Anki."""

from __future__ import annotations

import csv
import importlib
import json
import math
import random
import re
import subprocess
from collections import Counter
from fractions import Fraction
from html import unescape
from pathlib import Path
from unittest import mock

import pytest
from anchors import leads_somewhere
from docutils import nodes
from javascript import NODE

from tformer_book.press.chapters import ROOT, chapter, chapters

SCHEDULE = ROOT / "book/tformer_book/site/cards/schedule.js"
TASTE = {"front": (40, 220), "back": (40, 400)}  # characters of a side


@pytest.fixture(scope="module")
def extension():
    return importlib.import_module("tformer_book.site.cards")


@pytest.fixture(scope="module")
def cards(extension):
    return extension.cards()


def test_there_are_enough_cards_for_every_chapter(cards):
    assert len(cards) >= 120
    numbered = {path.stem for path in chapters() if re.match(r"\d\d-", path.name)}
    per_page = Counter(card.page for card in cards)
    assert set(per_page) == numbered | {chapter("when-training-fails").stem}
    assert min(per_page.values()) >= 6
    assert list(per_page) == sorted(per_page)  # the order of the book


def test_no_id_and_no_question_comes_twice(cards):
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", card.id) for card in cards)
    for side in ("id", "front"):
        found = Counter(getattr(card, side) for card in cards)
        assert [each for each, n in found.items() if n > 1] == []


def test_every_card_leads_to_a_section_that_is_there(cards):
    targets = {f"{card.page}.ipynb#{card.section}" for card in cards}
    assert [each for each in sorted(targets) if not leads_somewhere(each)] == []


def test_the_page_is_made_anew_when_a_chapter_changes_or_is_renamed(
    extension, cards, monkeypatch
):
    monkeypatch.setattr(extension.List, "fold", lambda *_: nodes.paragraph())
    state = mock.Mock()
    extension.List("cards", [], {}, [], 1, 0, "", state, mock.Mock()).run()
    noted = state.document.settings.env.note_dependency.call_args_list
    files = {ROOT / f"book/{card.page}.ipynb" for card in cards}
    assert files <= {Path(call.args[0]) for call in noted}


@pytest.mark.parametrize("side", TASTE)
def test_a_side_is_neither_a_telegram_nor_an_essay(cards, side):
    low, high = TASTE[side]
    for card in cards:
        assert low <= len(getattr(card, side)) <= high, card.id


def test_a_front_asks_and_a_yes_would_not_answer_it(cards):
    yes_or_no = r"(?:^|[.?!] )(?:is|are|does|do|can|will|has|have|should) [^.?!]*\?$"
    for card in cards:
        assert "?" in card.front or card.front.startswith("Compute"), card.id
        assert not re.search(yes_or_no, card.front, flags=re.I), card.id


def test_anki_reads_the_same_cards(extension, cards):
    text = extension.anki.text(cards, extension.anchor, "https://some.where/")
    lines = text.splitlines()
    head = [line for line in lines if line.startswith("#")]
    said = dict(line[1:].split(":", 1) for line in head)
    assert said["separator"] == "tab"
    assert said["html"] == "true"
    columns = said["columns"].split("\t")
    assert columns[int(said["guid column"]) - 1] == "guid"
    assert columns[int(said["tags column"]) - 1] == "Tags"
    rows = [*csv.DictReader(lines[len(head) :], columns, delimiter="\t")]
    assert [row["guid"] for row in rows] == [f"tformer-{card.id}" for card in cards]
    for row, card in zip(rows, cards, strict=True):
        address = f"https://some.where/book/{card.page}.html#{card.section}"
        assert f'href="{address}"' in row["Back"]
        assert row["Tags"] == extension.anchor(card.page)
        for side in ("Front", "Back"):
            shown = unescape(re.sub(r"<[^>]*>|\\[()]", "", row[side]))
            meant = re.sub(r"[$*`]", "", getattr(card, side.lower()))
            assert shown.removesuffix("Read on") == meant
            assert row[side].count(r"\(") == getattr(card, side.lower()).count("$") / 2


def run(tmp_path, expression, given):
    """What an expression over the rule's module makes of what is given."""
    (tmp_path / "schedule.mjs").write_text(SCHEDULE.read_text("utf-8"), "utf-8")
    program = f"""
import {{ readFileSync }} from "node:fs";
import * as rule from "./schedule.mjs";
const given = JSON.parse(readFileSync(0));
process.stdout.write(JSON.stringify({expression}));
"""
    (tmp_path / "run.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [NODE, "run.mjs"],
        cwd=tmp_path,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


# Each answer is given on the day on which the card is due.
INTERVALS = """given.map((qualities) => {
  let known;
  return qualities.map((q) => {
    known = rule.answered(known, q, known?.due ?? 0);
    return known.interval;
  });
})"""


def sm2(qualities):
    """The intervals of SM-2, written down from the thesis, in exact fractions."""
    factor, n, interval, found = Fraction("2.5"), 0, 0, []
    for q in qualities:
        n = n + 1 if q >= 3 else 0
        if q >= 3:
            factor += Fraction("0.1") - (5 - q) * (
                Fraction("0.08") + (5 - q) * Fraction("0.02")
            )
            factor = max(factor, Fraction("1.3"))
        interval = {0: 1, 1: 1, 2: 6}.get(n) or math.ceil(interval * factor)
        found.append(interval)
    return found


def test_the_intervals_are_those_of_sm2(tmp_path):
    worked = {
        (4, 4, 4, 4, 4): [1, 6, 15, 38, 95],
        (5, 5, 5, 5): [1, 6, 17, 50],  # the ease: 2.6, 2.7, 2.8, 2.9
        (3, 3, 3, 3): [1, 6, 13, 26],  # 2.36, 2.22, 2.08, 1.94
        (4, 4, 4, 2, 4, 4, 4): [1, 6, 15, 1, 1, 6, 15],
    }
    assert [sm2(each) for each in worked] == [*worked.values()]
    draw = random.Random(0)
    runs = [
        *map(list, worked),
        *([draw.choice((2, 3, 3, 4, 4, 4, 5)) for _ in range(12)] for _ in range(500)),
        [3] * 20,  # down to the least ease
        [5] * 12,
    ]
    assert run(tmp_path, INTERVALS, runs) == [sm2(each) for each in runs]


def test_what_was_not_good_comes_once_more_on_its_day_and_keeps_its_date(tmp_path):
    steps = run(
        tmp_path,
        "given.map(([before, q, day]) => rule.answered(before ?? undefined, q, day))",
        [[None, 3, 100]],
    )
    [hard] = steps
    assert hard["again"]
    assert hard["due"] == 101
    [worse, good] = run(
        tmp_path,
        "given.map(([before, q]) => rule.answered(before, q, 100))",
        [[hard, 2], [hard, 4]],
    )
    assert worse == hard
    assert good == hard | {"again": False}
    due = "given.map(([known, day]) => rule.isDue(known, day))"
    asked = [[hard, 100], [good, 100], [good, 101], [hard, 102]]
    assert run(tmp_path, due, asked) == [True, False, True, True]


def test_seen_cards_come_first_and_a_failed_one_returns_soon(tmp_path):
    def seen(due):
        return {"passed": 1, "asked": due - 1, "due": due, "again": False}

    known = {"c": seen(9), "d": seen(8), "e": seen(11)}
    ids = [*"abcdefghij"]
    waiting = run(tmp_path, "rule.queue(given[0], given[1], 10)", [ids, known])
    assert "".join(waiting) == "dcabfghij"
    assert run(tmp_path, "rule.rest(given, false)", waiting) == waiting[1:]
    returned = run(tmp_path, "rule.rest(given, true)", waiting)
    assert sorted(returned) == sorted(waiting)
    assert returned.index("d") == 5
    assert run(tmp_path, "rule.rest(given, true)", ["a"]) == ["a"]
