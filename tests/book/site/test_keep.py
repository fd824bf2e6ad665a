"""Which problems can be ticked, and what there is to do, tried on small documents."""

from __future__ import annotations

import importlib
import types

import pytest
from docutils import nodes

HTML = types.SimpleNamespace(format="html")


@pytest.fixture(scope="module")
def keep():
    return importlib.import_module("tformer_book.site.keep")


def section(title, *content):
    return nodes.section("", nodes.title(title, title), *content)


def paragraph(bold, rest):
    # MyST begins such a paragraph with an empty text.
    return nodes.paragraph(
        "", "", nodes.Text(""), nodes.strong(bold, bold), nodes.Text(rest)
    )


def ticked(keep, *content):
    """What stands before each problem, after adding the ticks."""
    document = nodes.document(None, None, "", section("Chapter", *content))
    keep.add_ticks(types.SimpleNamespace(builder=HTML), document, "book/chapter")
    return [raw.parent.astext() for raw in document.findall(nodes.raw)]


def test_each_problem_gets_a_tick_with_its_number_also_below_a_subheading(keep):
    recall = section("Recall", paragraph("1.", " Why?"), paragraph("12.", " How?"))
    first, second = ticked(keep, section("Problems", recall))
    assert 'data-problem="1"' in first
    assert first.endswith("Why?")
    assert 'data-problem="12"' in second
    assert "Problem 12 " in second


def test_a_bold_beginning_that_is_no_number_or_no_problem_gets_none(keep):
    others = section("Break it", paragraph("1.", " A slip."))
    problems = section("Problems", paragraph("Hint.", " Draw it."))
    assert ticked(keep, others, problems) == []


@pytest.fixture
def site(keep, tmp_path):
    """A site of two chapters, one with something to do, and the page that counts."""
    (tmp_path / "book").mkdir()
    pages = {
        "book/01-a": '<form class="tf-guess pst-js-only">' * 2
        + '<label class="tf-solved pst-js-only">' * 3,
        "book/02-b": "nothing to do",
        keep.PAGE: '<table><tbody id="tf-chapters"></tbody></table>',
    }
    for name, html in pages.items():
        (tmp_path / f"{name}.html").write_text(html, encoding="utf-8")
    titles = {name: nodes.title("", f"Title <of> {name}") for name in pages}
    env = types.SimpleNamespace(toctree_includes={"book/intro": pages}, titles=titles)
    config = types.SimpleNamespace(root_doc="book/intro")
    return types.SimpleNamespace(outdir=tmp_path, env=env, config=config, builder=HTML)


def test_the_table_counts_what_the_pages_offer_each_time_the_site_is_built(keep, site):
    page = site.outdir / f"{keep.PAGE}.html"
    keep.write(site, None)
    html = page.read_text("utf-8")
    assert html.count("<tr ") == 1
    assert 'href="01-a.html">Title &lt;of&gt; book/01-a</a>' in html
    assert 'data-predictions="2" data-problems="3"' in html
    other = site.outdir / "book/02-b.html"
    other.write_text('<label class="tf-solved pst-js-only">', encoding="utf-8")
    keep.write(site, None)
    assert page.read_text("utf-8").count("<tr ") == 2
    totals = site.outdir / "_static/keep/problems.json"
    assert totals.read_text("utf-8") == '{"book/01-a": 3, "book/02-b": 1}'
