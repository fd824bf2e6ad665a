"""The speedrun: what counts as a record, and that a run is timed and scored."""

from __future__ import annotations

import json
import shlex
import statistics

import pytest

from studies import speedrun
from tformer.cli import main as command_line


def test_a_mean_counts_only_if_it_is_surely_above_the_goal():
    assert speedrun.is_surely_above([35.0, 35.1, 35.2], 34.5)
    assert not speedrun.is_surely_above([34.0, 35.1, 36.2], 34.5)  # it may be chance
    assert not speedrun.is_surely_above([34.5, 34.5, 34.5], 34.5)


@pytest.mark.parametrize("n", [1, 2, 11])
def test_a_record_needs_three_to_ten_seeds(n):
    with pytest.raises(ValueError, match=f"{n} seeds"):
        speedrun.is_surely_above([35.0] * n, 34.0)


def test_the_command_has_only_settings_that_exist(capsys):
    words = shlex.split(speedrun.TRAIN)[2:]
    assert command_line([*words, "--out", "run", "--help"]) == 0
    known = capsys.readouterr().out
    assert all(word in known for word in words if word.startswith("--"))


def test_a_run_is_timed_and_scored(monkeypatch, corpus_of):
    corpus_of("multi30k")
    tiny = (
        "-m studies.muon train --corpus multi30k --quiet --vocab-size 400 --d-model 8 "
        "--heads 2 --d-ff 8 --encoder-layers 1 --decoder-layers 1 --steps 1"
    )
    monkeypatch.setattr(speedrun, "TRAIN", tiny)
    monkeypatch.setattr(speedrun, "EVALUATE", f"{speedrun.EVALUATE} --limit 2")
    found = speedrun.run(0, 1, on_valid=False)
    assert found["seconds"] > 1
    assert 0 <= found["bleu"] < 5
    assert "tok:13a" in found["signature"]


def test_the_table_tells_what_was_recorded():
    record = json.loads(speedrun.RESULT.read_text("utf-8"))
    assert record["train"] == f"python {speedrun.TRAIN}"  # of this very command
    seconds = [each["seconds"] for each in record["runs"]]
    scores = [each["bleu"] for each in record["runs"]]
    assert record["reached"] and speedrun.is_surely_above(scores, speedrun.GOAL)
    [row] = [
        line
        for line in (speedrun.ROOT / "studies/speedrun.md").read_text().split("\n")
        if line.startswith(f"| CPU | {record['date']}")
    ]
    of_seeds = ", ".join(f"{each:.0f}" for each in seconds)
    assert f"**{statistics.mean(seconds):.0f} s** ({of_seeds})" in row
    of_seeds = ", ".join(f"{each:.2f}" for each in scores)
    assert f"**{statistics.mean(scores):.2f}** ({of_seeds})" in row
