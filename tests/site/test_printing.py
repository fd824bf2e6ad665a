"""A printed page shows what a reader would unfold, and cuts nothing off."""

from __future__ import annotations

SEEN = """() => [...document.querySelectorAll('details.tf-solution')].map(
  (fold) => !fold.open && fold.lastElementChild.checkVisibility(
    {contentVisibilityAuto: true}))"""
CLIPPED = """() => [...document.querySelectorAll('.bd-article pre')].filter(
  (code) => code.scrollWidth > code.clientWidth + 1).length"""


def test_printed_every_solution_is_there_and_no_code_is_cut(visit):
    with visit("book/05-attention.html", size="phone", settle=False) as seen:
        assert not any(seen.page.evaluate(SEEN))
        seen.page.emulate_media(media="print")
        solutions = seen.page.evaluate(SEEN)
        assert solutions
        assert all(solutions)
        assert not seen.page.evaluate(CLIPPED)
