"""The figure's own maths, in Node, against the package's layer."""

import itertools
import json

import pytest
import torch
from torch.testing import assert_close

from tformer.attention import MultiHeadAttention
from tformer_book.widgets import HeadSplit
from tformer_book.widgets.head_split import MISTAKES, WIDTHS

SIZES = [
    (words, width, heads)
    for words, width, heads in itertools.product((2, 3, 5), WIDTHS, (1, 2, 3, 4))
    if width % heads == 0
]


@pytest.fixture(scope="module")
def in_node(node):
    """What the page computes for every size, right and with each mistake."""
    script = """
    import { numbersOf, outputMatrix, through } from "./head_split/maths.js";
    const plain = (x) => (Array.isArray(x) ? x.map(plain) : x.value ?? x);
    console.log(JSON.stringify(given.map(([words, width, heads]) => ({
      x: numbersOf(words, width), matrix: outputMatrix(width),
      ways: [[false, false], [true, true], [true, false], [false, true]].map(
        ([wrongSplit, wrongMerge]) => {
          const made = through({ words, width, heads, wrongSplit, wrongMerge });
          const owner = (x) => (Array.isArray(x) ? x.map(owner) : x.askers);
          const shares = (x) => (Array.isArray(x) ? x.map(shares) : x.heads);
          return { split: plain(made.parts), weights: made.weights,
            heads: plain(made.outputs), merged: plain(made.merged),
            output: plain(made.output), reach: made.reach,
            askers: owner(made.merged), shares: shares(made.parts),
            mixed: shares(made.output) };
        }),
    }))));"""
    return dict(zip(SIZES, node(script, SIZES), strict=True))


STEPS = ("split", "weights", "heads", "merged", "output")


def tensor(rows):
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("size", SIZES)
def test_the_page_computes_what_the_package_computes(in_node, size):
    found = in_node[size]
    for number, mistake in enumerate(MISTAKES, start=1):
        figure = HeadSplit(*size, mistake=mistake)
        assert_close(tensor(found["x"]), figure.x, rtol=0, atol=0)
        assert_close(tensor(found["matrix"]), figure.output_matrix, rtol=0, atol=0)
        for step in STEPS:
            assert_close(tensor(found["ways"][0][step]), figure.right[step])
            assert_close(tensor(found["ways"][number][step]), figure.wrong[step])


def test_the_right_side_is_the_packages_whole_layer():
    figure = HeadSplit(4, 8, 4)
    layer = MultiHeadAttention(8, 4, bias=False).double()
    for linear in (layer.to_query, layer.to_key, layer.to_value):
        linear.weight.data = torch.eye(8, dtype=torch.float64)
    layer.to_output.weight.data = figure.output_matrix.T
    assert_close(figure.right["output"], layer(figure.x[None])[0])


@pytest.mark.parametrize("size", SIZES)
def test_colours_are_pure_on_the_right_and_only_there(in_node, size):
    _, width, heads = size
    each = width // heads
    right, _, at_split, _ = in_node[size]["ways"]
    for i, rows in enumerate(right["shares"]):
        for row in rows:
            assert all(shares[i] == 1 for shares in row)
    if heads > 1:
        flat = torch.arange(size[0] * width) % width // each
        wanted = flat.view(heads, size[0], each)
        assert torch.equal(tensor(at_split["shares"]).argmax(-1), wanted)


@pytest.mark.parametrize("size", SIZES)
def test_the_output_of_a_word_depends_on_the_words_that_the_page_says(
    size, in_node, monkeypatch
):
    """The Jacobian of the whole way, by PyTorch."""
    for number, mistake in enumerate(MISTAKES, start=1):
        figure = HeadSplit(*size, mistake=mistake)
        found = in_node[size]["ways"][number]["reach"]

        def run(x, figure=figure):
            with monkeypatch.context() as patched:
                patched.setattr(HeadSplit, "x", x)
                return figure.wrong["merged"]

        jacobian = torch.autograd.functional.jacobian(run, figure.x)
        reaches = jacobian.abs().amax(dim=(1, 3)) > 0
        assert [row.nonzero().flatten().tolist() for row in reaches] == found


