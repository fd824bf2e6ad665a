"""The book as one PDF: what Chromium prints, joined, with links and outline."""

from __future__ import annotations

import html
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser
from pypdf import PdfReader, PdfWriter
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NullObject,
    TextStringObject,
)

from tformer import figures
from tformer_book.editions.contents import TITLE, Chapter, Part, edition_date, home
from tformer_book.editions.pages import Heading, opened
from tformer_book.press.browser import wait_for_type
from tformer_book.press.chapters import ROOT

STYLE = figures.by_day((Path(__file__).parent / "paper.css").read_text("utf-8"))
PICTURE = ROOT / "book/_static/whole-model.svg"
WIDTH = 680  # CSS pixels of a line of the page's content: 180 mm
# A link inside a document makes Chromium note where it leads. So that every place can
# be reached from other chapters, each gets a link too small to be seen, which is taken
# out of the file again. (Code that fits on a page's rest or the next is not broken.)
PAPER = """(style) => {
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  const article = document.querySelector(".bd-article");
  for (const code of article.querySelectorAll(".cell_input"))
    code.classList.toggle("edition-whole", code.innerText.split("\\n").length < 30);
  const box = document.createElement("div");
  box.className = "edition-anchors";
  for (const {id} of article.querySelectorAll("[id]")) {
    const link = document.createElement("a");
    link.href = "#" + encodeURIComponent(id);
    link.textContent = ".";
    box.append(link);
  }
  article.append(box);
}"""
INVISIBLE = 2  # points


@dataclass
class Printed:
    """A chapter in the joined file.

    Attributes:
        first: index of its first page there.
        places: id → (page in the chapter, distance from its lower edge in points).
    """

    chapter: Chapter
    headings: tuple[Heading, ...]
    first: int
    n_pages: int
    places: dict[str, tuple[int, float]] = field(default_factory=dict)


def write(browser: Browser, site: str, parts: list[Part], file: Path) -> str:
    """Write the PDF; returns what there is to say about it."""
    book, front = PdfWriter(), PdfWriter()
    printed: dict[str, Printed] = {}
    for part in parts:
        for chapter in part.chapters:
            one = _print(browser, site, chapter, len(book.pages), book)
            printed[chapter.address] = one
    pages = _from_html(browser, site, _front(site, parts, printed))
    front.append(pages, import_outline=False)
    n_front = len(front.pages)
    front.append(_as_file(book), import_outline=False)
    for one in printed.values():
        one.first += n_front
    _relink(front, site, printed)
    _outline(front, parts, printed)
    front.add_metadata(
        {"/Title": TITLE, "/Author": f"{TITLE} contributors", "/Subject": home()}
    )
    front.root_object[NameObject("/Lang")] = TextStringObject("en")
    front.page_mode = "/UseOutlines"
    front.compress_identical_objects()
    front.write(file)
    return f"{len(front.pages)} pages, {len(printed)} chapters"


def _as_file(writer: PdfWriter) -> io.BytesIO:
    found = io.BytesIO()
    writer.write(found)
    found.seek(0)
    return found


def _id(page: Any) -> int:
    """By which number a file knows a page."""
    return page.idnum


def _print(
    browser: Browser, site: str, chapter: Chapter, first: int, book: PdfWriter
) -> Printed:
    """Print one chapter, and add it to the book."""
    style = STYLE.replace("TITLE", chapter.title.replace('"', "”"))
    style = style.replace("BEFORE", str(first))
    with opened(browser, site, chapter, width=WIDTH, media="print") as it:
        it.page.evaluate(PAPER, style)
        content = it.page.pdf(prefer_css_page_size=True, print_background=True)
        headings = it.headings
    reader = PdfReader(io.BytesIO(content))
    numbers = {_id(page.indirect_reference): i for i, page in enumerate(reader.pages)}
    places = {
        name.lstrip("/"): (numbers[_id(to.page)], float(to.top or 0))
        for name, to in reader.named_destinations.items()
    }
    book.append(reader, import_outline=False)
    return Printed(chapter, headings, first, len(reader.pages), places)


def _from_html(browser: Browser, site: str, text: str) -> io.BytesIO:
    page = browser.new_page()
    wait_for_type(page)
    page.goto(
        f"{site}_static/tokens.css"
    )  # only a page of the site may use its letters
    page.set_content(text)
    page.evaluate("document.fonts.ready.then(() => true)")
    content = page.pdf(prefer_css_page_size=True, print_background=True)
    page.close()
    return io.BytesIO(content)


