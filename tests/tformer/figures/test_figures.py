"""Figures: the right axes, nothing on a screen, and words for who cannot see."""

import re
import subprocess
import sys

import numpy as np
import pytest

from tformer import figures
from tformer.figures import _tokens, page, planes

WORDS = ["dog", "cross", "street", "it", "tired"]
WEIGHTS = np.array(
    [
        [0.10, 0.60, 0.10, 0.10, 0.10],
        [0.40, 0.05, 0.40, 0.10, 0.05],
        [0.05, 0.80, 0.05, 0.05, 0.05],
        [0.69, 0.01, 0.08, 0.10, 0.12],
        [0.70, 0.05, 0.05, 0.10, 0.10],
    ]
)


def labels(ticks):
    return [tick.get_text() for tick in ticks]


def test_a_heat_map_has_queries_down_and_keys_across():
    drawn = figures.heat_map(WEIGHTS[:3], WORDS[:3], WORDS)
    axes = drawn.axes[0]
    assert labels(axes.get_yticklabels()) == WORDS[:3]
    assert labels(axes.get_xticklabels()) == WORDS
    assert axes.yaxis_inverted()  # the first query is on top
    assert "query" in axes.get_ylabel()
    assert "key" in axes.get_xlabel()


def test_dollar_signs_in_titles_and_labels_are_no_formula():
    words = ["$5", "$x^2$"]
    drawn = figures.heat_map(np.eye(2), words, words, title="$5 or $6 \\frac")
    svg = page.figure_html(drawn)
    for text in ("$5 or $6 \\frac", "$x^2$"):
        assert f">{text}</text>" in svg


def test_a_heat_map_writes_each_weight_into_its_own_cell():
    drawn = figures.heat_map(WEIGHTS, WORDS, WORDS)
    cells = {t.get_position(): t.get_text() for t in drawn.axes[0].texts}
    assert cells[(0.5, 3.5)] == "0.69"  # column dog, row it
    assert len(cells) == 25


def test_a_heat_map_of_other_things_says_what_they_are():
    names = ("a German word", "an English word", "link")
    drawn = figures.heat_map(np.eye(5), WORDS, WORDS, title="Links", names=names)
    axes, bar = drawn.axes
    assert (axes.get_ylabel(), axes.get_xlabel(), bar.get_ylabel()) == names
    said = figures.alternative(drawn)
    assert "rows (a German word)" in said and "columns (an English word)" in said
    assert "“dog” goes most with “dog”" in said
    assert "quer" not in said and "attention" not in said


def test_of_several_maps_one_is_enough_to_have_the_scale():
    with_scale, without = (
        figures.heat_map(WEIGHTS, WORDS, WORDS, numbers=False, scale=scale)
        for scale in (True, False)
    )
    assert [len(each.axes) for each in (with_scale, without)] == [2, 1]
    assert without.get_size_inches()[0] < with_scale.get_size_inches()[0]


def test_a_masked_cell_shows_no_number():
    may = np.tril(np.ones((5, 5), dtype=bool))
    drawn = figures.heat_map(WEIGHTS, WORDS, WORDS, mask=may)
    assert len(drawn.axes[0].texts) == 15
    assert "10 cells are masked" in figures.alternative(drawn)


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"one row per query .* \(2, 5\) .*\(3, 5\)"):
        figures.heat_map(WEIGHTS[:3], WORDS[:2], WORDS)


def test_scores_instead_of_weights_are_refused():
    with pytest.raises(ValueError, match="before softmax"):
        figures.heat_map(WEIGHTS * 10, WORDS, WORDS)


@pytest.mark.parametrize(
    "drawn",
    [
        figures.heat_map(WEIGHTS, WORDS, WORDS, title="A title"),
        figures.mixture([[0, 0], [1, 0], [0, 1]], WORDS[:3], {"output": [0.2, 0.3]}),
        figures.curves([1, 2], {"a": [1, 2]}, across="x", up="y", alt="It rises."),
        figures.bars(["a"], {"b": [1.0]}, up="y", alt="One bar."),
    ],
    ids=["heat_map", "mixture", "curves", "bars"],
)
def test_every_figure_says_what_it_shows(drawn):
    assert len(figures.alternative(drawn)) > 5


def test_an_empty_alternative_text_is_refused():
    with pytest.raises(ValueError, match="alt"):
        figures.curves([1, 2], {"a": [1, 2]}, across="x", up="y", alt=" ")


def test_a_series_of_another_length_is_refused():
    with pytest.raises(ValueError, match="'short'"):
        figures.curves([1, 2], {"short": [1]}, across="x", up="y", alt="a")


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    ]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def test_the_scale_of_weights_only_gets_darker():
    colours = figures.weight_colours()(np.linspace(0, 1, 50))
    written = ["".join(f"{round(255 * c):02x}" for c in rgb[:3]) for rgb in colours]
    grey = [luminance(f"#{each}") for each in written]
    assert all(np.diff(grey) < 0)


