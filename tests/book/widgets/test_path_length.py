"""The figure's own arithmetic, in Node, against `tformer.analysis.paths`."""

import itertools
import json

import pytest

from tformer.analysis import paths
from tformer_book.widgets import PathLength

CASES = [
    (kind, start, end, n, k)
    for kind in paths.KINDS
    for k in (2, 3, 9)
    for n, start, end in [(2, 0, 1), (12, 1, 8), (12, 8, 1), (12, 4, 4), (300, 0, 299)]
]


@pytest.fixture(scope="module")
def in_node(node):
    script = """
    import * as m from "./path_length/maths.js";
    console.log(JSON.stringify(given.map(([kind, start, end, n, k]) => {
      const distance = Math.abs(end - start);
      return { steps: m.pathLength(kind, distance, k),
        longest: m.pathLength(kind, n - 1, k),
        waits: m.sequentialOperations(kind, n), work: m.multiplications(kind, n, 64, k),
        route: m.route(kind, start, end, k), cone: m.cone(kind, start, end, k, n) };
    })));"""
    return list(zip(CASES, node(script, CASES), strict=True))


def test_the_page_counts_what_the_package_counts(in_node):
    for (kind, start, end, n, k), found in in_node:
        figure = PathLength(
            kind=kind, start=start, end=end, length=n, kernel=k, width=64
        )
        row = (found["steps"], found["longest"], found["waits"], found["work"])
        assert figure.table[kind] == row
        assert figure.steps == found["steps"]


def test_the_drawn_path_has_as_many_steps_as_are_counted(in_node):
    for (_, start, end, n, _), found in in_node:
        route = found["route"]
        assert route[0] == [start, 0]
        assert route[-1][0] == end and route[-1][1] >= 1
        assert len(route) - 1 == found["steps"]
        assert all(0 <= place < n for place, _ in route)


def test_a_path_uses_only_connections_that_are_there(in_node):
    drawn = 0
    for (kind, *_), found in in_node:
        edges = {(tuple(a), tuple(b)) for a, b in found["cone"]}
        if edges:
            route = [tuple(node) for node in found["route"]]
            assert set(itertools.pairwise(route)) <= edges, kind
            drawn += 1
    assert drawn > 50


def test_a_step_of_a_kernel_stays_inside_it(in_node):
    for (kind, start, end, _, k), found in in_node:
        if kind in ("recurrent", "self-attention"):
            continue
        for layer, ((a, _), (b, _)) in enumerate(itertools.pairwise(found["route"])):
            apart = k**layer if kind.startswith("dilated") else 1
            moved = abs(b - a)
            assert moved % apart == 0 and moved // apart < k
            assert (b - a) * (end - start) >= 0  # never back


def test_the_sentence_below_says_what_is_counted(node):
    given = PathLength(kind="convolution").get_state(
        ["kind", "start", "end", "length", "kernel", "words"]
    )
    script = 'import { explain } from "./path_length/maths.js";'
    script += "console.log(JSON.stringify([explain(given),"
    script += "explain({ ...given, kind: 'self-attention', length: 99 })]))"
    near, far = node(script, given)
    assert "“dog” to “it”, 7 places apart: 4 layers" in near
    assert "token 2 to token 9" in far and "1 step" in far


def test_a_long_path_is_counted_in_few_stops_and_to_its_end(node):
    script = 'import { stopsOf } from "./path_length/maths.js";'
    script += "console.log(JSON.stringify(given.map((n) => stopsOf(n))))"
    for steps, stops in zip([1, 8, 1024], node(script, [1, 8, 1024]), strict=True):
        assert (stops[0], stops[-1]) == (0, steps)
        assert stops == sorted(set(stops))
        assert len(stops) <= 25


@pytest.mark.parametrize(
    "change",
    [{"length": 1}, {"start": 12}, {"end": -1}, {"width": 4}, {"kernel": 10}],
)
def test_a_number_out_of_range_is_named(change):
    [(name, value)] = change.items()
    with pytest.raises(ValueError, match=f"{name}={value} must be"):
        PathLength(**change)


def test_an_unknown_layer_is_refused():
    with pytest.raises(ValueError, match="'pooling' is none of recurrent"):
        PathLength(kind="pooling")


def test_the_state_is_plain_json_and_the_figure_reads_as_a_sentence():
    figure = PathLength()
    state = figure.get_state()
    assert json.loads(json.dumps(state["words"])) == figure.words
    assert repr(figure) == "From token 2 to token 9 of 12, recurrent: 8 steps."
