"""How the site is found by others, and what a reader sees where there is nothing.

- ``sitemap.xml``: every page, for search engines;
- ``llms.txt``: every page with what it is for, for programs that read on somebody's
  behalf (the form of llmstxt.org);
- ``404.html``: what the host shows for an address that leads nowhere. It may stand at
  any depth, so its links begin at the host, with the site's own path.

Titles and descriptions are those that ``social`` wrote into the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

import yaml
from sphinx.application import Sphinx

from tformer_book.press.chapters import ROOT

TAG = re.compile(r'<meta (?:name|property)="([^"]+)" content="([^"]*)"')
TEMPLATES = Path(__file__).with_name("templates")
NOT_FOUND, MARK = TEMPLATES / "not-found.html", TEMPLATES / "mark.svg"
TERMS = "Text and figures: CC BY 4.0. Code: MIT. The chapters are notebooks, in {}."


@dataclass(frozen=True)
class Entry:
    """A page: where it is below the site's address, its title, what it is for."""

    place: str
    title: str
    about: str


def files(node: Any) -> Iterator[str]:
    """Yield the pages of a part of the table of contents, in order."""
    for each in node.get("chapters", node.get("sections", [])):
        yield each["file"]
        yield from files(each)


def contents(site: Path, toc: dict[str, Any]) -> dict[str, list[Entry]]:
    """Return the pages of each part that are there; a draft lacks some."""
    parts = {"Start here": [toc["root"]]}
    parts |= {part["caption"]: list(files(part)) for part in toc["parts"]}
    found: dict[str, list[Entry]] = {}
    for caption, names in parts.items():
        for name in names:
            page = site / f"{name}.html"
            if page.is_file():
                head = page.read_text("utf-8").partition("</head>")[0]
                tags = {key: unescape(text) for key, text in TAG.findall(head)}
                entry = Entry(f"{name}.html", tags["og:title"], tags["description"])
                found.setdefault(caption, []).append(entry)
    return found


def sitemap(parts: dict[str, list[Entry]], address: str) -> str:
    """Return the map: the address of every page."""
    lines = "".join(
        f"  <url><loc>{escape(address + entry.place)}</loc></url>\n"
        for entries in parts.values()
        for entry in entries
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{lines}</urlset>\n"
    )


def llms(parts: dict[str, list[Entry]], address: str, book: str, source: str) -> str:
    """Return the list of pages with a line about each, in Markdown."""
    first = next(iter(parts.values()))[0]
    text = f"# {book}\n\n> {first.about}\n\n{TERMS.format(source)}\n"
    for caption, entries in parts.items():
        text += f"\n## {caption}\n\n"
        for entry in entries:
            text += f"- [{entry.title}]({address}{entry.place}): {entry.about}\n"
    return text


def not_found(
    parts: dict[str, list[Entry]], address: str, book: str, source: str
) -> str:
    """Return the page that stands for one that is not there."""
    path = urlsplit(address).path
    menu = ""
    for caption, entries in parts.items():
        menu += f"<h2>{escape(caption)}</h2>\n<ul>\n"
        for entry in entries:
            place, title = escape(path + entry.place), escape(entry.title)
            menu += f'<li><a href="{place}">{title}</a></li>\n'
        menu += "</ul>\n"
    page = Template(NOT_FOUND.read_text("utf-8"))
    return page.substitute(
        book=escape(book),
        path=escape(path),
        menu=menu,
        source=escape(source),
        mark=MARK.read_text("utf-8"),
    )


def write(app: Sphinx, problem: Exception | None) -> None:
    """Write the three files, once the pages are there."""
    if problem or app.builder.format != "html":
        return
    site, book = Path(app.outdir), app.config.html_title
    address = app.config.html_baseurl
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    parts = contents(site, toc)
    source = app.config.html_theme_options["repository_url"]
    made = {
        "sitemap.xml": sitemap(parts, address),
        "llms.txt": llms(parts, address, book, source),
        "404.html": not_found(parts, address, book, source),
    }
    for name, text in made.items():
        (site / name).write_text(text, "utf-8")


def setup(app: Sphinx) -> None:
    """Run after the pages are written, and before they get their policies."""
    app.connect("build-finished", write, priority=700)
