"""A run that begins with the weights of another model."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from small_runs import (
    assert_same_weights,
    quick,
    quick_fit,
    small,
    weights_of,
    without_time,
    word_corpus,
)
from torch.testing import assert_close

from tformer import load_pretrained
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer.variants.recurrent import RecurrentConfig


@pytest.fixture(scope="module")
def first(tokenizer, tmp_path_factory) -> Path:
    """The run that others begin with."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    quick_fit(tokenizer, folder, steps=40)
    return folder


@pytest.fixture
def start(first) -> Translator:
    return load_pretrained(first)


def tune(start, folder, **options):
    settings = {"corpus": word_corpus("reverse", n=300), "start": start} | options
    return quick_fit(settings.pop("tokenizer", None), folder, **settings)


def test_the_run_begins_with_the_starts_weights_and_pieces(start, first, tmp_path):
    recipe = quick(lr_scale=1e-12, average_last=1)  # no step moves a weight
    run = tune(start, tmp_path, recipe=recipe, steps=1)
    assert run.translator.tokenizer.fingerprint == start.tokenizer.fingerprint
    theirs, ours = weights_of(first), weights_of(run)
    for name, weight in theirs.items():
        assert_close(ours[name], weight, rtol=0, atol=1e-6)


def test_it_knows_more_at_once_than_a_run_that_begins_by_chance(start, tmp_path):
    """On the sentences that the start has learned to copy."""
    options = {"corpus": word_corpus(n=300), "steps": 10}
    tuned = tune(start, tmp_path / "tuned", **options)
    fresh = tune(None, tmp_path / "fresh", tokenizer=start.tokenizer, **options)
    assert tuned.history[0]["valid_loss"] < fresh.history[0]["valid_loss"] - 0.2


def test_the_start_is_left_as_it_was(start, first, tmp_path):
    tune(start, tmp_path)
    named = start.model.named_parameters()
    assert_same_weights({k: v.detach() for k, v in named}, weights_of(first))


def test_a_stopped_run_goes_on_exactly_told_of_its_start_or_not(start, tmp_path):
    whole = tune(start, tmp_path / "whole")
    for again in (start, None):
        folder = tmp_path / str(again is None)
        tune(start, folder, steps=10)
        run = tune(again, folder)
        assert_same_weights(weights_of(run), weights_of(whole))
        assert without_time(run.history) == without_time(whole.history)
        assert run.report["start"] == whole.report["start"]


def test_the_report_says_whose_weights_and_on_what_terms(start, first, tmp_path):
    start.card |= {"licence": "for research only", "attribution": "somebody"}
    report = tune(start, tmp_path / "tuned").report
    assert len(report["start"]) == 64
    assert report["start_licence"] == "for research only"
    assert report["start_attribution"] == "somebody"
    plain = quick_fit(start.tokenizer, tmp_path / "plain", steps=1).report
    assert plain["start"] is None


def test_a_run_with_another_start_is_not_gone_on_with(start, first, tmp_path):
    tune(start, tmp_path / "tuned", steps=10)
    other = load_pretrained(first)
    next(other.model.parameters()).data += 0.1
    with pytest.raises(ValueError, match="the weights of another model at its start: "):
        tune(other, tmp_path / "tuned")
    with pytest.raises(ValueError, match="random weights at its start, this one has t"):
        tune(start, first, corpus=word_corpus(n=300), steps=50)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_run_without_its_starts_pieces_says_where_they_are(is_there, start, tmp_path):
    """They cannot be learned from this corpus; nobody is shown two checksums."""
    tune(start, tmp_path, steps=10)
    file = tmp_path / "tokenizer.model"
    file.unlink()
    message = "is missing, and it came from the model that this run started from"
    if is_there:
        Tokenizer.train(SENTENCES * 3, 310).save(file)
        message = "is not the tokenizer that this run was trained with: copy"
    with pytest.raises(ValueError, match=rf"tokenizer\.model {message}") as caught:
        tune(None, tmp_path)
    assert not re.search("[0-9a-f]{64}", str(caught.value))
    start.tokenizer.save(file)
    assert tune(None, tmp_path).report["steps"] == 20


SENTENCES = [side for pair in word_corpus("reverse").train[:50] for side in pair]
SENTENCES.append("neun zehn elf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": small(d_ff=64)}, "start has d_ff=32, this run d_ff=64: give"),
        ({"config": small(norm="pre")}, "start has norm='post', this run norm='pre'"),
        ({"config": small(vocab_size=300)}, "start has vocab_size=310, this run"),
        ({"config": RecurrentConfig(310)}, "has a TransformerConfig, this run a Recu"),
        ({"tokenizer": Tokenizer.train(SENTENCES * 3, 310)}, "a tokenizer of its own"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(options, message, start, tmp_path):
    with pytest.raises(ValueError, match=message) as caught:
        tune(start, tmp_path / "run", **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_what_is_no_translator_is_refused(start, tmp_path):
    with pytest.raises(TypeError, match="must be a Translator, .* got a Transformer"):
        tune(start.model, tmp_path / "run")


def test_dropout_may_differ(start, tmp_path):
    run = tune(start, tmp_path, config=small(dropout=0.3))
    assert run.translator.model.config.dropout == 0.3


def test_the_run_needs_nothing_of_the_starts_folder_any_more(first, tmp_path):
    copy = shutil.copytree(first, tmp_path / "copy")
    tune(load_pretrained(copy), tmp_path / "tuned", steps=10)
    shutil.rmtree(copy)
    assert tune(None, tmp_path / "tuned").report["steps"] == 20
