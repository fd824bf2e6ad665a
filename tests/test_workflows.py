"""The workflows run what was looked at, with no more rights than a job needs."""

from __future__ import annotations

import re

import pytest
import yaml

from tformer_book.press.chapters import ROOT, project

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
# What a job does that needs a right, and the right.
RIGHTS = {
    "actions/checkout@": {"contents": "read"},
    "actions/deploy-pages@": {"pages": "write", "id-token": "write"},
    "gh release create": {"contents": "write"},
    "pypa/gh-action-pypi-publish@": {"id-token": "write"},
}


def test_there_are_workflows():
    names = {"tests", "systems", "newest", "book", "colab", "release"}
    assert {path.stem for path in FILES} == names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_action_is_pinned_by_commit_and_names_its_version(path):
    used = re.findall(r"uses: *(.*)", path.read_text("utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rights_belong_to_the_job_that_needs_them(path):
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        does = "\n".join(step.get("uses", step.get("run")) for step in job["steps"])
        needs = [rights for what, rights in RIGHTS.items() if what in does]
        assert job["permissions"] == {k: v for each in needs for k, v in each.items()}
        for step in job["steps"]:
            if "actions/checkout@" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_one_action_has_one_version():
    used = {
        found for path in FILES for found in re.findall(r"uses: (.*)", path.read_text())
    }
    assert len({action.split("@")[0] for action in used}) == len(used)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_step_runs_is_there(path):
    """Commands of make, and scripts and tests of the repository."""
    text = path.read_text("utf-8")
    make = (ROOT / "Makefile").read_text("utf-8")
    for goals in re.findall(r"\bmake ((?:[a-z][a-z-]*[ \n])+)", text):
        for goal in goals.split():
            assert re.search(rf"^[\w -]*\b{goal}\b[\w -]*:", make, re.M), goal
    for name in re.findall(r"\b(?:tools|tests|\.ci)/[\w/.-]+", text):
        assert (ROOT / name).exists(), name


def test_the_package_is_tried_on_every_system_with_the_first_and_the_last_python():
    path = ROOT / ".github/workflows/systems.yml"
    matrix = yaml.safe_load(path.read_text("utf-8"))["jobs"]["package"]["strategy"]
    systems = {each.split("-")[0] for each in matrix["matrix"]["system"]}
    assert systems == {"ubuntu", "macos", "windows"}
    about = project()
    pythons = [each.split()[-1] for each in about["classifiers"] if ":: 3." in each]
    assert matrix["matrix"]["python"] == [pythons[0], pythons[-1]]
    assert about["requires-python"] == f">={pythons[0]}"


def test_nothing_that_the_lock_does_not_hold_touches_what_is_released():
    """Only a job that runs nothing else gives files away, or a right that publishes."""
    path = ROOT / ".github/workflows/release.yml"
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    for job in jobs.values():
        does = "\n".join(step.get("uses", step.get("run")) for step in job["steps"])
        foreign = "pipx" in does or "pip install" in does
        gives = "upload-artifact" in does or "write" in job["permissions"].values()
        assert not (foreign and gives)
    assert jobs["release"]["needs"] == jobs["publish"]["needs"] == "check"
    assert jobs["check"]["needs"] == "build"
