"""The map's own arithmetic, in Node, against the package's models."""

import itertools
import json
import random
import re
from pathlib import Path

import pytest
import torch

import tformer
from tformer.analysis.trace import watch
from tformer.config import TransformerConfig
from tformer.model import Transformer
from tformer_book.widgets import ModelMap
from tformer_book.widgets.model_map import GROUPS, PARTS

FIELDS = [
    "vocab_size",
    "d_model",
    "n_heads",
    "d_ff",
    "n_encoder_layers",
    "n_decoder_layers",
    "norm",
    "tie_embeddings",
]
PRESETS = ModelMap().presets


def configs():
    """Every norm and tying with sizes of all kinds, the presets among them."""
    draw = random.Random(0)
    for preset in PRESETS:
        yield TransformerConfig(**{name: preset["sizes"][name] for name in FIELDS})
    yield TransformerConfig(positions="learned", max_len=77)
    for norm, tied in itertools.product(("post", "pre"), (True, False)):
        for _ in range(5):
            heads = draw.choice([1, 2, 3, 4, 8])
            yield TransformerConfig(
                vocab_size=draw.randint(4, 50_000),
                d_model=2 * heads * draw.randint(1, 40),
                n_heads=heads,
                d_ff=draw.randint(1, 4096),
                n_encoder_layers=draw.randint(1, 5),
                n_decoder_layers=draw.randint(1, 5),
                norm=norm,
                tie_embeddings=tied,
            )


def given(config, *, batch=2, source_length=5, target_length=7):
    lengths = {
        "batch": batch,
        "source_length": source_length,
        "target_length": target_length,
    }
    learned = config.max_len if config.positions == "learned" else 0
    lengths["learned_positions"] = learned
    return {name: getattr(config, name) for name in FIELDS} | lengths


def test_the_map_counts_what_the_models_count(node):
    every = list(configs())
    counted = node(
        "import { total, shares } from './model_map/maths.js';"
        "console.log(JSON.stringify(given.map((c) => [total(c), shares(c)])))",
        [given(config) for config in every],
    )
    for config, (total, shares) in zip(every, counted, strict=True):
        with torch.device("meta"):
            model = Transformer(config)
        assert total == model.n_parameters(), config
        assert sum(row["count"] for row in shares) == total
        assert sum(row["share"] for row in shares) == pytest.approx(1)


