"""Wrong values for the public functions: each gets one clear error that names it."""

from __future__ import annotations

import pytest
from torch import nn

from tformer import TransformerConfig, data, interop, load_pretrained
from tformer.tokenization import Tokenizer
from tformer.train import fit
from tformer.train.snapshots import average
from tformer.translator import Translator

SENTENCES = [
    "A man is riding a horse.",
    "Two dogs play in the snow.",
    "Ein Mann reitet auf einem Pferd.",
    "Zwei Hunde spielen im Schnee.",
    "The woman reads a book to the child.",
    "Die Frau liest dem Kind ein Buch vor.",
]
PAIR = [("one", "eins")]
CORPUS = data.Corpus("toy", PAIR, PAIR, {})


def trained(translator, **options):
    settings = {"corpus": CORPUS, "steps": 1, "progress": "none"} | options
    corpus = settings.pop("corpus")
    return fit(translator.model.config, corpus, folder="run", **settings)


def with_card(translator, card):
    return Translator(translator.model, translator.tokenizer, card)


WRONG = {
    "no tokenizer": (
        lambda t: Translator(t.model, None),
        "expected a model of tformer and its tokenizer, got a .* and a NoneType",
    ),
    "no model": (
        lambda t: Translator(nn.Linear(2, 2), t.tokenizer),
        "got a Linear and",
    ),
    "card": (lambda t: with_card(t, [1]), "card must be a dict, of facts .*got a list"),
    "fact": (
        lambda t: with_card(t, {"x": object()}).save("new"),
        "the card cannot be written as JSON: .*object is not JSON serializable",
    ),
    "not a number": (
        lambda t: with_card(t, {"x": float("nan")}).save("new"),
        "the card cannot be written as JSON",
    ),
    "folder": (lambda t: t.save("new\0"), r"folder='new\\x00' must be without a zero"),
    "path": (lambda t: load_pretrained("run\0"), "without a zero byte"),
    "export": (lambda t: interop.export(None, "hf", "new"), "the model is a NoneType"),
    "corpus name": (lambda t: data.load(b"pairs.tsv"), "name=b'pairs.tsv' must be the"),
    "corpus number": (
        lambda t: data.load(5, columns=(1, 2)),
        "name=5 must be the name",
    ),
    "corpus": (
        lambda t: trained(t, corpus="pairs.tsv"),
        "corpus must be a Corpus, as from tformer.data.load, got a str",
    ),
    "recipe": (
        lambda t: trained(t, recipe={}),
        "recipe must be a Recipe, .*got a dict",
    ),
    "tokenizer": (
        lambda t: trained(t, tokenizer="bpe"),
        "tokenizer must be a Tokenizer, as from Tokenizer.train, got a str",
    ),
    "minutes": (lambda t: trained(t, minutes="1"), "minutes='1' must be a number"),
    "bytes": (
        lambda t: Tokenizer.train(["a b"], 300, byte_fallback=None),
        "byte_fallback=None must be a bool",
    ),
    "texts": (lambda t: t.tokenizer.encode_all("one"), "list of texts, got one text"),
}


@pytest.fixture(scope="module")
def translator(make_translator) -> Translator:
    return make_translator(SENTENCES)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_named(name, translator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, message = WRONG[name]
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        call(translator)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_snapshots_may_be_named_by_strings(translator, tmp_path):
    translator.save(tmp_path)
    name = str(tmp_path / "model.safetensors")
    assert (
        average([name, name]).keys() == average([tmp_path / "model.safetensors"]).keys()
    )


def test_the_configuration_is_enough_to_name_a_wrong_corpus():
    with pytest.raises(TypeError, match="corpus must be a Corpus"):
        fit(TransformerConfig(), None, steps=1)
