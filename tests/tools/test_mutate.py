"""The tests can fail: a few formulas are broken here, all of them by `make mutate`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tests" / "mutate.py"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def tool():
    """The tool's module, in which nothing has run."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("mutate", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutate"]


def test_every_mutation_fits_the_source_and_has_its_tests(tool):
    """If you change a formula, change its mutations too: tests/mutations.toml."""
    for mutation in tool.MUTATIONS:
        assert mutation.broken() != (tool.PACKAGE / mutation.file).read_text()
        compile(mutation.broken(), mutation.file, "exec")
        for path in mutation.test_paths:
            file, _, name = path.partition("::")
            assert (ROOT / file).exists(), path
            assert not name or f"def {name}(" in (ROOT / file).read_text(), path


def test_no_two_mutations_are_the_same(tool):
    mutations = tool.MUTATIONS
    assert len({mutation.name for mutation in mutations}) == len(mutations)
    changes = {(each.file, each.old, each.new) for each in mutations}
    assert len(changes) == len(mutations)


def test_each_formula_of_the_paper_is_broken_at_least_once(tool):
    formulas = ["scale", "mask polarity", "root of d_model", "position exponent"]
    formulas += ["epsilon", "label shift", "smoothing mass", "length penalty"]
    for formula in formulas:
        assert any(formula in mutation.name for mutation in tool.MUTATIONS), formula


def test_some_mutations_are_killed():
    words = ["no root of Dh", "source mask forgotten", "not times the root"]
    command = [sys.executable, str(TOOL), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 mutations, 0 problems" in done.stdout
    assert done.stdout.count("::test_") == 3


BLIND = """
import mutate
blind = mutate.Mutation(
    "blind", "schedule.py", "min(step**", "max(step**", ("tformer/test_embedding.py",)
)
[outcome] = mutate.try_mutations([blind], 1)
print(repr(outcome.killer), outcome.problem)
"""


def test_a_mutation_that_no_test_sees_is_a_failure():
    """The tests of embeddings know nothing of schedules."""
    done = subprocess.run(
        [sys.executable, "-c", BLIND], capture_output=True, text=True, cwd=TOOL.parent
    )
    assert done.stdout == "'' survived: a test is missing\n", done.stderr


def test_a_mutation_that_does_not_fit_is_a_failure(tool):
    rotten = tool.Mutation("rotten", "schedule.py", "no such code", "other code")
    [outcome] = tool.try_mutations([rotten], 1)
    assert "'no such code' is 0 times in tformer/schedule.py" in outcome.problem


def test_a_run_without_tests_proves_nothing(tool):
    mutation = tool.MUTATIONS[0]
    assert not tool.judge(mutation, 2, "ERROR: file or directory not found").killer
    assert not tool.judge(mutation, 1, "ERROR tests/test_x.py::test_y").killer
    late = "FAILED t.py::test_y - Failed: Timeout (>300.0s) from pytest-timeout."
    assert not tool.judge(mutation, 1, late).killer
    failed = tool.judge(mutation, 1, "FAILED t.py::test_y[1] - oh")
    assert failed.killer == "t.py::test_y"
