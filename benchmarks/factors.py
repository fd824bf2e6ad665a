"""How the factors of `make bench` change with width and with length.

    python -m benchmarks.factors        # or: make bench-factors

The model of `make bench` is made narrower and wider, and its sentences shorter and
longer: one of both at a time. At each size tformer trains beside ``torch.nn`` and
searches beside Marian, on ids drawn at random, in turn and on one core; told is how
many times as fast it is, the median and the quartiles over the rotations. Writes
``results/bench-factors.json`` and draws it to ``benchmarks/factors.svg``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

from benchmarks import peers, timing, workload
from tformer.common.files import write_json

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m benchmarks.factors"
USUAL = {"width": 256, "length": 15}
SWEEPS = {"width": (128, 256, 512), "length": (15, 30, 60)}
BEAM = 5
N_TOKENS = 1024  # of a training batch, on each side
WAYS = {  # what is done: beside whom, to how many sentences
    "training": ("torch_nn", None),
    "greedy": ("marian", 32),
    "beam": ("marian", 8),
    "single": ("marian", 1),
}


def sentences(rows: int, length: int) -> Tensor:
    """(rows, length) int64: pieces drawn at random, the same ones every time."""
    generator = torch.Generator().manual_seed(0)
    shape = (rows, length)
    return torch.randint(4, workload.SIZES.vocab_size, shape, generator=generator)


def call(name: str, way: str, width: int, length: int) -> Callable[[int], object]:
    """What is timed of one peer; its model is made before."""
    config = replace(workload.SIZES, d_model=width, d_ff=4 * width)
    peer = peers.make(name, workload.new_model(config))
    rows = WAYS[way][1]
    if rows is None:
        ids = sentences(N_TOKENS // length, length)
        learning = peers.Learning(peer)
        return lambda turn: learning.step(ids, ids, ids)
    ids = sentences(rows, length)
    if way == "beam":
        return lambda turn: peer.beam(ids, length, BEAM)
    return lambda turn: peer.greedy(ids, length)


def measure(
    sweeps: dict[str, tuple[int, ...]], rotations: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """For each size that is changed, and each way, the factors."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for size, values in sweeps.items():
        found[size] = {way: [] for way in WAYS}
        for value in values:
            place = USUAL | {size: value}
            for way, (rival, _) in WAYS.items():
                calls = {name: call(name, way, **place) for name in (rival, "tformer")}
                times = timing.rotations(calls, rotations)
                ours, theirs = times["tformer"]["cpu"], times[rival]["cpu"]
                row = {size: value, "cpu_seconds": timing.spread(ours)}
                row["times_as_fast"] = timing.ratios(ours, theirs)
                found[size][way].append(row)
    return found


def draw(found: dict[str, dict[str, list[dict[str, Any]]]], path: Path) -> None:
    """A panel for each size: the factors, their quartiles, and where both are equal."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(8, 3.2), sharey=True)
    colours = dict(zip(WAYS, ("#0072B2", "#D55E00", "#009E73", "#555555"), strict=True))
    for panel, (size, ways) in zip(panels, found.items(), strict=True):
        for way, rows in ways.items():
            across = [row[size] for row in rows]
            low, middle, high = (
                [row["times_as_fast"][each] for row in rows]
                for each in ("q1", "median", "q3")
            )
            label = f"{way}, to {peers.NAMES[WAYS[way][0]]}"
            panel.plot(across, middle, "o-", color=colours[way], label=label)
            panel.vlines(across, low, high, color=colours[way])
        panel.axhline(1, color="black", linewidth=0.8, linestyle=":")
        panel.set(xscale="log", xlabel=size, ylim=(0, None))
        panel.set_xticks(across, [f"{each:,}" for each in across])
        panel.minorticks_off()
    panels[0].set_ylabel("times as fast")
    panels[-1].legend(frameon=False, fontsize="small")
    figure.tight_layout()
    # No date and no random ids: the same numbers give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "factors", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rotations", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=ROOT, help="where to write")
    parser.add_argument("--points", type=int, default=9, help="of each sweep at most")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for name in ("results", "benchmarks"):  # now, not when all is measured
        (options.folder / name).mkdir(parents=True, exist_ok=True)
    record = timing.circumstances(COMMAND, torch.device("cpu"))
    sweeps = {size: values[: options.points] for size, values in SWEEPS.items()}
    found = measure(sweeps, options.rotations)
    load = [round(each, 1) for each in os.getloadavg()]
    record |= {"load_average_after": load, "usual": USUAL, "results": found}
    write_json(options.folder / "results" / "bench-factors.json", record)
    draw(found, options.folder / "benchmarks" / "factors.svg")
    for size, ways in found.items():
        for way, rows in ways.items():
            print(f"\n{way}, to {peers.NAMES[WAYS[way][0]]}: times as fast")
            for row in rows:
                low, middle, high = (
                    row["times_as_fast"][each] for each in ("q1", "median", "q3")
                )
                print(f"{size} {row[size]:4}{middle:8.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
