"""How the factors of `make bench` change with width and with length.

    python -m benchmarks.factors        # or: make bench-factors

The model of `make bench` is made narrower and wider, and its sentences shorter and
longer: one of both at a time. At each size tformer trains beside ``torch.nn`` and
searches beside Marian, on ids drawn at random, in turn and on one core; told is how
many times as fast it is, the median and the quartiles over the rotations. Writes
``results/bench-factors.json`` and draws it to ``benchmarks/factors.svg``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import peers, sweeps, timing, workload
from benchmarks.sweeps import Found, Sweeps

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


def call(name: str, way: str, width: int, length: int) -> Callable[[int], object]:
    """What is timed of one peer; its model is made before."""
    config = replace(workload.SIZES, d_model=width, d_ff=4 * width)
    peer = peers.make(name, workload.new_model(config))
    rows = WAYS[way][1] or N_TOKENS // length
    ids = workload.random_ids(config.vocab_size, rows, length)
    if way == "training":
        learning = peers.Learning(peer)
        return lambda turn: learning.step(ids, ids, ids)
    if way == "beam":
        return lambda turn: peer.beam(ids, length, BEAM)
    return lambda turn: peer.greedy(ids, length)


def measure(wanted: Sweeps, rotations: int) -> Found:
    """For each size that is changed, and each way, the factors."""
    found: Found = {}
    for size, values in wanted.items():
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


def draw(found: Found) -> Any:
    """A panel for each size: the factors, their quartiles, and where both are equal."""
    from matplotlib import pyplot

    figure, [panels] = pyplot.subplots(
        1, len(found), figsize=(8, 3.2), sharey=True, squeeze=False
    )
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
    return figure


def main(arguments: list[str] | None = None) -> None:
    found = sweeps.run(
        __doc__,
        "factors",
        SWEEPS,
        USUAL,
        measure,
        draw,
        rotations=5,
        arguments=arguments,
    )
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
