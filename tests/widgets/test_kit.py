"""The shared front end of the figures."""

import re
from pathlib import Path

import pytest

from tformer import widgets
from tformer.widgets._figure import PageFigure

FIGURES = [
    each
    for each in (getattr(widgets, name) for name in widgets.__all__)
    if isinstance(each, type) and issubclass(each, PageFigure)
]


def test_numbers_on_the_page_have_a_real_minus_and_no_minus_zero(node):
    shown = node(
        "import { format } from './kit/kit.js';"
        "console.log(JSON.stringify([-Infinity, Infinity, NaN, -0.001, -1.5, 2]"
        ".map((x) => format(x))))"
    )
    assert shown == ["−∞", "∞", "NaN", "0.00", "−1.50", "2.00"]


def test_no_two_figures_share_a_class_name_since_their_styles_would_meet():
    folder = Path(widgets.__file__).parent
    found = [
        name
        for path in sorted(folder.rglob("*.js"))
        for name in set(re.findall(r'\bfigure\(el, [^,]*?"(\w+)"', path.read_text()))
    ]
    assert len(found) > 10
    assert len(set(found)) == len(found), sorted(found)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda each: each.__name__)
def test_a_figure_keeps_its_place_on_the_page(figure):
    heights = figure().get_state(["page_height", "page_height_narrow"])
    assert all(height > 0 for height in heights.values())
