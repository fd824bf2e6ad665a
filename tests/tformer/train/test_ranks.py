"""Several processes make the steps that one makes, and end together."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from small_runs import quick, quick_fit, small, weights_of, word_corpus
from torch.testing import assert_close

from tformer import cli, load_pretrained, train
from tformer.common.files import load_tensors, read_json
from tformer.train import loop, ranks

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
TINY = [
    *("--vocab-size", "310", "--d-model", "16", "--heads", "2", "--d-ff", "32"),
    *("--encoder-layers", "1", "--decoder-layers", "1", "--max-len", "32"),
    *("--max-tokens", "256", "--eval-every", "10", "--warmup-steps", "20"),
    *("--dropout", "0", "--device", "cpu"),
]
RIGHT = {
    "WORLD_SIZE": "2",
    "RANK": "1",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "9",
}
pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX processes")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    lines = [f"{en.upper()}\t{de}\n" for en, de in word_corpus(n=300).train]
    path = tmp_path_factory.mktemp("corpus") / "numbers.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def start(*arguments: object, by: list[str] = TORCHRUN) -> subprocess.Popen:
    package = str(Path(cli.__file__).parents[2])
    environment = {
        name: value for name, value in os.environ.items() if name != "WORLD_SIZE"
    }
    return subprocess.Popen(
        [*by, "-m", "tformer", "train", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment | {"PYTHONPATH": package, "OMP_NUM_THREADS": "1"},
        encoding="utf-8",
        start_new_session=True,
    )


def fork(folder: Path, *arguments: object, inside: Callable = bool) -> list[int]:
    """Two processes without torchrun, at less cost; their exit statuses.

    What they say goes to files ``0`` and ``1`` of the folder.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = []
    for rank in range(2):
        child = os.fork()
        if not child:
            there = {"RANK": rank, "LOCAL_RANK": rank, "MASTER_PORT": port}
            os.environ.update(RIGHT | {name: str(each) for name, each in there.items()})
            sys.stdout = sys.stderr = (folder / str(rank)).open("w", encoding="utf-8")
            inside()
            status = cli.main(["train", *map(str, arguments)])
            sys.stderr.flush()
            os._exit(status)
        children.append(child)
    return [os.waitpid(child, 0)[1] for child in children]


def said_in(folder: Path) -> list[str]:
    return "".join((folder / str(rank)).read_text() for rank in range(2)).splitlines()


def ended(process: subprocess.Popen) -> tuple[int, str, list[str]]:
    """Exit status, standard output, and what the program itself said, by line."""
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    said = [line for line in err.splitlines() if line.startswith("tformer: ")]
    return process.returncode, out, said


def curves_of(folder: Path) -> tuple[list[float], list[float]]:
    history = read_json(folder / "history.json")
    return (
        [look[key] for look in history["curve"] for key in ("loss", "gradient_norm")],
        [record["valid_loss"] for record in history["evaluations"]],
    )


