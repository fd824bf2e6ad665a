"""Paragraphs that paper does not part."""

from __future__ import annotations

from docutils import nodes

from tformer_book.site import pages


def test_only_paragraphs_of_two_lines_are_marked():
    short, long = ("word " * 30).strip(), ("word " * 60).strip()
    section = nodes.section("", *(nodes.paragraph("", each) for each in (short, long)))
    pages.mark_short(None, section)
    assert [each["classes"] for each in section] == [["tf-short"], []]


def test_a_page_keeps_together_what_was_printed_in_few_lines():
    output = (
        '<div class="output stream highlight-myst-ansi notranslate">'
        '<div class="highlight"><pre><span></span>{}</pre>'
    )
    few, many = (output.format("a line\n" * n) for n in (16, 17))
    assert pages.OUTPUT.search(few) and not pages.OUTPUT.search(many)


DOCSTRING = """<span class="k">def</span> f():
    <span class="sd">\"\"\"First.</span>

<span class="sd">    Returns:</span>
<span class="sd">        one</span>
<span class="sd">    \"\"\"</span>
    <span class="k">return</span> 1
"""


def test_the_details_of_a_docstring_are_apart_and_nothing_else_is():
    made, hidden = pages.without_details(DOCSTRING)
    assert hidden == 3
    before, _, rest = made.partition('<span class="tf-details">')
    details, _, after = rest.partition("\n</span><span")
    assert "First." in before and "Returns" in details
    assert "return" in after and made.count("tf-details") == 1
    one_line = '<span class="sd">"""Only this."""</span>\n    return 1\n'
    assert pages.without_details(one_line) == (one_line, 0)
