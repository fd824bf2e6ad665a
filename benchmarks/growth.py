"""How time grows with length, batch, layers and vocabulary, beside the cost model.

    python -m benchmarks.growth        # or: make bench-growth

One size is changed at a time, the others stay. Each point is a training step and a
greedy search on ids drawn at random, run in turn with all the others; the processor's
time is told, its median over the rotations. Beside it stands what the cost model of
`tformer.analysis.cost` predicts from the number of operations alone, at the rate of the
smallest point of the row: where the measured line is below, larger products run at a
higher rate; where it is above, something grows that the model does not count. Writes
``results/bench-growth.json`` and draws it to ``benchmarks/growth.svg``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from torch import Tensor

from benchmarks import peers, sweeps, timing, workload
from benchmarks.sweeps import Found, Sweeps
from tformer import TransformerConfig, decode
from tformer.analysis import cost

USUAL = {"length": 16, "batch": 16, "layers": 3, "vocabulary": 8000}
SWEEPS = {
    "length": (8, 16, 32, 64),
    "batch": (1, 4, 16, 64),
    "layers": (1, 2, 4, 6),
    "vocabulary": (1000, 4000, 16000),
}
KINDS = ("training", "greedy")


@dataclass(frozen=True)
class Point:
    """Sizes to measure."""

    length: int
    batch: int
    layers: int
    vocabulary: int

    def config(self) -> TransformerConfig:
        return replace(
            workload.SIZES,
            vocab_size=self.vocabulary,
            n_encoder_layers=self.layers,
            n_decoder_layers=self.layers,
        )

    def ids(self) -> Tensor:
        return workload.random_ids(self.vocabulary, self.batch, self.length)

    def operations(self, kind: str) -> int:
        config, rows, length = self.config(), self.batch, self.length
        if kind == "training":
            return cost.training_step(config, rows, length, length, rows * length)
        return cost.search(config, rows, length, length)


def call(point: Point, kind: str) -> Callable[[int], object]:
    """What is timed; the model is made before."""
    model, ids = workload.new_model(point.config()), point.ids()
    if kind == "training":
        learning = peers.Learning(peers.make("tformer", model))
        return lambda turn: learning.step(ids, ids, ids)
    return lambda turn: decode.greedy(model, ids, max_len=point.length)


def measure(wanted: Sweeps, rotations: int) -> Found:
    """For each size that is changed, and each kind, the points."""
    found: Found = {}
    for size, values in wanted.items():
        points = {value: Point(**{**USUAL, size: value}) for value in values}
        found[size] = {}
        for kind in KINDS:
            calls = {str(each): call(point, kind) for each, point in points.items()}
            times = timing.rotations(calls, rotations)
            rows = [
                {
                    size: value,
                    "cpu_seconds": timing.spread(times[str(value)]["cpu"]),
                    "operations": point.operations(kind),
                }
                for value, point in points.items()
            ]
            rate = rows[0]["operations"] / rows[0]["cpu_seconds"]["median"]
            for row in rows:
                row["predicted_seconds"] = row["operations"] / rate
            found[size][kind] = rows
    return found


def draw(found: Found) -> Any:
    """One panel for each size: measured, and as the cost model predicts."""
    from matplotlib import pyplot

    figure, [panels] = pyplot.subplots(
        1, len(found), figsize=(11, 3), sharey=True, squeeze=False
    )
    colours = {"training": "#0072B2", "greedy": "#D55E00"}
    for panel, (size, kinds) in zip(panels, found.items(), strict=True):
        for kind, rows in kinds.items():
            across = [row[size] for row in rows]
            measured = [row["cpu_seconds"]["median"] for row in rows]
            predicted = [row["predicted_seconds"] for row in rows]
            panel.plot(across, measured, "o-", color=colours[kind], label=kind)
            panel.plot(across, predicted, ":", color=colours[kind])
        panel.set(xscale="log", yscale="log", xlabel=size)
        panel.set_xticks(across, [f"{each:,}" for each in across])
        panel.minorticks_off()
    panels[0].set_ylabel("core-seconds")
    panels[0].legend(frameon=False)
    return figure


def main(arguments: list[str] | None = None) -> None:
    found = sweeps.run(
        __doc__,
        "growth",
        SWEEPS,
        USUAL,
        measure,
        draw,
        rotations=3,
        arguments=arguments,
    )
    for size, kinds in found.items():
        for kind, rows in kinds.items():
            print(f"\n{kind}, {size}: core-milliseconds, and as predicted")
            for row in rows:
                took = row["cpu_seconds"]["median"] * 1e3
                print(
                    f"{row[size]:8,}{took:10.1f}{row['predicted_seconds'] * 1e3:10.1f}"
                )


if __name__ == "__main__":
    main()
