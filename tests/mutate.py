"""Break the package on purpose, one formula at a time, and see that a test notices.

A test that cannot fail proves nothing. Each mutation of mutations.toml replaces one
piece of the source in a *copy* of the package, runs the tests that should notice, and
is "killed" by the first that fails. Then those tests run on the package as it is, where
all must pass.

    make mutate                            # all of them
    python tests/mutate.py scale mask      # those whose names contain a word
    python tests/mutate.py --list

The exit status is 1 if a mutation survives, or if the piece to replace is not found
exactly once: a change of the source then asks for a change here.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# One thread: the mutations share the cores, and a process with threads cannot fork.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import hypothesis  # noqa: F401 (slow imports, done once for all mutations)
import numpy  # noqa: F401
import pytest
import torch  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tformer"
TIMEOUT = 300  # seconds for a test
UNUSABLE = 99  # exit status of a run that proves nothing


@dataclass(frozen=True)
class Mutation:
    """One way to be wrong.

    Attributes:
        name: what is wrong, in words.
        file: inside the package.
        old: the right source; stands in the file exactly once.
        new: the wrong one.
        tests: files, folders or single tests inside tests/ that should notice; the
            file's own if left out.
    """

    name: str
    file: str
    old: str
    new: str
    tests: Sequence[str] = ()

    @property
    def test_paths(self) -> list[str]:
        file = Path(self.file)
        own = (Path("tformer") / file.parent / f"test_{file.name}").as_posix()
        return [f"tests/{name}" for name in self.tests or (own,)]

    def broken(self) -> str:
        """The file's source with the mutation.

        Raises:
            ValueError: the piece to replace is not there exactly once.
        """
        source = (PACKAGE / self.file).read_text(encoding="utf-8")
        count = source.count(self.old)
        if count != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} is {count} times in tformer/{self.file}, "
                "not once: bring tests/mutations.toml up to date"
            )
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation: the test that killed it, or why none did."""

    mutation: Mutation
    killer: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Job:
    """Tests to run on the copy in a folder."""

    folder: Path
    arguments: tuple[str, ...]

    @property
    def output(self) -> Path:
        return self.folder / "output.txt"


TABLE = tomllib.loads((ROOT / "tests/mutations.toml").read_text("utf-8"))
MUTATIONS = [Mutation(**each) for each in TABLE["mutation"]]


def make_copy(folder: Path) -> None:
    """Copy what the tests need, compiled files too; the released model is linked."""
    skip = shutil.ignore_patterns("*.safetensors")
    for name in ("tformer", "tests", "tools", "studies", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=skip)
    for weights in PACKAGE.rglob("*.safetensors"):
        (folder / weights.relative_to(ROOT)).symlink_to(weights)
    shutil.copy(ROOT / "pyproject.toml", folder)


def start(job: Job) -> int:
    """Run a job's tests in a child of this process; returns its process id.

    A fork starts with torch, pytest and hypothesis already imported, and with no module
    of tformer: it imports the copy in its folder, and no other.
    """
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = UNUSABLE
    try:
        output = os.open(job.output, os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(job.folder)
        os.environ["PYTHONPATH"] = sys.path[0] = str(job.folder)
        sys.dont_write_bytecode = True
        options = ["-q", "-rf", "--tb=no", f"--timeout={TIMEOUT}"]
        options += ["-p", "no:cacheprovider", "-p", "no:xdist"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        status = int(pytest.main([*options, *job.arguments]))
        imported = Path(sys.modules["tformer"].__file__ or "")
        if not imported.is_relative_to(job.folder):
            print(f"the tests ran on {imported}, not on the copy")
            status = UNUSABLE
        sys.stdout.flush()
    finally:
        os._exit(status)


def run(jobs: list[Job], at_once: int) -> Iterator[tuple[Job, int]]:
    """Run all jobs, some at a time; yields each with its exit status as it ends."""
    waiting, running = jobs[::-1], {}
    while waiting or running:
        while waiting and len(running) < at_once:
            job = waiting.pop()
            running[start(job)] = job
        child, status = os.wait()
        yield running.pop(child), os.waitstatus_to_exitcode(status)


def try_mutations(mutations: list[Mutation], at_once: int) -> Iterator[Outcome]:
    """Apply each mutation to a copy of its own and run its tests."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        base = Path(name).resolve()
        by_folder, jobs = {}, []
        for number, mutation in enumerate(mutations):
            folder = base / str(number)
            try:
                broken = mutation.broken()
            except ValueError as error:
                yield Outcome(mutation, problem=str(error))
                continue
            make_copy(folder)
            file = folder / "tformer" / mutation.file
            file.write_text(broken, encoding="utf-8")
            for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
                compiled.unlink()
            by_folder[folder] = mutation
            jobs.append(Job(folder, ("-x", *mutation.test_paths)))
        for job, status in run(jobs, at_once):
            yield judge(by_folder[job.folder], status, job.output.read_text())
            shutil.rmtree(job.folder)


def judge(mutation: Mutation, status: int, output: str) -> Outcome:
    """What pytest's exit status and summary say about a mutation."""
    # A test's parameters are left out: the whole test must pass on the right package.
    failed = re.findall(r"^FAILED ([^\s\[]+)", output, flags=re.MULTILINE)
    if "Failed: Timeout" in output:
        return Outcome(mutation, problem=f"too slow to tell:\n{output}")
    if status == 1 and failed:
        return Outcome(mutation, killer=failed[0])
    if status == 0:
        return Outcome(mutation, problem="survived: a test is missing")
    return Outcome(mutation, problem=f"no test ran (status {status}):\n{output}")


def failures_unbroken(tests: list[str]) -> str:
    """What goes wrong in these tests on the package as it is; empty if nothing."""
    with tempfile.TemporaryDirectory(prefix="mutate-") as name:
        folder = Path(name).resolve() / "unbroken"
        make_copy(folder)
        [(job, status)] = run([Job(folder, tuple(tests))], 1)
        return job.output.read_text() if status else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only names that contain one of them")
    parser.add_argument("--jobs", type=int, default=2, help="mutations at a time")
    parser.add_argument("--list", action="store_true", help="name them all and stop")
    options = parser.parse_args()
    words = options.words or [""]
    chosen = [each for each in MUTATIONS if any(word in each.name for word in words)]
    if not chosen:
        parser.error(f"no mutation's name contains {' or '.join(words)}; try --list")
    width = max(len(mutation.name) for mutation in chosen)
    if options.list:
        for mutation in chosen:
            print(f"{mutation.name:{width}}  tformer/{mutation.file}")
        return 0
    print(f"{'mutation':{width}}  killed by")
    killers, problems = set(), []
    for outcome in try_mutations(chosen, options.jobs):
        name = outcome.mutation.name
        print(f"{name:{width}}  {outcome.killer or '*** NOTHING ***'}", flush=True)
        if outcome.killer:
            killers.add(outcome.killer)
        else:
            problems.append(f"{name}: {outcome.problem}")
    if killers and (output := failures_unbroken(sorted(killers))):
        problems.append(f"these tests fail on the package as it is, too:\n{output}")
    for problem in problems:
        print(f"\n{problem}", file=sys.stderr)
    print(f"\n{len(chosen)} mutations, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
