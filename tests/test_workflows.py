"""The workflows run what was looked at, with no more rights than a job needs."""

from __future__ import annotations

import re

import pytest
import yaml

from tformer_book.press.chapters import ROOT

FILES = sorted((ROOT / ".github/workflows").glob("*.yml"))
READS = {"contents": "read"}
PUBLISHES = {"pages": "write", "id-token": "write"}


def test_there_are_workflows():
    assert {path.stem for path in FILES} >= {"tests", "book", "colab"}


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
        deploys = any("deploy-pages" in step.get("uses", "") for step in job["steps"])
        assert job["permissions"] == (PUBLISHES if deploys else READS)
        for step in job["steps"]:
            if "actions/checkout@" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_one_action_has_one_version():
    used = {
        found for path in FILES for found in re.findall(r"uses: (.*)", path.read_text())
    }
    assert len({action.split("@")[0] for action in used}) == len(used)
