"""Signals: no run is lost, and one line says where it stands."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_runs import WORDS

from tformer import cli
from tformer.common.files import load_tensors
from tformer.train.checkpoints import LOCK

TINY = [
    *("--vocab-size", "300", "--d-model", "16", "--heads", "2", "--d-ff", "32"),
    *("--encoder-layers", "1", "--decoder-layers", "1", "--max-len", "32"),
    *("--max-tokens", "256", "--eval-every", "10", "--warmup-steps", "20"),
    *("--device", "cpu"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Number words in upper case and their German, as tab-separated pairs."""
    draw = random.Random(3)
    rows = {tuple(draw.choices(WORDS, k=draw.randint(1, 4))) for _ in range(400)}
    folder = tmp_path_factory.mktemp("corpus")
    lines = [f"{' '.join(row).upper()}\t{' '.join(row)}\n" for row in sorted(rows)]
    (folder / "numbers.tsv").write_text("".join(lines), encoding="utf-8")
    return folder / "numbers.tsv"


@pytest.fixture(scope="module")
def finished(corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "finished"
    given = ["train", "--corpus", str(corpus), "--out", str(folder), *TINY]
    assert cli.main([*given, "--steps", "20", "--quiet"]) == 0
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def start(*arguments: object) -> subprocess.Popen:
    package = str(Path(cli.__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-m", "tformer", "train", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": package, "OMP_NUM_THREADS": "1"},
        encoding="utf-8",
        # A shell's background job ignores Ctrl-C, and its children with it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="POSIX signals"),
    pytest.mark.parametrize(
        ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
    ),
]


def test_a_signal_stops_a_run_with_its_checkpoint(number, status, corpus, tmp_path):
    folder = tmp_path / "run"
    process = start("--corpus", corpus, "--out", folder, "--steps", 10**6, *TINY)
    for line in process.stderr:
        if line.startswith("step "):
            process.send_signal(number)
            break
    _, rest = process.communicate(timeout=120)
    assert process.returncode == status
    assert "Traceback" not in rest
    last = rest.splitlines()[-1]
    assert re.match(rf"tformer: interrupted at step \d+; .*kept in {folder}", last)
    _, facts = load_tensors(folder / "checkpoint.safetensors")
    assert f"at step {facts['state']['step']};" in last
    assert not list(folder.glob(".*"))


def test_a_signal_before_training(number, status, corpus, finished, tmp_path):
    """While pieces are learned: it ends at once, and the run is left as it was."""
    text = corpus.read_text("utf-8")
    more = [f"{n} {line}" for n in range(300) for line in text.splitlines()]
    many = tmp_path / "many.tsv"
    many.write_text("\n".join(more), encoding="utf-8")
    folder = shutil.copytree(finished, tmp_path / "run")
    before = contents(folder)
    process = start(
        *("--corpus", many, "--out", folder, "--steps", 10**6, "--restart", *TINY)
    )
    while not (folder / LOCK).exists():
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(number)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == status
    assert "Traceback" not in rest
    assert "from step" not in rest
    assert contents(folder) == before
