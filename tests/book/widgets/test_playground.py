"""The playground without a page: its class, its words, the maths of its charts."""

import re
from pathlib import Path

import pytest

from tformer_book.press.chapters import ROOT
from tformer_book.widgets import Playground


def test_it_can_be_made_without_arguments_and_says_how_it_is_set():
    assert repr(Playground()) == "A model that trains in the page."
    figure = Playground("cab", task="sort", causal=False)
    assert figure.text == "cab"
    assert figure.settings == {"task": "sort", "causal": False}
    assert repr(figure).endswith("page: task='sort', causal=False.")


@pytest.mark.parametrize("value", [None, [1], float("nan")])
def test_a_setting_is_text_a_number_or_a_switch(value):
    with pytest.raises(ValueError, match="layers="):
        Playground(layers=value)


def test_every_experiment_and_switch_has_its_words(node):
    found = node("""
      import { EXPERIMENTS as RUNS } from "./training/experiments.js";
      import { DEFAULTS } from "./training/settings.js";
      import { EXPERIMENTS, SWITCHES } from "./playground/words.js";
      console.log(JSON.stringify({
        runs: RUNS.map(({ key }) => key), words: EXPERIMENTS,
        switches: Object.keys(SWITCHES),
        can: Object.keys(DEFAULTS).filter((key) => DEFAULTS[key] === true),
      }));""")
    assert len(found["runs"]) == 12
    assert set(found["runs"]) == set(found["words"])
    for words in found["words"].values():
        assert len(words["guesses"]) == 3
        assert words["right"] in (0, 1, 2)
        assert len(set(words["runs"])) == 2
        assert words["asks"].endswith("?")
    assert sorted(found["switches"]) == sorted(found["can"])


def test_links_lead_to_chapters_of_the_book():
    words = (ROOT / "book/tformer_book/widgets/kit/chapters.js").read_text("utf-8")
    links = re.findall(r'\["(\d\d-[a-z-]+)", "([^"]+)"\]', words)
    assert len(links) == 13
    for page, title in links:
        chapter = Path(ROOT / f"book/{page}.ipynb").read_text("utf-8")
        assert re.search(rf'"# {title}\b', chapter), page


def test_a_long_curve_is_thinned_to_means_and_keeps_its_ends_apart(node):
    found = node("""
      import { roundUp } from "./kit/chart.js";
      import { lastStep, thinned } from "./playground/curves.js";
      const long = Array.from({ length: 1000 }, (_, i) => [i, i % 2]);
      console.log(JSON.stringify({
        thin: thinned(long), short: thinned([[0, 1], [1, 3]]),
        round: [0, 0.3, 1, 3.2, 180, 2010].map(roundUp),
        last: [0, 12, 97, 532, 1030].map(lastStep),
      }));""")
    assert found["short"] == [[0, 1], [1, 3]]
    assert 100 < len(found["thin"]) <= 180
    assert all(0.3 < y < 0.7 for _, y in found["thin"])
    assert found["round"] == [1, 0.5, 1, 5, 200, 5000]
    assert found["last"] == [10, 15, 100, 550, 1500]


def test_a_map_is_told_by_where_each_row_looks_most(node):
    said = node("""
      import { inWords } from "./playground/maps.js";
      const map = { name: "cross 1", rows: ["x", "y"], columns: ["a", "b", "c"],
        heads: [Float32Array.from([0.1, 0.7, 0.2, 1, 0, 0])] };
      console.log(JSON.stringify(inWords(map, 0)));""")
    assert said == (
        "cross 1, head 0. Each row’s largest weight: x to b, 70\xa0%; y to a, 100\xa0%."
    )


@pytest.mark.parametrize(
    ("ends", "expected"),
    [([0.9, 0.1], True), ([0.6, 0.1], False), ([0.9, 0.3], False)],
)
def test_a_verdict_needs_both_runs_within_their_bounds(node, ends, expected):
    said = node(
        """
      import { isAsExpected } from "./playground/experiments.js";
      const bounds = { soundAtLeast: 0.7, brokenAtMost: 0.2 };
      console.log(isAsExpected(bounds, given));""",
        ends,
    )
    assert said == expected