def test_a_view_keeps_words_from_hearing_each_other(in_node):
    right, both, *single = in_node[5, 8, 4]["ways"]
    assert right["reach"] == [[0, 1, 2, 3, 4]] * 5
    assert all(len(row) < 5 for row in both["reach"])
    for way in single:
        assert way["reach"] == [[0, 1, 2, 3, 4]] * 5  # but rows are not their own:
        owners = tensor(way["askers"]).argmax(-1)
        assert (owners != torch.arange(5)[:, None]).any()
    assert (tensor(right["askers"]).argmax(-1) == torch.arange(5)[:, None]).all()


def test_after_w_o_every_number_has_something_of_every_head(in_node):
    shares = tensor(in_node[3, 8, 4]["ways"][0]["mixed"])
    assert (shares > 0).all()
    assert_close(shares.sum(-1), torch.ones(3, 8, dtype=torch.float64))


def test_stripes_are_as_wide_as_what_the_heads_add(in_node):
    figure = HeadSplit(3, 8, 4)
    parts = figure.right["merged"][:, :, None] * figure.output_matrix
    sizes = parts.abs().view(3, 4, 2, 8).sum(2).transpose(1, 2)  # (T, D, H)
    shares = tensor(in_node[3, 8, 4]["ways"][0]["mixed"])
    assert_close(shares, sizes / sizes.sum(-1, keepdim=True))


def test_one_head_hides_every_mistake(in_node):
    for size in SIZES:
        if size[2] == 1:
            right, *wrong = in_node[size]["ways"]
            assert all(way["output"] == right["output"] for way in wrong)


def test_every_step_has_words_for_both_sides(node):
    script = """
    import { through } from "./head_split/maths.js";
    import { blocksOf, codeOf, tell } from "./head_split/words.js";
    console.log(JSON.stringify(given.map((way) => {
      const [words, width, heads, wrongSplit, wrongMerge] = way;
      const options = { words, width, heads, wrongSplit, wrongMerge };
      const made = through(options);
      return [1, 2, 3, 4, 5, 6].map((stage) => ({ says: tell(stage, made, options),
        code: codeOf(stage, options), blocks: blocksOf(stage, made, options).map(
          ({ rows, columns, cells }) => [rows.length, columns.length, cells.length,
            cells[0].length]) }));
    })));"""
    ways = [
        [*size, *flags]
        for size in SIZES
        for flags in itertools.product([False, True], repeat=2)
    ]
    for way, steps in zip(ways, node(script, ways), strict=True):
        for stage, step in enumerate(steps, start=1):
            assert len(step["says"]) > 10, (way, stage)
            assert "undefined" not in step["says"] + step["code"]
            assert "NaN" not in step["code"]
            for rows, columns, *cells in step["blocks"]:
                assert [rows, columns] == cells
        if way[2] > 1 and way[3]:
            assert "only" in steps[2]["says"]


def test_python_reads_what_is_on_the_screen():
    figure = HeadSplit(4, 8, 2)
    assert "outputs differ by" in repr(figure)
    figure.n_heads = 3  # as a reader's choice does
    assert "cannot be shared out" in repr(figure)
    with pytest.raises(ValueError, match="d_model=8 must be a positive multiple"):
        _ = figure.right
    figure.d_model = 12
    assert figure.right["split"].shape == (3, 4, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_words": 6}, "n_words=6 must be one of 2, 3, 4, 5"),
        ({"d_model": 7}, "d_model=7 must be one of 4, 6, 8, 12"),
        ({"n_heads": 5}, "n_heads=5 must be one of 1, 2, 3, 4"),
        ({"stage": 0}, "stage=0 must be one of 1, 2, 3, 4, 5, 6"),
        ({"word": 3}, "word=3 must be one of -1, 0, 1, 2"),
        ({"mistake": "nowhere"}, "mistake='nowhere' must be one of 'there and back'"),
    ],
)
def test_what_cannot_be_shown_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        HeadSplit(**options)


def test_the_state_of_the_figure_is_plain_json():
    state = HeadSplit().get_state(["n_words", "d_model", "n_heads", "mistake", "word"])
    assert json.loads(json.dumps(state)) == state
