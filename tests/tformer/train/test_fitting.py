"""Training: it learns, it can be killed at any moment, and it says what is wrong."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import os
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import numpy as np
import pytest
import torch
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

from tformer import Transformer, decode, load_pretrained, train
from tformer.common.files import load_tensors
from tformer.data import Corpus, batches, encode_pairs
from tformer.data.batches import Batch
from tformer.loss import cross_entropy
from tformer.tokenization import Tokenizer
from tformer.train.loop import Lesson
from tformer.train.ranks import Ranks

HISTORY_KEYS = {
    *("step", "epoch", "train_loss", "valid_loss", "learning_rate", "gradient_norm"),
    *("tokens_per_second", "seconds", "samples"),
}


# --- it learns ---------------------------------------------------------------------


def test_one_batch_can_be_learned_by_heart(tokenizer):
    pairs = word_corpus(n=200).train[:24]
    settings = {"max_tokens": 10_000, "pad_id": 0, "bos_id": 1, "eos_id": 2}
    encoded = encode_pairs(pairs, tokenizer, 32)
    [batch] = batches(encoded, **settings, seed=0, epoch=0)
    torch.manual_seed(0)
    model = Transformer(small(d_model=32, d_ff=64, dropout=0.0, norm="pre"))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

    def loss():
        logits = model(batch.source_ids, batch.target_ids)
        return cross_entropy(logits, batch.labels, pad_id=0)

    assert loss().item() > 3  # it knew nothing: log 310 = 5.7
    for _ in range(120):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert loss().item() < 0.02
    said = decode.greedy(model, batch.source_ids, max_len=20)
    rows = zip(batch.source_ids, said, strict=True)
    assert all(ids == row[row > 3].tolist() for row, ids in rows)  # all are copies


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_it_learns_to_copy_and_reverse_what_it_never_saw(task, tokenizer, tmp_path):
    corpus = word_corpus(task, n=6000)
    rates = {"warmup_steps": 50, "lr_scale": 0.2, "label_smoothing": 0.0}
    recipe = quick(max_tokens=512, eval_every=50, average_last=1, **rates)
    run = quick_fit(
        tokenizer,
        tmp_path,
        corpus=corpus,
        config=small(d_model=32, n_heads=4, d_ff=64, dropout=0.0, norm="pre"),
        steps=1500,
        recipe=recipe,
        on_event=lambda e: e["kind"] == "evaluate" and e["valid_loss"] < 0.0015,
    )
    assert run.report["stopped"] == "requested"
    said = run.translator.translate([en for en, _ in corpus.test["test"]])
    assert said == [de for _, de in corpus.test["test"]]


def test_the_validation_loss_is_pytorchs_without_smoothing(tokenizer, tmp_path):
    """And without dropout."""
    corpus, recipe = word_corpus(n=300), quick(average_last=1)
    run = quick_fit(tokenizer, tmp_path, config=small(dropout=0.4), recipe=recipe)
    model = run.translator.model
    total = count = 0
    for english, german in corpus.valid:
        source_ids = torch.tensor([[*tokenizer.encode(english), 2]])
        pieces = tokenizer.encode(german)
        with torch.no_grad():
            logits = model(source_ids, torch.tensor([[1, *pieces]]))
        total += torch.nn.functional.cross_entropy(
            logits[0], torch.tensor([*pieces, 2]), reduction="sum"
        ).item()
        count += len(pieces) + 1
    assert run.report["valid_loss"] == pytest.approx(total / count, rel=1e-5)
    assert run.history[-1]["valid_loss"] == pytest.approx(total / count, rel=1e-5)


# --- a step in parts ---------------------------------------------------------------


def gradients(tokenizer, pairs, n_parts, rank=0, n=1) -> tuple[float, dict]:
    """Loss and gradients of one batch that holds all pairs, taken in parts.

    Those of one process of n, as they are before the mean over all is taken.
    """
    torch.manual_seed(0)
    recipe = quick(max_tokens=2000)
    corpus = Corpus("pairs", pairs, pairs[:1], {})
    alone = Ranks(torch.device("cpu"))
    loop = train.loop.Loop(small(dropout=0.0), corpus, recipe, tokenizer, alone)
    batch = loop._batches(pairs, loop.encoded)
    assert len(batch) == 1
    loop.ranks = Ranks(torch.device("cpu"), rank, n)
    loss = loop.add_gradients(batch.parts(0, n_parts))
    named = loop.model.named_parameters()
    return loss.item(), {name: each.grad for name, each in named}


@pytest.mark.parametrize("n_parts", [2, 3, 50])
@pytest.mark.parametrize("longest", [1, 9])
def test_parts_of_a_batch_add_up_to_the_whole(longest, n_parts, tokenizer):
    """Also where one part has many times the labels of another."""
    few = [(word, word) for word in ("eins", "zwei", "drei", "vier")]
    pairs = [*few, ("acht sieben " * longest, "acht sieben " * longest)]
    loss, whole = gradients(tokenizer, pairs, 1)
    loss_of_parts, summed = gradients(tokenizer, pairs, n_parts)
    assert loss_of_parts == pytest.approx(loss, rel=1e-6)
    for name, gradient in whole.items():
        assert_close(summed[name], gradient, rtol=0, atol=1e-6)
        assert gradient.abs().max() > 1e-5 or "to_key.bias" in name


def test_the_mean_over_processes_is_the_gradient_of_the_whole(tokenizer):
    """Seven processes for five pairs: two of them have nothing to do."""
    pairs = [("eins " * length, "acht " * length) for length in (1, 2, 3, 4, 9)]
    loss, whole = gradients(tokenizer, pairs, 1)
    each = (gradients(tokenizer, pairs, 7, rank, n=7) for rank in range(7))
    losses, found = zip(*each, strict=True)
    assert losses[5:] == (0, 0)
    assert sum(losses) == pytest.approx(loss, rel=1e-6)
    for name, gradient in whole.items():
        mean = torch.stack([each[name] for each in found]).mean(dim=0)
        assert_close(mean, gradient, rtol=0, atol=1e-6)


def test_a_run_in_parts_goes_the_way_of_a_run_in_one(tokenizer, tmp_path):
    options = {"config": small(dropout=0.0), "steps": 20}
    one = quick_fit(tokenizer, tmp_path / "one", **options)
    recipe = quick(accumulate=3)
    three = quick_fit(tokenizer, tmp_path / "three", recipe=recipe, **options)
    losses = [[look["loss"] for look in run.curve] for run in (one, three)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for name, weight in weights_of(one).items():
        if "to_key.bias" not in name:  # its gradient is rounding, which Adam magnifies
            assert_close(weights_of(three)[name], weight, rtol=0, atol=1e-4)


def test_parts_need_the_memory_of_one_part(tokenizer, tmp_path, monkeypatch):
    rooms = []
    monkeypatch.setattr(
        train.loop, "check_batch_room", lambda _, n_tokens, __: rooms.append(n_tokens)
    )
    for accumulate in (1, 4):
        recipe = quick(accumulate=accumulate)
        quick_fit(tokenizer, tmp_path / str(accumulate), recipe=recipe, steps=1)
    assert rooms == [128, 32]


# --- what a run leaves behind ------------------------------------------------------


def test_a_run_folder_holds_a_model_that_loads_and_says_the_same(tokenizer, tmp_path):
    run = quick_fit(tokenizer, tmp_path / "deep" / "run")
    assert run.folder == tmp_path / "deep" / "run"
    loaded = load_pretrained(run.folder)
    sentences = [english for english, _ in word_corpus().valid[:5]]
    assert loaded.translate(sentences) == run.translator.translate(sentences)
    assert loaded.tokenizer.fingerprint == tokenizer.fingerprint
    card = json.loads((run.folder / "card.json").read_text("utf-8"))
    assert card["steps"] == 20
    assert card["checksums"] == {"words": "0"}
    assert card["recipe"]["label_smoothing"] == 0.1
    assert {"device", "precision", "torch", "date", "seconds"} <= card.keys()


def test_the_history_tells_how_it_went(tokenizer, tmp_path):
    corpus = word_corpus(n=300)
    run = quick_fit(tokenizer, tmp_path, steps=25)
    assert [row["step"] for row in run.history] == [10, 20, 25]
    for row in run.history:
        assert row.keys() == HISTORY_KEYS
        assert len(row["samples"]) == 3
        pairs = zip(row["samples"], corpus.valid, strict=False)
        for sample, (english, german) in pairs:
            assert (sample["source"], sample["reference"]) == (english, german)
            assert isinstance(sample["translation"], str)
        assert row["train_loss"] > 0
        assert row["tokens_per_second"] > 0
    saved = json.loads((tmp_path / "history.json").read_text("utf-8"))
    assert saved["evaluations"] == run.history
    assert saved["curve"] == run.curve


def test_the_learning_rate_in_the_history_is_the_papers(tokenizer, tmp_path):
    run = quick_fit(tokenizer, tmp_path, steps=30, recipe=quick(lr_scale=0.5))
    for row in run.history:
        rate = 0.5 * 16**-0.5 * min(row["step"] ** -0.5, row["step"] * 20**-1.5)
        assert row["learning_rate"] == pytest.approx(rate)


def test_a_last_step_ends_a_run_with_a_rate_of_almost_zero(tokenizer, tmp_path):
    recipe = quick(warmup_steps=10, last_step=30)
    run = quick_fit(tokenizer, tmp_path, recipe=recipe, steps=None)
    assert run.report["stopped"] == "steps"
    rates = {row["step"]: row["learning_rate"] for row in run.history}
    peak = (16 * 10) ** -0.5
    assert rates == pytest.approx({10: peak, 20: peak * 11 / 21, 30: peak / 21})


def test_the_final_weights_are_the_mean_of_the_last_snapshots(tokenizer, tmp_path):
    run = quick_fit(tokenizer, tmp_path, steps=40, recipe=quick(average_last=3))
    files = sorted(tmp_path.glob("snapshot-*.safetensors"))
    assert [file.name[9:17] for file in files] == ["00000020", "00000030", "00000040"]
    snapshots = [load_tensors(file)[0] for file in files]
    final = weights_of(run)
    for name, weight in final.items():
        mean = torch.stack([each[name].double() for each in snapshots]).mean(0)
        assert_close(weight.double(), mean, rtol=1e-6, atol=1e-7)
    some = "encoder.layers.0.feed_forward.expand.weight"
    assert not torch.equal(final[some], snapshots[-1][some])
    assert run.report["averaged_snapshots"] == 3


def test_events_come_in_order_and_the_callers_dice_are_left_alone(tokenizer, tmp_path):
    events = []
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    quick_fit(tokenizer, tmp_path, on_event=lambda event: events.append(event))
    assert_close(torch.rand(3), expected, rtol=0, atol=0)
    kinds = [event["kind"] for event in events]
    assert kinds == ["start", "step", "evaluate", "step", "evaluate", "stop"]
    assert events[-1]["reason"] == "steps"
    assert events[0]["steps"] == 20


def test_every_epoch_shows_all_pairs_in_another_order(tokenizer, tmp_path, monkeypatch):
    corpus, shown = word_corpus(n=200), []

    def look(encoded, **options):
        shown.append((len(encoded), options["epoch"]))
        return batches(encoded, **options)

    monkeypatch.setattr(train.loop, "batches", look)
    quick_fit(tokenizer, tmp_path, corpus=corpus, steps=40)
    of_train = [epoch for count, epoch in shown if count == len(corpus.train)]
    assert of_train[:3] == [0, 1, 2]


@pytest.fixture(scope="module")
def unigrams():
    sentences = [side for pair in word_corpus().train for side in pair]
    return Tokenizer.train(sentences, 285, algorithm="unigram")


def sampled_fit(unigrams, folder, exponent=0.0, **options):
    recipe = quick(tokenizer="unigram", sample_pieces=exponent, eval_every=15)
    settings = {"config": small(vocab_size=285), "recipe": recipe} | options
    return quick_fit(unigrams, folder, **settings)


def test_every_epoch_writes_them_in_other_pieces(unigrams, tmp_path, monkeypatch):
    shown = {}

    def look(encoded, **options):
        shown.setdefault((len(encoded), options["epoch"]), list(encoded))
        return batches(encoded, **options)

    monkeypatch.setattr(train.loop, "batches", look)
    corpus = word_corpus(n=200)
    sampled_fit(unigrams, tmp_path, corpus=corpus, steps=40)
    n, n_valid = len(corpus.train), len(corpus.valid)
    epochs = [shown[n, epoch] for epoch in (0, 1)]
    assert epochs[0] != epochs[1]
    for encoded in epochs:
        texts = [(unigrams.decode(a), unigrams.decode(b)) for a, b in encoded]
        assert texts == corpus.train
    usual = encode_pairs(corpus.valid, unigrams, 32)
    assert shown[n_valid, 0] == list(usual)  # what is compared does not change


def stop_at(step):
    return lambda event: event["kind"] == "step" and event["step"] >= step


def test_a_run_that_samples_pieces_resumes_to_the_same_bits(unigrams, tmp_path):
    straight = sampled_fit(unigrams, tmp_path / "a", steps=40)
    sampled_fit(unigrams, tmp_path / "b", steps=40, on_event=stop_at(20))
    end = sampled_fit(unigrams, tmp_path / "b", steps=40)
    assert_same_weights(weights_of(end), weights_of(straight))


def test_sampled_pieces_fit_whatever_room_a_batch_leaves(unigrams, tmp_path):
    corpus = word_corpus(n=200)
    encoded = encode_pairs(corpus.train, unigrams, 32)
    least = max(len(source) + len(target) + 1 for source, target in encoded)
    recipe = quick(tokenizer="unigram", sample_pieces=0.0, max_tokens=least)
    run = sampled_fit(unigrams, tmp_path, recipe=recipe, corpus=corpus)
    assert run.report["steps"] == 20


def test_pieces_are_sampled_only_from_a_unigram_tokenizer(tokenizer, tmp_path):
    with pytest.raises(ValueError, match="needs a unigram tokenizer, and this"):
        sampled_fit(tokenizer, tmp_path, config=small())
    assert not any(tmp_path.iterdir())


# --- it repeats and resumes --------------------------------------------------------


def test_equal_seeds_repeat_a_run_bit_for_bit_and_others_do_not(tokenizer, tmp_path):
    first = quick_fit(tokenizer, tmp_path / "a")
    again = quick_fit(tokenizer, tmp_path / "b")
    other = quick_fit(tokenizer, tmp_path / "c", recipe=quick(seed=1))
    assert_same_weights(weights_of(first), weights_of(again))
    assert without_time(first.history) == without_time(again.history)
    assert without_time(first.history) != without_time(other.history)


CHILD = """
import sys
sys.path[:0] = {path!r}
from small_runs import quick, quick_fit, small
from tformer.tokenization import Tokenizer

