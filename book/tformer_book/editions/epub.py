"""The book as an EPUB 3: figures as pictures, formulas as MathML.

Written after EPUB 3.3 and EPUB Accessibility 1.1 (W3C).
"""

from __future__ import annotations

import html
import io
import posixpath
import re
import uuid
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import lxml.etree
from PIL import Image
from playwright.sync_api import Browser
from pygments.formatters import HtmlFormatter

from tformer import figures
from tformer_book.editions.contents import TITLE, Chapter, Part, edition_date, home
from tformer_book.editions.pages import Heading, opened, script
from tformer_book.press.chapters import HTML, ROOT
from tformer_book.press.pictures import on_paper

HERE = Path(__file__).parent
TAKE_DOWN = script("takedown.js")
WIDTH = 700  # CSS pixels in which figures are drawn
MATHML = "{http://www.w3.org/1998/Math/MathML}"
XHTML = "{http://www.w3.org/1999/xhtml}"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the same site makes the same file
KINDS = {
    ".xhtml": "application/xhtml+xml",
    ".css": "text/css",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".jpg": "image/jpeg",
}
# What a document may keep; the rest is for scripts, or for the site's style sheet.
ATTRIBUTES = {
    *("id", "class", "href", "src", "alt", "lang", "colspan", "rowspan", "start"),
    *("scope", "title", "display", "datetime", "aria-label"),
}
DOCUMENT = """\
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" \
lang="en" xml:lang="en">
<head><title>{title}</title>
<link rel="stylesheet" type="text/css" href="style.css"/></head>
<body>{body}</body></html>
"""
CONTAINER = """\
<?xml version="1.0" encoding="utf-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="book/package.opf" \
media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PACKAGE = """\
<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" \
xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{identifier}</dc:identifier>
<dc:title>{title}</dc:title><dc:language>en</dc:language>
<dc:creator>{title} contributors</dc:creator><dc:publisher>{home}</dc:publisher>
<dc:source>{home}</dc:source><dc:date>{date}</dc:date>
<dc:rights>Text and figures CC BY 4.0, code MIT</dc:rights>
<meta property="dcterms:modified">{date}T00:00:00Z</meta>
<meta property="schema:accessMode">textual</meta>
<meta property="schema:accessMode">visual</meta>
<meta property="schema:accessModeSufficient">textual</meta>
<meta property="schema:accessModeSufficient">textual,visual</meta>
<meta property="schema:accessibilityFeature">alternativeText</meta>
<meta property="schema:accessibilityFeature">MathML</meta>
<meta property="schema:accessibilityFeature">structuralNavigation</meta>
<meta property="schema:accessibilityFeature">tableOfContents</meta>
<meta property="schema:accessibilityFeature">readingOrder</meta>
<meta property="schema:accessibilityHazard">none</meta>
<meta property="schema:accessibilitySummary">Every picture has a description, every \
formula is MathML, and program code is text. The figures move on the web only.</meta>
<meta name="cover" content="cover-image"/>
</metadata>
<manifest>{manifest}</manifest>
<spine>{spine}</spine>
</package>
"""


@dataclass
class Document:
    """A chapter as it goes into the book.

    Attributes:
        section: its XHTML, links and images still as on the site.
        files: name → bytes of the pictures that it shows.
    """

    chapter: Chapter
    headings: tuple[Heading, ...]
    section: lxml.etree._Element
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.chapter.slug}.xhtml"

    @property
    def ids(self) -> set[str]:
        return {each for each in self.section.xpath("//@id")}

    def has_formulas(self) -> bool:
        return b"MathML" in lxml.etree.tostring(self.section)


def write(browser: Browser, site: str, parts: list[Part], file: Path) -> str:
    """Write the EPUB; returns what there is to say about it."""
    chapters = [chapter for part in parts for chapter in part.chapters]
    documents = {
        chapter.address: _take_down(browser, site, chapter) for chapter in chapters
    }
    for each in documents.values():
        _settle(each, site, documents)
    files = {"style.css": _style().encode(), "cover.png": _cover(browser)}
    files["cover.xhtml"] = _page(
        TITLE, f'<section><img class="cover" src="cover.png" alt="{TITLE}"/></section>'
    )
    files["about.xhtml"] = _about()
    files["nav.xhtml"] = _nav(parts, documents)
    order = ["cover.xhtml", "about.xhtml", "nav.xhtml"]
    for each in documents.values():
        text = lxml.etree.tostring(each.section, encoding="unicode")
        files[each.name] = _page(each.chapter.title, text)
        files |= each.files
        order.append(each.name)
    with_math = {each.name for each in documents.values() if each.has_formulas()}
    _pack(file, files, order, with_math)
    n_pictures = sum(len(each.files) for each in documents.values())
    return f"{len(documents)} chapters, {n_pictures} pictures"


def _take_down(browser: Browser, site: str, chapter: Chapter) -> Document:
    with opened(browser, site, chapter, width=WIDTH, scale=2) as it:
        it.page.add_style_tag(content=on_paper())
        found = it.page.evaluate(TAKE_DOWN)
        section = lxml.etree.fromstring(found["text"])
        document = Document(chapter, it.headings, section)
        for i in range(len(found["pictures"])):
            box = it.page.locator(f'[data-edition-picture="{i}"]')
            name = f"{chapter.slug}-{i}.png"
            document.files[name] = _small(box.screenshot(animations="disabled"))
            for image in section.iter(XHTML + "img"):
                if image.get("src") == f"picture:{i}":
                    image.set("src", name)
    return document


def _small(png: bytes) -> bytes:
    """The same picture in 256 colours, which is a third of the bytes."""
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _settle(document: Document, site: str, documents: dict[str, Document]) -> None:
    """Lead links to the book's own documents or to the web; fetch images; tidy up."""
    for image in document.section.iter(XHTML + "img"):
        source = image.get("src")
        if source.startswith(site):
            path = source.removeprefix(site)
            name = posixpath.basename(path)
            document.files[name] = (HTML / path).read_bytes()
            image.set("src", name)
    for link in document.section.iter(XHTML + "a"):
        address = link.get("href")
        if address is None or not address.startswith(site):
            continue
        path, _, anchor = address.removeprefix(site).partition("#")
        target = documents.get(path)
        if target is None:
            link.set("href", home() + address.removeprefix(site))
        elif anchor in target.ids:
            link.set("href", f"{target.name}#{anchor}")
        else:
            link.set("href", target.name)
    for corner in document.section.iter(XHTML + "th"):
        if not "".join(corner.itertext()).strip():  # heads nothing
            corner.tag = XHTML + "td"
            corner.attrib.pop("scope", None)
        elif corner.find(f".//{MATHML}math") is not None:  # which counts as no text
            corner.set("aria-label", " ".join("".join(corner.itertext()).split()))
    for node in document.section.iter(lxml.etree.Element):
        is_math = "MathML" in node.tag
        for name in list(node.attrib):
            if (name not in ATTRIBUTES and not is_math) or name == "style":
                del node.attrib[name]
        if node.get("lang"):
            lang = "{http://www.w3.org/XML/1998/namespace}lang"
            node.set(lang, node.get("lang"))


