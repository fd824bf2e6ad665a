"""The chart's arithmetic, in Node, against `analysis.cost` and the real models."""

import pytest

from tformer.analysis import cost
from tformer_book.widgets import CostChart
from tformer_book.widgets.cost_chart import BATCHES, LAYERS, LENGTHS, WIDTHS

RUN = (
    "import { prices, total, growth, large, WIDTHS, LAYERS, LENGTHS, BATCHES }"
    " from './cost_chart/maths.js';"
)
SIZES = ("vocab_size", "d_model", "d_head", "n_layers", "norm", "length", "batch")


def state(figure):
    return {name: getattr(figure, name) for name in SIZES}


def figures():
    small = CostChart(64, 1, 128, 2, vocab_size=50)
    narrow = CostChart(192, 3, 25, 64, vocab_size=6000)
    narrow.d_head, narrow.norm = 32, "pre"
    return [CostChart(), small, narrow, CostChart(2048, 24, 4096, 2048)]


CHARTS = figures()


def test_the_totals_are_the_packages(node):
    script = "given.map((c) => Object.values(prices(c)).map(total))"
    found = node(
        RUN + f"console.log(JSON.stringify({script}))", list(map(state, CHARTS))
    )
    for figure, totals in zip(CHARTS, found, strict=True):
        assert totals == pytest.approx(list(figure.prices.values()), rel=1e-12)


def test_the_parts_of_the_memory_are_the_packages(node):
    script = "given.map((c) => prices(c).training.map(([, x]) => x))"
    found = node(
        RUN + f"console.log(JSON.stringify({script}))", list(map(state, CHARTS))
    )
    for figure, parts in zip(CHARTS, found, strict=True):
        wanted = cost.training_memory(
            figure.config, figure.batch, figure.length, figure.length
        )
        assert parts == pytest.approx(
            [wanted.weights, wanted.gradients, wanted.moments, wanted.activations]
        )


def test_doubling_a_size_multiplies_as_a_larger_model_would(node):
    script = "growth(given)"
    base = CostChart(512, 6, 32, 128)
    found = node(RUN + f"console.log(JSON.stringify({script}))", state(base))
    before = base.prices
    larger = [
        CostChart(1024, 6, 32, 128),
        CostChart(512, 12, 32, 128),
        CostChart(512, 6, 64, 128),
        CostChart(512, 6, 32, 256),
    ]
    for name, times in found.items():
        wanted = [each.prices[name] / before[name] for each in larger]
        assert times == pytest.approx(wanted)


def test_the_sliders_have_the_sizes_that_python_takes(js):
    found = js("cost_chart/maths.js", "[WIDTHS, LAYERS, LENGTHS, BATCHES]")
    assert found == [list(each) for each in (WIDTHS, LAYERS, LENGTHS, BATCHES)]


def test_large_numbers_are_written_for_people(node):
    given = [[7, "count"], [63_082_496, "count"], [11.8e12, "count"], [2.5e9, "bytes"]]
    script = "given.map(([x, kind]) => large(x, kind))"
    found = node(RUN + f"console.log(JSON.stringify({script}))", given)
    assert found == ["7", "63.1 million", "11.8 trillion", "2.50 GB"]


def test_presets_are_the_papers_models_and_the_released_one():
    chart = CostChart()
    names = [each["name"] for each in chart.presets]
    assert names == ["paper, base", "paper, big", "ours"]
    for each, config in zip(chart.presets, (cost.BASE, cost.BIG), strict=False):
        for name, value in each["sizes"].items():
            setattr(chart, name, value)
        assert chart.config.n_parameters == config.n_parameters
        assert chart.config.n_heads == config.n_heads
        assert config.d_ff == 4 * config.d_model


def test_a_later_cell_reads_what_is_on_the_screen():
    chart = CostChart()
    chart.d_model = 1024
    assert chart.prices["parameters"] == cost.BIG.n_parameters
    assert repr(chart).startswith("d=1024, N=6: parameters ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d_model": 100}, "d_model=100 must be one of"),
        ({"n_layers": 0}, "n_layers=0 must be one of"),
        ({"length": 3}, "length=3 must be one of"),
        ({"batch": 3}, "batch=3 must be one of"),
        ({"vocab_size": 3}, "at least 4"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        CostChart(**arguments)