def listen(event):
    if event["kind"] == "step":
        print(event["step"], flush=True)

quick_fit(
    Tokenizer.load({tokenizer!r}), {folder!r}, on_event=listen,
    steps=70, config=small(dropout=0.2), recipe=quick(eval_every=20),
)
"""


def test_a_run_killed_in_the_middle_resumes_to_the_same_bits(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.model")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    script = CHILD.format(
        path=[str(Path(__file__).parent), str(Path(train.__file__).parents[2])],
        tokenizer=str(tmp_path / "tokenizer.model"),
        folder=str(killed),
    )
    threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    pipe = {"stdout": subprocess.PIPE, "text": True}
    child = subprocess.Popen(command, env=os.environ | threads, **pipe)
    for line in child.stdout:
        if int(line) >= 50:  # ten steps after its last checkpoint
            child.kill()  # SIGKILL: no handler, no farewell
            break
    child.wait()
    child.stdout.close()
    assert child.returncode != 0
    assert (killed / "checkpoint.safetensors").is_file()
    assert not (killed / "model.safetensors").exists()

    options = {"config": small(dropout=0.2), "recipe": quick(eval_every=20)}
    options |= {"steps": 70}
    events = []
    listen = {"on_event": lambda event: events.append(dict(event))}
    resumed = quick_fit(tokenizer, killed, **listen, **options)
    assert events[0]["step"] in (40, 60)  # it did go on, and not from the beginning
    straight = quick_fit(tokenizer, whole, **options)
    assert_same_weights(weights_of(resumed), weights_of(straight))
    assert without_time(resumed.history) == without_time(straight.history)
    assert not list(killed.glob(".*"))  # no half-written file is left


def test_stopping_and_going_on_ends_where_an_unbroken_run_ends(tokenizer, tmp_path):
    """Also across an epoch's end, with a stop between two evaluations."""
    options = {"recipe": quick(eval_every=15, average_last=2), "config": small()}
    straight = quick_fit(tokenizer, tmp_path / "a", steps=60, **options)
    assert straight.report["epochs"] >= 1
    for step in (20, 40):
        part = quick_fit(
            tokenizer, tmp_path / "b", steps=60, on_event=stop_at(step), **options
        )
        assert (part.report["steps"], part.report["stopped"]) == (step, "requested")
        assert (tmp_path / "b" / "checkpoint.safetensors").is_file()
    end = quick_fit(tokenizer, tmp_path / "b", steps=60, **options)
    assert_same_weights(weights_of(end), weights_of(straight))
    ends = [row["valid_loss"] for row in end.history if row["step"] % 15 == 0]
    assert ends == [row["valid_loss"] for row in straight.history]


