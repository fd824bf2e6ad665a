"""The map of the site, the list for programs, and the page for a wrong address."""

from __future__ import annotations

import importlib
import re
import xml.etree.ElementTree as Tree

import pytest

ADDRESS = "https://some-one.github.io/a-book/"
TOC = {
    "root": "book/intro",
    "parts": [
        {
            "caption": "The parts",
            "chapters": [
                {"file": "book/01-one", "sections": [{"file": "book/api/deep"}]},
                {"file": "book/not-written-yet"},
            ],
        }
    ],
}
TITLES = {
    "book/intro": "Intro",
    "book/01-one": "01 Keys &amp; values",
    "book/api/deep": "Deep",
}


@pytest.fixture(scope="module")
def found():
    return importlib.import_module("tformer_book.site.found")


@pytest.fixture
def parts(found, tmp_path):
    """What a site of three pages has, as ``social`` wrote their heads."""
    for name, title in TITLES.items():
        page = tmp_path / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            f'<head><meta name="description" content="About {title}.">\n'
            f'<meta property="og:title" content="{title}"></head>'
            '<meta property="og:title" content="quoted in the text">'
        )
    return found.contents(tmp_path, TOC)


def test_pages_stand_in_the_order_of_the_contents_sections_and_all(parts):
    places = {part: [each.place for each in pages] for part, pages in parts.items()}
    assert places == {
        "Start here": ["book/intro.html"],
        "The parts": ["book/01-one.html", "book/api/deep.html"],
    }
    assert parts["The parts"][0].title == "01 Keys & values"


def test_the_map_lists_every_page_once(found, parts):
    root = Tree.fromstring(found.sitemap(parts, ADDRESS))
    places = [each.text.removeprefix(ADDRESS) for each in root.iterfind(".//{*}loc")]
    assert places == [f"{name}.html" for name in TITLES]


def test_the_list_for_programs_has_a_line_for_each_page(found, parts):
    text = found.llms(parts, ADDRESS, "A Book", "https://github.com/some-one/a-book")
    assert text.startswith("# A Book\n\n> About Intro.\n\n")
    assert f"\n- [01 Keys & values]({ADDRESS}book/01-one.html): About Keys" not in text
    line = (
        f"\n- [01 Keys & values]({ADDRESS}book/01-one.html): About 01 Keys & values.\n"
    )
    assert line in text
    assert re.findall(r"^## (.*)", text, re.M) == ["Start here", "The parts"]


@pytest.mark.parametrize(
    ("address", "path"), [(ADDRESS, "/a-book/"), ("https://a.b.c/", "/")]
)
def test_links_of_the_page_for_wrong_addresses_hold_at_any_depth(
    found, parts, address, path
):
    source = "https://github.com/some-one/a-book"
    page = found.not_found(parts, address, "A & Book", source)
    links = re.findall(r'href="([^"]*)"', page)
    inside = [each for each in links if not each.startswith(source)]
    assert {f"{path}{name}.html" for name in TITLES} < set(inside)
    assert all(each.startswith(path) for each in inside)
    assert "<title>There is no page here: A &amp; Book</title>" in page
    assert "01 Keys &amp; values</a>" in page
