"""The book for paper and for e-readers: whole, linked, readable without a screen."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile

import lxml.etree
import lxml.html
import pytest
from PIL import Image
from pypdf import PdfReader

from tformer_book.editions import __main__ as program
from tformer_book.editions import epub, pdf
from tformer_book.editions.contents import ON_THE_SITE, chosen, home
from tformer_book.editions.pages import opened
from tformer_book.press import browser as driver
from tformer_book.press.chapters import HTML, address

PAGES = ["by-pencil", "notation"]
XHTML = {"h": "http://www.w3.org/1999/xhtml", "m": "http://www.w3.org/1998/Math/MathML"}


@pytest.fixture(scope="module")
def parts():
    return chosen(HTML, PAGES)


@pytest.fixture(scope="module")
def paper(chromium, site, parts, tmp_path_factory):
    file = tmp_path_factory.mktemp("editions") / "book.pdf"
    pdf.write(chromium, site, parts, file)
    return PdfReader(file)


@pytest.fixture(scope="module")
def book(chromium, site, parts, tmp_path_factory):
    """The files of the EPUB, by name."""
    file = tmp_path_factory.mktemp("editions") / "book.epub"
    epub.write(chromium, site, parts, file)
    with zipfile.ZipFile(file) as packed:
        assert packed.namelist()[0] == "mimetype"
        return {name: packed.read(name) for name in packed.namelist()}


@pytest.fixture(scope="module")
def documents(book):
    return {
        name: lxml.etree.fromstring(content)
        for name, content in book.items()
        if name.endswith(".xhtml")
    }


def titles(outline):
    for each in outline:
        yield from titles(each) if isinstance(each, list) else [each["/Title"]]


def sections(page):
    tree = lxml.html.parse(HTML / address(page))
    for heading in tree.findall(".//article//section/h2"):
        yield heading.text_content().removesuffix("#").strip()


def test_the_outline_has_every_chapter_and_section(paper, parts):
    found = list(titles(paper.outline))
    for part in parts:
        assert part.caption in found
        for chapter in part.chapters:
            assert chapter.title in found
    for page in PAGES:
        assert list(sections(page))
        assert set(sections(page)) <= set(found)


def test_a_link_of_the_pdf_leads_to_a_page_of_it_or_to_the_web(paper, site):
    n_inside = 0
    for page in paper.pages:
        for link in page.get("/Annots", ()):
            link = link.get_object()
            if "/Dest" in link:
                n_inside += 1
                assert link["/Dest"][0].get_object() in paper.pages
            else:
                assert link["/A"]["/URI"].startswith(("https://", "http://"))
                assert not link["/A"]["/URI"].startswith(site)
    assert n_inside > 20


def test_the_contents_lead_to_the_page_that_they_name(paper):
    n_front = 2
    listed = paper.pages[1].extract_text().split()
    for link in paper.pages[1]["/Annots"]:
        page = paper.pages.index(link.get_object()["/Dest"][0].get_object())
        assert str(page - n_front + 1) in listed
        assert page >= n_front
    for page in PAGES:
        for title in sections(page):
            assert set(title.split()) <= set(listed)


def test_its_first_pages_are_set_in_the_letters_of_the_book(paper):
    for page in paper.pages[:2]:
        fonts = [each.get_object() for each in page["/Resources"]["/Font"].values()]
        names = [str(each.get("/BaseFont")) for each in fonts]
        assert not [name for name in names if re.search("Serif|Times|Georgia", name)]
        # Chromium writes letters of variable weight as drawings.
        assert "/Type3" in [each["/Subtype"] for each in fonts]


def test_page_numbers_go_on_from_chapter_to_chapter(paper):
    for number, page in enumerate(paper.pages[2:], start=1):
        words = page.extract_text().split()
        assert str(number) in words[:8] + words[-1:]


@pytest.mark.parametrize("page", ["positions", "training"])
def test_nothing_is_wider_than_the_paper(chromium, site, page):
    [part] = chosen(HTML, [page])
    width = pdf.WIDTH
    with opened(chromium, site, part.chapters[0], width=width, media="print") as it:
        it.page.evaluate(pdf.PAPER, pdf.STYLE)
        assert it.page.evaluate(driver.OVERFLOW) == []


def test_solutions_stand_at_the_end_with_links_there_and_back(chromium, site):
    [part] = chosen(HTML, ["attention"])
    with opened(chromium, site, part.chapters[0], width=pdf.WIDTH) as it:
        problems = it.page.locator("#problems")
        assert "Solution to" not in problems.inner_text()
        n = it.page.locator("#solutions .solution").count()
        assert n >= 5
        for i in range(n):
            link = it.page.locator("#solutions .solution-of a").nth(i)
            problem = it.page.locator(link.get_attribute("href"))
            back = problem.get_by_text("(Solution)").get_attribute("href")
            answer = it.page.locator(f"#problems ~ #solutions {back}")
            assert len(answer.inner_text()) > len("Problem 1") + 10
        assert it.page.locator(".bd-article :is(details, button.copybtn)").count() == 0


def test_every_file_is_in_the_manifest_and_the_reading_order(book):
    package = lxml.etree.fromstring(book["book/package.opf"])
    names = {
        item.get("id"): item.get("href") for item in package.iterfind(".//{*}item")
    }
    listed = {f"book/{name}" for name in names.values()}
    assert listed == {
        name for name in book if name.startswith("book/") and "package" not in name
    }
    order = [names[each.get("idref")] for each in package.iterfind(".//{*}itemref")]
    assert set(order) == {name for name in names.values() if name.endswith(".xhtml")}
    assert order[-2:] == [f"{page}.xhtml" for page in PAGES]


def test_links_and_ids_of_the_epub_hold(documents, site):
    ids = {name: tree.xpath("//@id") for name, tree in documents.items()}
    n_across = 0
    for name, tree in documents.items():
        assert len(ids[name]) == len(set(ids[name])), name
        for href in tree.xpath("//h:a/@href", namespaces=XHTML):
            assert not href.startswith(site)
            if "://" in href or href.startswith("mailto:"):
                continue
            file, _, anchor = href.partition("#")
            target = posixpath.join("book", file) if file else name
            n_across += target != name
            assert not anchor or anchor in ids[target], href
    assert n_across > 20


def test_what_is_on_the_web_only_is_linked_there(documents):
    links = documents["book/about.xhtml"].xpath("//h:a/@href", namespaces=XHTML)
    assert links == [home()]
    assert "book/lab" in ON_THE_SITE


def test_every_picture_has_words_and_shows_something(book, documents):
    n = 0
    for name, tree in documents.items():
        for image in tree.iterfind(".//h:img", XHTML):
            n += 1
            assert len(image.get("alt")) > 15, (name, image.get("src"))
            content = book[f"book/{image.get('src')}"]
            picture = Image.open(io.BytesIO(content)).convert("RGB")
            colours = picture.getcolors(1 << 24)
            assert len(colours) > 8
            assert (
                max(count for count, _ in colours)
                < 0.99 * picture.width * picture.height
            )
    assert n >= 2


def test_every_formula_is_mathml(documents):
    for page in PAGES:
        text = (HTML / address(page)).read_text("utf-8")
        tree = documents[f"book/{page}.xhtml"]
        formulas = tree.findall(".//m:math", XHTML)
        assert len(formulas) == text.count("<mjx-assistive-mml") > 0
        assert not [e for e in tree.iter() if "mjx" in str(e.tag)]


def test_nothing_in_the_epub_waits_for_a_click(documents):
    for tree in documents.values():
        for kind in (
            "script",
            "button",
            "input",
            "select",
            "form",
            "details",
            "noscript",
        ):
            assert tree.find(f".//h:{kind}", XHTML) is None, kind


def test_without_a_site_or_with_a_strange_page_there_is_one_clear_message(
    tmp_path, monkeypatch, capsys
):
    assert program.main(["pdf", "--only", "lab", "--out", str(tmp_path)]) == 2
    assert "no edition has the page 'lab'" in capsys.readouterr().err
    monkeypatch.setattr(program, "HTML", tmp_path)
    assert program.main(["epub", "--out", str(tmp_path)]) == 2
    assert "run: make book" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_table_of_the_epub_says_the_name_of_a_column_once(documents):
    tree = documents["book/notation.xhtml"]
    assert not tree.xpath("//*[contains(@class, 'tf-label')]")
    blocks = tree.xpath("//h:td//m:math[@display='block']", namespaces=XHTML)
    assert tree.xpath("//h:td//m:math", namespaces=XHTML) and not blocks


def test_figures_that_begin_empty_are_shown_at_their_end(chromium, site):
    [part] = chosen(HTML, ["training"])
    with opened(chromium, site, part.chapters[0], width=epub.WIDTH) as it:
        figure = it.page.locator("#figure-one-gradient")
        assert figure.locator('[data-control="end"]').is_disabled()
        assert figure.locator('[data-control="start"]').is_enabled()
        assert it.page.locator(".bd-article .tf-dock").count() == 0


def test_letters_keep_their_own_widths_on_paper(monkeypatch, tmp_path):
    """With those of a screen, words stand unevenly, and some run together."""
    given = []

    def chromium(*flags):
        given.extend(flags)
        raise driver.NoBrowserError("none")

    monkeypatch.setattr(program, "chromium", chromium)
    assert program.main(["pdf", "--out", str(tmp_path)]) == 2
    assert "--font-render-hinting=none" in given
