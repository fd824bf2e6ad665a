"""What the book cites, and the bibliography that it cites from."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
from pybtex.database import parse_file
from sphinx.application import Sphinx

from tformer_book.press.chapters import ROOT, pages, read, source

ENTRIES = parse_file(str(ROOT / "book/references.bib")).entries
CITATION = re.compile(r"\[([^\[\]]+)\]\(bibliography\.md#([^)]*)\)")
# A bullet of "Further reading": who and when, then what, with its own address.
WORK = re.compile(r"\(bibliography\.md#([^)]*)\)[^\[\n]{0,3}\[([^\]]+)\]\(([^)]*)\)")
FURTHER = re.compile(r"^## Further reading\n(.*?)(?=^## |\Z)", re.M | re.S)

PAGES = [p for p in pages() if p.is_file()]
CHAPTERS = [p for p in PAGES if re.match(r"\d\d-", p.name)]


def text_of(path):
    """Return the prose of a page."""
    if path.suffix == ".md":
        return path.read_text("utf-8")
    cells = read(path)["cells"]
    return "\n\n".join(source(c) for c in cells if c["cell_type"] == "markdown")


def each(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda p: p.stem)


def surname(entry):
    person = entry.persons["author"][0]
    return " ".join([*person.prelast_names, *person.last_names])


def plain(text):
    """Return the letters and digits of a text, without accents."""
    parts = unicodedata.normalize("NFKD", text).lower()
    return re.sub(r"[^a-z0-9]", "", parts)


def addresses(entry):
    """Return where a work can be found."""
    kinds = {"eprint": "https://arxiv.org/abs/", "doi": "https://doi.org/", "url": ""}
    fields = entry.fields
    return [front + fields[kind] for kind, front in kinds.items() if kind in fields]


def test_a_key_is_the_first_authors_name_and_the_year():
    for key, entry in ENTRIES.items():
        assert key.startswith(plain(surname(entry)) + entry.fields["year"]), key


def test_an_entry_says_what_it_is_and_where_it_can_be_found():
    for key, entry in ENTRIES.items():
        fields = entry.fields
        assert fields["title"].startswith("{"), f"{key}: its capitals would be lost"
        assert re.fullmatch(r"(19|20)\d\d", fields["year"]), key
        assert re.fullmatch(r"\d{4}\.\d{4,5}", fields.get("eprint", "1234.56789")), key
        assert "doi.org" not in fields.get("doi", ""), key
        # The one of 1994 is in print only.
        assert addresses(entry) or key == "gage1994", key


def test_each_entry_is_cited_or_says_that_it_is_not():
    drafts = [*PAGES, *(ROOT / "book").glob("*.ipynb")]
    cited = {key for path in drafts for _, key in CITATION.findall(text_of(path))}
    silent = {k for k, e in ENTRIES.items() if e.fields.get("keywords") != "uncited"}
    assert silent <= cited


@each(PAGES)
def test_a_citation_has_an_entry_and_names_its_author_and_year(path):
    for text, key in CITATION.findall(text_of(path)):
        assert key in ENTRIES, f"book/references.bib has no {key!r}"
        entry = ENTRIES[key]
        assert plain(surname(entry)) in plain(text), (key, text)
        assert entry.fields["year"] in text, (key, text)


@each(CHAPTERS)
def test_further_reading_cites_two_works_or_more(path):
    found = FURTHER.findall(text_of(path))
    assert len(found) == 1
    assert len({key for _, key in CITATION.findall(found[0])}) >= 2


@each(CHAPTERS)
def test_a_title_in_further_reading_leads_to_the_work_itself(path):
    for section in FURTHER.findall(text_of(path)):
        for key, title, address in WORK.findall(section):
            entry = ENTRIES[key]
            assert address in addresses(entry), key
            assert plain(entry.fields["title"]).startswith(plain(title)), key


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Return a function that builds a small book and gives its pages and warnings."""
    book = tmp_path / "book"
    book.mkdir()
    (tmp_path / "few.bib").write_text(
        "@misc{one2001, author={Ann One}, title={{First}}, year={2001}}\n"
        "@misc{two2002, author={Bo Two}, title={{Second}}, year={2002}}\n"
    )
    (book / "bibliography.md").write_text(
        "---\norphan: true\n---\n# Works\n\n"
        "```{bibliography}\n:filter: cited\n:list: bullet\n```\n"
    )
    settings = {
        "extensions": ["myst_parser", "tformer_book.site.citations"],
        "bibtex_bibfiles": ["few.bib"],
        "bibtex_cite_id": "{key}",
        "root_doc": "book/01",
    }

    def build(**texts):
        for name, text in texts.items():
            page = f"---\norphan: true\n---\n{text}\n"
            (book / f"{name.strip('c')}.md").write_text(page)
        warnings = io.StringIO()
        out = tmp_path / "out"
        places = (str(tmp_path), None, str(out), str(tmp_path / "trees"), "html")
        Sphinx(*places, settings, status=None, warning=warnings).build()
        made = {p.stem: p.read_text("utf-8") for p in (out / "book").glob("*.html")}
        # A second Sphinx in one process also warns about itself.
        said = warnings.getvalue().splitlines()
        return made, [line for line in said if str(tmp_path) in line]

    return build


def test_a_link_becomes_a_citation_and_the_entry_leads_back(build):
    link = "[One, 2001](bibliography.md#one2001)"
    made, warnings = build(c01=f"# A\n\n{link}, again {link}.", c02=f"# B\n\n{link}")
    assert warnings == []
    assert made["01"].count('href="bibliography.html#one2001"') == 2
    assert made["01"].count('id="cite-one2001"') == 1
    entry = made["bibliography"].split('<li id="one2001">')[1].split("</li>")[0]
    assert "Ann One" in entry
    assert '<a class="reference internal" href="01.html#cite-one2001">A</a>' in entry
    assert '<a class="reference internal" href="02.html#cite-one2001">B</a>' in entry
    assert "Bo Two" not in made["bibliography"]  # nobody cites it


def test_a_second_build_forgets_who_no_longer_cites(build):
    link = "[One, 2001](bibliography.md#one2001)"
    build(c01=f"# A\n\n{link}", c02=f"# B\n\n{link}")
    made, _ = build(c02="# B\n\n[Two, 2002](bibliography.md#two2002)")
    assert made["bibliography"].count("#cite-one2001") == 1
    assert made["bibliography"].count("02.html#cite-two2002") == 1


def test_a_key_that_does_not_exist_is_a_warning(build):
    _, [warning] = build(c01="# A\n\n[Nobody, 1999](bibliography.md#nobody1999)")
    assert "nobody1999" in warning


def test_a_link_to_the_page_itself_is_no_citation(build):
    made, warnings = build(c01="# A\n\nSee [all works](bibliography.md).")
    assert warnings == []
    assert 'href="bibliography.html"' in made["01"]