def test_a_finished_run_goes_on_when_it_is_given_more_steps(tokenizer, tmp_path):
    straight = quick_fit(tokenizer, tmp_path / "a", steps=40)
    quick_fit(tokenizer, tmp_path / "b", steps=20)
    more = quick_fit(tokenizer, tmp_path / "b", steps=40)
    assert_same_weights(weights_of(more), weights_of(straight))


# --- when it stops -----------------------------------------------------------------


def test_it_stops_when_validation_no_longer_improves(tokenizer, tmp_path):
    """And makes no step more when it is called again."""
    recipe = quick(eval_every=5, patience=2, lr_scale=1e-12)  # it cannot improve…
    run = quick_fit(tokenizer, tmp_path, steps=400, recipe=recipe)
    losses = [row["valid_loss"] for row in run.history]
    best = losses.index(min(losses))
    assert run.report["stopped"] == "patience"
    assert len(losses) - 1 - best >= 2
    assert run.report["steps"] < 400
    again = quick_fit(tokenizer, tmp_path, steps=400, recipe=recipe)
    assert again.report["stopped"] == "patience"
    assert again.report["steps"] == run.report["steps"]
    assert without_time(run.history) == without_time(again.history)


def test_minutes_end_a_run_soon_after_they_are_over(tokenizer, tmp_path, monkeypatch):
    seconds = itertools.count(1000)  # a clock that goes on a second at every look
    clock = types.SimpleNamespace(monotonic=lambda: float(next(seconds)))
    monkeypatch.setattr(train.loop, "time", clock)
    run = quick_fit(tokenizer, tmp_path, steps=None, minutes=0.5)
    assert run.report["stopped"] == "minutes"
    assert 30 <= run.report["seconds"] <= 35
    again = quick_fit(tokenizer, tmp_path, steps=None, minutes=1)  # a minute in all
    assert 60 <= again.report["seconds"] <= 65
    assert 1.5 < again.report["steps"] / run.report["steps"] < 2.5


