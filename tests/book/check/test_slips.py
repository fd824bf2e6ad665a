"""Every mistake that a grader declares is found, under its own name, wherever made."""

from importlib import import_module

import pytest
from tformer_book import check
from tformer_book.check import kit

PROBLEMS = sorted({*check.__all__} - {"Result"})
MODULES = {
    name: import_module(f"tformer_book.check.problems.{name}") for name in PROBLEMS
}
# These judge what a function does, not its numbers, and so know no table of mistakes.
WITHOUT = {"batches_by_tokens", "leaks", "split"}
WAYS = [
    pytest.param(problem, name.partition(":")[0], wrong, id=f"{problem}-{name}-{i}")
    for problem in PROBLEMS
    if problem not in WITHOUT
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


def test_only_graders_of_what_a_function_does_have_no_table():
    assert {name for name in PROBLEMS if not hasattr(MODULES[name], "SLIPS")} == WITHOUT
