"""Every mistake that a grader declares is found, under its own name, wherever made."""

from importlib import import_module

import pytest
from answers import load

from tformer_book import check
from tformer_book.check import kit

PROBLEMS = sorted({*check.__all__} - {"Result", "hint"})
MODULES = {
    name: import_module(f"tformer_book.check.problems.{name}") for name in PROBLEMS
}
WAYS = [
    pytest.param(problem, name.partition(":")[0], wrong, id=f"{problem}-{name}-{i}")
    for problem in PROBLEMS
    if hasattr(MODULES[problem], "SLIPS")
    for i, (name, wrong, _, _) in enumerate(
        kit.ways(MODULES[problem].SLIPS, getattr(MODULES[problem], "built", None))
    )
]


@pytest.mark.parametrize(("problem", "diagnosis", "wrong"), WAYS)
def test_a_declared_mistake_gets_its_own_diagnosis(problem, diagnosis, wrong, capsys):
    result = getattr(check, problem)(wrong)
    assert result.diagnosis == diagnosis, result.message
    assert result.message.split()[0] in capsys.readouterr().out


@pytest.mark.parametrize(
    "problem", [name for name in PROBLEMS if hasattr(MODULES[name], "built")]
)
def test_a_part_without_a_mistake_in_it_is_right(problem):
    result = getattr(check, problem)(MODULES[problem].built)
    assert result, result.message


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_grader_declares_its_mistakes_or_has_many_wrong_answers(problem):
    """Some judge what a function does, not its numbers, and so know no table."""
    wrong = [answer for answer in load() if answer.problem == problem]
    assert hasattr(MODULES[problem], "SLIPS") or len(wrong) > 6
