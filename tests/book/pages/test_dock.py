"""A section that plays with a figure further up can have it where it stands."""

from __future__ import annotations

import pytest

from tformer_book.press.chapters import address

FIGURES = {
    "embeddings": "#figure-embedding-map",
    "attention": "#figure-one-query",
    "multi-head": "#figure-head-split",
    "masks": "#figure-mask-laboratory",
    "encoder": "#figure-residual-stream",
    "transformer": "#figure-the-model-with-its-sizes",
    "data": "#figure-batch-packer",
}
AFTER = "figure => figure.previousElementSibling?.className"


@pytest.mark.parametrize("page", FIGURES)
def test_play_sections_offer_their_figure(visit, page):
    with visit(address(page), settle=False) as seen:
        button = seen.page.locator(".tf-dock")
        assert button.count() == 1
        figure = seen.page.locator(FIGURES[page])
        assert (
            button.inner_text() == f"Bring {figure.locator('a').last.inner_text()} here"
        )


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_a_figure_comes_as_it_was_set_and_goes_back(visit, size):
    with visit(address("multi-head"), size=size, settle=False) as seen:
        page, figure = seen.page, seen.page.locator(FIGURES["multi-head"])
        figure.locator("[data-control=stage-1]").check()
        button = page.locator(".tf-dock")
        button.scroll_into_view_if_needed()
        place = button.bounding_box()["y"]
        button.click()
        assert figure.evaluate(AFTER) == "tf-dock"
        assert abs(button.bounding_box()["y"] - place) < 2
        assert figure.locator("[data-control=stage-1]").is_checked()
        assert "further down" in page.locator(".tf-dock-room").inner_text()
        button.click()
        assert figure.evaluate(AFTER) != "tf-dock"
        assert abs(button.bounding_box()["y"] - place) < 2
        assert page.locator(".tf-dock-room").count() == 0