MODULES = {
    "encoder.self_attention": "encoder.layers.0.self_attention",
    "encoder.norm1": "encoder.layers.0.self_attention_residual.norm",
    "encoder.feed_forward": "encoder.layers.0.feed_forward",
    "encoder.norm2": "encoder.layers.0.feed_forward_residual.norm",
    "encoder.final_norm": "encoder.final_norm",
    "decoder.self_attention": "decoder.layers.0.self_attention",
    "decoder.norm1": "decoder.layers.0.self_attention_residual.norm",
    "decoder.cross_attention": "decoder.layers.0.cross_attention",
    "decoder.norm2": "decoder.layers.0.cross_attention_residual.norm",
    "decoder.feed_forward": "decoder.layers.0.feed_forward",
    "decoder.norm3": "decoder.layers.0.feed_forward_residual.norm",
    "decoder.final_norm": "decoder.final_norm",
    "source_embedding": "source_embedding",
    "target_embedding": "target_embedding",
    "unembedding": "output_embedding",
}
INNER = {
    "encoder.self_attention": ("weights", "encoder.layers.0.self_attention.weights"),
    "decoder.self_attention": ("weights", "decoder.layers.0.self_attention.weights"),
    "decoder.cross_attention": ("weights", "decoder.layers.0.cross_attention.weights"),
    "encoder.feed_forward": ("inner", "encoder.layers.0.feed_forward.expand"),
    "decoder.feed_forward": ("inner", "decoder.layers.0.feed_forward.expand"),
}


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("tied", [True, False])
def test_each_part_has_the_shape_and_count_of_its_module(node, norm, tied):
    config = TransformerConfig(
        vocab_size=23,
        d_model=12,
        n_heads=3,
        d_ff=20,
        norm=norm,
        tie_embeddings=tied,
    )
    model = Transformer(config).eval()
    parts = node(
        "import { parts, sizesOf } from './model_map/maths.js';"
        "const size = sizesOf(given);"
        "const number = (letters) => letters?.map((l) => size[l]);"
        "console.log(JSON.stringify(parts(given).map((p) => ({ ...p, "
        "out: number(p.out), weights: number(p.weights), inner: number(p.inner) }))))",
        given(config),
    )
    assert [part["id"] for part in parts] == sorted(
        PARTS, key=[part["id"] for part in parts].index
    )
    by_id = {part["id"]: part for part in parts}
    modules = dict(model.named_modules())
    modules.setdefault("target_embedding", model.target_embedding)
    modules.setdefault("output_embedding", model.output_embedding)
    shows = {
        part: f"{name}.to_output" if "attention" in part else name
        for part, name in MODULES.items()
        if "embedding" not in part
    }
    inner = [name for _, name in INNER.values()]
    with torch.no_grad(), watch(model, *shows.values(), *inner) as seen:
        logits = model(torch.full((2, 5), 9), torch.full((2, 7), 9))
    seen_parameters = set()
    for part, name in MODULES.items():
        own = [p for p in modules[name].parameters() if id(p) not in seen_parameters]
        seen_parameters |= {id(p) for p in own}
        assert by_id[part]["each"] == sum(p.numel() for p in own), part
    for part, name in shows.items():
        assert tuple(by_id[part]["out"]) == tuple(seen[name][0].shape), part
    for part, (key, name) in INNER.items():
        assert tuple(by_id[part][key]) == tuple(seen[name][0].shape), part
    assert tuple(by_id["unembedding"]["out"]) == tuple(logits.shape)
    for part in set(PARTS) - set(MODULES):
        assert by_id[part]["each"] == 0, part


def test_the_boxes_lie_in_the_drawing_and_do_not_overlap(node):
    placed = node(
        "import { layout } from './model_map/layout.js';"
        "import { parts } from './model_map/maths.js';"
        "console.log(JSON.stringify(given.flatMap((c) => [true, false].map((compact) =>"
        " layout(parts(c), compact)))))",
        [given(TransformerConfig(norm=norm)) for norm in ("post", "pre")],
    )
    for drawing in placed:
        boxes = [b for b in drawing["boxes"] if b["part"]["kind"] != "mask"]
        for b in drawing["boxes"]:
            assert 0 <= b["x"] <= b["x"] + b["w"] <= 380
            assert 0 <= b["y"] <= b["y"] + b["height"] <= drawing["height"]
        for one, other in itertools.combinations(boxes, 2):
            apart = (
                one["x"] + one["w"] <= other["x"]
                or other["x"] + other["w"] <= one["x"]
                or one["y"] + one["height"] <= other["y"]
                or other["y"] + other["height"] <= one["y"]
            )
            assert apart, (one["part"]["id"], other["part"]["id"])


def test_heads_that_no_longer_divide_the_width_move_to_the_nearest_that_do(node):
    found = node(
        "import { nearestDivisor } from './model_map/maths.js';"
        "console.log(JSON.stringify(given.map(([d, n]) => nearestDivisor(d, n))))",
        [[512, 8], [192, 16], [4, 8], [96, 7]],
    )
    assert found == [8, 16, 4, 6]


def test_a_slider_steps_through_valid_values_the_set_one_among_them(node):
    every = list(configs())
    found = node(
        "import { steps, FIELDS } from './model_map/maths.js';"
        "console.log(JSON.stringify(given.map((c) => Object.fromEntries(FIELDS.slice("
        "0, 9).map((name) => [name, steps(name, c)])))))",
        [given(config) for config in every],
    )
    for config, lists in zip(every, found, strict=True):
        for name, values in lists.items():
            assert values == sorted(set(values))
            assert given(config)[name] in values
        for heads in lists["n_heads"]:
            assert config.d_model % heads == 0