def assert_same_run(one: Path, other: Path) -> None:
    """Curves to a millionth, weights to what 30 steps make of that."""
    for ours, theirs in zip(curves_of(one), curves_of(other), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
    for name, weight in weights_of(one).items():
        if "to_key.bias" not in name:  # its gradient is rounding, which Adam magnifies
            assert_close(weights_of(other)[name], weight, rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def alone(corpus, tmp_path_factory) -> Path:
    """Thirty steps by one process."""
    folder = tmp_path_factory.mktemp("runs") / "alone"
    given = ["train", "--corpus", str(corpus), "--out", str(folder), *TINY]
    assert cli.main([*given, "--steps", "30", "--quiet"]) == 0
    return folder


def test_two_processes_go_the_way_of_one_and_another_number_may_go_on(
    alone, corpus, tmp_path
):
    folder = tmp_path / "two"
    process = start("--corpus", corpus, "--out", folder, "--steps", 20, *TINY)
    status, out, said = ended(process)
    assert (status, said) == (0, [])
    assert out.count("run: ") == 1  # one of them speaks
    assert read_json(folder / "card.json")["ranks"] == 2
    assert not list(folder.glob(".*"))
    given = ["train", "--out", str(folder), "--steps", "30", "--quiet"]
    assert cli.main([*given, "--corpus", str(corpus), "--device", "cpu"]) == 0
    assert read_json(folder / "card.json")["ranks"] == 1
    assert_same_run(alone, folder)
    assert load_pretrained(folder).translate("EINS ZWEI")


def test_two_processes_with_parts_and_dropout_repeat_and_resume(corpus, tmp_path):
    """Stopped after 10 of 20 steps, between two evaluations."""
    options = ["--corpus", corpus, *TINY, "--dropout", "0.2", "--accumulate", "2"]
    for name, steps in (("whole", 20), ("halves", 10), ("halves", 20)):
        out = tmp_path / name
        assert fork(tmp_path, "--out", out, "--steps", steps, *options) == [0, 0]
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    assert curves_of(whole) == curves_of(halves)
    for name, weight in weights_of(whole).items():
        assert_close(weights_of(halves)[name], weight, rtol=0, atol=0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_torchrun_keeps_the_checkpoint(number, corpus, tmp_path):
    folder = tmp_path / "run"
    process = start("--corpus", corpus, "--out", folder, "--steps", 10**6, *TINY)
    for line in process.stderr:
        if line.startswith("step "):
            process.send_signal(number)
            break
    status, _, said = ended(process)
    assert status != 0
    assert re.match(r"tformer: interrupted at step \d+; .*kept in", said[-1])
    _, facts = load_tensors(folder / "checkpoint.safetensors")
    assert f"at step {facts['state']['step']};" in said[-1]
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("--vocab-size 9000", "vocab_size=9000 is too large"),  # the first one finds it
        ("--lr-scale 0", "lr_scale=0"),  # all find it
    ],
)
def test_an_error_is_said_once_and_leaves_nothing(wrong, what, corpus, tmp_path):
    folder = tmp_path / "run"
    given = ["--corpus", corpus, "--out", folder, "--steps", 5, *TINY, "--quiet"]
    assert fork(tmp_path, *given, *wrong.split()) == [2 << 8, 2 << 8]
    [line] = said_in(tmp_path)
    assert line.startswith("tformer: error: ")
    assert what in line
    assert not folder.exists()


def fails_at_step_12(how: Callable[[], object]) -> Callable[[], None]:
    """For one of two processes; not for the first."""

    def patch() -> None:
        free = loop.Loop.step

        def step(self, parts):
            if self.state.step == 12 and self.ranks.rank == 1:
                how()
            return free(self, parts)

        loop.Loop.step = step

    return patch


def raise_an_error() -> None:
    raise ValueError("this one fails")


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (raise_an_error, "tformer: error: this one fails"),
        (lambda: os.kill(os.getpid(), 9), "error: rank 0 has lost the other processes"),
    ],
)
def test_when_one_process_fails_all_end_and_the_run_can_go_on(
    how, what, corpus, alone, tmp_path
):
    folder = tmp_path / "run"
    options = ["--corpus", corpus, "--out", folder, "--steps", 30, *TINY, "--quiet"]
    statuses = fork(tmp_path, *options, inside=fails_at_step_12(how))
    assert statuses in ([2 << 8, 2 << 8], [2 << 8, 9])
    [line] = said_in(tmp_path)
    assert what in line
    assert (folder / "checkpoint.safetensors").exists()
    assert not list(folder.glob(".*"))  # neither a lock nor half a file
    assert cli.main(["train", *map(str, options)]) == 0
    assert_same_run(alone, folder)


# --- wrong environments ------------------------------------------------------------


@pytest.mark.parametrize("others", [{}, {"WORLD_SIZE": "1"}, {"WORLD_SIZE": "2"}])
@pytest.mark.parametrize("rank", ["1", "-1", "x"])
@pytest.mark.parametrize("line", ["translate --beam-size 0 A", "train --out x", "no"])
def test_a_variable_called_rank_silences_no_command(
    line, rank, others, monkeypatch, capsys
):
    """Many launchers set it; only several processes of torchrun leave one to speak."""
    for name, value in {"RANK": rank, **others}.items():
        monkeypatch.setenv(name, value)
    assert cli.main(line.split()) == 2
    assert capsys.readouterr().err.startswith("tformer: error: ")


def test_a_process_that_finds_no_other_says_so(monkeypatch, capsys, tmp_path):
    for name, value in RIGHT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(ranks, "MEETING", ranks.timedelta(seconds=2))
    assert cli.main(["train", "--steps", "1", "--out", str(tmp_path / "run")]) == 2
    assert "error: rank 1 cannot reach the other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"RANK": ""}, "WORLD_SIZE=2 means several processes, but RANK is not set"),
        ({"MASTER_ADDR": ""}, "but MASTER_ADDR is not set: start them with torchrun"),
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE='two' must be a whole number"),
        ({"RANK": "-1"}, "RANK='-1' must be a whole number"),
        ({"RANK": "2"}, "RANK=2 must be below WORLD_SIZE=2"),
    ],
)
def test_an_environment_that_makes_no_sense_is_one_clear_error(
    change, message, monkeypatch
):
    for name, value in (RIGHT | change).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=message), ranks.joined("cpu"):
        pass


@pytest.mark.parametrize("device", ["cuda:1", "auto"])
def test_several_processes_take_a_gpu_each(device, monkeypatch):
    for name, value in RIGHT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    message = {
        "cuda:1": "end with 'cuda:0'",
        "auto": "2 processes on a machine where PyTorch sees 1 GPUs",
    }[device]
    with pytest.raises(ValueError, match=message), ranks.joined(device):
        pass
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with (
        pytest.raises(ValueError, match="give 'cuda' for one GPU each"),
        ranks.joined("cuda:1"),
    ):
        pass


def test_processes_that_do_not_come_are_named(monkeypatch):
    for name, value in RIGHT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(ranks, "MEETING", ranks.timedelta(seconds=2))
    with (
        pytest.raises(ConnectionError, match=r"rank 1 cannot reach .* 127.0.0.1:9"),
        ranks.joined("cpu"),
    ):
        pass


def test_a_world_of_one_is_alone(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "1")
    run = quick_fit(tokenizer, tmp_path, config=small(), recipe=quick(), steps=1)
    assert run.report["ranks"] == 1
    assert run.report["device"] == train.device_name(torch.device("cpu"))
