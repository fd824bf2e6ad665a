"""Problems on a page: a link to Colab and hints that open one after the other."""

from __future__ import annotations

from tformer_book.press.chapters import HTML, address, chapter, docname

PAGE = address("multi-head")
PLACE = docname(chapter("multi-head"))


def test_hints_open_one_after_the_other(visit):
    with visit(PAGE, settle=False) as seen:
        work = seen.page.locator(".tf-work").first
        link = work.get_by_role("link", name="Solve it in Colab")
        assert link.get_attribute("href").endswith(f"/{PLACE}.ipynb")
        for at in (1, 2, 3):
            line = work.get_by_text(f"Hint {at} of 3")
            assert line.is_visible()
            assert line.bounding_box()["height"] >= 24
            for later in range(at + 1, 4):
                assert not work.get_by_text(f"Hint {later} of 3").is_visible()
            line.click()
        assert work.locator("pre").is_visible()
        assert seen.axe(".tf-work") == []


def test_no_page_says_that_an_unwritten_function_is_not_right_yet():
    for path in HTML.glob("book/*.html"):
        html = path.read_text("utf-8")
        start = html.find('<section id="problems"')
        if start < 0:
            continue
        assert "the function still raises" not in html[start:], path.stem
        assert "tf-solve" in html[start:] or "NotImplemented" not in html[start:]