def _style() -> str:
    code = HtmlFormatter(style="a11y-high-contrast-light").get_style_defs(".highlight")
    return figures.by_day((HERE / "ebook.css").read_text("utf-8")) + code


def _cover(browser: Browser) -> bytes:
    picture = (ROOT / "book/_static/whole-model.svg").read_text("utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 1800})
    cover = f"""<html lang="en"><body style="margin:0;padding:140px 100px;font:34px
        Georgia,serif;text-align:center;background:var(--tf-card);color:var(--tf-ink)">
        <h1 style="font-size:88px;line-height:1.15;margin:0 0 50px">{TITLE}</h1>
        <p>An encoder–decoder Transformer, built, trained and taken apart</p>
        <div style="width:720px;margin:60px auto;font:26px sans-serif">{picture}</div>
        </body></html>"""
    page.set_content(figures.by_day(cover))
    content = page.screenshot()
    page.close()
    return _small(content)


def _page(title: str, body: str) -> bytes:
    return DOCUMENT.format(title=html.escape(title), body=body).encode()


def _about() -> bytes:
    return _page(
        "About this edition",
        f"""<section><h1>About this edition</h1>
<p>{TITLE} is an interactive book. On the web, at <a href="{home()}">{home()}</a>,
its figures move: there you can also train, translate and look inside the model, check
your answers to the problems, and read the reference of the package. Here each figure
stands as it is when you open its chapter.</p>
<p>Solutions are at the end of each chapter. Code that only draws a figure was left
out.</p>
<p>Edition of {edition_date()}. Text and figures: CC BY 4.0. Code: MIT.</p>
</section>""",
    )


def _nav(parts: list[Part], documents: dict[str, Document]) -> bytes:
    rows = []
    for part in parts:
        first = documents[part.chapters[0].address].name
        rows.append(f'<li><a href="{first}">{html.escape(part.caption)}</a><ol>')
        for chapter in part.chapters:
            one = documents[chapter.address]
            sections = "".join(
                f'<li><a href="{one.name}#{each.id}">{html.escape(each.title)}</a></li>'
                for each in one.headings
                if each.level == 2 and each.id in one.ids
            )
            inner = f"<ol>{sections}</ol>" if sections else ""
            title = html.escape(chapter.title)
            rows.append(f'<li><a href="{one.name}">{title}</a>{inner}</li>')
        rows.append("</ol></li>")
    return _page(
        "Contents",
        '<nav epub:type="toc" role="doc-toc" id="toc"><h1>Contents</h1>'
        f"<ol>{''.join(rows)}</ol></nav>",
    )


def _pack(
    file: Path, files: dict[str, bytes], order: list[str], with_math: set[str]
) -> None:
    manifest = []
    for number, name in enumerate(sorted(files)):
        properties = {"nav.xhtml": "nav", "cover.png": "cover-image"}.get(name, "")
        if name in with_math:
            properties = "mathml"
        said = f' properties="{properties}"' if properties else ""
        key = "cover-image" if name == "cover.png" else f"f{number}"
        kind = KINDS[posixpath.splitext(name)[1]]
        manifest.append(f'<item id="{key}" href="{name}" media-type="{kind}"{said}/>')
    keys = dict(re.findall(r'id="([^"]+)" href="([^"]+)"', "".join(manifest)))
    places = {name: key for key, name in keys.items()}
    spine = "".join(f'<itemref idref="{places[name]}"/>' for name in order)
    date = edition_date() or "1980-01-01"
    package = PACKAGE.format(
        identifier=uuid.uuid5(uuid.NAMESPACE_URL, home()),
        title=TITLE,
        home=home(),
        date=date,
        manifest="".join(manifest),
        spine=spine,
    )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:

        def add(name: str, content: bytes, how: int = zipfile.ZIP_DEFLATED) -> None:
            packed.writestr(zipfile.ZipInfo(name, EARLIEST), content, how)

        add("mimetype", b"application/epub+zip", zipfile.ZIP_STORED)
        add("META-INF/container.xml", CONTAINER.encode())
        add("book/package.opf", package.encode())
        for name, content in files.items():
            add(f"book/{name}", content)
