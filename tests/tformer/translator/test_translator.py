"""The translator: what translating, sampling, lists and scores promise."""

from __future__ import annotations

import itertools
import math
import random
from unittest import mock

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from tformer import Transformer, TransformerConfig, decode
from tformer.common.search import SearchSettings
from tformer.translator import Translator

SENTENCES = [
    "A man is riding a horse.",
    "Two dogs play in the snow.",
    "Ein Mann reitet auf einem Pferd.",
    "Zwei Hunde spielen im Schnee.",
    "The woman reads a book to the child.",
    "Die Frau liest dem Kind ein Buch vor.",
]


@pytest.fixture(scope="module")
def translator(make_translator):
    return make_translator(SENTENCES)


@pytest.fixture(scope="module")
def tokenizer(translator):
    return translator.tokenizer


def test_a_model_and_a_tokenizer_must_fit(translator, tokenizer):
    other = Transformer(TransformerConfig(331, 32, 4, 64, 1, 1))
    with pytest.raises(ValueError, match="vocab_size=331, the tokenizer vocab_size=33"):
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


def test_a_beam_of_four_is_the_default(translator, tokenizer, monkeypatch):
    text = SENTENCES[0]
    source_ids = torch.tensor([[*tokenizer.encode(text), 2]])
    [ids] = decode.beam_search(translator.model, source_ids, max_len=9)
    assert translator.translate(text, max_len=9) == tokenizer.decode(ids)
    [ids] = decode.greedy(translator.model, source_ids, max_len=9)
    assert translator.translate(text, max_len=9, beam_size=1) == tokenizer.decode(ids)

    spy = mock.Mock(wraps=decode.beam_steps)
    monkeypatch.setitem(decode.STEPS, "beam", spy)
    translator.translate(text, max_len=3)
    translator.translate([text], beam_size=2, length_penalty=3.0, max_len=7)
    assert [call.args[2] for call in spy.call_args_list] == [
        SearchSettings("beam", 4, 0.6, max_len=3),
        SearchSettings("beam", 2, 3.0, max_len=7),
    ]


@pytest.mark.parametrize(
    "texts",
    [
        None,
        3,
        b"A man.",
        {"A man.", "A dog."},
        {"A man.": 1},
        (each for each in SENTENCES),
    ],
)
def test_what_is_neither_a_text_nor_a_list_of_texts_is_refused(texts, translator):
    for call in (translator.translate, translator.sample, translator.n_best):
        with pytest.raises(TypeError, match="expected a string or a list of strings"):
            call(texts)
    for pair in ((texts, ["Ein Mann."]), (["A man."], texts)):
        with pytest.raises(TypeError, match="expected a string or a list of strings"):
            translator.score(*pair)


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


@pytest.mark.parametrize("whole", [np.int64, np.uint8, torch.tensor])
def test_numpys_and_tensors_whole_numbers_are_whole_numbers(whole, translator):
    text, two = SENTENCES[0], whole(2)
    settings = {"max_len": two, "batch_size": two}
    usual = translator.sample(text, seed=2, top_k=2, max_len=2)
    assert translator.sample(text, seed=two, top_k=two, **settings) == usual
    seeds = np.array([2, 5]) if whole is np.int64 else [two, whole(5)]
    usual = translator.sample([text] * 2, seed=[2, 5], max_len=3)
    assert translator.sample([text] * 2, seed=seeds, max_len=3) == usual
    usual = translator.translate(text, beam_size=2, max_len=2)
    assert translator.translate(text, beam_size=two, **settings) == usual
    assert len(translator.n_best(text, two, **settings)) == 2


@pytest.mark.parametrize(
    ("way", "settings", "error", "message"),
    [
        ("translate", {"max_len": math.nan}, ValueError, "max_len=nan must be a whole"),
        ("translate", {"length_penalty": math.inf}, ValueError, "length_penalty=inf"),
        ("translate", {"beam_size": 10**9}, ValueError, "beam_size=1000000000 must be"),
        ("translate", {"batch_size": 1.5}, ValueError, "batch_size=1.5 must be a whol"),
        ("translate", {"batch_size": True}, TypeError, "batch_size=True must be a who"),
        ("n_best", {"n": 10**9}, ValueError, "beam_size=1000000000 must be at most"),
        ("n_best", {"n": None}, TypeError, "n=None must be a whole number"),
        ("sample", {"seed": 1.5}, ValueError, "seed=1.5 must be a whole number"),
        ("sample", {"seed": [True]}, TypeError, "seed=True must be a whole number"),
        ("sample", {"seed": "1"}, TypeError, "seed='1' must be a whole number"),
    ],
)
def test_settings_without_sense_are_refused(way, settings, error, message, translator):
    with pytest.raises(error, match=message):
        getattr(translator, way)(SENTENCES[0], **settings)


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
    with pytest.raises(ValueError, match="2 seeds for 6 rows: give one for each"):
        translator.sample(SENTENCES, seed=[1, 2])


def test_a_search_finds_by_its_settings_what_the_methods_find(translator):
    options = {"max_len": 9}
    beam = translator.search(SENTENCES, SearchSettings(n_best=2, **options))
    assert beam == translator.n_best(SENTENCES, 2, **options)
    [greedy] = translator.search(SENTENCES[0], SearchSettings("greedy", **options))
    assert greedy.text == translator.translate(SENTENCES[0], beam_size=1, **options)
    drawn = translator.search(SENTENCES, SearchSettings("sample", seed=4, **options))
    wanted = translator.sample(SENTENCES, seed=4, **options)
    assert [found.text for [found] in drawn] == wanted
    assert translator.search([], SearchSettings("sample")) == []


def test_a_sample_as_long_as_can_be_costs_no_more_than_the_model_takes(translator):
    text = SENTENCES[0]
    assert translator.sample(text, max_len=10**15) == translator.sample(text)


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
    _, alone, _ = translator.score(sources, targets, batch_size=1)
    assert abs(alone.log_probability - scored[1].log_probability) < 1e-4
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
def test_bad_pairs_are_refused(texts, translations, error, message, translator):
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
    for each in (maps.encoder, maps.decoder, maps.cross):
        assert_close(each.sum(-1), torch.ones(each.shape[:-1]))
    assert (maps.decoder.triu(1) == 0).all()


def test_attention_looks_at_a_given_translation(translator):
    german = "Ein Mann reitet."
    maps = translator.attention(SENTENCES[0], german)
    assert maps.translation == german
    assert maps.predicted_pieces == [*translator.tokenizer.pieces(german), "</s>"]
    with pytest.raises(ValueError, match="nothing to translate"):
        translator.attention("")
