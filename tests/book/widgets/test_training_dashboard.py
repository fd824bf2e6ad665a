"""The training dashboard, its buttons pressed by a program."""

from __future__ import annotations

import random
import time

import pytest
import torch
from torch.testing import assert_close

from tformer import TransformerConfig, load_pretrained, train
from tformer.data import Corpus
from tformer_book.widgets import TrainingDashboard

WORDS = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"]


@pytest.fixture(scope="module")
def corpus():
    draw = random.Random(1)
    sentences = {
        " ".join(draw.choices(WORDS, k=draw.randint(1, 4))) for _ in range(400)
    }
    pairs = [(sentence, sentence) for sentence in sorted(sentences)]
    return Corpus("copy", pairs[20:], pairs[:20], {}, checksums={"words": "0"})


@pytest.fixture
def dashboard(corpus, tmp_path):
    config = TransformerConfig(
        vocab_size=310,
        d_model=16,
        n_heads=2,
        d_ff=32,
        n_encoder_layers=1,
        n_decoder_layers=1,
        max_len=32,
    )
    recipe = train.Recipe(
        max_tokens=128, warmup_steps=20, eval_every=10, tokenizer="bpe"
    )
    made = TrainingDashboard(
        config, corpus, recipe=recipe, steps=40, folder=tmp_path, device="cpu"
    )
    made.sentence.value = "zwei drei"
    yield made
    made.stop()
    made.wait(60)


def weights(run):
    return dict(run.translator.model.named_parameters())


def test_start_trains_shows_curves_and_translates_the_readers_sentence(dashboard):
    dashboard.start_button.click()
    assert dashboard.is_running
    assert dashboard.start_button.disabled
    assert not dashboard.stop_button.disabled
    dashboard.wait(120)
    assert dashboard.error is None
    assert dashboard.run.report["steps"] == 40
    assert dashboard.bar.value == dashboard.bar.max == 40
    assert "Training curves" in dashboard.picture.value
    assert "step 40 of 40" in dashboard.picture.value
    assert 'lang="de"' in dashboard.translation.value
    assert not dashboard.start_button.disabled
    assert dashboard.stop_button.disabled


def test_stop_keeps_a_checkpoint_and_start_goes_on_to_the_same_numbers(
    dashboard, corpus, tmp_path
):
    dashboard.start_button.click()
    while dashboard.bar.value < 20 and dashboard.is_running:
        time.sleep(0.01)
    dashboard.stop_button.click()
    dashboard.wait(120)
    stopped = dashboard.run
    assert 20 <= stopped.report["steps"] < 40
    assert (stopped.folder / "checkpoint.safetensors").is_file()
    assert load_pretrained(stopped.folder).translate("eins") is not None

    dashboard.start_button.click()
    dashboard.wait(120)
    assert dashboard.run.folder == stopped.folder
    whole = train.fit(
        dashboard._config,
        corpus,
        steps=40,
        recipe=dashboard._recipe,
        folder=tmp_path / "whole",
        device="cpu",
        progress="none",
    )
    for name, weight in weights(whole).items():
        assert_close(weights(dashboard.run)[name], weight, rtol=0, atol=0)


def test_other_settings_get_another_folder(dashboard):
    dashboard.steps.value = 1
    dashboard.start()
    dashboard.wait(120)
    first = dashboard.run.folder
    dashboard.dropout.value = 0.3
    dashboard.start()
    dashboard.wait(120)
    assert dashboard.run.folder != first
    assert dashboard.run.report["config"]["dropout"] == 0.3


def test_an_error_in_the_background_is_shown(dashboard, monkeypatch):
    def broken(*_, **__):
        raise FloatingPointError("loss nan < at step 3")

    monkeypatch.setattr(train, "fit", broken)
    dashboard.start()
    dashboard.wait(60)
    assert isinstance(dashboard.error, FloatingPointError)
    assert "loss nan &lt; at step 3" in dashboard.message.value
    assert not dashboard.start_button.disabled


def test_a_sentence_is_translated_after_the_run_too(dashboard):
    dashboard.steps.value = 1
    dashboard.start()
    dashboard.wait(120)
    dashboard.translation.value = ""
    dashboard.sentence.value = "acht"
    assert 'lang="de"' in dashboard.translation.value
    dashboard.sentence.value = "acht " * 100
    assert "split it into sentences" in dashboard.translation.value


def test_a_second_start_changes_nothing_and_the_dice_of_others_stay(dashboard):
    before = torch.get_rng_state()
    dashboard.start()
    thread = dashboard._thread
    dashboard.start()
    assert dashboard._thread is thread
    dashboard.wait(120)
    assert torch.equal(torch.get_rng_state(), before)
