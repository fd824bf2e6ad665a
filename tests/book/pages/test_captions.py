"""The captions of figures, and links to a figure as the reader has set it."""

from __future__ import annotations

import re
import shutil

import pytest
from PIL import Image

from tformer_book.press import browser as driver
from tformer_book.press.chapters import HTML, ROOT, address

PAGE = address("attention")
FIGURE = "#figure-one-query"
TEMPERATURE = f"{FIGURE} [data-control=temperature]"
FIGURES = re.compile(
    r'<figure class="tf-figure" id="([^"]+)">(.*?)</figure>', flags=re.DOTALL
)


def drawn(seen, figure=FIGURE):
    seen.page.wait_for_selector(f"{figure} .tf-widget[data-ready]")
    return seen.page.locator(figure)


def followed(visit, link):
    """Open a page by a link that says how a figure is set."""
    return visit(f"{PAGE}{link}", settle=False)


@pytest.mark.parametrize("path", sorted(HTML.glob("book/[01]*.html")), ids=str)
def test_every_figure_has_its_number_its_title_and_its_words(path):
    html = path.read_text("utf-8")
    chapter = int(path.name[:2])
    figures = FIGURES.findall(html)
    assert len(figures) == html.count('class="tf-widget"')
    assert len({anchor for anchor, _ in figures}) == len(figures)
    numbers = re.findall(r"<(?:a href=[^>]+|b)>Figure ([\d.]+)</", html)
    assert numbers == [f"{chapter}.{n}" for n in range(1, len(numbers) + 1)]
    drawn = re.findall(r'class="tf-(?:plotly|figures|training)"', html)
    assert len(numbers) == len(figures) + len(drawn)
    for anchor, figure in figures:
        assert re.search(rf'<a href="#{anchor}">Figure {chapter}\.\d+</a>', figure)
        assert re.search(r"</a><span>\w[^<]+</span>", figure)
        words = re.search(r"<noscript><p>(.*?)</p></noscript><img", figure, re.S)
        assert words
        assert len(words[1].split()) > 25
        assert "object at 0x" not in words[1]


def test_every_figure_says_what_to_try_and_has_a_picture():
    seen = 0
    for path in HTML.glob("book/*.html"):
        for anchor, figure in FIGURES.findall(path.read_text("utf-8")):
            to_try = re.search(
                r'<p class="tf-try"><b>Try this:</b> ([^<]+)</p>', figure
            )
            assert to_try, (path.name, anchor)
            assert to_try[1][0].islower(), to_try[1]
            assert to_try[1].endswith((".", "?")), to_try[1]
            source = re.search(r'<img class="tf-picture" src="([^"]+)"', figure)[1]
            with Image.open(path.parent / source) as picture:
                assert picture.width >= 480  # the map of the model is a small one
                assert len(picture.convert("L").getcolors()) > 30  # not blank
            seen += 1
    assert seen > 40


def test_a_reader_without_scripts_gets_words_and_a_picture_for_the_box(chromium, site):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}{PAGE}{FIGURE}", timeout=driver.PATIENCE)
    figure = page.locator(FIGURE)
    assert "Attention of “it”" in figure.inner_text()
    picture = figure.locator("img.tf-picture").bounding_box()
    assert picture["height"] > 300
    assert figure.bounding_box()["height"] < picture["height"] + 300
    assert not figure.locator(".tf-widget").is_visible()
    assert not figure.locator(".tf-copy").is_visible()
    context.close()


def test_a_link_shows_the_figure_as_the_reader_has_set_it(visit):
    with visit(PAGE, settle=False) as seen:
        figure = drawn(seen)
        copy = figure.get_by_role("button", name="Copy link")
        copy.click()
        assert seen.page.url.endswith(FIGURE)  # nothing is set yet
        seen.page.locator(TEMPERATURE).fill("2.5")
        figure.locator("[data-control=example-1]").check(force=True)
        seen.page.locator(TEMPERATURE).fill("0.5")
        figure.locator("[data-control=scaled]").uncheck()
        shown = figure.locator("table").first.inner_text()
        copy.click()
        link = seen.page.url
        assert "#figure=one-query&" in link
        assert figure.get_by_role("status").last.inner_text()
        seen.page.goto("about:blank")
        seen.page.goto(link)
        figure = drawn(seen)
        assert seen.page.locator(TEMPERATURE).input_value() == "0.5"
        assert not figure.locator("[data-control=scaled]").is_checked()
        assert figure.locator("table").first.inner_text() == shown
        assert abs(figure.bounding_box()["y"]) < 200
        assert seen.errors == []


@pytest.mark.parametrize(
    ("settings", "temperature"),
    [
        ("temperature=99", "4"),
        ("temperature=-1e999", "1"),
        ("temperature=NaN&temperature=", "1"),
        ("temperature=2&scaled=maybe&example-9=9&key=77&__proto__=1&%00=%ff", "2"),
        ("step=9&step-99=1&=&&&" + "x=1&" * 500, "1"),
    ],
)
def test_what_a_link_cannot_mean_is_left_out(visit, settings, temperature):
    with followed(visit, f"#figure=one-query&{settings}") as seen:
        figure = drawn(seen)
        seen.page.wait_for_function(
            f"() => document.querySelector('{TEMPERATURE}').value === '{temperature}'"
        )
        assert figure.locator("[data-control=scaled]").is_checked()
        assert figure.locator("[data-control=step-3]").is_checked()
        assert seen.errors == []


def test_a_link_to_no_figure_does_nothing(visit):
    with followed(visit, "#figure=nonsense%22]&temperature=2") as seen:
        drawn(seen)
        assert seen.page.locator(TEMPERATURE).input_value() == "1"
        assert seen.errors == []


def test_a_link_keeps_a_text_of_several_lines(chromium, tmp_path):
    shutil.copy(ROOT / "book/tformer_book/site/figures/figures.js", tmp_path)
    (tmp_path / "page.html").write_text(
        """<!doctype html><figure class="tf-figure" id="figure-typed">
        <div class="tf-widget" data-ready>
        <textarea data-control="text"></textarea></div>
        <button class="tf-copy">Copy</button><span class="tf-copied"></span></figure>
        <script src="figures.js"></script>""",
        encoding="utf-8",
    )
    with driver.served(tmp_path) as address, chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{address}page.html")
        page.locator("textarea").fill("low lower\nnewest")
        page.locator(".tf-copy").click()
        link = page.url
        assert "text=low" in link
        page.goto("about:blank")
        page.goto(link)
        assert page.locator("textarea").input_value() == "low lower\nnewest"
