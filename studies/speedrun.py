"""Time the fastest training that reaches a score, and keep the record.

    python -m studies.speedrun [--track cpu] [--seeds 3] [--threads 2]
    python -m studies.speedrun --track gpu --seeds 5 --at-once 5
    python -m studies.speedrun --valid --seeds 1      while looking for settings

Runs the track's command once for each seed, each in a fresh folder. The clock runs from
the start of the command to its end: reading, tokenizer, training, validation, writing.
Then what came out is scored. The rules are in ``studies/speedrun.md``. Runs may share
the machine (``--at-once``); each has its own clock, so that they only lose by it.

Each run goes to ``results/speedrun.json`` (``speedrun-gpu.json``); seeds that are there
already are left out. ``--valid`` scores the validation set instead of the test set and
writes nothing.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks.timing import circumstances
from tformer import data, evaluate, load_pretrained
from tformer.common.files import write_json

ROOT = Path(__file__).resolve().parent.parent
TEST = "test_2016_flickr"


@dataclass(frozen=True)
class Track:
    """What is timed, how it is scored, and what it must reach.

    Attributes:
        train: the command that the clock watches, but for seed and folder.
        evaluate: the command that scores what it wrote.
        score: which of its numbers counts.
        goal: what the mean of that number must surely exceed.
        result: the file that keeps the runs.
        environment: variables that both commands see.
    """

    train: str
    evaluate: str
    score: str
    goal: float
    result: Path
    environment: dict[str, str] = field(default_factory=dict)


TRACKS = {
    "cpu": Track(
        "-m studies.muon train --corpus multi30k --quiet "
        "--vocab-size 4000 --tokenizer unigram --d-model 128 --heads 2 --d-ff 512 "
        "--encoder-layers 3 --decoder-layers 3 --max-len 128 --norm pre --dropout 0.1 "
        "--max-tokens 4096 --warmup-steps 300 --lr-scale 1.0 --last-step 3700 "
        "--eval-every 1850 --average-last 1 --precision bf16",
        f"-m tformer evaluate --test {TEST} --beam-size 5 --no-tokenised --quiet",
        "bleu",
        36.0,
        ROOT / "results/speedrun.json",
    ),
    "gpu": Track(  # the recipe of results/chosen.json
        "-m tformer train --corpus multi30k --quiet --device cuda "
        "--vocab-size 6000 --tokenizer unigram --d-model 384 --heads 8 --d-ff 768 "
        "--encoder-layers 4 --decoder-layers 4 --max-len 128 --norm pre --dropout 0.3 "
        "--max-tokens 6144 --warmup-steps 1000 --lr-scale 1.5 --last-step 8500 "
        "--eval-every 425 --average-last 6 --r-drop 5 --precision fp32",
        f"-m tformer evaluate --test {TEST} --beam-size 5 --quiet",
        "tokenised_bleu",
        41.0,
        ROOT / "results/speedrun-gpu.json",
        {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},  # as those runs had
    ),
}
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


def python(command: str, threads: int, environment: dict[str, str]) -> float:
    """Run a command of this Python; the seconds that it took by the clock."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)} | environment
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *shlex.split(command)], check=True, env=environment, cwd=ROOT
    )
    return time.perf_counter() - started


def run(track: Track, seed: int, threads: int, *, on_valid: bool) -> dict[str, Any]:
    """Train and score once."""
    with tempfile.TemporaryDirectory() as folder:
        load = os.getloadavg()[0]
        out, scores = Path(folder) / "run", Path(folder) / "scores.json"
        seconds = python(
            f"{track.train} --seed {seed} --out {shlex.quote(str(out))}",
            threads,
            track.environment,
        )
        if on_valid:  # cased: published tables have no tokenised validation set
            pairs = data.load("multi30k").valid
            score = evaluate.score(load_pretrained(out), pairs, beam_size=5).to_dict()
            return {"seed": seed, "seconds": round(seconds, 1), "bleu": score["bleu"]}
        paths = f"--model {shlex.quote(str(out))} --json {shlex.quote(str(scores))}"
        python(f"{track.evaluate} {paths}", threads, track.environment)
        score = json.loads(scores.read_text("utf-8"))["scores"][TEST]
    return {
        "seed": seed,
        "seconds": round(seconds, 1),
        "load_average": [load, os.getloadavg()[0]],  # others may have run beside it
        "bleu": score[track.score],
        "signature": score[track.score.replace("bleu", "signature")],
    }


def kept(track: Track) -> list[dict[str, Any]]:
    """The runs of this very command that were recorded before."""
    if not track.result.is_file():
        return []
    record: dict[str, Any] = json.loads(track.result.read_text("utf-8"))
    return record["runs"] if record["train"] == f"python {track.train}" else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--track", choices=TRACKS, default="cpu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of each run")
    parser.add_argument("--valid", action="store_true")
    options = parser.parse_args()
    track = TRACKS[options.track]
    print(f"python {track.train}", flush=True)
    runs = [] if options.valid else kept(track)
    seeds = sorted(set(range(options.seeds)) - {each["seed"] for each in runs})
    with ThreadPoolExecutor(options.at_once) as pool:
        begun = [
            pool.submit(run, track, seed, options.threads, on_valid=options.valid)
            for seed in seeds
        ]
        for ended in as_completed(begun):
            if problem := ended.exception():  # the other seeds go on, and are kept
                print(problem, file=sys.stderr)
                continue
            runs.append(ended.result())
            line = "seed {seed}: {seconds:.0f} s, {bleu:.2f} BLEU".format(**runs[-1])
            print(line, flush=True)
            if not options.valid:
                write(track, runs, options.threads, options.at_once)
    if any(each.exception() for each in begun):
        raise SystemExit(1)


def write(track: Track, runs: list[dict[str, Any]], threads: int, at_once: int) -> None:
    """Keep the runs, and whether they are a record."""
    torch.set_num_threads(threads)  # as the runs had
    runs = sorted(runs, key=lambda each: each["seed"])
    scores = [each["bleu"] for each in runs]
    reached = len(runs) in T_99 and is_surely_above(scores, track.goal)
    device = torch.device("cuda" if "--device cuda" in track.train else "cpu")
    [name] = [each for each, known in TRACKS.items() if known is track]
    record = circumstances(f"python -m studies.speedrun --track {name}", device)
    record |= {
        "environment": track.environment,
        "train": f"python {track.train}",
        "evaluate": f"python {track.evaluate}",
        "runs_at_once": at_once,
        "goal": track.goal,
        "reached": reached,
        "runs": runs,
    }
    write_json(track.result, record)


if __name__ == "__main__":
    main()
