"""A run's folder: no run is lost in it, and what is not whole is named."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
from small_runs import (
    assert_same_weights,
    quick,
    quick_fit,
    small,
    weights_of,
    word_corpus,
)
from torch.testing import assert_close

from tformer import load_pretrained, train
from tformer.common import together
from tformer.common.files import load_tensors, save_tensors
from tformer.data import Corpus
from tformer.tokenization import Tokenizer
from tformer.train.checkpoints import LOCK, RunFolder, saved_settings


@pytest.fixture(scope="module")
def finished(tokenizer, tmp_path_factory) -> Path:
    """A run of 30 steps with three snapshots, not to be changed."""
    folder = tmp_path_factory.mktemp("finished")
    quick_fit(tokenizer, folder, steps=30, recipe=quick(average_last=3))
    return folder


@pytest.fixture
def folder(finished, tmp_path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def go_on(tokenizer, folder, **options):
    settings = {"recipe": quick(average_last=3), "steps": 40} | options
    return quick_fit(tokenizer, folder, **settings)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def other_tokenizer() -> Tokenizer:
    sentences = [side for pair in word_corpus("reverse").train[:50] for side in pair]
    return Tokenizer.train([*sentences, "neun zehn elf"] * 3, 310, algorithm="bpe")


# --- no run is lost ----------------------------------------------------------------


def poison(event):
    """A listener that fails while the first steps are made."""
    if event["kind"] == "step":
        raise FloatingPointError("the first steps went wrong")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"steps": None}, ValueError, "steps=…, minutes=…"),
        ({"steps": 0}, ValueError, "steps=0 must be at least 1"),
        ({"steps": 1.5}, TypeError, "steps=1.5 must be an int"),
        ({"steps": "5"}, TypeError, "steps='5' must be an int"),
        (
            {"steps": 31, "recipe": quick(last_step=30)},
            *(ValueError, "steps=31 must not go beyond the recipe's last_step=30"),
        ),
        ({"minutes": 0}, ValueError, "minutes=0 must be positive"),
        ({"minutes": math.nan}, ValueError, "minutes=nan must be positive"),
        ({"minutes": math.inf}, ValueError, "minutes=inf must be positive and finite"),
        ({"device": "abacus"}, ValueError, "'abacus' is not a device: try 'auto'"),
        ({"device": "meta"}, ValueError, "not supported"),
        ({"device": "cuda:77"}, ValueError, "'cuda:77'"),
        ({"progress": "loud"}, ValueError, "progress='loud' is none of"),
        ({"config": "small"}, TypeError, "config='small' must be the configuration"),
        ({"config": small(vocab_size=300)}, ValueError, "310 pieces.*vocab_size=300"),
        ({"config": small(max_len=2)}, ValueError, "max_len=(32, this one has )?2"),
        ({"config": small(d_ff=10**10)}, ValueError, "d_ff=10000000000"),
        ({"corpus": Corpus("none", [], [], {})}, ValueError, "'none' has 0 training"),
        ({"recipe": quick(max_tokens=3)}, ValueError, "max_tokens=(128, .* )?3"),
        ({"samples": [("eins " * 90, "eins")]}, ValueError, "split it into"),
        ({"samples": [("eins", "eins"), (" ", "eins")]}, ValueError, "nothing to tr"),
        (
            {"pieces": None, "config": small(vocab_size=9000)},
            *(ValueError, "vocab_size=9000"),
        ),
        ({"on_event": poison}, FloatingPointError, "the first steps went wrong"),
    ],
)
@pytest.mark.parametrize("restart", [False, True])
def test_a_call_that_fails_leaves_the_folder_as_it_was(
    restart, options, error, message, folder, tokenizer
):
    before, options = contents(folder), dict(options)
    pieces = options.pop("pieces", tokenizer)
    with pytest.raises(error, match=message):
        go_on(pieces, folder, restart=restart, **options)
    assert contents(folder) == before


def test_restart_replaces_a_run_when_the_new_one_has_a_checkpoint(folder, tokenizer):
    (folder / "notes.txt").write_text("mine")
    before = contents(folder)
    seen = []

    def look(event):
        if event["kind"] == "step" and event["step"] == 10:
            seen.append(contents(folder).items() >= before.items())

    config = small(d_ff=64)  # other settings, too
    new = go_on(tokenizer, folder, steps=20, restart=True, config=config, on_event=look)
    assert seen == [True]
    assert new.report["steps"] == 20
    assert load_pretrained(folder).model.config.d_ff == 64
    assert (folder / "notes.txt").read_text() == "mine"
    kept = [f.name[9:17] for f in sorted(folder.glob("snapshot-*"))]
    assert kept == ["00000010", "00000020"]
    fresh = go_on(tokenizer, folder.parent / "fresh", steps=20, config=config)
    assert_same_weights(weights_of(new), weights_of(fresh))


@pytest.mark.parametrize("name", ["model.safetensors", "card.json", "history.json"])
def test_a_folder_with_no_checkpoint_is_kept(name, finished, tokenizer, tmp_path):
    folder = tmp_path / "saved"
    folder.mkdir()
    shutil.copy(finished / name, folder)
    before = contents(folder)
    message = rf"holds {name}, but no checkpoint.*another folder.*--restart"
    with pytest.raises(ValueError, match=message):
        go_on(tokenizer, folder)
    assert contents(folder) == before
    assert go_on(tokenizer, folder, restart=True).report["steps"] == 40


def test_a_model_that_was_saved_by_hand_is_not_replaced(finished, tokenizer, tmp_path):
    load_pretrained(finished).save(tmp_path / "mine")
    before = contents(tmp_path / "mine")
    with pytest.raises(ValueError, match="but no checkpoint to resume from"):
        go_on(tokenizer, tmp_path / "mine")
    assert contents(tmp_path / "mine") == before


def test_a_run_that_fails_before_its_first_checkpoint_leaves_nothing(tmp_path):
    with pytest.raises(FloatingPointError):
        quick_fit(None, tmp_path / "run", on_event=poison)
    assert not (tmp_path / "run").exists()


def test_another_runs_tokenizer_is_neither_used_nor_replaced(tokenizer, tmp_path):
    other_tokenizer().save(tmp_path / "tokenizer.model")
    before = contents(tmp_path)
    for given in (None, tokenizer):  # with None it would learn its own
        with pytest.raises(ValueError, match=r"tokenizer.model is not this run's"):
            quick_fit(given, tmp_path)
    assert contents(tmp_path) == before
    run = quick_fit(tokenizer, tmp_path, restart=True)
    assert load_pretrained(tmp_path).tokenizer.fingerprint == tokenizer.fingerprint
    assert run.report["tokenizer"] == tokenizer.fingerprint


def test_another_tokenizer_is_refused_before_the_folders_own_is_touched(folder):
    before = contents(folder)
    with pytest.raises(ValueError, match="with another tokenizer: choose another"):
        go_on(other_tokenizer(), folder)
    assert contents(folder) == before


def test_pieces_are_learned_in_the_recipes_way_whatever_lies_in_the_folder(tmp_path):
    corpus = word_corpus(n=300)
    for algorithm in ("bpe", "unigram"):
        options = {
            "config": small(vocab_size=284),
            "recipe": quick(tokenizer=algorithm),
        }
        run = quick_fit(None, tmp_path / algorithm, corpus=corpus, **options)
        assert run.translator.tokenizer.algorithm == algorithm
        assert run.report["recipe"]["tokenizer"] == algorithm


def changed(**fields):
    return {"corpus": dataclasses.replace(word_corpus(n=300), **fields)}


PAIRS = word_corpus(n=300).train


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": small(d_ff=64)}, "d_ff=32, this one has 64"),
        ({"recipe": quick(seed=3, average_last=3)}, "seed=0, this one has 3"),
        ({"corpus": word_corpus("reverse", n=300)}, "corpus='copy'.*'reverse'"),
        (changed(checksums={"words": "1"}), "words='0', this one has '1'"),
        (changed(train=PAIRS[:-1]), r"pairs=\d+, this one has \d+"),
        (changed(train=PAIRS[::-1]), "with other training pairs"),
    ],
)
def test_another_run_is_not_mixed_with_this_one(options, message, folder, tokenizer):
    before = contents(folder)
    with pytest.raises(ValueError, match=message + ".*choose another folder"):
        go_on(tokenizer, folder, **options)
    assert contents(folder) == before


def test_a_checkpoint_from_before_a_setting_goes_on(finished, folder, tokenizer):
    whole = shutil.copytree(finished, folder.parent / "new")
    file = folder / "checkpoint.safetensors"
    tensors, facts = load_tensors(file)
    del facts["identity"]["config"]["positions"]
    save_tensors(file, tensors, facts)
    old, new = (go_on(tokenizer, each) for each in (folder, whole))
    assert_same_weights(weights_of(old), weights_of(new))
    save_tensors(file, tensors, facts)
    with pytest.raises(ValueError, match="positions='sinusoidal', this one has 'lea"):
        go_on(tokenizer, folder, config=small(positions="learned"))


def test_a_resumed_run_needs_no_tokenizer_of_the_caller(folder, tokenizer):
    assert go_on(None, folder).report["tokenizer"] == tokenizer.fingerprint


# --- a finished run ----------------------------------------------------------------


def test_a_finished_run_is_returned_and_its_end_told_again(folder, tokenizer):
    weights, events = weights_of(folder), []
    again = go_on(tokenizer, folder, steps=30, on_event=lambda e: events.append(e))
    assert [event["kind"] for event in events] == ["start", "evaluate", "stop"]
    last = {key: events[1][key] for key in again.history[-1]}
    assert last == again.history[-1]
    assert isinstance(events[1]["translator"].translate("eins"), str)
    assert (again.report["steps"], again.report["stopped"]) == (30, "steps")
    assert_same_weights(weights_of(folder), weights)
    assert len(again.history) == 3


def test_a_run_whose_minutes_are_over_makes_no_step_more(tokenizer, tmp_path):
    first = quick_fit(tokenizer, tmp_path, steps=None, minutes=0.001)
    again = quick_fit(tokenizer, tmp_path, steps=None, minutes=0.001)
    assert first.report["steps"] == again.report["steps"]
    assert again.report["stopped"] == "minutes"


# --- two runs in one folder --------------------------------------------------------

POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX locks")


@POSIX
def test_a_second_run_in_the_folder_is_told_who_is_there(tokenizer, tmp_path):
    refused = []

    def try_another(event):
        if event["kind"] == "step" and not refused:
            with pytest.raises(BlockingIOError) as caught:
                quick_fit(tokenizer, tmp_path)
            refused.append(str(caught.value))

    run = quick_fit(tokenizer, tmp_path, on_event=try_another)
    assert run.report["steps"] == 20
    assert f"{tmp_path} is in use by process {os.getpid()} on" in refused[0]
    assert "choose another folder" in refused[0]
    quick_fit(tokenizer, tmp_path)  # the lock is gone with its run
    assert not (tmp_path / LOCK).exists()


def test_a_signal_leaves_no_lock_that_nobody_has_signed(monkeypatch, tmp_path):
    def interrupt():
        assert (tmp_path / LOCK).exists()
        raise KeyboardInterrupt

    monkeypatch.setattr("platform.node", interrupt)
    with pytest.raises(KeyboardInterrupt), RunFolder(tmp_path).locked():
        pass
    assert list(tmp_path.iterdir()) == []


HOLDER = """
import sys, time
sys.path[:0] = [{package!r}]
from tformer.train.checkpoints import RunFolder
with RunFolder({folder!r}).locked():
    print("locked", flush=True)
    time.sleep(60)