def test_a_later_cell_reads_what_is_on_the_screen():
    config = TransformerConfig(d_model=64, n_heads=4, norm="pre")
    widget = ModelMap(config)
    assert widget.config == config
    assert widget.n_parameters == Transformer(config).n_parameters()
    learned = TransformerConfig(positions="learned", max_len=20)
    assert ModelMap(learned).config == learned
    widget.tie_embeddings = False
    assert widget.n_parameters == Transformer(widget.config).n_parameters()
    assert f"{widget.n_parameters:,}" in repr(widget)


def test_a_compact_map_lights_the_parts_of_its_chapter():
    widget = ModelMap(highlight="masks", compact=True)
    assert set(widget.highlight) == {"encoder.mask", "decoder.mask", "cross.mask"}
    assert "mask" in repr(widget)
    both = ModelMap(highlight=["encoder", "softmax"], compact=True).highlight
    assert both == [*GROUPS["encoder"], "softmax"]
    assert ModelMap(compact=True).highlight == []
    for group in GROUPS.values():
        assert set(group) <= set(PARTS)
        assert group


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"highlight": "mask", "compact": True}, "'mask' is not a part.*masks"),
        ({"highlight": "masks"}, "compact=True"),
        ({"selected": "the encoder"}, "is not a part"),
        ({"batch": 0}, "batch=0"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ModelMap(**arguments)


def test_the_released_models_sizes_are_its_cards():
    from tformer import load_pretrained

    sizes = next(p["sizes"] for p in PRESETS if p["name"] == "ours, released")
    config = load_pretrained().model.config
    assert {name: sizes[name] for name in FIELDS} == {
        name: getattr(config, name) for name in FIELDS
    }


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_file_and_folder_that_the_map_names_is_in_the_package(node, norm):
    found = node(
        "import { parts } from './model_map/maths.js';"
        "console.log(JSON.stringify(parts(given).map((p) => [p.id, p.files])))",
        given(TransformerConfig(norm=norm)),
    )
    package = Path(tformer.__file__).parent
    for part, files in found:
        assert files, part
        for name in files:
            there = package / name
            assert there.is_dir() if name.endswith("/") else there.is_file(), part


def test_parts_lead_to_chapters_that_exist_and_as_on_the_first_page(node):
    script = """
    import { chapterOf } from "./model_map/chapters.js";
    import { parts } from "./model_map/maths.js";
    console.log(JSON.stringify(parts(given).map((part) =>
      [part.id, part.name, chapterOf(part)])));"""
    sizes = ModelMap().get_state(
        [
            "vocab_size",
            "d_model",
            "n_heads",
            "d_ff",
            "n_encoder_layers",
            "n_decoder_layers",
            "norm",
            "tie_embeddings",
            "learned_positions",
            "batch",
            "source_length",
            "target_length",
        ]
    )
    book = Path(__file__).parents[3] / "book"
    found = node(script, sizes)
    for _, _, chapter in found:
        source = book / chapter["address"].replace(".html", ".ipynb")
        notebook = json.loads(source.read_text(encoding="utf-8"))
        heading = "".join(notebook["cells"][0]["source"]).splitlines()[0]
        assert heading == f"# {chapter['title']}"
    leads = {part: chapter["address"] for part, _, chapter in found}
    drawing = (book / "_static/whole-model.svg").read_text(encoding="utf-8")
    shown = re.findall(r'<a href="([^"]+)">.*?<text[^>]*>([^<]+)<', drawing, re.S)
    same = {
        "Self-attention": "encoder.self_attention",
        "Masked self-attention": "decoder.self_attention",
        "Cross-attention": "decoder.cross_attention",
        "Feed-forward": "decoder.feed_forward",
        "Tokens": "source_ids",
        "Embedding + position": "source_embedding",
        "Linear + softmax": "unembedding",
        "Next piece": "softmax",
    }
    assert {name for _, name in shown} == set(same)
    for address, name in shown:
        assert leads[same[name]] == address, name
