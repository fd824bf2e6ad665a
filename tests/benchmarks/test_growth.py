"""Growth is measured beside what the cost model predicts."""

from __future__ import annotations

import pytest

from benchmarks import growth


@pytest.mark.parametrize("size", growth.SWEEPS)
def test_more_of_anything_costs_more(size):
    points = [
        growth.Point(**{**growth.USUAL, size: value}) for value in growth.SWEEPS[size]
    ]
    for kind in growth.KINDS:
        costs = [point.operations(kind) for point in points]
        assert costs == sorted(set(costs))


def test_growth_is_measured_written_and_drawn(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "benchmarks").mkdir()
    arguments = ["--rotations", "1", "--only", "batch", "length", "--points", "2"]
    growth.main([*arguments, "--folder", str(tmp_path)])
    text = (tmp_path / "results" / "bench-growth.json").read_text()
    assert '"predicted_seconds"' in text
    assert "<svg" in (tmp_path / "benchmarks" / "growth.svg").read_text()