def test_a_listener_that_returns_true_stops_the_run(tokenizer, tmp_path):
    run = quick_fit(tokenizer, tmp_path, steps=500, on_event=stop_at(1))
    assert run.report["stopped"] == "requested"
    assert run.report["steps"] == 10
    assert (tmp_path / "checkpoint.safetensors").is_file()
    assert isinstance(run.translator.translate("eins zwei"), str)


# --- what is wrong is said ---------------------------------------------------------


@pytest.mark.parametrize(("poisoned_at", "found_at"), [(20, 20), (30, 31)])
def test_a_loss_of_nan_ends_the_run(poisoned_at, found_at, tokenizer, tmp_path):
    """And keeps the checkpoint.

    At step 20 the validation loss sees it first, after step 30 the next step's.
    """
    recipe = quick(eval_every=20)
    quick_fit(tokenizer, tmp_path, steps=20 if found_at > 20 else 10, recipe=recipe)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()

    def poison(event):
        if event["kind"] == "step" and event["step"] == poisoned_at:
            with torch.no_grad():
                models[-1].output_embedding.weight[5] = math.nan

    models = []
    original = Transformer.__init__

    def remember(self, config):
        original(self, config)
        models.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transformer, "__init__", remember)
        with pytest.raises(FloatingPointError, match=f"loss nan.*step {found_at}.*lr_"):
            quick_fit(tokenizer, tmp_path, steps=60, on_event=poison, recipe=recipe)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("part", "message"),
    [("train", "0 training and 9"), ("valid", "0 validation pairs")],
)
def test_an_empty_corpus_is_refused(part, message, tokenizer, tmp_path):
    pairs = [("eins", "eins")] * 9
    corpus = dataclasses.replace(
        Corpus("mine", pairs, pairs, {}), **{part: [], "valid_sets": {}}
    )
    with pytest.raises(ValueError, match=f"'mine' has .*{message}"):
        quick_fit(tokenizer, tmp_path / "run", corpus=corpus)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_name_is_refused(tokenizer):
    with pytest.raises(ValueError, match="folder='' is not a name"):
        quick_fit(tokenizer, "")


