"""Chapter 11 quotes recorded runs: what it says is what they recorded."""

from __future__ import annotations

import json
import re

from chapters import ROOT, read, source

TESTS = ("random", "unseen_combination", "longer")


def table():
    """The rows of numbers of the cell with the recorded runs."""
    cells = read(ROOT / "book" / "11-data.ipynb")["cells"]
    [text] = [source(cell) for cell in cells if cell["id"] == "recorded"]
    rows = [line for line in text.splitlines() if re.match(r"\| *\d", line)]
    return text, [
        [float(x) for x in re.findall(r"[\d.]+", r.replace(",", ""))] for r in rows
    ]


def result(name):
    return json.loads((ROOT / "results" / name).read_text(encoding="utf-8"))


def test_the_table_of_generated_pairs_is_the_recorded_one():
    text, (few, many) = table()
    models, run = result("models-on-grammar.json"), result("run-grammar.json")
    small = models["models"]["transformer"]
    assert few == [
        models["train_pairs"],
        models["steps"],
        small["config"]["dropout"],
        *(round(100 * small["exact_match"][name], 1) for name in TESTS),
    ]
    report, splits = run["report"], run["scores"]["splits"]
    assert many == [
        run["n_train"],
        report["steps"],
        report["config"]["dropout"],
        *(round(100 * splits[name]["exact_match"], 1) for name in TESTS),
    ]
    assert small["n_parameters"] == report["n_parameters"]
    assert f"{report['n_parameters']:,} parameters" in text
    assert report["date"] in text


def test_the_grammar_has_as_many_nouns_and_verbs_as_the_chapter_says():
    from tformer.data.grammar.lexicon import NOUNS, VERBS

    assert f"{len(NOUNS)} nouns and {len(VERBS)} verbs" in table()[0]