def _front(site: str, parts: list[Part], printed: dict[str, Printed]) -> str:
    """The title page and the contents, as a page of HTML."""
    rows = []
    for part in parts:
        rows.append(f"<h2>{html.escape(part.caption)}</h2>")
        for chapter in part.chapters:
            one = printed[chapter.address]
            rows.append(
                _row("chapter", chapter.title, site + chapter.address, one.first)
            )
            for heading in one.headings:
                at = one.places.get(heading.id)
                if heading.level == 2 and at is not None:
                    address = f"{site}{chapter.address}#{heading.id}"
                    rows.append(
                        _row("section", heading.title, address, one.first + at[0])
                    )
    style = STYLE.replace("counter(page)", "counter(page, lower-roman)")
    style = style.replace("TITLE", TITLE).replace("BEFORE", "0")
    letters = f'<link rel="stylesheet" href="{site}_static/type.css">'
    return f"""<!doctype html><html lang="en"><meta charset="utf-8">
<title>{TITLE}</title>{letters}<style>{style}</style><body class="edition-front">
<section class="edition-title"><h1>{TITLE}</h1>
<p>An encoder–decoder Transformer, built, trained and taken apart</p>
{figures.by_day(PICTURE.read_text("utf-8"))}
<p>Edition of {edition_date()}. Text and figures: CC BY 4.0. Code: MIT.</p>
<p>On the web, at <a href="{home()}">{home()}</a>, the figures move: there you can also
train, translate and look inside the model, check your answers to the problems, and read
the reference of the package.</p></section>
<section class="edition-contents"><h1>Contents</h1>{"".join(rows)}</section>
</body></html>"""


def _row(kind: str, title: str, address: str, page: int) -> str:
    return (
        f'<p class="{kind}"><a href="{html.escape(address)}">'
        f"<span>{html.escape(title)}</span><i>{page + 1}</i></a></p>"
    )


def _relink(book: PdfWriter, site: str, printed: dict[str, Printed]) -> None:
    """Let links lead to places in the file, or to the web; drop those of `PAPER`."""
    owners = {
        one.first + i: one for one in printed.values() for i in range(one.n_pages)
    }
    for number, page in enumerate(book.pages):
        kept = ArrayObject()
        for reference in page.get("/Annots", ()):
            link = reference.get_object()
            _, bottom, _, top = (float(each) for each in link["/Rect"])
            if number in owners and top - bottom < INVISIBLE:
                continue
            target = _target(link, site, owners.get(number), printed)
            if isinstance(target, str):
                action = DictionaryObject()
                action[NameObject("/S")] = NameObject("/URI")
                action[NameObject("/URI")] = TextStringObject(target)
                link[NameObject("/A")] = action
            elif target is not None:
                link.pop("/A", None)
                link[NameObject("/Dest")] = _destination(book, *target)
            kept.append(reference)
        page[NameObject("/Annots")] = kept


def _target(
    link: DictionaryObject,
    site: str,
    owner: Printed | None,
    printed: dict[str, Printed],
) -> str | tuple[int, float | None] | None:
    """Where a link leads: page and height, or an address; None: leave it."""
    if owner is not None and "/Dest" in link:
        place = owner.places.get(str(link["/Dest"]).lstrip("/"))
        return (owner.first + place[0], place[1]) if place else (owner.first, None)
    address = str(link.get("/A", {}).get("/URI", ""))
    if not address.startswith(site):
        return None
    path, _, anchor = address.removeprefix(site).partition("#")
    if path not in printed:
        return home() + address.removeprefix(site)
    one = printed[path]
    place = one.places.get(anchor)
    return (one.first + place[0], place[1]) if place else (one.first, None)


def _destination(book: PdfWriter, page: int, top: float | None) -> ArrayObject:
    height = NullObject() if top is None else FloatObject(top)
    return ArrayObject(
        [
            book.pages[page].indirect_reference,
            *(NameObject("/XYZ"), NullObject(), height, NullObject()),
        ]
    )


def _outline(book: PdfWriter, parts: list[Part], printed: dict[str, Printed]) -> None:
    for part in parts:
        first = printed[part.chapters[0].address].first
        above = book.add_outline_item(title=part.caption, page_number=first, bold=True)
        for chapter in part.chapters:
            one = printed[chapter.address]
            entry = book.add_outline_item(
                title=chapter.title, page_number=one.first, parent=above
            )
            for heading in one.headings:
                at = one.places.get(heading.id)
                if heading.level == 2 and at is not None:
                    book.add_outline_item(
                        title=heading.title, page_number=one.first + at[0], parent=entry
                    )