def test_a_number_of_numpy_is_a_number_of_steps(tokenizer, tmp_path):
    run = quick_fit(tokenizer, tmp_path, steps=np.int64(10))
    assert run.report["steps"] == 10
    json.dumps(run.report)


def test_a_pair_too_long_for_any_batch_is_found_before_training(tokenizer, tmp_path):
    """Though only a later epoch would have drawn it."""
    corpus = word_corpus(n=300)
    long = ("eins", "eins zwei drei vier fünf sechs " * 4)
    corpus = dataclasses.replace(
        corpus, train=[*corpus.train, long], one_translation_an_epoch=True
    )
    seed = next(s for s in itertools.count() if long not in corpus.epoch_pairs(0, s))
    recipe = quick(max_tokens=24, seed=seed)
    with pytest.raises(ValueError, match=r"longest pair has \d+ tokens.*max_tokens=24"):
        quick_fit(tokenizer, tmp_path / "run", corpus=corpus, recipe=recipe)
    assert not (tmp_path / "run").exists()


def test_the_samples_are_the_first_validation_pairs_that_fit(tokenizer, tmp_path):
    corpus = word_corpus(n=300)
    valid = [("", "eins"), ("eins " * 90, "eins"), *corpus.valid]
    odd = dataclasses.replace(corpus, valid=valid)
    with pytest.warns(UserWarning, match="1 of 32 pairs are longer than max_len=32"):
        run = quick_fit(tokenizer, tmp_path, corpus=odd)
    shown = [sample["source"] for sample in run.history[0]["samples"]]
    assert shown == [english for english, _ in corpus.valid[:3]]


def test_a_folder_that_cannot_be_written_is_named(tokenizer, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        quick_fit(tokenizer, tmp_path / "file" / "run")


def test_the_loss_counts_the_bias_of_the_output(make_model, random_ids):
    model = make_model(output_bias=True)
    source, target = random_ids([5, 3]), random_ids([4, 2])
    labels = random_ids([4, 2], seed=1)
    batch = Batch(source, target, labels, n_tokens=14, n_labels=6)
    clear = cross_entropy(model(source, target), labels, pad_id=0, smoothing=0.1)
    lean = Lesson(model)(batch, 0.1)
    assert_close(lean, clear)
    lean.backward()
    assert model.output_embedding.output_bias.grad.abs().sum() > 0
