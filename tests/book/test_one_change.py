"""The page of ablations repeats the record, and says what the record shows."""

from __future__ import annotations

from statistics import mean

import pytest
from records import cells, recorded, result

from studies import experiments

RECORD = result("ablations")
STUDY = experiments.STUDIES["ablations"]
WIDE, WIDEST = "R-Drop, d_model 256", "R-Drop, d_model 384"
WITHOUT = "d_model 256 without R-Drop"


def by_variant() -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = {}
    for run in sorted(RECORD["runs"], key=lambda run: run["seed"]):
        found.setdefault(run["variant"], []).append(run)
    return found


def gains() -> dict[str, float]:
    bleu = {
        name: mean(run["scores"]["valid"]["bleu"] for run in runs)
        for name, runs in by_variant().items()
    }
    return {name: each - bleu["base"] for name, each in bleu.items()}


def test_the_page_repeats_the_record():
    page = recorded("one-change")
    assert page["steps"] == RECORD["base"]["last_step"]
    assert page["date"] == max(run["date"] for run in RECORD["runs"])
    assert {page["device"]} == {run["device"] for run in RECORD["runs"]}
    passes = {"all others": 3, "sampled pieces": 2}
    assert page["whole_passes"] == passes
    for run in RECORD["runs"]:
        assert run["epochs"] == passes.get(run["variant"], passes["all others"])
    assert page["runs"] == {
        name: (
            runs[0]["n_parameters"],
            [round(run["scores"]["valid"]["bleu"], 2) for run in runs],
        )
        for name, runs in by_variant().items()
    }


def test_the_page_repeats_the_longer_runs():
    longer = result("candidates")
    assert longer["beam_size"] == 5
    told = recorded("one-change")["longer"]
    found: dict[str, list[float]] = {}
    for run in longer["runs"]:
        name = {"plain": "whole pieces"}.get(run["variant"], run["variant"])
        passes, minutes, _ = told[name]
        assert run["epochs"] == passes > 20
        assert minutes == pytest.approx(run["seconds"] / 60, abs=0.6)
        assert ("CPU" in run["device"]) == (minutes > 60)
        valid = run["scores"]["valid"]["bleu"]  # with the length penalty 0.6
        bleu = run.get("length_penalties", {}).get("0.6", valid)
        found.setdefault(name, []).append(round(bleu, 3))
    assert found == {name: bleu for name, (*_, bleu) in told.items()}
    assert all("dropout" not in run["changes"] for run in longer["runs"])
    assert 1 < found["twice as long"][0] - mean(found["R-Drop"]) < 1.3
    [long] = found["four times as long, averaged"]
    assert 0 < mean(found[WITHOUT]) - long < 0.3  # "level", after fewer passes:
    assert 2 * told[WITHOUT][0] < told["four times as long, averaged"][0]
    assert list(told)[-4:] == ["R-Drop", WITHOUT, WIDE, WIDEST]
    assert 1 < mean(found[WIDE]) - mean(found[WITHOUT]) < 1.5
    assert min(found[WIDE]) > max(found[WITHOUT])
    assert 0.4 < mean(found[WIDEST]) - mean(found[WIDE]) < 0.6
    best = {
        name: mean(
            max(run["length_penalties"].values())
            for run in longer["runs"]
            if run["variant"] == name
        )
        for name in (WIDE, WIDEST)
    }
    assert 0 < best[WIDEST] - best[WIDE] < 0.2  # "hardly anything"


def test_the_recipes_with_r_drop_are_as_they_are_told():
    study = experiments.STUDIES["candidates"]
    plain, _ = experiments.settings(study, "plain", 0)
    usual, recipe = experiments.settings(study, "R-Drop", 0)
    wide, _ = experiments.settings(study, WIDE, 0)
    assert usual == plain and recipe.last_step == 8000
    assert (usual.d_model, wide.d_model) == (128, 256)
    assert (wide.d_ff, wide.n_heads) == (2 * usual.d_ff, 2 * usual.n_heads)
    assert all(
        run["changes"] == study.variants[run["variant"]]
        for run in result("candidates")["runs"]
    )
    _, longest = experiments.settings(study, WIDEST, 0)
    _, bare = experiments.settings(study, WITHOUT, 0)
    assert (bare.r_drop, longest.r_drop) == (0.0, 5.0)
    for name, variant in (("chosen", WIDEST), ("chosen-before", WIDE)):
        chosen = experiments.settings(experiments.STUDIES[name], "chosen", 0)
        assert chosen == experiments.settings(study, variant, 0)
        for run in result(name)["runs"]:
            assert run["changes"] == study.variants[variant]
            [same] = (
                each
                for each in result("candidates")["runs"]
                if (each["variant"], each["seed"]) == (variant, run["seed"])
            )
            assert same["scores"]["valid"] == run["scores"]["valid"]


def test_the_runs_are_those_of_the_study_and_saw_no_test_set():
    assert RECORD["base"] == STUDY.base and RECORD["beam_size"] == STUDY.beam_size == 1
    for run in RECORD["runs"]:
        assert run["changes"] == STUDY.variants[run["variant"]]
        assert list(run["scores"]) == ["valid"]


def test_the_base_is_as_it_is_told():
    config, recipe = experiments.settings(STUDY, "base", 0)
    assert (config.norm, config.d_model, config.d_ff) == ("pre", 128, 512)
    assert config.n_encoder_layers == config.n_decoder_layers == 2
    assert (config.n_heads, config.dropout, config.tie_embeddings) == (4, 0.1, True)
    assert (recipe.label_smoothing, recipe.max_tokens) == (0.1, 4096)
    assert (recipe.last_step, recipe.warmup_steps) == (1000, 250)
    long, _ = experiments.settings(experiments.STUDIES["chosen"], "chosen", 0)
    assert long.dropout == 0.3


def test_what_the_text_says_is_so():
    text = "".join(cells("one-change").values())
    seeds = [run["scores"]["valid"]["bleu"] for run in by_variant()["base"]]
    assert len(seeds) == 3 and 0.4 < max(seeds) - min(seeds) < 0.6
    assert "half a point apart" in text
    gain = gains()
    longest = ["no warm-up", "sampled pieces", "dropout 0.3", "d_model 64"]
    assert sorted(gain, key=gain.get)[:4] == longest
    lose = ["d_model 64", "d_ff 128", "1 + 1 layers", "d_model 256", "4 + 4 layers"]
    assert all(gain[name] < -1 for name in lose)
    assert all(len(runs) == 3 for runs in by_variant().values())
    apart = [run["scores"]["valid"]["bleu"] for run in by_variant()["post-norm"]]
    assert 1.7 < max(apart) - min(apart) < 2
    assert abs(gain["learned positions"]) < 0.5
    for name in ("no dropout", "untied tables"):
        better = [run["scores"]["valid"]["bleu"] for run in by_variant()[name]]
        assert min(better) > max(seeds)
    assert all(abs(gain[f"{n} heads"]) < 0.6 for n in (2, 8))
    assert all(-0.75 < gain[name] < -0.5 for name in ("1 head", "16 heads"))
