"""tformer beside torch.nn, Hugging Face's Marian and CTranslate2, on one CPU core.

    make bench                 # or: python -m benchmarks.side_by_side [--rotations 7]

All have the same sizes and, where they translate, the same weights; all get the same
batches, in turn. Prints the tables that `benchmarks/README.md` explains and writes
``results/bench-cpu.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a core-second is a core's second

import torch

from benchmarks import peers, timing, workload
from tformer.analysis import cost
from tformer.common.files import write_json

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m benchmarks.side_by_side"
BEAM = 5
REFERENCE = {  # whom the ratios are taken to
    "training": "torch_nn",
    "greedy": "marian",
    "beam": "marian",
    "single": "marian",
}
GOALS = {
    "tformer": {"training": 1.4, "greedy": 1.3, "beam": 1.5, "single": 1 / 0.6},
    "tformer_int8": {"greedy": 1.3, "beam": 1.5, "single": 3.0},
}
RIVALS = {"tformer": "ctranslate2_fp32", "tformer_int8": "ctranslate2_int8"}
RIVAL_GOAL = 0.8  # of CTranslate2's rate at the same precision, many sentences at once
MEMORY_GOAL = 0.75
UNITS = {
    "training": "target tokens",
    "greedy": "sentences",
    "beam": "sentences",
    "single": "pieces",
}
TITLES = {
    "training": "training, batches of {max_tokens} tokens",
    "greedy": "greedy search, {sentences_at_once} sentences at once",
    "beam": f"beam search, {BEAM} wide, {{sentences_at_once}} sentences at once",
    "single": "greedy search, one sentence at a time",
}
Call = Callable[[int], object]


def training_calls(work: workload.Workload, names: list[str]) -> dict[str, Call]:
    def call(name: str) -> Call:
        model = workload.new_model(work.config)
        learning = peers.Learning(peers.make(name, model))

        def step(turn: int) -> None:
            batch = work.training[turn % len(work.training)]
            learning.step(batch.source_ids, batch.target_ids, batch.labels)

        return step

    return {name: call(name) for name in names if name in peers.TRAINED}


def search_calls(
    work: workload.Workload, names: list[str]
) -> dict[str, dict[str, Call]]:
    """The three ways to search, of one engine a peer."""
    engines = {
        name: peers.make(name, workload.new_model(work.config)) for name in names
    }

    def greedy(name: str) -> Call:
        def call(turn: int) -> None:
            batch = work.sentences[turn % len(work.sentences)]
            found = engines[name].greedy(batch.source_ids, batch.length)
            _check_length(name, found, batch)

        return call

    def beam(name: str) -> Call:
        def call(turn: int) -> None:
            batch = work.sentences[turn % len(work.sentences)]
            found = engines[name].beam(batch.source_ids, batch.length, BEAM)
            _check_length(name, found, batch)

        return call

    def single(name: str) -> Call:
        def call(turn: int) -> None:
            for one in singles(work, turn):
                found = engines[name].greedy(one.source_ids, one.length)
                _check_length(name, found, one)

        return call

    ways = {"greedy": greedy, "beam": beam, "single": single}
    return {
        way: {
            name: make(name)
            for name in names
            if name in peers.SEARCHES["beam" if way == "beam" else "greedy"]
        }
        for way, make in ways.items()
    }


def singles(work: workload.Workload, turn: int) -> list[workload.Sources]:
    """Eight sentences for each turn."""
    start = 8 * turn % len(work.single)
    return work.single[start : start + 8]


def _check_length(name: str, found: list[list[int]], batch: workload.Sources) -> None:
    lengths = {len(ids) for ids in found}
    if lengths != {batch.length}:
        raise SystemExit(f"{name} wrote {lengths} pieces, not {batch.length}: unequal")


def operations(work: workload.Workload, way: str, turn: int) -> tuple[float, int]:
    """How much work a call does: in the table's unit, and in operations."""
    config = work.config
    if way == "training":
        batch = work.training[turn % len(work.training)]
        n_labels = int((batch.labels != config.pad_id).sum())
        rows, source = batch.source_ids.shape
        target = batch.target_ids.size(1)
        return n_labels, cost.training_step(config, rows, source, target, n_labels)
    if way == "single":
        some = singles(work, turn)
        n_operations = sum(
            cost.search(config, 1, each.source_ids.size(1), each.length)
            for each in some
        )
        return sum(each.length for each in some), n_operations
    each = work.sentences[turn % len(work.sentences)]
    rows, source = each.source_ids.shape
    width = BEAM if way == "beam" else 1
    return rows, cost.search(config, rows, source, each.length, width)


