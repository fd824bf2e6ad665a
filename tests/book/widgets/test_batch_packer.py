"""The figure's own packing, in Node, against `tformer.data`."""

import itertools
import json

import pytest

from tformer import data
from tformer_book.widgets import BatchPacker
from tformer_book.widgets.batch_packer import CUTS, LENGTHS, ORDERS

SETTINGS = [
    {"order": order, "cut": cut, "sentences": n, "tokens": tokens}
    for order, cut in itertools.product(ORDERS, CUTS)
    for n, tokens in [(1, 54), (5, 97), (8, 256), (24, 640)]
]
SIZES = [LENGTHS, LENGTHS[:1], [(3, 3)] * 7, [(1, 50), (4, 50), (2, 1)]]


@pytest.fixture(scope="module")
def in_node(node):
    script = """
    import { pack } from "./batch_packer/maths.js";
    console.log(JSON.stringify(given.map((state) => pack(state))));"""
    figures = [BatchPacker(s, **each) for s in SIZES for each in SETTINGS]
    states = [
        f.get_state(["lengths", "order", "cut", "sentences", "tokens"]) for f in figures
    ]
    return list(zip(figures, node(script, states), strict=True))


def test_the_page_packs_as_the_package_does(in_node):
    for figure, found in in_node:
        assert [batch["rows"] for batch in found["batches"]] == figure.batches
        shapes = [(len(b["rows"]), b["source"], b["target"]) for b in found["batches"]]
        assert shapes == figure.shapes
        assert found["waste"] == pytest.approx(figure.waste)


def test_sorted_and_cut_by_tokens_are_the_batches_that_training_gets(in_node):
    checked = 0
    for figure, found in in_node:
        if figure.order != ORDERS[1] or figure.cut != CUTS[1]:
            continue
        encoded = [([3] * (s - 1) + [2], [4] * (t - 1)) for s, t in figure.lengths]
        ids = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "seed": 5, "epoch": 1}
        made = data.batches(encoded, max_tokens=figure.tokens, **ids)
        shapes = [(*b.source_ids.shape, b.target_ids.size(1)) for b in made]
        assert sorted(shapes) == sorted(figure.shapes)
        padded = sum(b.source_ids.numel() + b.target_ids.numel() for b in made)
        assert found["tokens"] == padded
        assert found["padding"] == padded - sum(b.n_tokens for b in made)
        checked += 1
    assert checked == 16


def test_every_pair_is_in_one_batch_and_padding_is_what_is_left(in_node):
    for figure, found in in_node:
        rows = [row for batch in found["batches"] for row in batch["rows"]]
        assert sorted(rows) == list(range(len(figure.lengths)))
        real = sum(map(sum, figure.lengths))
        assert found["tokens"] - found["padding"] == real
        sizes = [batch["tokens"] for batch in found["batches"]]
        assert (found["smallest"], found["largest"]) == (min(sizes), max(sizes))
        assert found["steps"] == len(sizes)


def test_the_sentence_below_says_what_is_counted(node):
    figure = BatchPacker(order=ORDERS[1], cut=CUTS[1])
    state = figure.get_state(["lengths", "order", "cut", "sentences", "tokens"])
    script = """
    import { explain, pack } from "./batch_packer/maths.js";
    console.log(JSON.stringify(explain(given, pack(given))));"""
    text = node(script, state)
    assert text.startswith("Sorted by length, at most 256 tokens in a batch: ")
    assert f"{len(figure.shapes)} steps" in text
    assert f"{100 * figure.waste:.1f}\N{NO-BREAK SPACE}%" in text


@pytest.mark.parametrize(
    "change",
    [
        {"lengths": []},
        {"lengths": [(0, 3)]},
        {"lengths": [(600, 41)]},
        {"sentences": 0},
        {"sentences": 25},
        {"tokens": 53},
        {"tokens": 641},
        {"order": "random"},
        {"cut": "all"},
    ],
)
def test_what_cannot_be_packed_is_named(change):
    with pytest.raises(ValueError, match="pairs|below 1|641|must be|is none of"):
        BatchPacker(**change)


def test_the_state_is_plain_json_and_the_figure_reads_as_a_sentence():
    figure = BatchPacker()
    assert json.loads(json.dumps(figure.get_state()["lengths"])) == figure.lengths
    assert repr(figure).startswith("48 pairs, as they come, by pairs: 6 batches")
