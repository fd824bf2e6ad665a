"""The engine's Transformer computes what PyTorch computes."""

from __future__ import annotations

import itertools
import json
import random

import pytest
import torch

from tformer import data, load_pretrained
from tformer.analysis.trace import attention_weights, residual_stream, watch
from tformer.config import TransformerConfig
from tformer.interop import lab
from tformer.model import Transformer
from tformer_book.widgets.heads import recorded_damage

LOGITS, WEIGHTS = 1e-5, 1e-6  # how far the engine may be from PyTorch
SWEPT = 1e-3  # with weights in eight bits, whose kernel rounds what it multiplies

# Every choice with every other, positions in turn; odd sizes, where blocks do not fit.
CHOICES = itertools.product(("post", "pre"), ("relu", "gelu", "swish"), (True, False))
POSITIONS = ("sinusoidal", "learned", *lab.POSITIONS)
SIZES = [
    {"vocab_size": 13, "d_model": 8, "n_heads": 2, "d_ff": 16},
    {"vocab_size": 31, "d_model": 6, "n_heads": 3, "d_ff": 7},
    {"vocab_size": 40, "d_model": 20, "n_heads": 1, "d_ff": 33, "n_decoder_layers": 3},
    {"vocab_size": 64, "d_model": 64, "n_heads": 8, "d_ff": 96, "n_encoder_layers": 3},
]
CONFIGS = [
    {
        **SIZES[i % 4],
        "norm": norm,
        "activation": activation,
        "tie_embeddings": tied,
        "positions": POSITIONS[(i + i // 4) % len(POSITIONS)],
        "output_bias": i % 5 == 0,
    }
    for i, (norm, activation, tied) in enumerate([*CHOICES] * 2)
]
LENGTHS = [([5], [4]), ([7, 3, 1], [2, 6, 4]), ([16, 9], [1, 16]), ([1, 1], [1, 1])]
WATCHED = [
    "source_embedding", "positions", "encoder", "encoder.layers.0",
    "encoder.layers.1.self_attention.heads",
    "encoder.layers.1.self_attention.to_output",
    "encoder.layers.0.feed_forward", "encoder.layers.0.feed_forward.expand",
    "encoder.layers.0.self_attention_residual", "encoder.final_norm",
    "decoder", "decoder.layers.1", "decoder.layers.0.cross_attention.to_query",
    "decoder.layers.0.cross_attention_residual.norm",
    "decoder.layers.1.self_attention.weights", "decoder.final_norm",
]  # fmt: skip


def close(mine, theirs, tolerance):
    torch.testing.assert_close(mine, theirs, rtol=0, atol=tolerance)


@pytest.fixture(scope="module")
def passes(make_model, random_ids):
    """(model, source, target) of forward passes over all configurations."""

    def one(number, fields):
        source, target = LENGTHS[number % len(LENGTHS)]
        ids = [
            random_ids(lengths, vocab_size=fields["vocab_size"], seed=number + offset)
            for offset, lengths in enumerate((source, target))
        ]
        return make_model(seed=number, **fields), *ids

    return [one(number, fields) for number, fields in enumerate(CONFIGS)]


@pytest.fixture
def forwarded(run, saved):
    """What the engine makes of forward passes."""

    def forwarded(passes, **options):
        cases = [
            {
                "file": saved(model, f"model{number}"),
                "source": source.tolist(),
                "target": target.tolist(),
                **options,
            }
            for number, (model, source, target) in enumerate(passes)
        ]
        return run("forward", cases)

    return forwarded


def test_logits_and_attention_are_pytorchs_in_every_configuration(
    passes, forwarded, unpack
):
    for (model, source, target), mine in zip(passes, forwarded(passes), strict=True):
        with torch.no_grad():
            close(unpack(mine["logits"]), model(source, target), LOGITS)
        maps = attention_weights(model, source, target)
        for name, theirs in zip(("encoder", "decoder", "cross"), maps, strict=True):
            close(unpack(mine[name]), theirs, WEIGHTS)
            close(unpack(mine[name]).sum(-1), theirs.sum(-1), WEIGHTS)
        assert mine["nParameters"] == model.n_parameters()


def test_every_state_inside_can_be_seen_under_pytorchs_name(passes, forwarded, unpack):
    for (model, source, target), mine in zip(
        passes[:4], forwarded(passes[:4], names=WATCHED), strict=True
    ):
        with torch.no_grad(), watch(model, *WATCHED) as seen:
            model(source, target)
        assert mine["nSeen"] == [len(seen[name]) for name in WATCHED]
        for name, outputs in seen.items():
            theirs = outputs[0]
            if name.endswith(".heads"):  # the engine leaves heads side by side
                theirs = theirs.transpose(1, 2).flatten(2)
            close(unpack(mine["seen"][name]), theirs, LOGITS)


def test_the_residual_stream_is_pytorchs_in_every_configuration(
    passes, run, saved, unpack
):
    cases = [
        {
            "file": saved(model, f"stream{number}"),
            "source": source.tolist(),
            "target": target.tolist(),
        }
        for number, (model, source, target) in enumerate(passes)
    ]
    for (model, source, target), mine in zip(
        passes, run("streams", cases), strict=True
    ):
        theirs = residual_stream(model, source, target)
        for side, writes in zip(("encoder", "decoder"), theirs, strict=True):
            assert [each["name"] for each in mine[side]] == [w.name for w in writes]
            for each, write in zip(mine[side], writes, strict=True):
                for part in ("before", "added", "after"):
                    close(unpack(each[part]), getattr(write, part), LOGITS)


@pytest.mark.parametrize("tied", [True, False])
def test_parts_and_weights_have_pytorchs_names(run, saved, make_model, tied):
    model = make_model(tie_embeddings=tied, norm="pre")
    names = run("names", {"file": saved(model, "names")})
    assert sorted(names["parameters"]) == sorted(dict(model.named_parameters()))
    modules = dict(model.named_modules())
    assert set(names["modules"]) <= set(modules)
    silent = ("activation", "dropout", "layers")  # nothing of their own to see
    assert {name for name in modules if name.rpartition(".")[2] not in silent} == set(
        names["modules"]
    )


def gain_hooks(model, gains):
    """Scale heads' outputs in PyTorch; the hooks' handles."""
    for gain in gains:
        side = "encoder" if gain["site"] == "encoder" else "decoder"
        layer = getattr(model, side).layers[gain["layer"]]
        kind = "cross_attention" if gain["site"] == "cross" else "self_attention"
        scale = torch.ones(1, model.config.n_heads, 1, 1)
        scale[:, gain["head"]] = gain["gain"]
        probe = getattr(layer, kind).heads
        yield probe.register_forward_hook(lambda module, inputs, out, s=scale: out * s)


@pytest.mark.parametrize(
    "gains",
    [
        [{"site": "encoder", "layer": 1, "head": 0, "gain": 0}],
        [{"site": "decoder", "layer": 0, "head": 1, "gain": 0.5}],
        [
            {"site": "cross", "layer": 1, "head": 1, "gain": 0},
            {"site": "cross", "layer": 1, "head": 0, "gain": -2},
            {"site": "encoder", "layer": 0, "head": 1, "gain": 0},
        ],
    ],
)
def test_a_head_can_be_knocked_out_and_comes_back(passes, forwarded, unpack, gains):
    chosen = [each for each in passes if each[0].config.n_heads > 1][:4]
    for (model, source, target), mine in zip(
        chosen, forwarded(chosen, gains=gains), strict=True
    ):
        with torch.no_grad():
            whole = model(source, target)
            handles = list(gain_hooks(model, gains))
            without = model(source, target)
            for handle in handles:
                handle.remove()
        assert not torch.allclose(whole, without, atol=1e-3)
        close(unpack(mine["logits"]), without, LOGITS)
        close(unpack(mine["undone"]), whole, LOGITS)


def test_a_sweep_knocks_out_each_head_alone_and_leaves_the_model_whole(
    run, page_files, page_translator
):
    text = "The dog did not cross the street because it was tired."
    german = "Der Hund überquerte die Straße nicht, weil er müde war."
    given = {"files": page_files, "text": text, "translation": german}
    mine = run("damages", given)
    wanted = recorded_damage(page_translator, text, german)
    assert mine["pieces"] == wanted["pieces"]
    assert mine["whole"] == mine["after"] == pytest.approx(wanted["whole"], abs=SWEPT)
    assert mine["told"] == mine["heads"]
    count = len(wanted["heads"])
    for number, (ours, theirs) in enumerate(
        zip(mine["heads"], wanted["heads"], strict=True), start=1
    ):
        assert (ours.pop("done"), ours.pop("of")) == (number, count)
        fall = ours.pop("logProbability")
        assert fall == pytest.approx(theirs.pop("logProbability"), abs=SWEPT)
        assert ours == theirs


def test_padding_changes_nothing_for_the_tokens_that_are_there(
    make_model, forwarded, unpack
):
    model = make_model(norm="pre")
    ids = torch.tensor([[5, 6, 2]])
    padded = torch.tensor([[5, 6, 2, 0, 0]])
    alone, beside = forwarded([(model, ids, ids), (model, padded, padded)])
    logits = unpack(beside["logits"])
    close(logits[:, :3], unpack(alone["logits"]), 1e-7)
    assert bool(logits.isfinite().all())
    assert float(unpack(beside["cross"])[..., 3:].abs().max()) == 0


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ([[5, 13]], [[1]], "token id 13 is outside the vocabulary 0…12"),
        ([[5, 2]], [[1, -1]], "token id -1 is outside"),
        ([[5, 1.5]], [[1]], "token id 1.5 is outside"),
        ([[5, None]], [[1]], "token id null is outside"),
        ([[5, "7"]], [[1]], "token id 7 is outside"),
        ([[0, 0]], [[1]], "row 0 has no visible token"),
        ([[5, 2], [5]], [[1], [1]], "rows of one length"),
        ([[]], [[1]], "rows of one length"),
        ([[5, 2]], [[1], [1]], "same batch size, got 1 and 2"),
        ([[5, 2]], [[0, 1]], "row 0 of the target begins with pad_id=0"),
        ([[5] * 17], [[1]], "17 tokens are more than max_len=16"),
        ([[5, 2]], [[1] * 17], "17 tokens are more than max_len=16"),
    ],
)
def test_ids_that_cannot_be_read_are_refused(
    run, saved, make_model, source, target, said
):
    file = saved(make_model(), "bad")
    (message,) = run("badIds", {"file": file, "cases": [[source, target]]})
    assert said in message