"""


@POSIX
def test_the_lock_of_a_killed_process_holds_nobody_up(tokenizer, tmp_path):
    package = str(Path(train.__file__).parents[2])
    script = HOLDER.format(package=package, folder=str(tmp_path))
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(BlockingIOError, match=f"process {holder.pid} on"):
            quick_fit(tokenizer, tmp_path)
        holder.send_signal(signal.SIGKILL)
    assert (tmp_path / LOCK).is_file()
    assert quick_fit(tokenizer, tmp_path).report["steps"] == 20


def full_disk(file, *_):
    name = [file] if isinstance(file, str) else []
    raise OSError(28, "No space left on device", *name)


def test_a_lock_that_cannot_be_made_is_told_of_the_folder(tmp_path, monkeypatch):
    held = RunFolder(tmp_path).locked()
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda file, *_: full_disk(str(file)))
        with pytest.raises(OSError, match="No space") as error:
            held.__enter__()
    assert error.value.filename == str(tmp_path)
    monkeypatch.setattr(os, "write", full_disk)  # who holds it is only a help
    with RunFolder(tmp_path).locked():
        assert (tmp_path / LOCK).is_file()


def test_a_drive_without_locks_can_be_trained_on(tokenizer, tmp_path, monkeypatch):
    def no_locks(handle, how):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", no_locks)
    assert quick_fit(tokenizer, tmp_path).report["steps"] == 20


def test_what_a_killed_writer_left_is_swept_by_the_next_run(folder, tokenizer):
    program = (
        "import os, pathlib, sys; from tformer.common.files import open_atomically\n"
        "with open_atomically(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os.kill(os.getpid(), 9)\n"
    )
    for name in ("checkpoint.safetensors", "snapshot-00000040.safetensors"):
        subprocess.run([sys.executable, "-c", program, folder / name], check=False)
    (folder / ".mine").write_text("not yours")
    assert len(list(folder.glob(".*"))) == 3
    go_on(tokenizer, folder)
    assert [file.name for file in folder.glob(".*")] == [".mine"]


# --- checkpoints that are not whole ------------------------------------------------


def without(name):
    return lambda tensors, facts: tensors.pop(name)


def with_fact(name, value):
    return lambda tensors, facts: facts.update({name: value})


def with_state(**values):
    return lambda tensors, facts: facts["state"].update(values)


def with_tensor(name, value):
    return lambda tensors, facts: tensors.update({name: value})


def without_moments(tensors, facts):
    for name in [each for each in tensors if each.startswith("adam.")]:
        del tensors[name]


A_WEIGHT = "encoder.layers.0.feed_forward.expand.weight"
SQUARES = f"adam.exp_avg_sq.{A_WEIGHT}"
NO_NUMBERS = torch.full((32, 16), math.nan)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("rng.cpu"), "lacks rng.cpu"),
        (with_tensor("rng.cpu", torch.zeros(3, dtype=torch.uint8)), "is incomplete"),
        (with_tensor("rng.cpu", torch.zeros(3)), "is incomplete"),
        (without(f"adam.exp_avg.{A_WEIGHT}"), f"lacks adam.exp_avg.{A_WEIGHT}"),
        (without(f"adam.step.{A_WEIGHT}"), f"lacks adam.step.{A_WEIGHT}"),
        (with_tensor(SQUARES, torch.zeros(2)), rf"{SQUARES} has shape \(2,\)"),
        (without_moments, "lacks adam.step."),
        (without(f"model.{A_WEIGHT}"), f"lacks {A_WEIGHT}"),
        (with_tensor(f"model.{A_WEIGHT}", NO_NUMBERS), "holds NaN"),
        (with_fact("identity", None), "does not say what run it belongs to"),
        (with_fact("identity", {}), "does not say what run it belongs to"),
        (with_fact("identity", {"config": None, "recipe": {}}), "not say what run"),
        (with_fact("state", None), "is incomplete"),
        (with_fact("state", {"steps": 3}), "is incomplete"),
        (with_fact("scaler", None), "is incomplete"),
        (lambda tensors, facts: facts.pop("state"), "lacks state"),
        (lambda tensors, facts: facts.pop("scaler"), "lacks scaler"),
        (with_state(step="ten"), "is incomplete"),
        (with_state(position=-3), "is incomplete"),
        (with_state(seconds=float("nan")), "is incomplete"),
        (with_state(seconds=None), "is incomplete"),
        (with_state(history=None), "is incomplete"),
        (with_state(curve=[3]), "is incomplete"),
        (with_state(step=50), "snapshot-00000040.safetensors is missing"),
    ],
)
def test_a_signed_checkpoint_that_is_not_whole(damage, message, folder, tokenizer):
    """One clear error, and the folder stays as it is."""
    file = folder / "checkpoint.safetensors"
    tensors, facts = load_tensors(file)
    damage(tensors, facts)
    save_tensors(file, tensors, facts)
    before = contents(folder)
    with pytest.raises(ValueError, match=message) as caught:
        go_on(tokenizer, folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: data[: len(data) // 2], "truncated or not a safetensors file"),
        (lambda data: b"", "truncated or not a safetensors file"),
        (lambda data: data[:-8] + bytes(8 * [77]), "changed after it was written"),
        (lambda data: b"not a checkpoint" * 100, "truncated or not a safetensors file"),
    ],
)
def test_a_damaged_checkpoint_is_never_used(damage, message, folder, tokenizer):
    checkpoint = folder / "checkpoint.safetensors"
    checkpoint.write_bytes(damage(checkpoint.read_bytes()))
    with pytest.raises(ValueError, match=f"checkpoint.safetensors.*{message}"):
        go_on(tokenizer, folder)


def test_a_model_file_is_no_checkpoint(folder, tokenizer):
    shutil.copy(folder / "model.safetensors", folder / "checkpoint.safetensors")
    with pytest.raises(ValueError, match="is not a training checkpoint"):
        go_on(tokenizer, folder)


def test_averaging_needs_snapshots_of_one_model(finished):
    with pytest.raises(ValueError, match="no snapshot"):
        train.average([])
    snapshot, *_ = finished.glob("snapshot-*")
    with pytest.raises(ValueError, match="hold different weights"):
        train.average([snapshot, finished / "checkpoint.safetensors"])


def test_a_snapshot_that_is_missing_is_named_before_training(folder, tokenizer):
    (folder / "snapshot-00000020.safetensors").unlink()
    kinds = []
    message = r"snapshot-00000020.safetensors is missing.*copy.*--restart"
    with pytest.raises(ValueError, match=message):
        go_on(tokenizer, folder, on_event=lambda event: kinds.append(event["kind"]))
    assert kinds == []


def test_the_settings_of_a_folder_are_its_runs(folder, tmp_path):
    settings = saved_settings(folder)
    assert settings["corpus"] == "copy"
    assert settings["config"] == small().to_dict()
    assert train.Recipe(**settings["recipe"]) == quick(average_last=3)
    assert saved_settings(tmp_path / "nowhere") == {}


NAMES = (  # a user's own files, though each resembles what a run writes
    "notes.txt",
    "other.safetensors",
    "snapshot-best.safetensors",
    "snapshot-0000010.safetensors",
    "snapshot-000000010.safetensors",
    "snapshot-00000010.safetensors.bak",
    "old-snapshot-00000010.safetensors",
    ".lock",
    ".film.abcdefgh.part",
    ".checkpoint.safetensors.part",
    ".checkpoint.safetensors.ABCDEFGH.part",
)
MINE = {name: f"mine: {name}".encode() for name in NAMES}


def mine_in(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in MINE.items():
        (folder / name).write_bytes(text)


@pytest.mark.parametrize("restart", [False, True])
def test_a_run_touches_no_file_of_the_users_own(restart, folder, tokenizer, tmp_path):
    for place in (folder, tmp_path / "new"):
        mine_in(place)
        go_on(tokenizer, place, restart=restart)
        there = contents(place)
        assert {name: there.get(name) for name in MINE} == MINE


def test_folders_that_are_named_like_a_runs_files_are_left_alone(tokenizer, tmp_path):
    names = ("snapshot-00000099.safetensors", ".card.json.abcdefgh.part")
    for name in names:
        (tmp_path / name).mkdir()
    quick_fit(tokenizer, tmp_path, restart=True)
    assert all((tmp_path / name).is_dir() for name in names)


def test_clearing_removes_what_a_run_writes_and_nothing_else(folder):
    written = set(contents(folder))
    mine_in(folder)
    (folder / "snapshot-123456789.safetensors").write_text("after many steps")
    (folder / together.VALID).mkdir()  # a kill in the middle of the last save
    (folder / together.VALID / "model.safetensors").write_text("as it was")
    RunFolder(folder).clear()
    assert contents(folder) == MINE
    assert {"checkpoint.safetensors", "tokenizer.model", "card.json"} <= written


# --- precision and other devices ---------------------------------------------------


def strict_json(file: Path):
    def refuse(word):
        raise AssertionError(f"{file.name} holds a bare {word}")

    return json.loads(file.read_text("utf-8"), parse_constant=refuse)


@pytest.fixture
def overflowing(monkeypatch):
    """A loss scaler that begins so high that it skips steps until it has come down."""
    from tformer.train import loop

    high = functools.partial(torch.amp.GradScaler, init_scale=2.0**60)
    monkeypatch.setattr(loop.torch.amp, "GradScaler", high)


def test_steps_that_the_scaler_skips_leave_valid_json(overflowing, tokenizer, tmp_path):
    run = quick_fit(tokenizer, tmp_path, steps=60, recipe=quick(precision="fp16"))
    norms = [look["gradient_norm"] for look in run.curve]
    assert norms[0] is None  # every one of its steps was skipped
    assert norms[-1] > 0
    history = strict_json(tmp_path / "history.json")
    assert [look["gradient_norm"] for look in history["curve"]] == norms
    strict_json(tmp_path / "card.json")
    _, facts = load_tensors(tmp_path / "checkpoint.safetensors")
    json.dumps(facts, allow_nan=False)


def test_a_checkpoint_before_the_first_evaluation_is_valid_json(tokenizer, tmp_path):
    """Also one of those that called the best loss so far infinite."""
    quick_fit(tokenizer, tmp_path, steps=5)
    file = tmp_path / "checkpoint.safetensors"
    tensors, facts = load_tensors(file)
    json.dumps(facts, allow_nan=False)
    facts["state"]["best_loss"] = float("inf")
    save_tensors(file, tensors, facts)
    quick_fit(tokenizer, tmp_path, steps=6)
    json.dumps(load_tensors(file)[1], allow_nan=False)


def test_a_run_of_only_skipped_steps_can_go_on(overflowing, tokenizer, tmp_path):
    recipe = quick(precision="fp16")
    whole = quick_fit(tokenizer, tmp_path / "a", steps=60, recipe=recipe)
    first = quick_fit(tokenizer, tmp_path / "b", steps=10, recipe=recipe)
    assert first.curve[-1]["gradient_norm"] is None
    parts = quick_fit(tokenizer, tmp_path / "b", steps=60, recipe=recipe)
    assert_same_weights(weights_of(whole), weights_of(parts))


def test_a_run_may_go_on_in_another_precision(tokenizer, tmp_path, monkeypatch):
    """As when Colab gives a GPU to a run that began without one, or takes it away."""
    from tformer.train import loop

    for now, then in (("fp32", "fp16"), ("fp16", "fp32")):
        folder = tmp_path / now
        for precision, steps in ((now, 10), (then, 20)):
            monkeypatch.setattr(
                loop, "choose_precision", lambda wanted, device, it=precision: it
            )
            run = quick_fit(tokenizer, folder, steps=steps)
            assert (run.report["steps"], run.report["precision"]) == (steps, precision)


def test_a_run_that_used_dropout_goes_on_with_the_dice_it_had(tokenizer, tmp_path):
    config = small(dropout=0.3)
    whole = quick_fit(tokenizer, tmp_path / "a", config=config, steps=20)
    quick_fit(tokenizer, tmp_path / "b", config=config, steps=10)
    torch.manual_seed(99)  # the caller's dice are none of its business
    parts = quick_fit(tokenizer, tmp_path / "b", config=config, steps=20)
    for name, weight in weights_of(whole).items():
        assert_close(weights_of(parts)[name], weight, rtol=0, atol=0)


def test_an_event_of_every_kind_has_the_fields_that_it_declares(tokenizer, tmp_path):
    from tformer.train import events

    heard = {}
    quick_fit(tokenizer, tmp_path, on_event=lambda e: heard.update({e["kind"]: e}))
    declared = {"start": events.Start, "step": events.Step}
    declared |= {"evaluate": events.Evaluation, "stop": events.Stop}
    assert heard.keys() == declared.keys()
    for kind, event in heard.items():
        assert event.keys() == declared[kind].__annotations__.keys(), kind


def test_a_history_is_what_a_run_keeps_of_its_evaluations(tokenizer, tmp_path):
    events = []
    run = quick_fit(tokenizer, tmp_path, on_event=lambda e: events.append(dict(e)))
    told = [e for e in events if e["kind"] == "evaluate"]
    for event, record in zip(told, run.history, strict=True):
        assert {k: event[k] for k in record} == record
        assert event.keys() - record.keys() == {"kind", "translator"}
    assert dataclasses.is_dataclass(run)
