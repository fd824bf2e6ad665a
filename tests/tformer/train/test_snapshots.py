"""Snapshots: only those of one run, each of its own step, are averaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_runs import assert_same_weights, quick, quick_fit, weights_of

from tformer import train
from tformer.common.files import load_tensors, read_header, save_tensors


@pytest.fixture(scope="module")
def runs(tokenizer, tmp_path_factory) -> Path:
    """Two runs of 30 steps that differ in their seed, not to be changed."""
    place = tmp_path_factory.mktemp("runs")
    for name, seed in (("ours", 1), ("theirs", 2)):
        recipe = quick(average_last=3, seed=seed)
        quick_fit(tokenizer, place / name, steps=30, recipe=recipe)
    return place


@pytest.fixture
def folder(runs, tmp_path) -> Path:
    return shutil.copytree(runs / "ours", tmp_path / "run")


def go_on(tokenizer, folder, **options):
    settings = {"recipe": quick(average_last=3, seed=1), "steps": 40} | options
    return quick_fit(tokenizer, folder, **settings)


def snapshot(step: int) -> str:
    return f"snapshot-{step:08d}.safetensors"


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def unsign(folder: Path, *steps: int) -> None:
    """Make snapshots what they were before they said what run they are from."""
    for step in steps:
        file = folder / snapshot(step)
        save_tensors(file, load_tensors(file)[0], {})


def test_a_snapshot_says_its_run_and_its_step(folder):
    _, facts = read_header(folder / snapshot(20))
    _, checkpoint = read_header(folder / "checkpoint.safetensors")
    assert facts == {"step": 20, "identity": checkpoint["identity"]}


@pytest.mark.parametrize("steps", [30, 40])
@pytest.mark.parametrize("step", [10, 20, 30])
def test_a_snapshot_of_another_run_is_refused(step, steps, runs, folder, tokenizer):
    shutil.copy(runs / "theirs" / snapshot(step), folder)
    before = contents(folder)
    message = rf"{snapshot(step)} is from a run with seed=2, this one has 1.*--restart"
    with pytest.raises(ValueError, match=message):
        go_on(tokenizer, folder, steps=steps)
    assert contents(folder) == before


def test_a_snapshot_of_another_step_is_refused(folder, tokenizer):
    shutil.copy(folder / snapshot(10), folder / snapshot(20))
    before = contents(folder)
    message = rf"{snapshot(20)} holds the weights of step 10, not 20: copy"
    with pytest.raises(ValueError, match=message):
        go_on(tokenizer, folder)
    assert contents(folder) == before


def test_a_checkpoint_of_another_run_is_refused_whoever_names_the_settings(
    runs, folder, tokenizer
):
    shutil.copy(runs / "theirs" / "checkpoint.safetensors", folder)
    for seed in (1, 2):
        with pytest.raises(ValueError, match="seed="):
            go_on(tokenizer, folder, recipe=quick(average_last=3, seed=seed))


def test_a_new_run_does_not_replace_the_snapshots_of_another(runs, tokenizer, tmp_path):
    shutil.copy(runs / "theirs" / snapshot(10), tmp_path)
    before = contents(tmp_path)
    with pytest.raises(ValueError, match=r"seed=2, this one has 1: choose another"):
        go_on(tokenizer, tmp_path)
    unsign(tmp_path, 10)
    unsigned = contents(tmp_path)
    with pytest.raises(ValueError, match="does not say what run it is from: choose"):
        go_on(tokenizer, tmp_path)
    assert contents(tmp_path) == unsigned != before
    go_on(tokenizer, tmp_path, restart=True, steps=20)
    assert read_header(tmp_path / snapshot(10))[1]["identity"]["recipe"]["seed"] == 1


def test_a_run_that_was_killed_before_its_first_checkpoint_goes_on(
    folder, tokenizer, tmp_path
):
    (tmp_path / "killed").mkdir()
    for name in (snapshot(10), "tokenizer.model"):
        shutil.copy(folder / name, tmp_path / "killed")
    again = go_on(tokenizer, tmp_path / "killed", steps=30)
    assert_same_weights(weights_of(again), weights_of(folder))


def test_older_snapshots_are_signed_if_their_loss_is_the_one_that_was_recorded(
    folder, tokenizer
):
    whole = contents(folder)
    unsign(folder, 10, 20, 30)
    assert contents(folder) != whole
    again = go_on(tokenizer, folder, steps=30)
    for step in (10, 20, 30):
        assert contents(folder)[snapshot(step)] == whole[snapshot(step)]
    assert_same_weights(weights_of(again), weights_of(folder))


def test_a_resumed_run_with_older_snapshots_ends_as_if_they_were_newer(
    folder, tokenizer, tmp_path
):
    newer = go_on(tokenizer, shutil.copytree(folder, tmp_path / "newer"))
    unsign(folder, 10, 20, 30)
    assert_same_weights(weights_of(go_on(tokenizer, folder)), weights_of(newer))


def test_an_older_snapshot_of_another_run_is_refused(runs, folder, tokenizer):
    shutil.copy(runs / "theirs" / snapshot(20), folder)
    unsign(folder, 10, 20)
    before = contents(folder)
    message = rf"{snapshot(20)} does not say what run.* loss is \d.*this run had \d"
    with pytest.raises(ValueError, match=message):
        go_on(tokenizer, folder)
    assert contents(folder) == before


def test_snapshots_of_two_runs_have_no_average(runs):
    files = [runs / name / snapshot(20) for name in ("ours", "theirs")]
    with pytest.raises(ValueError, match="are of different runs"):
        train.average(files)