def test_a_gain_for_a_head_that_is_not_there_is_refused(run, saved, make_model):
    case = {"file": saved(make_model(), "bad"), "source": [[5]], "target": [[1]]}
    for gain in ({"layer": 2}, {"head": 2}, {"site": "middle"}, {"gain": "none"}):
        gains = [{"site": "cross", "layer": 0, "head": 0, "gain": 0, **gain}]
        message = run("refusedGains", {**case, "gains": gains})
        assert "sites are encoder, decoder, cross" in message


def test_the_released_model_agrees_with_pytorch(
    run, engine_folder, unpacked_folder, unpack
):
    """PyTorch computes with the weights as they are rounded in the file, in float64.

    In float32 PyTorch itself strays from that by up to 9e-6 in a logit and 1.6e-6 in an
    attention weight, several times as far as the engine, whose sums are in float64.
    """
    translator = load_pretrained()
    exact = translator.model.double()
    corpus = data.load("grammar")
    pairs = random.Random(0).sample(list(corpus.train), 6)
    (engine_folder / "released").write_bytes(
        (unpacked_folder / "model.safetensors").read_bytes()
    )
    bos = translator.model.config.bos_id
    ids = [
        ([translator.encode(english)], [[bos, *translator.tokenizer.encode(german)]])
        for english, german in pairs
    ]
    cases = [
        {"file": "released", "source": source, "target": target}
        for source, target in ids
    ]
    for (source, target), mine in zip(ids, run("forward", cases), strict=True):
        source_ids, target_ids = torch.tensor(source), torch.tensor(target)
        with torch.no_grad():
            theirs = exact(source_ids, target_ids)
        close(unpack(mine["logits"]).double(), theirs, LOGITS)
        maps = attention_weights(exact, source_ids, target_ids)
        for name, weights in zip(("encoder", "decoder", "cross"), maps, strict=True):
            close(unpack(mine[name]).double(), weights, WEIGHTS)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("d_model", 7, "d_model=7 must be even"),
        ("n_heads", 3, "d_model=8 must be a multiple of n_heads=3"),
        ("norm", "middle", 'norm="middle" must be post or pre'),
        ("d_ff", 0, "d_ff=0 must be at least 1"),
        ("eos_id", 1, "an id of its own below vocab_size=13"),
        ("n_gates", 2, "unknown configuration fields: n_gates"),
    ],
)
def test_a_configuration_that_cannot_be_built_is_refused(run, field, value, said):
    fields = {**TransformerConfig().to_dict(), "vocab_size": 13, "d_model": 8}
    fields = {**fields, "n_heads": 2, field: value}
    assert said in run("badConfig", json.loads(json.dumps(fields)))


def test_a_model_of_random_weights_is_not_what_makes_these_pass(passes):
    """No two passes give the same logits, so an agreement says something."""
    with torch.no_grad():
        means = [float(model(s, t).abs().mean()) for model, s, t in passes]
    assert len({round(mean, 6) for mean in means}) == len(means)
    assert isinstance(passes[0][0], Transformer)
