"""What stands in an edition, in which order, under which names."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import lxml.html
import yaml

from tformer_book.press.chapters import ROOT, docname, keys

TITLE = "The Transformer, Piece by Piece"
FIRST = "book/intro"
# These live in a browser, or are made for looking things up there.
ON_THE_SITE = (
    "book/intro",
    "book/journey",
    "book/lab",
    "book/playground",
    "book/review",
    "book/progress",
    "book/api",
)


class NotAPage(ValueError):
    """There is no such page, or no site at all."""


@dataclass(frozen=True)
class Chapter:
    """A page of the built site.

    Attributes:
        name: below the site's own address, without suffix: ``book/by-pencil``.
        title: as its heading says.
    """

    name: str
    title: str

    @property
    def address(self) -> str:
        return f"{self.name}.html"

    @property
    def slug(self) -> str:
        return self.name.rpartition("/")[2]


@dataclass(frozen=True)
class Part:
    caption: str
    chapters: tuple[Chapter, ...]


def chosen(site: Path, only: Sequence[str] = ()) -> list[Part]:
    """The parts of the book, with all pages of the edition or some of them.

    Args:
        site: where its pages are.
        only: the keys of the pages to have; none for all.

    Raises:
        NotAPage: `only` names a page that is not in the book, or not in an edition.
    """
    key_of = {docname(path): key for key, path in keys().items()}
    parts, known = [], []
    for part in yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))["parts"]:
        names = [each["file"] for each in part["chapters"]]
        names = [each for each in names if each not in ON_THE_SITE]
        known += [key_of[each] for each in names]
        kept = [each for each in names if not only or key_of[each] in only]
        if kept:
            chapters = tuple(Chapter(name, _title(site, name)) for name in kept)
            parts.append(Part(part["caption"], chapters))
    strange = [name for name in only if name not in known]
    if strange:
        raise NotAPage(
            f"no edition has the page {strange[0]!r}; it has {', '.join(known)}"
        )
    return parts


def _title(site: Path, name: str) -> str:
    file = site / f"{name}.html"
    if not file.is_file():
        raise NotAPage(f"the site has no {name}.html; run: make book")
    heading = lxml.html.fromstring(file.read_bytes()).find(".//h1")
    for link in heading.findall("a"):
        heading.remove(link)
    return " ".join(heading.text_content().split())


def home() -> str:
    """The address of the book on the web."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    return str(config["html"]["baseurl"])


def edition_date() -> str:
    """When the last change was made to the book, as YYYY-MM-DD; empty if unknown."""
    asked = ["git", "log", "-1", "--format=%cs"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()
