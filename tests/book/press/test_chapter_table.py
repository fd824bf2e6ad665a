"""How long a chapter is before its problems, and that none is too long."""

from __future__ import annotations

import re

import pytest

from tformer_book.press import chapter_table
from tformer_book.press.chapters import read

TIME = "**Time:** 45 minutes to read and play, as long again for the problems."


def markdown(text):
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def code(text, *tags):
    return {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": text}


def row(*cells):
    return chapter_table.measured("a-chapter", list(cells))


@pytest.mark.parametrize("path", chapter_table.numbered(), ids=lambda path: path.stem)
def test_a_chapter_is_not_too_long_and_states_the_time_that_it_takes(path):
    assert chapter_table.measured(path.stem, read(path)["cells"]).faults() == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One vector, two roads – and *three* choices.", 7),
        ("Here.\n\n<details><summary>More</summary>\n\nmuch more\n\n</details>", 1),
        ("Before.\n\n```python\nmany words of code\n```\n\nAfter.", 2),
        ("Before.\n\n$$a + b = c$$\n\nAfter.", 2),
        ("The width $d \\cdot h$ and `a b`.", 5),
        ("See [the figure](chapter.ipynb#figure-one-query).", 3),
        ("<!-- a note to authors -->Text", 1),
    ],
)
def test_words_are_those_of_the_text_that_lies_open(text, count):
    assert chapter_table.words_in(text) == count


def test_nothing_below_problems_counts():
    before = [
        markdown("# Title\n\nTwo words.\n\n## Problems\n\nMany, many more."),
        code("1"),
    ]
    assert (row(*before).words, row(*before).lines) == (3, 0)


def test_only_a_lesson_has_open_lines():
    assert row(code("a = 1\n\nb = 2", "lesson"), code("c = 3")).lines == 2


def test_the_standing_sections_are_not_among_a_chapter_s_own():
    standing = "## A clock\n\n## Break it\n\n## What to remember"
    assert row(markdown(standing)).sections == 1


def test_a_prediction_offers_choices_if_it_holds_a_list():
    free = "> **Predict, then run.** How many?\n\nText.\n\n- a list of the text"
    chosen = "> **Predict, then run.** How many?\n>\n> - one\n> - two"
    both = row(markdown(free), markdown(chosen))
    assert (both.predictions, both.choices) == (2, 1)


def test_the_first_figure_s_place_is_the_words_before_it():
    cells = [
        markdown("Three words here."),
        code("ModelMap(highlight='masks', compact=True)"),
        code("Heads()", "run-it"),
        code("Heads()", "aside"),
        markdown("Two more."),
        code("figure = MaskLaboratory.from_translator(\n    translator,\n)"),
        code("Heads()"),
    ]
    assert (row(*cells).figures, row(*cells).first_figure) == (2, 5)


@pytest.mark.parametrize(
    ("told", "minutes"),
    [
        (TIME, 45),
        ("**Time:** an hour to read and play, as long again for the problems.", 60),
        ("**Time:** ten minutes if you know this, forty if it is new to you.", 40),
        ("No word about time.", None),
    ],
)
def test_the_stated_time_is_a_newcomer_s(told, minutes):
    assert chapter_table.stated_minutes(told) == minutes


@pytest.mark.parametrize(
    ("cells", "fault"),
    [
        ([markdown(TIME + " word" * 3000)], "words before the problems"),
        (
            [markdown(TIME), code("a = 1\n" * 81, "lesson")],
            "81 open lines.* 1 too many",
        ),
        ([markdown(TIME), code("Heads()\n" * 16)], "states 45 minutes, but takes 49"),
        ([markdown("Text.")], "states no time"),
    ],
)
def test_each_fault_is_named_with_the_chapter(cells, fault):
    (found,) = row(*cells).faults()
    assert found.startswith("a-chapter: ")
    assert re.search(fault, found)


def test_the_exit_status_tells_of_a_fault(tmp_path, monkeypatch, capsys):
    long = tmp_path / "long.ipynb"
    long.write_text(
        '{"cells": [{"cell_type": "markdown", "source": "%s"}]}' % ("a " * 9000)
    )
    monkeypatch.setattr("sys.argv", ["chapter_table.py", str(long)])
    assert chapter_table.main() == 1
    assert "long: 9,000 words" in capsys.readouterr().err
