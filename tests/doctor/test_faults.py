"""The doctor's table: each fault in each kind of implementation gets its name."""

from __future__ import annotations

import pytest
from cases import NAMES, admitted, broken
from faults import FAULTS

from tformer import doctor

ALL = [(name, *fault) for name, faults in FAULTS.items() for fault in faults]
MISSED = [each for each in ALL if each[-1].startswith("missed:")]


def ids(rows):
    return [f"{name}: {title}" for name, title, *_ in rows]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "title", "old", "new", "code"),
    [each for each in ALL if each not in MISSED],
    ids=ids([each for each in ALL if each not in MISSED]),
)
def test_a_fault_is_named(name, title, old, new, code):
    model, given = admitted(name, broken(name, old, new))
    report = doctor.examine(model, **given)
    assert code in report.codes, str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "title", "old", "new", "reason"), MISSED, ids=ids(MISSED)
)
def test_a_fault_is_expected_to_be_missed(name, title, old, new, reason):
    """If one of these is found some day, its row has to say so."""
    model, given = admitted(name, broken(name, old, new))
    codes = set(doctor.examine(model, **given).codes)
    assert codes <= {"unused-parameters"}


def test_there_are_faults_enough_and_few_are_missed():
    assert len(NAMES) == 5 and set(FAULTS) == set(NAMES)
    assert len(ALL) >= 60
    assert len(MISSED) <= 0.1 * len(ALL)
    assert len(set(ids(ALL))) == len(ALL)
