"""The widget's own maths, in Node, against the package's attention."""

import json

import pytest
import torch

from tformer.attention import attention
from tformer_book.widgets import OneQuery
from tformer_book.widgets.one_query import EXAMPLES

RUN = """
import { attend, hull } from "./one_query/maths.js";
const { cases, points } = given;
console.log(JSON.stringify({ attended: cases.map(attend), hull: hull(points) }));
"""


def cases():
    generator = torch.Generator().manual_seed(0)
    for i in range(60):
        tokens, width = 1 + i % 7, 1 + i % 4
        draw = lambda *shape: torch.randn(*shape, generator=generator).double() * 3  # noqa: E731
        visible = torch.rand(tokens, generator=generator) > 0.3
        visible[i % tokens] = True
        yield {
            # Every tenth has scores that would overflow a careless softmax.
            "query": (draw(width) * (1000 if i % 10 == 0 else 1)).tolist(),
            "keys": draw(tokens, width).tolist(),
            "values": draw(tokens, 2).tolist(),
            "visible": visible.tolist(),
            "scaled": i % 2 == 0,
            "temperature": [0.1, 1.0, 4.0][i % 3],
        }


@pytest.fixture(scope="module")
def in_node(node):
    points = [[0, 0], [2, 0], [2, 2], [0, 2], [1, 1], [1, 0]]
    return node(RUN, {"cases": list(cases()), "points": points})


def test_the_page_computes_what_the_package_computes(in_node):
    for case, mine in zip(cases(), in_node["attended"], strict=True):
        query, key, value = (
            torch.tensor(case[name], dtype=torch.float64)
            for name in ("query", "keys", "values")
        )
        factor = 1.0 if case["scaled"] else query.numel() ** 0.5
        output, weights = attention(
            query[None] * factor / case["temperature"],
            key,
            value,
            mask=torch.tensor([case["visible"]]),
        )
        torch.testing.assert_close(
            torch.tensor(mine["weights"]).double(), weights[0], rtol=0, atol=1e-6
        )
        torch.testing.assert_close(
            torch.tensor(mine["output"]).double(), output[0], rtol=1e-6, atol=1e-6
        )
        pairs = zip(mine["weights"], case["visible"], strict=True)
        hidden = [weight for weight, see in pairs if not see]
        assert hidden == [0] * len(hidden)


def test_the_shaded_area_has_only_the_outer_corners(in_node):
    assert sorted(in_node["hull"]) == [[0, 0], [0, 2], [2, 0], [2, 2]]


def test_a_later_cell_reads_what_is_on_the_screen():
    widget = OneQuery()
    before = widget.weights
    assert widget.tokens[int(before.argmax())] == "dog"
    widget.visible = [False, True, True, True, True]
    assert widget.weights[0] == 0
    assert float(widget.weights.sum()) == pytest.approx(1)
    widget.visible = [True] * 5
    widget.temperature = 4.0
    assert widget.weights.max() < before.max()
    widget.temperature = 1.0
    widget.scaled = False
    assert widget.weights.max() > before.max()


def test_the_twin_sentences_differ_only_in_what_it_asks_and_the_last_word():
    tired, wide = EXAMPLES
    differing = [
        i for i in range(5) if any(tired[k][i] != wide[k][i] for k in ("key", "value"))
    ]
    assert differing == [4]
    assert [i for i in range(5) if tired["query"][i] != wide["query"][i]] == [3]
    shown = OneQuery(
        wide["tokens"], wide["query"], wide["key"], wide["value"], selected=3
    )
    assert shown.tokens[int(shown.weights.argmax())] == "street"


def test_own_vectors_are_shown_and_the_output_is_theirs():
    widget = OneQuery(["a", "b"], [[1, 0], [0, 1]], torch.eye(2), [[2, 0], [0, 2]])
    _, weights = attention(torch.eye(2)[:1], torch.eye(2), torch.eye(2))
    torch.testing.assert_close(widget.weights.float(), weights[0])
    torch.testing.assert_close(widget.output.float(), 2 * weights[0])
    assert "“a”" in repr(widget)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tokens": ["a"]}, "together"),
        ({"selected": 9}, "0 to 4, got 9"),
        ({"temperature": 0}, "above 0"),
        ({"visible": [False] * 5}, "at least one True"),
        ({"visible": [True]}, "5 booleans"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        OneQuery(**arguments)


def test_vectors_that_are_not_in_the_plane_are_refused():
    with pytest.raises(ValueError, match=r"query must have shape \(1, 2\).*\(1, 3\)"):
        OneQuery(["a"], [[1, 2, 3]], [[1, 2]], [[1, 2]])
    with pytest.raises(ValueError, match="not finite"):
        OneQuery(["a"], [[1, float("nan")]], [[1, 2]], [[1, 2]])


def test_the_state_of_the_widget_is_plain_json():
    state = {k: v for k, v in OneQuery().get_state().items() if not k.startswith("_")}
    assert json.loads(json.dumps({k: state[k] for k in ("tokens", "query", "key")}))
