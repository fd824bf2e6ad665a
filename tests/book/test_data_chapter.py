"""Chapter *Data* quotes recorded runs: what it says is what they recorded."""

from __future__ import annotations

import re

from records import cells, result

TEXT = cells("data")

TESTS = ("random", "unseen_combination", "longer")


def table(name):
    """The numbers of each row of a cell's table."""
    rows = [line for line in TEXT[name].splitlines() if line.startswith("| ")]
    return [
        [float(x) for x in re.findall(r"[\d.]+", row.replace(",", ""))]
        for row in rows
        if re.search(r"\d", row)
    ]


def percent(share):
    return round(100 * share, 1)


def test_the_table_of_generated_pairs_is_the_recorded_one():
    recorded, text = result("pairs-on-grammar"), TEXT["recorded"]
    few, many = recorded["runs"]
    assert table("recorded") == [
        [run["train_pairs"], *(percent(run["exact_match"][name]) for name in TESTS)]
        for run in (few, many)
    ]
    assert few["n_parameters"] == many["n_parameters"]
    assert f"{few['n_parameters']:,} parameters" in text
    assert f"{recorded['steps']:,} steps" in text
    assert few["device"] in text and many["date"] in text


def test_only_the_number_of_pairs_differs_between_the_two_runs():
    few, many = result("pairs-on-grammar")["runs"]
    assert few["train_pairs"] != many["train_pairs"]
    for same in ("config", "n_parameters", "device", "torch"):
        assert few[same] == many[same]


def test_the_larger_run_is_told_with_all_that_changed():
    run, text = result("run-grammar"), TEXT["recorded"]
    first, report = result("pairs-on-grammar"), run["report"]
    said = [f"{percent(run['scores']['splits'][n]['exact_match'])} %" for n in TESTS]
    assert "{}, {} and {}".format(*said) in text
    assert f"{report['steps']:,} steps" in text and report["config"]["dropout"] == 0
    then, now = (each["recipe"]["average_last"] for each in (first, run))
    assert f"average of {now} snapshots instead of {then}" in text
    assert report["device"] in text and report["date"] in text


def test_the_table_of_the_leak_is_the_recorded_one():
    recorded, text = result("split-leak")["first"], TEXT["german-side-text"]
    first = recorded["by_english"]
    leaked, others, together = (
        [first[name]["pairs"], first[name]["reference_words"], first[name]["bleu"]]
        for name in ("german_in_training", "others", "test")
    )
    leaked.insert(1, 100 * first["share_leaked"])
    rows = table("german-side-text")
    for said, measured in zip(rows, (leaked, others, together), strict=True):
        assert said == [round(x, 1) for x in measured]
    assert recorded["device"] in text and recorded["date"] in text
    assert f"beam {recorded['search']['beam_size']}" in text


def test_what_the_leak_was_worth_is_as_recorded():
    recorded, text = result("split-leak"), TEXT["stays"]
    first, now = (recorded[which]["by_group"] for which in ("first", "now"))
    rows = table("stays")
    for said, kind in zip(rows, ("touched", "untouched"), strict=True):
        measured = [first[kind][key] for key in ("pairs", "reference_words", "bleu")]
        assert said == [round(x, 1) for x in (*measured, now[kind]["bleu"])]
    gap, left = (
        each["touched"]["bleu"] - each["untouched"]["bleu"] for each in (first, now)
    )
    assert f"{gap:.0f} points" in text and f"{left:.0f} points" in text
    assert recorded["now"]["device"] in text and recorded["now"]["date"] in text


def test_the_grammar_has_as_many_nouns_and_verbs_as_the_chapter_says():
    from tformer.data.grammar.lexicon import NOUNS, VERBS

    assert f"{len(NOUNS)} nouns and {len(VERBS)} verbs" in TEXT["recorded"]
