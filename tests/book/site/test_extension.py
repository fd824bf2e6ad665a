"""What the book's own Sphinx extension makes of written pages."""

from __future__ import annotations

import base64
import hashlib
import importlib
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="module")
def extension():
    """Import a module of the extension by name."""
    return lambda name: importlib.import_module(f"tformer_book.site.{name}")


def test_a_formula_becomes_html_and_mathml(extension):
    formulas = extension("formulas")
    [made], styles = formulas.Typesetter().typeset([(r"\frac{a}{\sqrt{d}}", False)])
    assert made.startswith("<mjx-container")
    assert "<mfrac><mi>a</mi><msqrt><mi>d</mi></msqrt></mfrac>" in made
    assert "FONTS/" in styles


def test_each_page_gets_the_styles_of_its_own_characters(extension):
    typesetter = extension("formulas").Typesetter()
    _, first = typesetter.typeset([("a", False)])
    _, second = typesetter.typeset([(r"\Omega", True)])
    assert "mjx-c1D44E" in first  # italic a
    assert "mjx-c1D44E" not in second
    assert typesetter.typeset([("a", False)])[1] == first


def test_a_formula_that_mathjax_cannot_read_fails_the_build(extension, tmp_path):
    formulas = extension("formulas")
    page = tmp_path / "page.html"
    page.write_text(
        '<span class="math notranslate nohighlight">\\(\\nonsense{x}\\)</span>'
    )
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    with pytest.raises(formulas.ExtensionError, match=r"page\.html.*cannot read"):
        formulas.typeset_pages(app, None)


def test_formulas_go_where_their_tex_was(extension):
    formulas = extension("formulas")
    page = (
        '<p><span class="math notranslate nohighlight">\\(a &lt; b\\)</span> and</p>'
        '<div class="math notranslate nohighlight" id="e">\n\\[c\\]</div>'
    )
    assert [found[3:5] for found in formulas.FORMULA.findall(page)] == [
        ("a &lt; b", "</span>"),
        ("c", "</div>"),
    ]
    assert formulas.filled(page, ["1", "2"]) == (
        '<p><span class="math notranslate nohighlight">1</span> and</p>'
        '<div class="math notranslate nohighlight" id="e">2</div>'
    )


def test_a_short_formula_keeps_its_full_stop(extension):
    formulas = extension("formulas")
    span = '<span class="math notranslate nohighlight">{}</span>'
    short, long = span.format("\\(a\\)"), span.format(f"\\({'a + ' * 9}b\\)")
    assert formulas.filled(f"{short}, {long}.", ["1", "2"]) == (
        f'<span class="tf-together">{span.format(1)},</span> {span.format(2)}.'
    )


def checksum(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_names_the_scripts_of_a_page_and_not_its_data(extension):
    policy = extension("policy")
    page = (
        '<html><head>\n<meta charset="utf-8" />\n<title>x</title></head><body>'
        '<script>run()</script><script type="application/json">{"a": 1}</script>'
        '<script src="a.js"></script></body></html>'
    )
    made = policy.with_policy(page)
    rule = f"script-src 'self' 'wasm-unsafe-eval' 'sha256-{checksum('run()')}';"
    assert rule in made
    assert checksum('{"a": 1}') not in made
    assert made.index("Content-Security-Policy") < made.index("<title>")
    assert policy.with_policy(made) == made  # a page that is not written anew


@pytest.mark.parametrize("old", ["tf/widgets.js?v=1a2b", "tf/0a1b2c3d4e5f/widgets.js"])
def test_a_page_names_the_version_of_the_figures_that_was_published(extension, old):
    widgets = extension("widgets")
    page = '<script type="module" src="../_static/{}"></script> tf/widgets.js'.format
    made = widgets.with_version(page(old), "9f8e7d6c5b4a")
    assert made == page("tf/9f8e7d6c5b4a/widgets.js")


def test_no_page_has_the_browser_fetch_the_next_one(extension):
    kept = '<link rel="prev" title="Masks" href="07-masks.html" />'
    link = '\n    <link rel="next" title="The decoder" href="09-decoder.html" />'
    assert extension("pages").LEFT_OVERS.sub("", kept + link) == kept


def test_code_says_how_many_lines_it_has(extension):
    pages = extension("pages")
    block = (
        '<div class="highlight-ipython3 notranslate"><div class="highlight">'
        "<pre>a\nb\n</pre></div></div>"
    )
    made = pages.CODE.sub(pages.with_lines, block)
    start = '<div class="highlight" style="--tf-lines:2"'
    assert f'{start} data-tf-short="true"><pre>' in made  # paper keeps it together
    long = pages.CODE.sub(pages.with_lines, block.replace("a\n", "a\n" * 40))
    assert 'style="--tf-lines:41"><pre>' in long
    assert pages.CODE.sub(pages.with_lines, made) == made


@pytest.mark.parametrize(
    ("row", "lines"),
    [
        ("", 1),
        ("x" * 43, 1),
        ("x" * 44, 2),  # a long word breaks anywhere
        ("x" * 90, 3),
        ("word " * 8 + "two", 1),
        ("word " * 8 + "four", 2),  # a short one goes to the next line as a whole
        ("    return x + " + "y" * 35, 2),  # it hangs four columns beyond its indent
        ("    return x + " + "y" * 36, 3),
    ],
)
def test_lines_of_code_that_wrap_on_a_phone_are_counted(extension, row, lines):
    pages = extension("pages")
    assert pages.lines_of(row, pages.ON_A_PHONE) == lines
    block = f'<div class="highlight-python"><div class="highlight"><pre>{row}\n</pre>'
    made = pages.CODE.sub(pages.with_lines, block)
    assert (f"--tf-lines-phone:{lines}" in made) == (lines > 1)
    assert ("tf-row" in made) == (len(row) > pages.ON_A_PHONE)


def test_code_that_may_scroll_is_a_stop_for_the_tab_key(extension):
    pages = extension("pages")

    def made(code):
        block = '<div class="highlight-python"><div class="highlight"><pre>{}</pre>'
        return pages.CODE.sub(pages.with_lines, block.format(code))

    assert 'tabindex="0"' in made("short\n" + "x" * 41)
    assert "tabindex" not in made("short\n" * 20)
    assert "tabindex" not in made('<span class="k">&lt;</span>' * 40)


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        ("W^O", "W^O"),
        (r"\sqrt{d_k}", "√d_k"),
        (r"\frac{a}{b}", "a/b"),
        (r"\beta_2 = 0.98", "β_2 = 0.98"),
        (r"d_\text{model}", "d_model"),
        (r"\eta \cdot \max(0, x)", "η · max(0, x)"),
    ],
)
def test_a_small_formula_can_be_read_in_a_line(extension, tex, text):
    assert extension("formulas").in_a_line(tex) == text


def test_a_description_ends_with_a_sentence(extension):
    shortened = extension("social").shortened
    assert shortened("One sentence that is short.") == "One sentence that is short."
    first = "The first sentence says what the page is about, and stops here."
    assert shortened(f"{first} {'Then more follows ' * 20}") == first
    assert shortened(f"{first[:-1]}; {'then more follows ' * 20}") == first
    assert shortened("word " * 100).endswith("word …")
