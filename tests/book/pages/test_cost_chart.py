"""The chart of costs in *Scale*: presets, sliders, and what it shows of them."""

import pytest

from tformer.analysis import cost
from tformer_book.widgets import CostChart


@pytest.fixture
def seen(figure_page, playing):
    with playing(figure_page(CostChart()), ".tfco") as seen:
        yield seen


def amount(page, name):
    exact = page.locator(f'.tfco [data-total="{name}"]').get_attribute("data-exact")
    return float(exact)


def control(page, name):
    return page.locator(f'.tfco [data-control="{name}"]')


def test_a_preset_shows_the_papers_parameters_and_a_slider_leaves_it(seen):
    page = seen.page
    assert amount(page, "parameters") == cost.BASE.n_parameters
    assert control(page, "preset-0").is_checked()
    control(page, "preset-1").check(force=True)
    assert amount(page, "parameters") == cost.BIG.n_parameters
    before = amount(page, "cache")
    control(page, "n_layers").press("ArrowRight")  # 6, then 8
    assert not control(page, "preset-1").is_checked()
    assert amount(page, "cache") == pytest.approx(before * 8 / 6)


def test_the_table_says_what_doubling_does(seen):
    page = seen.page
    cell = page.locator('.tfco [data-growth="3-2"]')  # the cache, if T is doubled
    assert cell.inner_text() == "× 2.00"
    assert page.locator('.tfco [data-growth="0-2"]').inner_text() == "× 1.00"
    operations = page.locator('.tfco [data-growth="1-2"]')
    few = float(operations.inner_text().removeprefix("× "))
    control(page, "length").press("End")
    many = float(operations.inner_text().removeprefix("× "))
    assert 2 <= few < 2.1 < 3 < many < 4  # from nearly linear to nearly quadratic


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_accessible_and_fits(size, dark, figure_page, playing):
    with playing(figure_page(CostChart(), size=size, dark=dark), ".tfco") as seen:
        assert seen.axe() == []
        assert seen.overflow() == []
