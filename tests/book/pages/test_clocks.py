"""The clocks of *Positions*: they play, stop, and stand where the package says."""

import json

import pytest
import torch

from tformer.positions import sinusoids
from tformer_book.widgets import Clocks


@pytest.fixture
def seen(figure_page, playing):
    with playing(figure_page(Clocks()), ".tfc") as seen:
        yield seen


def row(page):
    tips = page.locator(".tfc [data-tip]").all()
    exact = [json.loads(tip.get_attribute("data-exact")) for tip in tips]
    return torch.tensor(exact, dtype=torch.float32).flatten()


def control(page, name):
    return page.locator(f'.tfc [data-control="{name}"]')


def test_the_hands_turn_when_it_plays_and_stand_where_it_is_stopped(seen):
    page = seen.page
    torch.testing.assert_close(row(page), sinusoids(1, 8)[0])
    control(page, "play").click()
    slider = "document.querySelector('.tfc [data-control=position]')"
    page.wait_for_function(f"() => Number({slider}.value) >= 3")
    control(page, "play").click()
    stopped = int(control(page, "position").input_value())
    page.wait_for_timeout(1000)
    assert int(control(page, "position").input_value()) == stopped >= 3
    torch.testing.assert_close(row(page), sinusoids(64, 8)[stopped])
    assert f"position {stopped}: (" in page.locator(".tfc-vector").inner_text()


def test_keys_and_buttons_move_it_to_its_ends(seen):
    page = seen.page
    assert control(page, "back").is_disabled()
    control(page, "position").press("End")
    torch.testing.assert_close(row(page), sinusoids(64, 8)[63])
    assert control(page, "forward").is_disabled()
    control(page, "back").click()
    torch.testing.assert_close(row(page), sinusoids(64, 8)[62])
    control(page, "start").click()
    torch.testing.assert_close(row(page), sinusoids(1, 8)[0])


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_accessible_and_fits(size, dark, figure_page, playing):
    with playing(figure_page(Clocks(), size=size, dark=dark), ".tfc") as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
