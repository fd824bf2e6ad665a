"""Kill training runs at random moments, and see where they end when they go on.

    python tests/tformer/train/kill_runs.py --kills 60

A small run on generated sentences is made once without a break. Then others like it
are killed by SIGKILL, which no program can hear coming: while they learn pieces, step,
evaluate or write their files, and some again after they went on. Each must end with
the weights and the history of the unbroken run, to the last bit. Exit status 1 if one
does not.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tformer import TransformerConfig, data, train
from tformer.common.files import load_tensors
from tformer.data import Corpus

CONFIG = TransformerConfig(400, 32, 2, 64, 1, 1, dropout=0.2, max_len=64)
RECIPE = train.Recipe(max_tokens=512, warmup_steps=20, eval_every=4, average_last=3)
CLOCK = {"seconds", "tokens_per_second"}  # the only numbers that may differ


def main() -> int:
    """Kill as many runs as asked for; 0 if every one went on to the same end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=60, metavar="N")
    parser.add_argument("--steps", type=int, default=40, help="of each run")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.optim.Adam([torch.zeros(1)])  # what it imports, the runs need not import anew
    grammar = data.load("grammar")
    corpus = replace(grammar, train=grammar.train[:600], valid=grammar.valid[:20])
    draw = random.Random(options.seed)
    killed, n_runs, moments = 0, 0, Counter[str]()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place) / "whole"
        started = time.monotonic()
        finish(whole, corpus, options.steps)
        duration = time.monotonic() - started
        while killed < options.kills:
            folder = Path(place) / f"run-{n_runs}"
            n_runs += 1
            again = True
            while again:
                if kill(folder, corpus, options.steps, draw.uniform(0, duration)):
                    killed += 1
                    moments[moment(folder)] += 1
                again = killed < options.kills and draw.random() < 0.3
            finish(folder, corpus, options.steps)
            if end(folder) != end(whole) or list(folder.glob(".*")):
                wrong.append(folder.name)
    print(
        f"{killed} kills of {n_runs} runs of {options.steps} steps ({duration:.1f} s)"
    )
    for name, count in moments.most_common():
        print(f"  {count:3}  {name}")
    print(f"ended as the unbroken run did: {n_runs - len(wrong)} of {n_runs}")
    return 1 if wrong else 0


def fork(folder: Path, corpus: Corpus, steps: int) -> int:
    """Train in a process of its own; return its number."""
    child = os.fork()
    if child:
        return child
    try:
        options = {"recipe": RECIPE, "device": "cpu", "progress": "none"}
        train.fit(CONFIG, corpus, steps=steps, folder=folder, **options)
    except BaseException as error:
        print(f"{folder.name}: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def finish(folder: Path, corpus: Corpus, steps: int) -> None:
    """Let a run go on to its end."""
    _, status = os.waitpid(fork(folder, corpus, steps), 0)
    if status:
        raise SystemExit(f"{folder.name} did not go on: see above")


def kill(folder: Path, corpus: Corpus, steps: int, seconds: float) -> bool:
    """Let a run go on for some seconds; False if it was done before they were over."""
    child = fork(folder, corpus, steps)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"{folder.name} did not go on: see above")
    return os.WIFSIGNALED(status)


def moment(folder: Path) -> str:
    """What a run was doing when it was killed, by what it left."""
    if list(folder.glob(".*.part")):
        return "while it wrote a file"
    if not (folder / "checkpoint.safetensors").exists():
        return "before its first checkpoint"
    if (folder / "history.json").exists():
        return "after its end"
    return "between checkpoints"


def end(folder: Path) -> tuple[list[tuple[str, bytes]], Any, bytes]:
    """Weights, history and pieces of a finished run, clock aside."""
    weights, _ = load_tensors(folder / "model.safetensors")
    history = json.loads((folder / "history.json").read_text("utf-8"))
    for record in history["evaluations"]:
        for name in CLOCK:
            del record[name]
    numbers = [
        (name, weight.numpy().tobytes()) for name, weight in sorted(weights.items())
    ]
    return numbers, history, (folder / "tokenizer.model").read_bytes()


if __name__ == "__main__":
    sys.exit(main())
