"""The Python side of the figures that ask a trained model."""

from __future__ import annotations

import base64
import math

import pytest
import torch
from torch.testing import assert_close

from tformer import Transformer, TransformerConfig, load_pretrained
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer.variants.recurrent import RecurrentConfig, RecurrentSeq2Seq
from tformer_book.widgets._model import (
    ENGINE,
    PART,
    ModelFigure,
    engine,
    recorded_attention,
    released_key,
    released_model,
)

TEXT = "A man is riding a horse."
SENTENCES = [TEXT, "Ein Mann reitet auf einem Pferd.", "Zwei Hunde im Schnee."]


class Figure(ModelFigure):
    def record(self, text):
        return recorded_attention(self.translator.attention(text))


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(SENTENCES * 3, 300, algorithm="bpe")


@pytest.fixture(scope="module")
def own(tokenizer):
    """A translator that was never released, larger than one part of a file."""
    torch.manual_seed(1)
    sizes = {"d_model": 128, "n_heads": 4, "d_ff": 256, "max_len": 64}
    model = Transformer(TransformerConfig(300, **sizes)).eval()
    return Translator(model, tokenizer)


@pytest.fixture(scope="module")
def released():
    return Figure(TEXT)


@pytest.fixture
def ask(monkeypatch):
    """``ask(figure, "a file", part)``: what the figure sends to a page that asks."""

    def ask(figure, name, part=0):
        sent = []
        monkeypatch.setattr(
            figure,
            "send",
            lambda content, buffers=None: sent.append((content, *buffers)),
        )
        data = {"method": "custom", "content": {"ask": name, "part": part}}
        figure._handle_msg({"content": {"data": data}, "buffers": []})
        return sent

    return ask


def whole(ask, figure, name):
    """Every part of a file, joined, and what came with each."""
    [(first, data)] = ask(figure, name)
    for part in range(1, first["parts"]):
        [(about, more)] = ask(figure, name, part)
        assert (about["file"], about["part"]) == (name, part)
        assert about["parts"] == first["parts"]
        data += more
    return data, first


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model"])
def test_the_parts_of_a_released_file_make_the_file(ask, released, name):
    data, about = whole(ask, released, name)
    assert data == released_model().files[name]
    assert about["parts"] == math.ceil(len(data) / PART)
    assert about["bytes"] == len(data)


def test_the_kernel_hands_over_the_engine(ask, released):
    data, _ = whole(ask, released, ENGINE)
    assert data == engine()


@pytest.mark.parametrize(
    "name", ["card.json", "../pretrained.py", "/etc/hostname", "", None, [ENGINE]]
)
def test_a_page_gets_no_other_file(ask, released, name):
    assert ask(released, name) == []


@pytest.mark.parametrize("part", [-1, 10**6, "0", None, 0.5])
def test_a_part_that_is_none_is_not_answered(ask, released, part):
    assert ask(released, "model.safetensors", part) == []


def test_figures_of_the_released_model_share_its_key(released, own):
    again = Figure("Two dogs.", translator=load_pretrained())
    assert released.model_key == again.model_key == released_key() != ""
    sizes = {name: len(content) for name, content in released_model().files.items()}
    assert released.model_bytes == again.model_bytes == sum(sizes.values())
    assert sizes["model.safetensors"] <= 4.4e6


def test_a_model_of_ones_own_has_no_key_and_gives_its_own_weights(ask, own, tmp_path):
    figure = Figure(TEXT, translator=own)
    assert figure.model_key == ""
    for name in ("model.safetensors", "tokenizer.model"):
        data, _ = whole(ask, figure, name)
        (tmp_path / name).write_bytes(data)
    assert figure.model_bytes == sum(f.stat().st_size for f in tmp_path.iterdir())
    loaded = load_pretrained(tmp_path)
    theirs = dict(loaded.model.named_parameters())
    for name, parameter in own.model.named_parameters():
        # Eight bits: off by half a step of the row's largest weight.
        step = parameter.abs().amax(dim=-1, keepdim=True) / 127
        assert ((theirs[name] - parameter).abs() <= 0.501 * step).all(), name
    assert loaded.tokenizer.model_bytes == own.tokenizer.model_bytes


def test_a_changed_weight_makes_it_a_model_of_ones_own():
    changed = load_pretrained()
    with torch.no_grad():
        changed.model.output_embedding.weight[5, 5] += 1
    assert Figure(TEXT, translator=changed).model_key == ""


def test_the_same_weights_under_another_configuration_are_not_the_released_model():
    released = load_pretrained()
    fields = {**vars(released.model.config), "n_heads": 2}
    model = Transformer(TransformerConfig(**fields)).eval()
    model.load_state_dict(released.model.state_dict())
    figure = Figure(TEXT, translator=Translator(model, released.tokenizer))
    assert figure.model_key == ""


def test_weights_never_travel_in_a_figures_state(released):
    state = released.get_state()
    size = sum(len(repr(v)) for k, v in state.items() if k not in ("_esm", "_css"))
    assert size < 100_000
    assert "model.safetensors" not in repr(state["example"])


def test_a_recurrent_model_is_refused(tokenizer):
    model = RecurrentSeq2Seq(RecurrentConfig(300, d_model=16))
    with pytest.raises(TypeError, match="needs a Transformer.*RecurrentSeq2Seq"):
        Figure(TEXT, translator=Translator(model, tokenizer))


def test_recorded_attention_is_off_by_half_a_step_of_255_at_most(released):
    maps = released.translator.attention(TEXT)
    for name in ("encoder", "decoder", "cross"):
        exact, stored = getattr(maps, name), released.example[name]
        weights = torch.frombuffer(
            bytearray(base64.b64decode(stored["bytes"])), dtype=torch.uint8
        )
        assert stored["shape"] == list(exact.shape)
        assert_close(
            weights.float().view(exact.shape) / 255, exact, rtol=0, atol=1 / 510 + 1e-6
        )
    assert released.example["sourcePieces"] == maps.source_pieces
    assert released.example["targetPieces"] == maps.target_pieces
    assert released.example["predictedPieces"] == maps.predicted_pieces
    assert released.example["translation"] == maps.translation


def test_what_was_recorded_is_read_back_on_the_page(node, released):
    script = (
        "import { unpack } from './kit/model.js'; const x = unpack(given);"
        "console.log(JSON.stringify({ text: x.translation,"
        " shape: x.cross.shape, data: [...x.cross.data] }))"
    )
    read = node(script, released.example)
    cross = released.translator.attention(TEXT).cross
    assert read["text"] == released.example["translation"]
    assert read["shape"] == list(cross.shape)
    assert_close(
        torch.tensor(read["data"]).view(cross.shape),
        cross,
        rtol=0,
        atol=1 / 510 + 1e-6,
    )
