"""Saved models: what comes back, what is refused, and what translating promises."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.testing import assert_close

from tformer import Transformer, TransformerConfig, decode, load_pretrained
from tformer.files import load_tensors, save_tensors
from tformer.pretrained import RELEASED, Translator
from tformer.tokenization import Tokenizer

SENTENCES = [
    "A man is riding a horse.",
    "Two dogs play in the snow.",
    "Ein Mann reitet auf einem Pferd.",
    "Zwei Hunde spielen im Schnee.",
    "The woman reads a book to the child.",
    "Die Frau liest dem Kind ein Buch vor.",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(SENTENCES * 3, 330, algorithm="bpe")


@pytest.fixture(scope="module")
def translator(tokenizer) -> Translator:
    """Untrained, but with large weights: it says something else for each sentence."""
    torch.manual_seed(4)
    sizes = {"d_model": 32, "n_heads": 4, "d_ff": 64, "max_len": 64}
    depth = {"n_encoder_layers": 2, "n_decoder_layers": 1}
    model = Transformer(TransformerConfig(330, **sizes, **depth))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.15 * torch.randn_like(parameter)
    return Translator(model.eval(), tokenizer, {"name": "tiny"})


@pytest.fixture
def folder(translator, tmp_path) -> Path:
    translator.save(tmp_path / "model")
    return tmp_path / "model"


# --- saving and loading ------------------------------------------------------------


def test_what_is_saved_comes_back_whole(translator, folder):
    loaded = load_pretrained(folder)
    assert loaded.card == {"name": "tiny"}
    assert loaded.model.config == translator.model.config
    assert loaded.tokenizer.model_bytes == translator.tokenizer.model_bytes
    assert not loaded.model.training
    theirs = dict(loaded.model.named_parameters())
    for name, parameter in translator.model.named_parameters():
        assert_close(theirs[name], parameter, rtol=0, atol=0)
    assert loaded.translate(SENTENCES) == translator.translate(SENTENCES)
    assert load_pretrained(str(folder)).card == loaded.card  # a str will do


def test_half_precision_halves_the_file_and_keeps_the_weights_nearly(
    translator, folder, tmp_path
):
    translator.save(tmp_path / "half", dtype=torch.float16)
    sizes = [
        (f / "model.safetensors").stat().st_size for f in (tmp_path / "half", folder)
    ]
    assert sizes[0] < 0.6 * sizes[1]
    half = dict(load_pretrained(tmp_path / "half").model.named_parameters())
    for name, parameter in translator.model.named_parameters():
        assert half[name].dtype == torch.float32
        assert_close(half[name], parameter, rtol=1e-3, atol=1e-4)


def test_saving_again_replaces_and_leaves_nothing_half_written(translator, folder):
    translator.save(folder)
    names = {file.name for file in folder.iterdir()}
    assert names == {"model.safetensors", "tokenizer.model", "card.json"}


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.model"])
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        load_pretrained(folder)


def test_a_missing_folder_is_named():
    with pytest.raises(FileNotFoundError, match="no folder nowhere: train a model"):
        load_pretrained("nowhere")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], "truncated or not a safetensors file"),
        (lambda data: data[:-1], "truncated or not a safetensors file"),
        (lambda data: data[:5], "truncated or not a safetensors file"),
        (lambda data: b"<html>404</html>" * 999, "truncated or not a safetensors file"),
        (lambda data: data[:-4] + b"\0\0\x80?", "changed after it was written"),
        (
            lambda data: data.replace(b'\\"n_heads\\": 4', b'\\"n_heads\\": 2', 1),
            "changed after it was written",
        ),
    ],
)
def test_a_damaged_model_file_is_never_loaded(damage, message, folder):
    file = folder / "model.safetensors"
    before = file.read_bytes()
    file.write_bytes(damage(before))
    assert file.read_bytes() != before
    with pytest.raises(ValueError, match=f"model.safetensors .*{message}"):
        load_pretrained(folder)


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.999])
def test_a_truncated_tokenizer_is_never_loaded(keep, folder):
    file = folder / "tokenizer.model"
    data = file.read_bytes()
    file.write_bytes(data[: int(keep if keep in (0, 100) else keep * len(data))])
    with pytest.raises(ValueError, match=r"tokenizer.model"):
        load_pretrained(folder)


def test_a_tokenizer_of_equal_size_from_another_run_is_refused(folder):
    other = Tokenizer.train([s.upper() for s in SENTENCES] * 3, 330, algorithm="bpe")
    other.save(folder / "tokenizer.model")
    with pytest.raises(ValueError, match="is not the tokenizer that model.safetensors"):
        load_pretrained(folder)


def rewrite(folder: Path, change) -> None:
    """Change weights or metadata and sign the file anew, as an honest writer would."""
    file = folder / "model.safetensors"
    weights, metadata = load_tensors(file)
    change(weights, metadata)
    save_tensors(file, weights, metadata)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w, m: m["config"].update(d_ff=65), "has shape .*the model needs"),
        (lambda w, m: m["config"].update(n_heads=5), "n_heads=5"),
        (lambda w, m: m["config"].update(n_encoder_layers=3), "lacks encoder.layers.2"),
        (
            lambda w, m: m["config"].update(wings=2),
            "unknown configuration fields: wings",
        ),
        (lambda w, m: m.pop("config"), "holds no tformer model: 'config'"),
        (lambda w, m: m.pop("tokenizer"), "holds no tformer model: 'tokenizer'"),
        (lambda w, m: w.update(extra=torch.ones(1)), "unknown weight extra"),
        (lambda w, m: w.popitem(), "lacks .*another kind of model"),
        (lambda w, m: next(iter(w.values())).fill_(float("nan")), "NaN or infinity"),
    ],
)
def test_a_file_of_another_model_says_what_does_not_fit(change, message, folder):
    rewrite(folder, change)
    with pytest.raises(ValueError, match=message):
        load_pretrained(folder)


def test_foreign_safetensors_are_not_mistaken_for_ours(folder):
    save_file({"a": torch.ones(2)}, folder / "model.safetensors")
    with pytest.raises(ValueError, match="not written by tformer: it carries no check"):
        load_pretrained(folder)


def test_nothing_is_ever_unpickled(folder):
    torch.save({"a": torch.ones(2)}, folder / "model.safetensors")
    with pytest.raises(ValueError, match="not a safetensors file"):
        load_pretrained(folder)


def test_a_model_and_a_tokenizer_must_fit(translator, tokenizer):
    other = Transformer(TransformerConfig(331, 32, 4, 64, 1, 1))
    with pytest.raises(
        ValueError, match="vocab_size=331, the tokenizer vocab_size=330"
    ):
        Translator(other, tokenizer)


# --- translating -------------------------------------------------------------------


def test_a_string_gives_a_string_and_a_list_a_list(translator):
    one = translator.translate(SENTENCES[0])
    assert isinstance(one, str)
    assert translator.translate([SENTENCES[0]]) == [one]
    assert translator.translate(tuple(SENTENCES[:2]))[0] == one
    assert translator.translate([]) == []


def test_order_is_kept_whatever_the_batches_are(translator):
    texts = [" ".join(SENTENCES[: i % 3 + 1]) for i in range(7)] + SENTENCES
    random.Random(0).shuffle(texts)
    alone = [translator.translate(text, max_len=12) for text in texts]
    assert len(set(alone)) >= 4  # it can tell them apart
    for batch_size in (1, 3, 64):
        assert translator.translate(texts, max_len=12, batch_size=batch_size) == alone


def test_translating_is_beam_search_of_four_unless_told(
    translator, tokenizer, monkeypatch
):
    text = SENTENCES[0]
    source_ids = torch.tensor([[*tokenizer.encode(text), 2]])
    [ids] = decode.beam_search(translator.model, source_ids, max_len=9)
    assert translator.translate(text, max_len=9) == tokenizer.decode(ids)
    [ids] = decode.greedy(translator.model, source_ids, max_len=9)
    assert translator.translate(text, max_len=9, beam_size=1) == tokenizer.decode(ids)

    calls = []
    monkeypatch.setattr(
        decode, "beam_search", lambda *args, **options: calls.append(options) or [[5]]
    )
    translator.translate(text)
    translator.translate([text], beam_size=2, length_penalty=3.0, max_len=7)
    assert calls == [
        {"beam_size": 4, "length_penalty": 0.6, "max_len": 128},
        {"beam_size": 2, "length_penalty": 3.0, "max_len": 7},
    ]


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b"])
def test_a_text_without_words_is_refused(text, translator):
    with pytest.raises(ValueError, match="nothing to translate in .*: give a text"):
        translator.translate(text)
    with pytest.raises(ValueError, match="nothing to translate"):
        translator.translate([SENTENCES[0], text])


def test_a_text_of_10_000_characters_is_refused_in_one_short_line(translator):
    for text in ("horse " * 2000, "x" * 10_000):
        with pytest.raises(ValueError, match="takes 63: split it into sentences") as e:
            translator.translate(text)
        assert repr(text[:40]) in str(e.value)
        assert len(str(e.value)) < 200


def test_the_longest_text_that_fits_is_translated(translator):
    n = 63
    text = "x" * (n - 1)  # every x a piece, and one for the blank before
    assert len(translator.tokenizer.encode(text)) == n
    assert isinstance(translator.translate(text, max_len=3), str)
    with pytest.raises(ValueError, match="has 64 pieces, the model takes 63"):
        translator.translate(text + "x")


@pytest.mark.parametrize("text", [None, 7, [None], ["a", 7], b"bytes"])
def test_what_is_no_text_is_a_type_error(text, translator):
    with pytest.raises(TypeError):
        translator.translate(text)


def test_any_unicode_can_be_translated(translator):
    for text in ("🐴🐴🐴", "Ein Pferd", "马", "\ufeffhorse\x00", "e\u0301", "<s> </s>"):
        assert isinstance(translator.translate(text, max_len=5), str)


def test_a_batch_holds_at_least_one_sentence(translator):
    with pytest.raises(ValueError, match="batch_size=0 must be at least 1"):
        translator.translate(SENTENCES, batch_size=0)


# --- sampling, lists of the best, scores --------------------------------------------


def test_a_sample_depends_on_its_own_text_and_seed_alone(translator):
    texts = [SENTENCES[i % 6] for i in (0, 4, 1, 0, 5, 2, 0)]
    options = {"temperature": 0.9, "top_k": 20, "top_p": 0.95, "max_len": 9}
    drawn = translator.sample(texts, seed=3, **options)
    assert len({drawn[0], drawn[3], drawn[6]}) == 3  # the same text, three times
    assert drawn != translator.sample(texts, seed=4, **options)
    seeds = decode.row_seeds(3, len(texts))
    for batch_size in (1, 2, 64):
        again = translator.sample(texts, seed=3, batch_size=batch_size, **options)
        assert again == drawn
    for text, seed, wanted in zip(texts, seeds, drawn, strict=True):
        assert translator.sample(text, seed=seed, **options) == wanted
    assert translator.sample(texts[::-1], seed=seeds[::-1], **options) == drawn[::-1]
    assert translator.sample([], **options) == []


def test_the_settings_of_a_sample_reach_it(translator):
    greedy = translator.translate(SENTENCES, beam_size=1, max_len=9)
    assert translator.sample(SENTENCES, max_len=9) != greedy
    for settings in ({"temperature": 1e-6}, {"top_k": 1}, {"top_p": 1e-6}):
        assert translator.sample(SENTENCES, max_len=9, **settings) == greedy
    with pytest.raises(ValueError, match=r"temperature=0.0 .*search greedily"):
        translator.sample(SENTENCES[0], temperature=0)
    with pytest.raises(ValueError, match="2 seeds for 6 texts: give one each"):
        translator.sample(SENTENCES, seed=[1, 2])


def test_the_first_of_the_best_is_the_translation(translator):
    options = {"max_len": 9, "length_penalty": 0.3}
    lists = translator.n_best(SENTENCES, 5, **options, beam_size=6)
    assert [len(best) for best in lists] == [5] * 6
    texts = translator.translate(SENTENCES, beam_size=6, **options)
    assert [best[0].text for best in lists] == texts
    for text, best in zip(SENTENCES, lists, strict=True):
        again = translator.n_best(text, 5, **options, beam_size=6)
        assert [each.text for each in again] == [each.text for each in best]
        assert all(a.score >= b.score for a, b in itertools.pairwise(best))
        assert all(each.log_probability < each.score < 0 for each in best)


def test_a_longer_list_widens_the_beam_unless_told(translator):
    assert len(translator.n_best(SENTENCES[0], max_len=5)) == 4
    nine = translator.n_best(SENTENCES[0], 9, max_len=5)
    assert nine == translator.n_best(SENTENCES[0], 9, beam_size=9, max_len=5)
    with pytest.raises(ValueError, match="n_best=9 .*at most beam_size=4"):
        translator.n_best(SENTENCES[0], 9, beam_size=4)


def test_a_score_is_that_of_the_tokenizers_pieces(translator, tokenizer):
    sources, targets = SENTENCES[:3], ["Ein Pferd.", "Zwei Hunde", "Die Frau liest."]
    scored = translator.score(sources, targets)
    assert translator.score(sources, targets, batch_size=1)[1].log_probability == (
        pytest.approx(scored[1].log_probability, abs=1e-4)
    )
    for source, target, found in zip(sources, targets, scored, strict=True):
        assert found.pieces == [*tokenizer.pieces(target), "</s>"]
        assert len(found.log_probabilities) == len(found.pieces)
        total = pytest.approx(sum(found.log_probabilities))
        assert found.log_probability == total
        source_ids = torch.tensor([[*tokenizer.encode(source), 2]])
        [alone] = decode.score(translator.model, source_ids, [tokenizer.encode(target)])
        wanted = pytest.approx(alone.log_probabilities, abs=1e-4)
        assert found.log_probabilities == wanted
        assert translator.score(source, target).pieces == found.pieces


@pytest.mark.parametrize(
    ("texts", "translations", "error", "message"),
    [
        ("a", ["b"], TypeError, "two strings, or two sequences"),
        (["a"], "b", TypeError, "two strings, or two sequences"),
        (["a", "b"], ["c"], ValueError, "2 texts and 1 translations: give one for"),
        ("a", " ", ValueError, "nothing to translate"),
        ("", "b", ValueError, "nothing to translate"),
        ("a", "x" * 99, ValueError, "the model takes 63"),
        (["a"], [None], TypeError, "expected a string"),
    ],
)
def test_pairs_that_cannot_be_scored_are_refused(
    texts, translations, error, message, translator
):
    with pytest.raises(error, match=message):
        translator.score(texts, translations)


# --- attention ---------------------------------------------------------------------


def test_attention_comes_with_the_pieces_of_its_rows_and_columns(translator):
    text = SENTENCES[0]
    maps = translator.attention(text)
    source = [*translator.tokenizer.pieces(text), "</s>"]
    assert maps.source_pieces == source
    assert maps.target_pieces[0] == "<s>"
    assert maps.predicted_pieces == [*maps.target_pieces[1:], "</s>"]
    assert maps.translation == translator.translate(text)
    n, m = len(source), len(maps.target_pieces)
    assert maps.encoder.shape == (2, 4, n, n)  # layer, head, query, key
    assert maps.decoder.shape == (1, 4, m, m)
    assert maps.cross.shape == (1, 4, m, n)
    for weights in (maps.encoder, maps.decoder, maps.cross):
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert (maps.decoder.triu(1) == 0).all()


def test_attention_looks_at_a_given_translation(translator):
    german = "Ein Mann reitet."
    maps = translator.attention(SENTENCES[0], german)
    assert maps.translation == german
    assert maps.predicted_pieces == [*translator.tokenizer.pieces(german), "</s>"]
    with pytest.raises(ValueError, match="nothing to translate"):
        translator.attention("")


# --- the released model ------------------------------------------------------------


@pytest.mark.skipif(
    not (RELEASED / "model.safetensors").exists(), reason="no released model yet"
)
def test_the_released_model_translates_and_its_card_says_how_well():
    translator = load_pretrained()
    assert translator.translate("Two dogs play in the snow.").startswith("Zwei Hunde")
    text = json.dumps(translator.card)
    assert "tok:13a" in text  # scores with sacreBLEU's signature
    assert "multi30k" in text
    size = sum(file.stat().st_size for file in RELEASED.iterdir())
    assert size <= 12e6


def test_a_copied_folder_needs_nothing_else(folder, tmp_path):
    moved = shutil.move(folder, tmp_path / "elsewhere")
    assert load_pretrained(moved).translate(SENTENCES[0])
