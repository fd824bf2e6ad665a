"""Reference pages of the built site: they lead to each other, and search finds them."""

from __future__ import annotations

import re

import pytest

from tformer_book.press import browser as driver
from tformer_book.press.chapters import HTML, address


def test_a_citation_leads_to_its_entry_and_the_entry_back(visit):
    chapter = address("attention")
    with visit(chapter, settle=False) as seen:
        link = seen.page.locator("a#cite-vaswani2017")
        assert link.get_attribute("href") == "bibliography.html#vaswani2017"
        link.click()
        entry = seen.page.locator("li#vaswani2017")
        entry.wait_for()
        assert "Attention Is All You Need" in entry.inner_text()
        assert entry.locator("a[href$='arxiv.org/abs/1706.03762']").count() == 1
        place = f"{chapter}#cite-vaswani2017".removeprefix("book/")
        back = entry.locator(f".tf-cited-in a[href$='{place}']")
        assert back.count() == 1
        back.click()
        seen.page.wait_for_url(f"**/{place}")


def test_every_entry_of_the_bibliography_says_who_cites_it():
    html = (HTML / "book/bibliography.html").read_text("utf-8")
    entries = re.findall(r"<li id=\"\w+\">.*?</li>", html, re.S)
    assert len(entries) > 30
    assert all("tf-cited-in" in entry for entry in entries)


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("components", "tformer.attention.attention"),
        ("components", "tformer.attention.MultiHeadAttention.forward"),
        ("model", "tformer.model.Transformer"),
        ("model", "tformer.config.TransformerConfig"),
        ("training", "tformer.pretrained.load_pretrained"),
        ("training", "tformer.translator.Translator.translate"),
        ("training", "tformer.train.fit"),
        ("training", "tformer.evaluate.score"),
        ("decoding", "tformer.decode.greedy"),
        ("decoding", "tformer.decode.beam_search"),
        ("data", "tformer.data.load"),
        ("reading", "tformer_book.check.attention"),
        ("reading", "tformer_book.widgets.OneQuery"),
    ],
)
def test_a_public_name_is_documented_and_leads_to_its_source(page, name):
    html = (HTML / f"book/api/{page}.html").read_text("utf-8")
    assert html.count(f'id="{name}"') == 1
    entry = html[html.index(f'id="{name}"') :]
    entry = entry[: entry.index("</dt>")]
    [(file, place)] = re.findall(r'href="../../(_modules/[^"#]*)#([^"]*)"', entry)
    code = (HTML / file).read_text("utf-8")
    assert f'id="{place}"' in code


def test_shapes_of_several_results_stand_in_a_list(visit):
    with visit("book/api/components.html", settle=False) as seen:
        entry = seen.page.locator("dl.py:has(> dt[id='tformer.attention.attention'])")
        items = entry.locator("dd li", has_text="rows sum to 1")
        assert items.first.inner_text().startswith("weights: (..., Tq, Tk)")


def test_a_name_is_found_where_the_package_has_it_from(visit):
    with visit("book/api/model.html", settle=False) as seen:
        entry = seen.page.locator(
            "dl.py:has(> dt[id='tformer.config.TransformerConfig'])"
        )
        link = entry.locator("dd a", has_text="tformer.Transformer").first
        assert link.get_attribute("href") == "#tformer.model.Transformer"
        text = seen.page.locator("article").inner_text()
        assert "Variables" not in text
        assert '"post" as in the paper, or "pre".' in text
    with visit("book/errata.html", settle=False) as seen:
        assert "project’s" in seen.page.locator("article").inner_text()


def test_a_page_of_source_is_as_quiet_as_the_others(visit):
    with visit("_modules/tformer/attention.html") as seen:
        assert seen.errors == []
        assert seen.third_party == []
        assert seen.axe() == []
        assert "def attention(" in seen.page.locator("pre").first.inner_text()


@pytest.mark.parametrize("word", ["MultiHeadAttention", "beam_search", "vaswani"])
def test_search_finds_names_and_authors(visit, word):
    with visit(f"search.html?q={word}", settle=False) as seen:
        seen.page.locator("#tf-search-page a").first.wait_for()
        text = seen.page.locator("#tf-search-page").inner_text().lower()
        assert word.lower() in text


def test_search_ranks_a_chapter_before_the_names_that_contain_the_word(visit):
    with visit("search.html?q=attention", settle=False) as seen:
        found = seen.page.locator("#tf-search-page a").first
        found.wait_for()
        assert "/api/" not in found.get_attribute("href")


@pytest.mark.parametrize(
    "page", ["components", "data", "decoding", "model", "reading", "training"]
)
def test_no_long_name_of_the_reference_scrolls_a_narrow_phone_sideways(visit, page):
    with visit(f"book/api/{page}.html", size="narrow") as seen:
        assert seen.overflow() == []
        widest = seen.page.evaluate("document.documentElement.scrollWidth")
        assert widest <= driver.SIZES["narrow"][0]
