"""The notes of a release are what the changelog says of it, or there is no release."""

from __future__ import annotations

import re

import pytest
from release_notes import HEADING, notes

from tformer_book.press.chapters import ROOT, project

CHANGELOG = """\
# Changelog

About it.

## 0.2.0 · 2027-01-31

- New, and [linked](README.md).

### Details

More.

## 0.1.1 · soon

Not yet.

## 0.1.0 · 2026-12-24
"""


def test_the_notes_are_all_that_stands_below_the_heading_of_the_version() -> None:
    found = notes(CHANGELOG, "0.2.0", "v0.2.0")
    assert found == "- New, and [linked](README.md).\n\n### Details\n\nMore."


@pytest.mark.parametrize(
    ("version", "tag", "said"),
    [
        ("0.2.0", "v0.2.1", "the tag is v0.2.1, but pyproject.toml says 0.2.0"),
        ("0.2.0", "0.2.0", "the tag is 0.2.0"),
        ("0.1.1", "v0.1.1", "0.1.1 is dated 'soon', not YYYY-MM-DD"),
        ("0.1.0", "v0.1.0", "says nothing about 0.1.0"),
        ("0.2", "v0.2", "says nothing about 0.2"),
    ],
)
def test_a_release_that_is_not_described_is_refused(version, tag, said) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        notes(CHANGELOG, version, tag)


def test_the_changelog_begins_with_the_version_that_is_being_made() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    first, *_ = HEADING.finditer(changelog)
    assert first["version"] == project()["version"]
    assert len(HEADING.findall(changelog)) == len(re.findall("^## ", changelog, re.M))


def test_the_changelog_names_the_ranges_of_pyproject() -> None:
    """The last line of a release says what it runs with."""
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    said = re.search(r"^Python .*", changelog, re.M)[0]
    pythons = [each.split()[-1] for each in project()["classifiers"] if ":: 3." in each]
    assert f"Python {pythons[0]} to {pythons[-1]};" in said
    needs = project()["dependencies"] + project()["optional-dependencies"]["notebooks"]
    ranges = {re.split("[<>=]", need)[0]: need for need in needs}
    assert f"PyTorch {ranges['torch'].partition('>=')[2]} or newer" in said
    for name, first, last in re.findall(
        r"(plotly|anywidget) (\S+) to ([\d.]*\d)", said
    ):
        *major, minor = last.split(".")
        beyond = ".".join([*major, str(int(minor) + 1)])
        assert ranges[name] == f"{name}>={first},<{beyond}"
