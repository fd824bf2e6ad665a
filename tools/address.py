"""Set the repository's address: in its one place, and in all that follows from it.

Usage: ``make address URL=https://github.com/OWNER/NAME``.

The address stands in pyproject.toml (``[project.urls]``). From it follow the site's own
(GitHub Pages), Colab's links, the clone command, and what the chapters install where
tformer is missing, so that a fork's chapters install the fork. All of them are written
here, by putting new addresses in the place of old ones; a second time nothing changes.
Standard library only, so that it needs no set-up.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FORM = re.compile(
    r"https://github\.com/(?P<owner>[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38})"
    r"/(?P<name>(?!\.{1,2}$)[A-Za-z0-9._-]{1,100})"
)
TEXTS = {".cff", ".html", ".ipynb", ".js", ".json", ".md", ".py", ".toml", ".yml"}
FOREIGN = {"_build", "node_modules", "runs", "vendor"}


class AddressError(ValueError):
    """Not an address that the book can live at; the message says why."""


def addresses(url: str) -> dict[str, str]:
    """The address of the repository, and those that follow from it.

    Raises:
        AddressError: it is not of the form that GitHub's repositories have.
    """
    found = FORM.fullmatch(url)
    if not found or url.endswith(".git"):
        raise AddressError(
            f"{url!r} is no address of a repository; it should look like "
            "https://github.com/OWNER/NAME"
        )
    owner, name = found["owner"], found["name"]
    host = f"{owner.lower()}.github.io"
    return {
        "clone": f"git clone {url} && cd {name}",
        "repository": url,
        "site": f"https://{host}/" + ("" if name.lower() == host else f"{name}/"),
        "colab": f"https://colab.research.google.com/github/{owner}/{name}",
    }


def texts(root: Path) -> list[Path]:
    """The files that may name the address."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [
            name
            for name in folders
            if name not in FOREIGN and (name[0] != "." or name == ".github")
        ]
        found += [Path(folder, name) for name in files if Path(name).suffix in TEXTS]
    return sorted(found)


def set_address(root: Path, old: str, new: str) -> list[Path]:
    """Put the new address, and what follows from it, in the place of the old one.

    Returns:
        The files that were changed.

    Raises:
        AddressError: the new one is no address, or one that the texts already cite.
    """
    after = addresses(new)
    replaced = {before: after[name] for name, before in addresses(old).items()}
    any_old, any_new = _any_of(replaced), _any_of(after.values())
    changed: dict[Path, str] = {}
    for path in texts(root):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        if cited := any_new.search(any_old.sub("", text)):
            raise AddressError(
                f"{cited[0]} is cited in {path.relative_to(root)} as somebody else's: "
                "the book cannot live there"
            )
        written = any_old.sub(lambda found: replaced[found[0]], text)
        if written != text:
            changed[path] = written
    for path, written in changed.items():
        path.write_bytes(written.encode("utf-8", "surrogateescape"))
    return list(changed)


def _any_of(these: Iterable[str]) -> re.Pattern[str]:
    """Finds each address, but not "…/tformer" in "…/tformer-data" or "…/tformer.js"."""
    return re.compile(
        "|".join(
            re.escape(each) + (r"(?![\w-]|\.\w)" if each[-1].isalnum() else "")
            for each in these
        )
    )


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make address URL=https://github.com/OWNER/NAME")
        return 2
    url = sys.argv[1].strip().removesuffix("/").removesuffix(".git")
    about = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    old = about["project"]["urls"]["Repository"]
    try:
        changed = set_address(ROOT, old, url)
    except AddressError as problem:
        print(f"address: {problem}", file=sys.stderr)
        return 2
    for path in changed:
        print(path.relative_to(ROOT))
    print(f"address: {url}" + ("" if changed else " (as it was)"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
