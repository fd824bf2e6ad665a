"""Print what CHANGELOG.md says of a version: the notes of its release.

Usage: ``python tools/release_notes.py vX.Y.Z``, as the release workflow does. Refuses a
tag that is not the version of pyproject.toml, and a version that is not described or
still called unreleased. Standard library only.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = re.compile(r"^## (?P<version>\S+) · (?P<when>.+)$", re.M)
DATE = re.compile(r"\d{4}-\d\d-\d\d")


def notes(changelog: str, version: str, tag: str) -> str:
    """Return the text below the heading of a version.

    Raises:
        ValueError: the tag is of another version; nothing is said of it; it has no
            date.
    """
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, but pyproject.toml says {version}")
    parts = list(HEADING.finditer(changelog))
    ends = [*(part.start() for part in parts[1:]), len(changelog)]
    for part, end in zip(parts, ends, strict=True):
        if part["version"] == version:
            if not DATE.fullmatch(part["when"]):
                raise ValueError(
                    f"CHANGELOG.md: {version} is dated {part['when']!r}, not YYYY-MM-DD"
                )
            if text := changelog[part.end() : end].strip():
                return text
    raise ValueError(f"CHANGELOG.md says nothing about {version}")


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python tools/release_notes.py vX.Y.Z", file=sys.stderr)
        return 2
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    try:
        print(notes(changelog, about["project"]["version"], sys.argv[1]))
    except ValueError as problem:
        print(f"release: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