def agreement(work: workload.Workload, names: list[str]) -> dict[str, float]:
    """Share of pieces that peers with our weights choose as we do, greedily."""
    one = work.sentences[0]
    found = {
        name: torch.tensor(
            peers.make(name, workload.new_model(work.config)).greedy(
                one.source_ids, one.length
            )
        )
        for name in names
        if name != "torch_nn"  # it has random layers of its own
    }
    ours = found.get("tformer")
    if ours is None:
        return {}
    return {name: (ids == ours).double().mean().item() for name, ids in found.items()}


def measured(
    work: workload.Workload, names: list[str], rotations: int, ways: list[str]
) -> dict[str, Any]:
    """All times, in one run, every way with its own turns."""
    calls = search_calls(work, names)
    if "training" in ways:
        calls["training"] = training_calls(work, names)
    multiply = timing.matmul_peak(torch.float32, torch.device("cpu"), 1536)
    found = {}
    for way in ways:
        in_turn = {**calls[way], "matmul": lambda turn: multiply()}
        times = timing.rotations(in_turn, rotations)
        found[way] = summary(work, way, times, multiply())
    return found


def summary(
    work: workload.Workload,
    way: str,
    times: dict[str, dict[str, list[float]]],
    n_multiplied: int,
) -> dict[str, Any]:
    """Rates, ratios to the reference, and shares of the measured matmul rate."""
    rotations = len(times["matmul"]["cpu"])
    done = [operations(work, way, turn) for turn in range(rotations)]
    peak = [n_multiplied / each for each in times["matmul"]["cpu"]]
    reference = times.get(REFERENCE[way])
    rows = {}
    for name, each in times.items():
        if name == "matmul":
            continue
        row: dict[str, Any] = {"seconds": each}
        for clock in ("cpu", "wall"):
            rates = [n / s for (n, _), s in zip(done, each[clock], strict=True)]
            row[f"per_{clock}_second"] = timing.spread(rates)
            if reference is not None:
                row[f"{clock}_ratio"] = timing.ratios(each[clock], reference[clock])
        speeds = [n / s for (_, n), s in zip(done, each["cpu"], strict=True)]
        shares = [own / most for own, most in zip(speeds, peak, strict=True)]
        row["share_of_matmul"] = timing.spread(shares)
        rows[name] = row
    return {
        "unit": UNITS[way],
        "reference": REFERENCE[way],
        "matmul_operations_per_cpu_second": timing.spread(peak),
        "peers": rows,
    }


def peak_memory(names: list[str], arguments: argparse.Namespace) -> dict[str, Any]:
    """Bytes that training takes at most, each peer in a process of its own."""
    found = {}
    for name in names:
        if name not in peers.TRAINED:
            continue
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.side_by_side"]
        command += ["--peak", name, "--corpus", arguments.corpus]
        command += ["--vocab", str(arguments.vocab), "--tokens", str(arguments.tokens)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"memory of {name}: {done.stderr.strip()[-500:]}")
        found[name] = json.loads(done.stdout.splitlines()[-1])
    return found


def own_peak(name: str, work: workload.Workload) -> dict[str, int]:
    """The most this process has held, after three steps; and before the model."""
    _clear_peak()
    before = _peak()
    step = training_calls(work, [name])[name]
    for turn in range(3):
        step(turn)
    return {"before": before, "peak": _peak()}