@pytest.mark.parametrize("page", ["#ffffff", "#121212"])
def test_both_ends_of_the_scale_and_all_roles_show_on_the_page(page):
    for end in (figures.WEIGHT_STOPS[0], figures.WEIGHT_STOPS[-1]):
        assert contrast(end, page) > 1.25
    for colour in figures.PALETTE.values():
        assert contrast(colour, page) > 3


def test_the_polygon_around_values_holds_all_of_them():
    points = np.random.default_rng(0).normal(size=(40, 2))
    corners = planes._hull(points)
    ahead = np.roll(corners, -1, axis=0) - corners
    for x, y in points:
        cross = ahead[:, 0] * (y - corners[:, 1]) - ahead[:, 1] * (x - corners[:, 0])
        assert (cross > -1e-12).all()


def test_figures_stay_unknown_to_pyplot():
    code = (
        "import sys; from tformer import figures;"
        "assert 'matplotlib' not in sys.modules and 'plotly' not in sys.modules;"
        "figures.heat_map([[1.0]], ['a'], ['b']);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_roles_keep_their_colours():
    drawn = figures.heat_map(WEIGHTS, WORDS, WORDS)
    assert drawn.axes[0].yaxis.label.get_color() == figures.PALETTE["query"]
    assert drawn.axes[0].xaxis.label.get_color() == figures.PALETTE["key"]
    assert all(re.fullmatch("#[0-9a-f]{6}", c) for c in figures.PALETTE.values())


def test_a_heat_map_is_drawn_in_the_pages_own_scale():
    svg = page.figure_html(figures.heat_map(np.eye(2), ["a", "b"], ["c", "d"]))
    for share in (0, 100):
        scale = rf"color-mix\(in oklab, var\(--tf-high, #\w+\) {share}%, var\(--tf-low,"
        assert re.search(scale, svg)
    for ink in ("on-low", "on-high", "query", "key"):
        assert f"fill: var(--tf-{ink}, #" in svg
    assert "<image" not in svg  # whose colours no page could change


def test_a_number_in_a_cell_is_read_well_wherever_it_is_on_the_scale():
    for share, cell in zip(np.linspace(0, 1, 51), figures.WEIGHT_STOPS, strict=True):
        assert contrast(cell, figures.ink_on(share)) >= 4.5


def test_every_hue_of_the_contract_is_read_by_day_and_seen_by_night():
    pairs = _tokens._pairs()
    for name in (*figures.PALETTE, *(f"series-{n}" for n in range(1, 7))):
        for colour, paper, surface in zip(
            pairs[name], pairs["paper"], pairs["surface"], strict=True
        ):
            assert contrast(colour, paper) >= 4.5, name
            assert contrast(colour, surface) >= 3, name


def test_training_curves_say_in_words_what_they_show():
    curve = [10, 20, 30], [8.0, 6.0, 5.0], [1e-3, 2e-3, 1e-3]
    valid = {"valid_steps": [30], "valid_losses": [4.5], "valid_rates": [1e-3]}
    drawn = figures.training_curves(*curve, **valid, last_step=60, title="words")
    text = figures.alternative(drawn)
    assert "from 8.00 to 5.00 in 30 steps" in text
    assert "validation loss ends at 4.50" in text
    assert "highest, 0.002, at step 20" in text
    assert drawn.table.rows == (("30", (5.0, 4.5, 1.0)),)
    assert drawn.axes[0].get_xlim() == (0, 60)  # room for what is still to come


def test_an_evaluation_between_two_points_of_a_curve_has_its_own_rate():
    valid = {"valid_steps": [100], "valid_losses": [7.0], "valid_rates": [10e-4]}
    drawn = figures.training_curves([60, 160], [8.0, 6.0], [6e-4, 16e-4], **valid)
    [(step, (_, _, rate))] = drawn.table.rows
    assert (step, round(rate, 6)) == ("100", 1.0)


def test_training_curves_can_be_drawn_before_anything_is_known():
    assert "Training curves" in figures.alternative(figures.training_curves([], [], []))


def test_training_curves_refuse_lists_that_do_not_fit():
    with pytest.raises(ValueError, match="3 steps with 2 losses"):
        figures.training_curves([1, 2, 3], [1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="1 evaluations with 1 losses and 0 learning"):
        figures.training_curves([], [], [], valid_steps=[1], valid_losses=[1])


def test_lines_keep_their_own_positions():
    given = {"a": ([1, 2], [3, 4]), "b": ([5, 6, 7], [8, float("nan"), 9])}
    chart = figures.lines(given, across="step", up="loss", alt="two lines")
    assert list(chart.data[0].x) == [1, 2]
    assert list(chart.data[1].y) == [8, None, 9]
    with pytest.raises(ValueError, match="'a' has x of shape"):
        figures.lines({"a": ([1], [1, 2])}, across="", up="", alt="no")
