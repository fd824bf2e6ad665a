"""Growth is measured beside the cost model, and factors beside other programs."""

from __future__ import annotations

import json

import pytest

from benchmarks import factors, growth


@pytest.mark.parametrize("size", growth.SWEEPS)
def test_more_of_anything_costs_more(size):
    points = [
        growth.Point(**{**growth.USUAL, size: value}) for value in growth.SWEEPS[size]
    ]
    for kind in growth.KINDS:
        costs = [point.operations(kind) for point in points]
        assert costs == sorted(set(costs))


def test_growth_is_measured_written_and_drawn(tmp_path):
    arguments = ["--rotations", "1", "--only", "length", "--points", "2"]
    growth.main([*arguments, "--folder", str(tmp_path)])
    text = (tmp_path / "results" / "bench-growth.json").read_text()
    assert '"predicted_seconds"' in text
    assert "<svg" in (tmp_path / "benchmarks" / "growth.svg").read_text()


def test_the_factors_are_measured_written_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(factors, "USUAL", {"width": 16, "length": 4})
    monkeypatch.setattr(factors, "SWEEPS", {"width": (16, 32), "length": (4, 6)})
    monkeypatch.setattr(factors, "N_TOKENS", 8)
    arguments = ["--rotations", "2", "--points", "1", "--folder", str(tmp_path)]
    factors.main(arguments)
    record = json.loads((tmp_path / "results/bench-factors.json").read_text())
    for size, (value, _) in factors.SWEEPS.items():
        ways = record["results"][size]
        assert list(ways) == list(factors.WAYS)
        for rows in ways.values():
            (row,) = rows
            assert row[size] == value
            assert 0 < row["times_as_fast"]["median"] < 100
    drawn = (tmp_path / "benchmarks/factors.svg").read_text()
    assert all(f"{way}, to" in drawn for way in factors.WAYS)
