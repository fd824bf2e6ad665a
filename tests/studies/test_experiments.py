"""Studies of many runs: what differs, what is scored, and that none is done twice."""

from __future__ import annotations

import json
import sys

import pytest

from studies import experiments
from tformer import data

TINY = {"vocab_size": 500, "d_model": 16, "n_heads": 2, "d_ff": 16, "max_len": 64}
TINY |= {"n_encoder_layers": 1, "n_decoder_layers": 1, "max_tokens": 512}
TINY |= {"last_step": 3, "warmup_steps": 1, "eval_every": 3}


@pytest.mark.parametrize("name", experiments.STUDIES)
def test_every_run_of_a_study_has_settings_that_are_allowed_and_differ(name):
    study = experiments.STUDIES[name]
    runs = [
        experiments.settings(study, variant, seed)
        for variant in study.variants
        for seed in study.seeds
    ]
    assert len(set(runs)) == len(study.variants) * len(study.seeds)


def test_test_sets_are_scored_only_where_nothing_is_chosen_any_more():
    for study in experiments.STUDIES.values():
        assert not (study.on_tests and len(study.variants) > 1)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    corpus = data.load("grammar")
    corpus.train, corpus.valid = corpus.train[:300], corpus.valid[:4]
    corpus.test = {"random": corpus.test["random"][:4]}
    monkeypatch.setattr(experiments.data, "load", lambda name: corpus)
    study = experiments.Study(TINY, {"base": {}, "1 head": {"n_heads": 1}}, (0, 1))
    monkeypatch.setattr(experiments, "STUDIES", {"tiny": study})
    return tmp_path


def study(folder, monkeypatch, *options) -> list[dict]:
    places = ["--runs", str(folder / "runs"), "--results", str(folder)]
    monkeypatch.setattr(sys, "argv", ["experiments.py", "tiny", *places, *options])
    experiments.main()
    return json.loads((folder / "tiny.json").read_text("utf-8"))["runs"]


def test_a_study_that_was_cut_off_goes_on_and_does_nothing_twice(tiny, monkeypatch):
    first = study(tiny, monkeypatch, "--only", "head")
    assert [(run["variant"], run["seed"]) for run in first] == [
        ("1 head", 0),
        ("1 head", 1),
    ]
    assert study(tiny, monkeypatch, "--minutes", "0") == first
    done = study(tiny, monkeypatch)
    assert done[:2] == first
    assert {(run["variant"], run["seed"]) for run in done} == {
        (variant, seed) for variant in ("base", "1 head") for seed in (0, 1)
    }
    assert all(run["scores"].keys() == {"valid"} for run in done)
    assert not any((tiny / "runs").iterdir())


def test_a_study_of_the_test_sets_scores_them_all(tiny, monkeypatch):
    chosen = experiments.Study(TINY, {"chosen": {}}, on_tests=True)
    monkeypatch.setattr(experiments, "STUDIES", {"tiny": chosen})
    (run,) = study(tiny, monkeypatch)
    assert run["scores"].keys() == {"valid", "random"}
    assert run["steps"] == 3


def test_the_length_penalty_comes_from_the_validation_set_alone(tiny, monkeypatch):
    alphas = (0.0, 1.0, 2.0)
    options = {"length_penalties": alphas, "on_tests": True}
    chosen = experiments.Study(TINY, {"chosen": {}}, **options)
    monkeypatch.setattr(experiments, "STUDIES", {"tiny": chosen})
    valid = experiments.data.load("tiny").valid
    asked = []

    class Scored:  # 1.0 is the best on validation, 2.0 would be on the test set
        def __init__(self, translator, pairs, *, length_penalty, **options):
            best = 1.0 if pairs is valid else 2.0
            self.bleu, self.alpha = -abs(length_penalty - best), length_penalty
            asked.append((pairs is valid, length_penalty))

        def to_dict(self, *, sentences):
            return {"bleu": self.bleu, "length_penalty": self.alpha}

    monkeypatch.setattr(experiments.evaluate, "score", Scored)
    (run,) = study(tiny, monkeypatch)
    assert asked == [*((True, alpha) for alpha in alphas), (False, 1.0)]
    assert run["length_penalties"] == {"0.0": -1.0, "1.0": 0.0, "2.0": -1.0}
    assert run["scores"]["random"]["length_penalty"] == 1.0
