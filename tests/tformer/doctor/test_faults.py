"""The doctor's table: each fault in each kind of implementation gets its name."""

from __future__ import annotations

import tomllib

import pytest
from cases import HERE, NAMES, admitted, broken

from tformer import doctor

TABLE = tomllib.loads((HERE.parent / "faults.toml").read_text("utf-8"))
ALL = [
    pytest.param(name, row, id=f"{name}: {row['fault']}")
    for name, rows in TABLE.items()
    for row in rows
]
NAMED = [each for each in ALL if "code" in each.values[1]]
MISSED = [each for each in ALL if "missed" in each.values[1]]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "row"), NAMED)
def test_a_fault_is_named(name, row):
    model, given = admitted(name, broken(name, row["old"], row["new"]))
    report = doctor.examine(model, **given)
    assert row["code"] in report.codes + report.to_confirm, str(report)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "row"), MISSED)
def test_a_fault_is_expected_to_be_missed(name, row):
    """If one of these is found some day, its row has to say so."""
    model, given = admitted(name, broken(name, row["old"], row["new"]))
    assert set(doctor.examine(model, **given).codes) <= {"unused-parameters"}


def test_there_are_faults_enough_and_few_are_missed():
    assert len(NAMES) == 6 and set(TABLE) == set(NAMES)
    assert len(ALL) >= 60
    assert len(MISSED) + len(NAMED) == len(ALL)
    assert len(MISSED) <= 0.1 * len(ALL)
    assert len({each.id for each in ALL}) == len(ALL)
