"""Time the fastest training that reaches a score, and keep the record.

    python -m studies.speedrun [--seeds 3] [--threads 2]
    python -m studies.speedrun --valid --seeds 1      while looking for settings

Runs ``TRAIN`` once for each seed, each in a fresh folder. The clock runs from the start
of the command to its end: reading, tokenizer, training, validation, writing. Then
``EVALUATE`` scores what came out. The rules are in ``studies/speedrun.md``.

Each run goes to ``results/speedrun.json``; seeds that are there already are left out.
``--valid`` scores the validation set instead of the test set and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import circumstances
from tformer import data, evaluate, load_pretrained
from tformer.common.files import write_json

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "results/speedrun.json"
GOAL = 36.0  # BLEU, cased, on TEST
TEST = "test_2016_flickr"
TRAIN = (
    "-m studies.muon train --corpus multi30k --quiet "
    "--vocab-size 4000 --tokenizer unigram --d-model 128 --heads 2 --d-ff 512 "
    "--encoder-layers 3 --decoder-layers 3 --max-len 128 --norm pre --dropout 0.1 "
    "--max-tokens 4096 --warmup-steps 300 --lr-scale 1.0 --last-step 3700 "
    "--eval-every 1850 --average-last 1 --precision bf16"
)
EVALUATE = f"-m tformer evaluate --test {TEST} --beam-size 5 --no-tokenised --quiet"
# One-sided quantiles of Student's t at 0.99, by the number of seeds.
T_99 = {3: 6.965, 4: 4.541, 5: 3.747, 6: 3.365, 7: 3.143, 8: 2.998, 9: 2.896, 10: 2.821}


def is_surely_above(scores: list[float], goal: float) -> bool:
    """Whether the mean over seeds lies above a goal, with p < 0.01 (one-sided t-test).

    Raises:
        ValueError: fewer seeds than three, or more than ten.
    """
    n = len(scores)
    if n not in T_99:
        raise ValueError(f"{n} seeds: a record needs 3 to 10")
    margin = T_99[n] * statistics.stdev(scores) / math.sqrt(n)
    return statistics.mean(scores) - margin > goal


def python(command: str, threads: int) -> float:
    """Run a command of this Python; the seconds that it took by the clock."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *shlex.split(command)], check=True, env=environment, cwd=ROOT
    )
    return time.perf_counter() - started


def run(seed: int, threads: int, *, on_valid: bool) -> dict[str, Any]:
    """Train and score once."""
    with tempfile.TemporaryDirectory() as folder:
        load = os.getloadavg()[0]
        out, scores = Path(folder) / "run", Path(folder) / "scores.json"
        seconds = python(
            f"{TRAIN} --seed {seed} --out {shlex.quote(str(out))}", threads
        )
        if on_valid:
            pairs = data.load("multi30k").valid
            score = evaluate.score(load_pretrained(out), pairs, beam_size=5).to_dict()
        else:
            paths = f"--model {shlex.quote(str(out))} --json {shlex.quote(str(scores))}"
            python(f"{EVALUATE} {paths}", threads)
            score = json.loads(scores.read_text("utf-8"))["scores"][TEST]
    return {
        "seed": seed,
        "seconds": round(seconds, 1),
        "load_average": [load, os.getloadavg()[0]],  # others may have run beside it
        "bleu": score["bleu"],
        "signature": score["signature"],
    }


def kept() -> list[dict[str, Any]]:
    """The runs of this very command that were recorded before."""
    if not RESULT.is_file():
        return []
    record: dict[str, Any] = json.loads(RESULT.read_text("utf-8"))
    return record["runs"] if record["train"] == f"python {TRAIN}" else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--valid", action="store_true")
    options = parser.parse_args()
    print(f"python {TRAIN}", flush=True)
    runs = [] if options.valid else kept()
    for seed in sorted(set(range(options.seeds)) - {each["seed"] for each in runs}):
        runs.append(run(seed, options.threads, on_valid=options.valid))
        print("seed {seed}: {seconds:.0f} s, {bleu:.2f} BLEU".format(**runs[-1]))
        if not options.valid:
            write(runs, options.threads)


def write(runs: list[dict[str, Any]], threads: int) -> None:
    """Keep the runs, and whether they are a record."""
    torch.set_num_threads(threads)  # as the runs had
    scores = [each["bleu"] for each in runs]
    reached = len(runs) in T_99 and is_surely_above(scores, GOAL)
    record = circumstances("python -m studies.speedrun", torch.device("cpu"))
    record |= {"train": f"python {TRAIN}", "evaluate": f"python {EVALUATE}"}
    write_json(RESULT, record | {"goal": GOAL, "reached": reached, "runs": runs})


if __name__ == "__main__":
    main()
