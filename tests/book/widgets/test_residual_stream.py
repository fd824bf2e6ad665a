"""The figure of the residual stream: recorded by Python, told by the engine, drawn."""

import math

import pytest
import torch

from tformer import Transformer, TransformerConfig
from tformer.analysis import trace
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer_book.widgets import ResidualStream
from tformer_book.widgets._model import RUNNING
from tformer_book.widgets.residual_stream import SHOWN, stream_states

CASES = [
    (RUNNING, None),
    ("A dog runs.", "Ein Hund rennt, und rennt."),
    ("Nein!", None),
]
SIDES = ("encoder", "decoder")


@pytest.fixture(scope="module")
def translator(page_translator):
    return page_translator


@pytest.fixture(scope="module")
def recorded(translator):
    return [stream_states(translator, *case) for case in CASES]


@pytest.fixture(scope="module")
def told(node, page_folder):
    """What the page's engine says of the same sentences."""
    script = """
    import { loadPretrained } from "./engine/pretrained.js";
    const { cases, folder } = given;
    const read = (name) => new Uint8Array(readFileSync(`${folder}/${name}`)).buffer;
    const weights = read("model.safetensors"), tokenizer = read("tokenizer.model");
    const translator = await loadPretrained({ weights, tokenizer });
    console.log(JSON.stringify(cases.map((each) => translator.stream(...each))));"""
    return node(script, {"folder": str(page_folder), "cases": CASES})


@pytest.fixture(scope="module")
def ways(node, recorded):
    """The rows of the running example, at every position of a side."""
    script = """
    import { settled, triangle, way } from "./residual_stream/maths.js";
    const of = (side) => given[side][0].length.map((_, t) => way(given, side, t));
    const sides = Object.fromEntries(["encoder", "decoder"].map((s) => [s, of(s)]));
    console.log(JSON.stringify({
      ...sides,
      settled: sides.decoder.map(settled),
      triangles: sides.decoder.map((rows) => rows.map((row) => triangle(row))),
    }));"""
    return node(script, recorded[0])


def numbers(states, key):
    return [x for state in states for x in state[key]]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_the_engine_tells_what_python_recorded(recorded, told, case):
    mine, theirs = told[case], recorded[case]
    for key in (
        "sourcePieces",
        "targetPieces",
        "predictedPieces",
        "translation",
        "norm",
    ):
        assert mine[key] == theirs[key]
    for side in SIDES:
        assert [s["name"] for s in mine[side]] == [s["name"] for s in theirs[side]]
        for key in ("length", "added"):
            assert numbers(mine[side], key) == pytest.approx(
                numbers(theirs[side], key), rel=1e-4
            )
        for key in ("cosine", "followed"):
            assert numbers(mine[side], key) == pytest.approx(
                numbers(theirs[side], key), abs=1e-4
            )
        for one, other in zip(
            numbers(mine[side], "next"), numbers(theirs[side], "next"), strict=True
        ):
            assert len(one) == len(other) == SHOWN
            for (_, a), (_, b) in zip(one, other, strict=True):
                assert a == pytest.approx(b, abs=1e-4)
            assert one[0][0] == other[0][0] or one[0][1] - one[1][1] < 1e-4


def test_what_the_decoder_says_at_the_end_is_what_the_model_says(translator, recorded):
    example = recorded[0]
    source = torch.tensor([translator.encode(RUNNING)])
    target = translator.encode(example["translation"])[:-1]
    with torch.no_grad():
        logits = translator.model(source, torch.tensor([[1, *target]]))
    best, ids = logits[0].softmax(-1).max(-1)
    last = example["decoder"][-1]
    assert last["followed"] == pytest.approx(best.tolist(), abs=1e-4)
    pieces = [translator.tokenizer.id_to_piece(int(i)) for i in ids]
    assert [each[0][0] for each in last["next"]] == pieces


