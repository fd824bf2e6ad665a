"""Lines of prose are short enough to read, and code is large enough, at every width."""

from __future__ import annotations

import statistics

import pytest

from tformer_book.press.chapters import address

LINES = """() => {  // how many letters a line of each paragraph has room for
  const found = [];
  for (const p of document.querySelectorAll('.bd-article section > p')) {
    if (p.innerText.length < 200 || !p.checkVisibility()) continue;
    const room = p.clientWidth;
    p.style.cssText = 'white-space: nowrap; max-width: none; width: max-content';
    found.push(p.innerText.length * room / p.getBoundingClientRect().width);
    p.style.cssText = '';
  }
  return found;
}"""
CODE = """() => [...document.querySelectorAll('.bd-article div.highlight pre')]
  .filter((code) => code.checkVisibility())
  .map((code) => [parseFloat(getComputedStyle(code).fontSize),
                  code.scrollWidth > code.clientWidth + 1])"""
PAGES = [address(key) for key in ("attention", "decoder", "training")]


@pytest.mark.parametrize("page", PAGES)
def test_a_line_of_prose_holds_65_to_75_letters_on_a_desk(visit, page):
    with visit(page, settle=False) as seen:
        lengths = seen.page.evaluate(LINES)
        assert len(lengths) > 10
        assert 65 <= statistics.median(lengths) <= 75


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("page", PAGES)
def test_code_has_14_pixels_and_hardly_ever_scrolls_sideways(visit, page, size):
    with visit(page, size=size, settle=False) as seen:
        code = seen.page.evaluate(CODE)
        assert len(code) > 10
        assert all(size >= 14 for size, _ in code)
        assert sum(scrolls for _, scrolls in code) <= 0.1 * len(code)
