"""What is kept of a recorded run, for chapters that show it."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from studies import recorded_run
from tformer import Transformer, TransformerConfig, evaluate
from tformer.common.recipe import Recipe
from tformer.data import grammar
from tformer.pretrained import load_history
from tformer.tokenization import Tokenizer
from tformer.translator import Translator

RESULTS = recorded_run.ROOT / "results"


@pytest.fixture
def recorded():
    curve = [
        {"step": 50 * i, "loss": float(i), "learning_rate": i / 1e4, "gradient_norm": 1}
        for i in range(1, 1001)
    ]
    evaluation = {"step": 500, "valid_loss": 2.123456789, "samples": [{"source": "a"}]}
    return {"curve": curve, "history": [evaluation]}


def test_a_thinned_history_keeps_ends_means_and_evaluations(recorded, tmp_path):
    recorded_run.write_history(recorded, tmp_path)
    kept = load_history(tmp_path)
    assert len(kept["curve"]) <= recorded_run.MOST_POINTS
    assert kept["curve"][-1]["step"] == 50_000
    # The curve is a straight line: so are means of equal groups.
    assert kept["curve"][0]["loss"] == pytest.approx(3.5)
    # A rate is no mean: it is the one of the step that is named.
    for point in kept["curve"]:
        assert point["learning_rate"] == pytest.approx(point["step"] / 50e4, rel=1e-3)
    assert kept["evaluations"][0]["valid_loss"] == pytest.approx(2.123457)
    assert kept["evaluations"][0]["samples"] == [{"source": "a"}]


def test_steps_that_the_scaler_skipped_are_left_out(recorded, tmp_path):
    for look in recorded["curve"][:7]:  # the first group's six, and one more
        look["gradient_norm"] = None
    recorded_run.write_history(recorded, tmp_path)
    norms = [point["gradient_norm"] for point in load_history(tmp_path)["curve"]]
    assert norms[:3] == [None, 1, 1]


@pytest.fixture
def stages(recorded, tmp_path):
    """The files of a run and of another that began where it ended."""
    report = {"steps": 50_000, "epochs": 7, "seconds": 60.5, "date": "2026-01-01"}
    files = []
    for name in ("released", "further"):
        files.append(tmp_path / f"run-{name}.json")
        whole = {**recorded, "command": name, "report": report, "replay": [{"step": 3}]}
        files[-1].write_text(json.dumps(whole), "utf-8")
    return files


def test_runs_that_follow_each_other_are_counted_from_the_very_beginning(stages):
    whole = recorded_run.whole_run(stages)
    assert [each["step"] for each in whole["history"]] == [500, 50_500]
    assert [each["step"] for each in whole["replay"]] == [3, 50_003]
    assert whole["curve"][1000]["step"] == 50_050
    assert whole["curve"][1000]["learning_rate"] == whole["curve"][0]["learning_rate"]
    told = {name: whole["report"][name] for name in ("steps", "epochs", "seconds")}
    assert told == {"steps": 100_000, "epochs": 14, "seconds": 121.0}
    assert [each["command"] for each in whole["stages"]] == ["released", "further"]
    assert {each["steps"] for each in whole["stages"]} == {50_000}


@pytest.mark.parametrize(("name", "last"), [("released", 5e4), ("further", 1e5)])
def test_it_can_be_written_again(name, last, stages, tmp_path, monkeypatch):
    command = ["recorded_run.py", name, "--again", f"--results={tmp_path}"]
    monkeypatch.setattr(sys, "argv", [*command, f"--release={tmp_path}"])
    recorded_run.main()
    assert load_history(tmp_path)["curve"][-1]["step"] == last


def test_a_model_whose_run_was_not_kept_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"history\.json: this model's run"):
        load_history(tmp_path)


def test_a_corpus_with_alignments_is_scored_by_split_phenomenon_and_rule():
    corpus = grammar.generate(100, 4, 3, seed=2)
    torch.manual_seed(0)
    config = TransformerConfig(420, 16, 2, 16, 1, 1)
    tokenizer = Tokenizer.train([s for pair in corpus.train for s in pair], 420)
    translator = Translator(Transformer(config).eval(), tokenizer)

    found = recorded_run.score_aligned(translator, corpus)
    assert json.loads(json.dumps(found)) == found
    assert list(found["splits"]) == ["valid", "random", "unseen_combination", "longer"]
    # The rule is the best on the validation split, and the same one everywhere.
    valid_errors = found["alignment_error_rates_valid"]
    assert len(valid_errors) == (2 + 1) * 2
    rule = found["alignment_rule"]
    assert valid_errors[rule["in_words"]] == min(valid_errors.values())
    chosen = evaluate.AlignmentRule(rule["layer"], rule["head"], rule["row"])
    for name, scores in found["splits"].items():
        pairs = {"valid": corpus.valid, **corpus.test}[name]
        gold = corpus.alignments[name]
        errors = evaluate.alignment_rules(translator, pairs, gold)
        assert scores["alignment_error_rate"] == errors[chosen]
        assert scores["alignment_error_rate_diagonal"] < 1
        assert set(scores["phenomena"]) == set().union(*(a.phenomena for a in gold))
        assert scores["n_sentences"] == len(pairs)
        assert scores["exact_match"] == 0


def test_the_small_model_of_the_generated_corpus_has_at_most_a_million_parameters():
    assert Transformer(recorded_run.RUNS["grammar"]["config"]).n_parameters() <= 1e6


def test_the_result_on_the_generated_corpus_is_of_the_settings_in_the_tool():
    recorded = json.loads((RESULTS / "run-grammar.json").read_text("utf-8"))
    settings = recorded_run.RUNS["grammar"]
    # What the recipe has learned to say since then is as if it were left out.
    assert Recipe(**recorded["recipe"]) == settings["recipe"]
    assert recorded["n_train"] == settings["n_train"]
    assert recorded["report"]["steps"] == settings["steps"]
    assert recorded["scores"]["alignment_rule"]["chosen_on"] == "valid"
