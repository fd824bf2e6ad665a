"""The windows in which the site is tried."""

from __future__ import annotations

import pytest
from playwright.sync_api import TimeoutError

from tformer_book.press import browser as driver


@pytest.fixture
def settled(monkeypatch, chromium, tmp_path):
    """Open a page in a browser whose first windows draw nothing; its windows' pages."""
    (tmp_path / "page.html").write_text("<title>A page</title><p>Here.")

    def settle(windows_that_draw_nothing):
        tried = []

        def wait(seen):
            tried.append(seen.page)
            if len(tried) <= windows_that_draw_nothing:
                seen.draw_a_frame()

        def no_frame(page):
            raise TimeoutError("Timeout 30000ms exceeded.")

        monkeypatch.setattr(driver.Visit, "settle", wait)
        monkeypatch.setattr("playwright.sync_api.Page.screenshot", no_frame)
        with (
            driver.served(tmp_path) as address,
            driver.visit(chromium, address, "page.html") as seen,
        ):
            assert seen.page is tried[-1]
            assert seen.page.inner_text("p") == "Here."
            return tried

    return settle


@pytest.mark.parametrize("broken", [0, 1])
def test_a_window_that_draws_nothing_is_replaced_once(settled, broken):
    pages = settled(windows_that_draw_nothing=broken)
    assert len(pages) == broken + 1
    assert all(page.is_closed() for page in pages)


def test_a_second_window_that_draws_nothing_is_an_error_that_names_the_page(settled):
    with pytest.raises(driver.NoFramesError, match=r"page\.html draws nothing"):
        settled(windows_that_draw_nothing=2)
