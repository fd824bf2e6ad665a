"""The mask pictures of the chapter on what came after: they change with a choice."""

import pytest
import torch

from tformer_book.widgets import WhoSeesWhom
from tformer_book.widgets.who_sees_whom import KINDS


@pytest.fixture
def seen(figure_page, playing):
    with playing(figure_page(WhoSeesWhom()), ".tfw") as seen:
        yield seen


def picture(page):
    cells = page.locator(".tfw [data-cell]").all()
    return torch.tensor([bool(each.get_attribute("data-exact")) for each in cells])


def test_a_choice_shows_its_picture(seen):
    for i, kind in enumerate(KINDS):
        seen.page.locator(f'.tfw [data-control="kind-{i}"]').check(force=True)
        assert torch.equal(picture(seen.page), WhoSeesWhom(kind).mask.flatten())


def test_the_keyboard_reaches_a_row_and_the_line_below_says_what_it_sees(seen):
    page = seen.page
    page.locator('.tfw [data-control="kind-1"]').check(force=True)
    page.locator('.tfw [data-cell="0-0"]').focus()
    page.keyboard.press("ArrowDown")
    said = page.locator(".tfw-where").inner_text()
    assert said == "“dog” sees The, dog; it must name sleeps."


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_accessible_and_fits(size, dark, figure_page, playing):
    figure = WhoSeesWhom("encoder-decoder")
    with playing(figure_page(figure, size=size, dark=dark), ".tfw") as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
