"""The comparison is fair: the same work, the same weights, in turn."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from benchmarks import gpu_report, peers, side_by_side, timing, workload

WITHOUT_OTHERS = ["torch_nn", "tformer"]
SMALL = replace(workload.SIZES, vocab_size=300, d_model=32, n_heads=4, d_ff=64)


def test_the_order_of_the_calls_rotates_and_each_is_timed_once_a_turn():
    told: list[tuple[str, int]] = []
    calls = {
        name: (lambda turn, name=name: told.append((name, turn))) for name in "abc"
    }
    times = timing.rotations(calls, 3, warm_up=1)
    assert told[3:6] == [("a", 0), ("b", 0), ("c", 0)]
    assert told[6:9] == [("b", 1), ("c", 1), ("a", 1)]
    assert [len(times[name]["cpu"]) for name in "abc"] == [3, 3, 3]


def test_a_ratio_says_how_many_times_as_fast_turn_by_turn():
    found = timing.ratios([1.0, 2.0, 4.0], [3.0, 4.0, 4.0])
    assert found == {"q1": 1.5, "median": 2.0, "q3": 2.5}


def test_ctranslate2_with_our_weights_writes_what_we_write():
    pytest.importorskip("ctranslate2")
    model = workload.new_model(SMALL)
    source_ids = torch.randint(4, 300, (5, 9), generator=torch.manual_seed(1))
    source_ids[::2, 6:] = 0
    ours, theirs = (peers.make(name, model) for name in ("tformer", "ctranslate2_fp32"))
    assert theirs.greedy(source_ids, 12) == ours.greedy(source_ids, 12)
    assert theirs.beam(source_ids, 12, 5) == ours.beam(source_ids, 12, 5)


def test_marian_with_our_weights_writes_what_we_write_and_loses_as_much():
    pytest.importorskip("transformers")
    model = workload.new_model(replace(SMALL, dropout=0.0))
    source_ids = torch.randint(4, 300, (5, 9), generator=torch.manual_seed(1))
    source_ids[::2, 6:] = 0
    ours, theirs = (peers.make(name, model) for name in ("tformer", "marian"))
    args = (source_ids, source_ids, source_ids)
    torch.testing.assert_close(ours.loss(*args), theirs.loss(*args))
    assert theirs.greedy(source_ids, 12) == ours.greedy(source_ids, 12)


def test_every_search_writes_as_many_pieces_as_asked(monkeypatch):
    model = workload.new_model(SMALL)
    source_ids = torch.randint(4, 300, (3, 7))
    for name in WITHOUT_OTHERS:
        found = peers.make(name, model).greedy(source_ids, 11)
        assert [len(ids) for ids in found] == [11, 11, 11]


def test_the_comparison_runs_prints_its_tables_and_writes_them(tmp_path, capsys):
    out = tmp_path / "bench.json"
    arguments = ["--rotations", "2", "--corpus", "grammar", "--vocab", "400"]
    arguments += ["--tokens", "256", "--sentences", "4", "--out", str(out)]
    side_by_side.main([*arguments, "--peers", *WITHOUT_OTHERS])
    record = json.loads(out.read_text())
    training = record["results"]["training"]["peers"]
    assert set(training) == set(WITHOUT_OTHERS)
    assert all(each["share_of_matmul"]["median"] > 0 for each in training.values())
    memory = record["results"]["memory"]
    assert all(each["peak"] > each["before"] > 0 for each in memory.values())
    said = capsys.readouterr().out
    assert (
        "goal of tformer: 1.40 × torch.nn.Transformer: " in said
        and "peak memory" in said
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_report_says_so_in_one_line(capsys):
    assert gpu_report.main([]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and "no CUDA GPU" in captured.err
    assert not captured.out


def test_the_gpu_report_runs_small_and_writes_all_it_tells(tmp_path, capsys):
    pytest.importorskip("transformers")
    out = tmp_path / "gpu.json"
    assert gpu_report.main(["--tiny", "--no-compile", "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    assert set(record["training"]) == set(peers.TRAINED)
    assert set(record["searching"]["beam"]) == set(gpu_report.SEARCHERS)
    assert "goal: 45%" in capsys.readouterr().out
