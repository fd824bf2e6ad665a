"""Wrong command lines and signals: no run is lost, and one line says what is wrong."""

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

TINY = [
    *("--vocab-size", "300", "--d-model", "16", "--heads", "2", "--d-ff", "32"),
    *("--encoder-layers", "1", "--decoder-layers", "1", "--max-len", "32"),
    *("--max-tokens", "256", "--eval-every", "10", "--warmup-steps", "20"),
    *("--device", "cpu"),
]
HUGE = str(10**30)

# What is given beside a corpus, --out and the sizes above, and what the line must say.
MISTAKES = [
    ("--steps 0", "steps=0 must be at least 1"),
    ("--steps -5", "steps=-5 must be at least 1"),
    ("--steps 1.5", "--steps"),
    ("--steps 1e3", "--steps"),
    ("--minutes 0", "minutes=0.0 must be positive"),
    ("--minutes -1", "minutes=-1.0 must be positive"),
    ("--minutes nan", "minutes=nan must be positive and finite"),
    ("--minutes inf", "minutes=inf must be positive and finite"),
    ("--steps 5 --device mps", "'mps'"),
    ("--steps 5 --device meta", "'meta' is of a type that is not supported"),
    ("--steps 5 --device xla", "'xla' is of a type that is not supported"),
    ("--steps 5 --device hpu:0", "'hpu:0' is of a type that is not supported"),
    ("--steps 5 --device cuda:99", "'cuda:99'"),
    ("--steps 5 --device gpu", "'gpu' is not a device"),
    ("--steps 5 --device cuda:x", "'cuda:x' is not a device"),
    ("--steps 5 --vocab-size 0", "vocab_size=0"),
    ("--steps 5 --vocab-size 7", "vocab_size=7"),
    ("--steps 5 --vocab-size 9000", "vocab_size=9000"),
    (f"--steps 5 --vocab-size {HUGE}", HUGE),
    ("--steps 5 --d-model 15", "d_model=15 must be even"),
    ("--steps 5 --d-model 0", "d_model=0"),
    ("--steps 5 --d-model 2000000", "d_model=2000000"),
    (f"--steps 5 --d-model {HUGE}", HUGE),
    ("--steps 5 --heads 5", "a multiple of n_heads=5"),
    ("--steps 5 --heads 0", "n_heads=0"),
    ("--steps 5 --d-ff 99999999999", "d_ff=99999999999"),
    ("--steps 5 --encoder-layers 999999999", "n_encoder_layers=999999999"),
    ("--steps 5 --decoder-layers -1", "n_decoder_layers=-1"),
    ("--steps 5 --max-len 99999999999", "max_len=99999999999"),
    ("--steps 5 --max-len 1", "longer than max_len=1"),
    ("--steps 5 --dropout 1", "dropout=1.0"),
    ("--steps 5 --dropout nan", "dropout=nan"),
    ("--steps 5 --norm middle", "--norm"),
    ("--steps 5 --activation tanh", "--activation"),
    ("--steps 5 --positions no", "--positions"),
    ("--steps 5 --attention no", "--attention"),
    ("--steps 5 --groups 5", "n_groups=5"),
    ("--steps 5 --max-tokens 0", "max_tokens=0"),
    ("--steps 5 --max-tokens 4", "max_tokens=4"),
    (f"--steps 5 --max-tokens {HUGE}", "max_tokens"),
    ("--steps 5 --warmup-steps 0", "warmup_steps=0"),
    ("--steps 5 --warmup-steps inf", "--warmup-steps"),
    ("--last-step 3 --warmup-steps 3", "last_step=3 must be None or at least 4"),
    ("--steps 5 --warmup-steps 2 --last-step 4", "steps=5 must not go beyond"),
    ("--steps 5 --lr-scale 0", "lr_scale=0.0"),
    ("--steps 5 --lr-scale -1", "lr_scale=-1.0"),
    ("--steps 5 --lr-scale inf", "lr_scale=inf"),
    ("--steps 5 --lr-scale 1e300", "lr_scale=1e+300"),
    ("--steps 5 --label-smoothing 1", "label_smoothing=1.0"),
    ("--steps 5 --label-smoothing nan", "label_smoothing=nan"),
    ("--steps 5 --clip-norm 0", "clip_norm=0.0"),
    ("--steps 5 --clip-norm inf", "clip_norm=inf"),
    ("--steps 5 --eval-every 0", "eval_every=0"),
    ("--steps 5 --eval-every 2.5", "--eval-every"),
    ("--steps 5 --average-last 0", "average_last=0"),
    ("--steps 5 --patience 0", "patience=0"),
    ("--steps 5 --tokenizer word", "--tokenizer"),
    ("--steps 5 --precision fp8", "--precision"),
    ("--steps 5 --seed -1", "seed=-1"),
    (f"--steps 5 --seed {HUGE}", "seed="),
    ("--steps 5 --corpus latin", "unknown corpus 'latin'"),
    ("--steps 5 --corpus gone.tsv", "gone.tsv"),
    ("--steps 5 --corpus multi30k+", "multi30k+"),
    ("--steps 5 --corpus grammar*99999999999", "99999999999"),
    ("--steps 5 --corpus EMPTY", "EMPTY"),
    ("--steps 5 --corpus FOLDER", "FOLDER"),
    ("--steps 5 --corpus BINARY", "BINARY"),
    ("--steps 5 --learning-rate 3", "--learning-rate"),
    ("--steps 5 extra", "extra"),
    ("", "give --steps N or --minutes M"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Number words in upper case and their German, as tab-separated pairs."""
    draw = random.Random(3)
    rows = {tuple(draw.choices(WORDS, k=draw.randint(1, 4))) for _ in range(400)}
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "EMPTY").write_text("")
    (folder / "FOLDER").mkdir()
    (folder / "BINARY").write_bytes(bytes(range(256)) * 9)
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


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(("wrong", "said"), MISTAKES)
def test_a_wrong_command_is_one_line_and_touches_no_run(
    wrong, said, restart, corpus, finished, tmp_path, capsys
):
    """In a new folder; and with --restart in the folder of a finished run."""
    folder = tmp_path / "run"
    if restart:
        shutil.copytree(finished, folder)
    before = contents(folder) if restart else None
    place = corpus.parent
    words = [
        str(place / word) if word in ("EMPTY", "FOLDER", "BINARY") else word
        for word in wrong.split()
    ]
    given = ["train", "--out", str(folder), "--corpus", str(corpus), *TINY, "--quiet"]
    status = cli.main([*given, *words, *(["--restart"] if restart else [])])
    shown = capsys.readouterr()
    assert (status, shown.out) == (2, "")
    [line] = shown.err.splitlines()
    assert line.startswith("tformer: error: ")
    assert said in line
    assert len(line) < 400
    assert (contents(folder) if folder.exists() else None) == before


# --- signals -----------------------------------------------------------------------


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


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
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


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_before_training_ends_at_once_and_leaves_the_run(
    number, status, corpus, finished, tmp_path
):
    """While pieces are learned: the licence has been shown, training has not begun."""
    text = corpus.read_text("utf-8")
    more = [f"{n} {line}" for n in range(300) for line in text.splitlines()]
    many = tmp_path / "many.tsv"
    many.write_text("\n".join(more), encoding="utf-8")
    folder = shutil.copytree(finished, tmp_path / "run")
    before = contents(folder)
    process = start(
        *("--corpus", many, "--out", folder, "--steps", 10**6, "--restart", *TINY)
    )
    while not (folder / ".lock").exists():
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(number)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == status
    assert "Traceback" not in rest
    assert "from step" not in rest
    assert contents(folder) == before
