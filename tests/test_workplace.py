"""What editors, commit hooks and forms are told of the repository is so."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tformer_book.press.chapters import ROOT, chapter, project

HOOKS = {
    hook["id"]: hook
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())[
        "repos"
    ]
    for hook in repository["hooks"]
}
CELL = {"cell_type": "code", "id": "one", "metadata": {}, "execution_count": 1}
CELL |= {"outputs": [], "source": ["1"]}
NOTEBOOK = {"cells": [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
# What each hook is there to find, in a file of this name.
FAULTS = {
    "ruff-check": ("a.py", '"""A."""\n\nimport os\n'),
    "ruff-format": ("a.py", "a = [1,2]\n"),
    "strip": ("a.ipynb", json.dumps(NOTEBOOK)),
}
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def run(hook: dict, *files: Path) -> int:
    """Exit status of a hook's program, that of this environment."""
    program, *arguments = shlex.split(hook["entry"])
    folder, name = Path(program).parent, Path(program).name
    assert folder == Path(".venv/bin")
    command = [Path(sys.executable).parent / name, *arguments, *files]
    return subprocess.run(command, cwd=ROOT, capture_output=True).returncode


@pytest.mark.parametrize("name", FAULTS)
def test_a_hook_finds_what_it_is_for(name, tmp_path) -> None:
    file, text = FAULTS[name]
    (tmp_path / file).write_text(text, "utf-8")
    assert run(HOOKS[name], tmp_path / file) == 1
    sound = chapter("attention")
    assert run(HOOKS[name], sound if file.endswith("ipynb") else Path(__file__)) == 0


def test_every_hook_is_of_the_lock_and_the_one_for_declarations_looks_at_both() -> None:
    assert set(HOOKS) == {*FAULTS, "declared"}
    assert all(hook["language"] == "system" for hook in HOOKS.values())
    declared = HOOKS["declared"]
    assert run(declared) == 0
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("tformer", "book/tformer_book/widgets/engine")
        for path in (ROOT / folder).rglob("*.*")
        if re.search(declared["files"], path.relative_to(ROOT).as_posix())
    ]
    assert sorted(Path(each).name for each in found) == ["declared.js", "search.py"]


def test_the_container_is_made_by_commands_that_exist() -> None:
    about = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    make, goal = about["updateContentCommand"].split()
    assert make == "make"
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(rf"^{goal}:", makefile, re.M)
    assert f"PORT ?= {about['forwardPorts'][0]}" in makefile
    python = re.fullmatch(r"python:(3\.\d+)-\w+", about["image"])[1]
    assert f"Programming Language :: Python :: {python}" in project()["classifiers"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_each_thing_once(path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    asked = [each for each in form["body"] if each["type"] != "markdown"]
    labels = [each["attributes"]["label"] for each in asked]
    ids = [each["id"] for each in asked]
    assert len(set(ids)) == len(ids) == len(set(labels)) >= 4


def test_what_a_bug_report_asks_to_run_runs() -> None:
    path = ROOT / ".github/ISSUE_TEMPLATE/bug.yml"
    form = {each["id"]: each for each in yaml.safe_load(path.read_text())["body"]}
    python, *arguments = shlex.split(form["versions"]["attributes"]["value"])
    assert python == "python"
    said = subprocess.check_output([sys.executable, *arguments], text=True)
    assert said.split()[-2] == project()["version"]
