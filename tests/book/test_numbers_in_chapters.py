"""Names and numbers that chapters give to parts of the code are the code's own."""

from __future__ import annotations

import ast
import re

import pytest

from tformer_book.press.chapters import ROOT, chapter, chapters, read, source

CHAPTERS = chapters()
WHICH = re.compile(r"\blayer (\d+)(?:, head (\d+))?")


def code_of(path):
    """The trees of a chapter's code cells."""
    cells = [c for c in read(path)["cells"] if c["cell_type"] == "code"]
    return [ast.parse(source(cell)) for cell in cells]


def maps_with_a_layer(path):
    """Each heat map whose title names a layer: what it names, and what it is given."""
    calls = [node for tree in code_of(path) for node in ast.walk(tree)]
    for call in (node for node in calls if isinstance(node, ast.Call)):
        title = next((k.value for k in call.keywords if k.arg == "title"), None)
        if not (isinstance(title, ast.Constant) and WHICH.search(title.value)):
            continue
        subscripts = [n for n in ast.walk(call.args[0]) if isinstance(n, ast.Subscript)]
        given = [n.value for n in ast.walk(subscripts[0].slice) if hasattr(n, "value")]
        named = [int(n) for n in WHICH.search(title.value).groups() if n]
        yield named, given[1:]  # the first is the sentence of the batch


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
def test_a_map_that_names_a_layer_counts_from_zero_as_its_code_does(path):
    for named, given in maps_with_a_layer(path):
        assert named == given, f"the title says {named}, the code takes {given}"


def test_some_map_names_a_layer():
    assert any(list(maps_with_a_layer(path)) for path in CHAPTERS)


def test_the_files_that_stand_beside_the_paper_exist():
    cells = read(chapter("transformer"))["cells"]
    tables = [source(c) for c in cells if c["id"] in ("ledger", "ledger-training")]
    rows = [row.split("|") for t in tables for row in t.splitlines()]
    named = {
        name
        for cells in rows
        if len(cells) == 4
        for name in re.findall(r"[a-z]\w*(?:\.py|/)", cells[2])
    }
    assert len(named) > 8
    missing = [name for name in sorted(named) if not (ROOT / "tformer" / name).exists()]
    assert missing == []


def minutes(text):
    """The minutes that a text names, words and hours included."""
    words = {"ten": 10, "forty": 40, "an hour": 60}
    for word, number in words.items():
        text = text.replace(word, str(number))
    return sorted({int(n) for n in re.findall(r"\d+", text)})


def test_the_table_of_chapters_promises_the_time_that_each_chapter_names():
    intro = "\n".join(source(c) for c in read(chapter("intro"))["cells"])
    rows = re.findall(r"^\| \[[^\]]+\]\((\S+\.ipynb)\) .*\| ([^|]+) \|$", intro, re.M)
    promised = {name: minutes(time) for name, time in rows}
    named = {}
    for path in CHAPTERS:
        found = re.search(r"\*\*Time:\*\* ([^.]*)", source(read(path)["cells"][0]))
        if found:
            named[path.name] = minutes(found[1])
    assert len(named) > 10
    assert {name: promised[name] for name in named} == named