def test_a_words_own_row_is_the_nearest_before_anything_was_added(recorded):
    first = recorded[0]["encoder"][0]
    assert [each[0][0] for each in first["next"]] == recorded[0]["sourcePieces"]
    assert first["followed"] == pytest.approx([1.0] * len(first["followed"]), abs=1e-4)


def test_lengths_and_angle_make_a_triangle(ways):
    for rows in (*ways["encoder"], *ways["decoder"]):
        assert rows[0]["before"] == 0
        assert rows[0]["angle"] is None
        for row in rows[1:]:
            before, added, cosine = row["before"], row["added"], row["cosine"]
            squared = before**2 + added**2 + 2 * before * added * cosine
            assert math.sqrt(squared) == pytest.approx(row["length"], rel=1e-3)
            assert row["angle"] == pytest.approx(math.degrees(math.acos(cosine)))


def test_the_drawing_keeps_lengths_and_angle_and_stays_in_its_box(ways):
    for rows, drawn in zip(ways["decoder"], ways["triangles"], strict=True):
        for row, corners in zip(rows, drawn, strict=True):
            points = [corners[name] for name in ("from", "tip", "end")]
            assert all(0 <= x <= 200 and 0 <= y <= 200 for x, y in points)
            if row["angle"] is None:
                continue
            lengths = [
                math.dist(a, b)
                for a, b in ((points[0], points[1]), (points[1], points[2]))
            ]
            ratio = row["added"] / row["before"]
            assert lengths[1] / lengths[0] == pytest.approx(ratio, rel=1e-6)
            dx, dy = points[2][0] - points[1][0], points[1][1] - points[2][1]
            angle = math.degrees(math.atan2(dx, dy))
            assert angle == pytest.approx(row["angle"], abs=1e-3)


def test_the_stream_has_settled_where_its_first_piece_stays(ways):
    for rows, settled in zip(ways["decoder"], ways["settled"], strict=True):
        best = [row["next"][0][0] for row in rows]
        assert set(best[settled:]) == {best[-1]}
        assert settled == 0 or best[settled - 1] != best[-1]


def test_parts_have_names_for_people(js):
    names = ["word", "position", "layers.0.self_attention", "layers.11.feed_forward"]
    titles = js("residual_stream/maths.js", "given.map(titleOf)", names)
    assert titles == [
        "the word", "its position", "0 self-attention", "11 feed-forward",
    ]  # fmt: skip


def test_python_reads_what_is_on_the_screen(translator):
    figure = ResidualStream(side="encoder", position=3)
    writes, _ = trace.residual_stream(
        translator.model,
        torch.tensor([translator.encode(RUNNING)]),
        torch.tensor([[1]]),
    )
    assert [each["name"] for each in figure.way] == [write.name for write in writes]
    for each, write in zip(figure.way, writes, strict=True):
        assert each["length"] == pytest.approx(
            write.after[0, 3].norm().item(), rel=1e-4
        )
        assert each["added"] == pytest.approx(write.added[0, 3].norm().item(), rel=1e-4)
    assert "encoder's stream at position 3" in repr(figure)
    figure.position = 99  # a longer sentence was shown before
    assert len(figure.way) == len(writes)


def test_a_model_of_ones_own_may_be_post_norm():
    tokenizer = Tokenizer.train(["A dog.", "Ein Hund."] * 3, 280, algorithm="bpe")
    torch.manual_seed(0)
    config = TransformerConfig(280, d_model=16, n_heads=2, d_ff=32, norm="post")
    own = Translator(Transformer(config).eval(), tokenizer)
    example = stream_states(own, "A dog.", "Ein Hund.")
    assert example["norm"] == "post"
    fresh = example["decoder"][-1]["length"]  # gain 1, bias 0: variance 1
    assert fresh == pytest.approx([4.0] * len(fresh), rel=1e-3)


def test_a_recorded_example_is_small_enough_for_a_page():
    state = ResidualStream().get_state(["example"])
    assert len(repr(state)) < 100_000