def _peak() -> int:
    """Bytes: the largest resident size so far."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _clear_peak() -> None:
    """Forget what reading the corpus took, where Linux lets us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def tell(found: dict[str, Any], about: dict[str, Any]) -> None:
    """The tables."""
    for way, result in found.items():
        if way not in TITLES:
            continue
        reference = peers.NAMES[result["reference"]]
        print(f"\n{TITLES[way].format(**about)}; ratios to {reference}")
        unit = result["unit"]
        print(f"{'':22}{unit + ' a core-second':>28}{'ratio':>22}{'of matmul':>12}")
        for name, row in result["peers"].items():
            rate, share = row["per_cpu_second"], row["share_of_matmul"]["median"]
            text = f"{rate['median']:.0f} ({rate['q1']:.0f} to {rate['q3']:.0f})"
            ratio = row.get("cpu_ratio")
            beside = (
                f"{ratio['median']:.2f} ({ratio['q1']:.2f} to {ratio['q3']:.2f})"
                if ratio
                else "–"
            )
            print(f"{peers.NAMES[name]:22}{text:>28}{beside:>22}{share:>12.0%}")
        _tell_goals(way, result["peers"], reference)
    if found.get("memory"):
        _tell_memory(found["memory"])


def _tell_goals(way: str, rows: dict[str, Any], reference: str) -> None:
    for name, goals in GOALS.items():
        if way not in goals or "cpu_ratio" not in rows.get(name, {}):
            continue
        reached = rows[name]["cpu_ratio"]["median"] >= goals[way]
        _tell_goal(peers.NAMES[name], goals[way], reference, reached)
        if way == "greedy" and RIVALS[name] in rows:
            times, rivals = (
                rows[each]["seconds"]["cpu"] for each in (name, RIVALS[name])
            )
            ratio = timing.ratios(times, rivals)["median"]
            print(f"{peers.NAMES[name]}: {ratio:.2f} × {peers.NAMES[RIVALS[name]]}")
            rival = peers.NAMES[RIVALS[name]]
            _tell_goal(peers.NAMES[name], RIVAL_GOAL, rival, ratio >= RIVAL_GOAL)


def _tell_goal(name: str, goal: float, reference: str, reached: bool) -> None:
    said = "reached" if reached else "not reached"
    print(f"goal of {name}: {goal:.2f} × {reference}: {said}")


def _tell_memory(found: dict[str, dict[str, int]]) -> None:
    print("\npeak memory of training, a process each; MB in all, and above the start")
    for name, each in found.items():
        above = each["peak"] - each["before"]
        print(f"{peers.NAMES[name]:22}{each['peak'] / 1e6:8.0f}{above / 1e6:8.0f}")
    if {"tformer", "torch_nn"} <= found.keys():
        ours, theirs = found["tformer"], found["torch_nn"]
        whole = ours["peak"] / theirs["peak"]
        above = (ours["peak"] - ours["before"]) / (theirs["peak"] - theirs["before"])
        reached = "reached" if above <= MEMORY_GOAL else "not reached"
        print(
            f"tformer / torch.nn: {whole:.2f} in all, {above:.2f} above the start; "
            f"goal: {MEMORY_GOAL}: {reached}"
        )


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rotations", type=int, default=7)
    parser.add_argument("--corpus", default="multi30k")
    parser.add_argument("--vocab", type=int, default=workload.SIZES.vocab_size)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--sentences", type=int, default=64, help="at once")
    parser.add_argument("--ways", nargs="+", default=list(TITLES), choices=list(TITLES))
    parser.add_argument(
        "--peers", nargs="+", default=list(peers.NAMES), choices=list(peers.NAMES)
    )
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "bench-cpu.json")
    parser.add_argument("--peak", choices=peers.TRAINED, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    torch.set_num_threads(1)
    config = replace(workload.SIZES, vocab_size=options.vocab)
    work = workload.make(
        config, options.corpus, max_tokens=options.tokens, at_once=options.sentences
    )
    if options.peak:
        print(json.dumps(own_peak(options.peak, work)))
        return
    record = timing.circumstances(COMMAND, torch.device("cpu"))
    found = measured(work, options.peers, options.rotations, options.ways)
    if "training" in options.ways:
        found["memory"] = peak_memory(options.peers, options)
    record |= {
        "load_average_after": [round(each, 1) for each in os.getloadavg()],
        "rotations": options.rotations,
        "config": config.to_dict(),
        "workload": work.about,
        "same_pieces_as_tformer": agreement(work, options.peers),
        "results": found,
    }
    tell(found, work.about)
    load = record["load_average"][0], record["load_average_after"][0]
    print("\nload average before and after: {:.1f}, {:.1f}".format(*load))
    write_json(options.out, record)


if __name__ == "__main__":
    main()
