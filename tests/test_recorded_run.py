"""What is kept of a recorded run, for chapters that show it."""

from __future__ import annotations

import json
import sys

import pytest
import recorded_run

from tformer.pretrained import load_history


@pytest.fixture
def recorded():
    curve = [
        {"step": 50 * i, "loss": float(i), "learning_rate": 1e-3, "gradient_norm": 1.0}
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
    assert kept["evaluations"][0]["valid_loss"] == pytest.approx(2.123457)
    assert kept["evaluations"][0]["samples"] == [{"source": "a"}]


def test_it_can_be_written_again_from_the_results(recorded, tmp_path, monkeypatch):
    (tmp_path / "run-released.json").write_text(json.dumps(recorded), "utf-8")
    folder = f"--results={tmp_path}"
    command = ["recorded_run.py", "released", "--again", folder]
    monkeypatch.setattr(sys, "argv", [*command, f"--release={tmp_path}"])
    recorded_run.main()
    assert load_history(tmp_path)["curve"][-1]["step"] == 50_000


def test_a_model_whose_run_was_not_kept_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"history\.json: this model's run"):
        load_history(tmp_path)
