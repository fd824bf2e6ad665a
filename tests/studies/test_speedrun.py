"""The speedrun: what counts as a record, and that a run is timed and scored."""

from __future__ import annotations

import dataclasses
import json
import shlex
import statistics
import subprocess
import threading

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


@pytest.mark.parametrize("track", speedrun.TRACKS)
def test_the_commands_have_only_settings_that_exist(track, capsys):
    words = shlex.split(speedrun.TRACKS[track].train)[2:]
    assert command_line([*words, "--out", "run", "--help"]) == 0
    known = capsys.readouterr().out
    assert all(word in known for word in words if word.startswith("--"))


@pytest.mark.parametrize(("track", "tokens"), [("cpu", "tok:13a"), ("gpu", "tok:none")])
def test_a_run_is_timed_and_scored(track, tokens, corpus_of):
    corpus_of("multi30k")
    settings = speedrun.TRACKS[track]
    tiny = (
        "-m studies.muon train --corpus multi30k --quiet --vocab-size 400 --d-model 8 "
        "--heads 2 --d-ff 8 --encoder-layers 1 --decoder-layers 1 --steps 1"
    )
    short = f"{settings.evaluate} --limit 2"
    tiny_track = dataclasses.replace(settings, train=tiny, evaluate=short)
    found = speedrun.run(tiny_track, 0, 1, on_valid=False)
    assert found["seconds"] > 1
    assert 0 <= found["bleu"] < 5
    assert tokens in found["signature"]


def test_runs_side_by_side_are_all_kept_in_order(tmp_path, monkeypatch):
    met = threading.Barrier(3, timeout=30)  # breaks unless three run at once

    def score(track, seed, threads, *, on_valid):
        met.wait()
        return {"seed": seed, "seconds": 1.0 + seed, "bleu": 42.0 + seed / 10}

    track = dataclasses.replace(
        speedrun.TRACKS["cpu"], goal=41.0, result=tmp_path / "speedrun.json"
    )
    monkeypatch.setitem(speedrun.TRACKS, "cpu", track)
    monkeypatch.setattr(speedrun, "run", score)
    monkeypatch.setattr("sys.argv", ["speedrun", "--seeds", "3", "--at-once", "3"])
    speedrun.main()
    record = json.loads(track.result.read_text("utf-8"))
    assert [each["seed"] for each in record["runs"]] == [0, 1, 2]
    assert record["reached"] and record["runs_at_once"] == 3
    speedrun.main()  # nothing is left to run: nobody waits


def test_a_seed_that_fails_does_not_take_the_others_with_it(tmp_path, monkeypatch):
    def score(track, seed, threads, *, on_valid):
        if seed == 0:
            raise subprocess.CalledProcessError(1, "train")
        return {"seed": seed, "seconds": 1.0, "bleu": 42.0}

    track = dataclasses.replace(
        speedrun.TRACKS["cpu"], result=tmp_path / "speedrun.json"
    )
    monkeypatch.setitem(speedrun.TRACKS, "cpu", track)
    monkeypatch.setattr(speedrun, "run", score)
    monkeypatch.setattr("sys.argv", ["speedrun", "--seeds", "3", "--at-once", "3"])
    with pytest.raises(SystemExit):
        speedrun.main()
    record = json.loads(track.result.read_text("utf-8"))
    assert [each["seed"] for each in record["runs"]] == [1, 2]


def test_the_table_tells_what_was_recorded():
    track = speedrun.TRACKS["cpu"]
    record = json.loads(track.result.read_text("utf-8"))
    assert record["train"] == f"python {track.train}"  # of this very command
    seconds = [each["seconds"] for each in record["runs"]]
    scores = [each["bleu"] for each in record["runs"]]
    assert record["reached"] and speedrun.is_surely_above(scores, track.goal)
    [row] = [
        line
        for line in (speedrun.ROOT / "studies/speedrun.md").read_text().split("\n")
        if line.startswith(f"| CPU | {record['date']}")
    ]
    of_seeds = ", ".join(f"{each:.0f}" for each in seconds)
    assert f"**{statistics.mean(seconds):.0f} s** ({of_seeds})" in row
    of_seeds = ", ".join(f"{each:.2f}" for each in scores)
    assert f"**{statistics.mean(scores):.2f}** ({of_seeds})" in row
