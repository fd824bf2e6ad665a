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

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

from benchmarks import peers, timing, workload
from tformer import TransformerConfig, decode
from tformer.analysis import cost
from tformer.common.files import write_json

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m benchmarks.growth"
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
        generator = torch.Generator().manual_seed(0)
        shape = (self.batch, self.length)
        return torch.randint(4, self.vocabulary, shape, generator=generator)

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


def measure(
    sweeps: dict[str, tuple[int, ...]], rotations: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """For each size that is changed, and each kind, the points."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for size, values in sweeps.items():
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


def draw(found: dict[str, dict[str, list[dict[str, Any]]]], path: Path) -> None:
    """One panel for each size: measured, and as the cost model predicts."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(11, 3), sharey=True)
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
    figure.tight_layout()
    # No date and no random ids: the same numbers give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "growth", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rotations", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=ROOT, help="where to write")
    parser.add_argument("--only", nargs="+", default=list(SWEEPS), choices=list(SWEEPS))
    parser.add_argument("--points", type=int, default=9, help="of each sweep at most")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for name in ("results", "benchmarks"):  # now, not when all is measured
        (options.folder / name).mkdir(parents=True, exist_ok=True)
    record = timing.circumstances(COMMAND, torch.device("cpu"))
    sweeps = {size: SWEEPS[size][: options.points] for size in options.only}
    found = measure(sweeps, options.rotations)
    load = [round(each, 1) for each in os.getloadavg()]
    record |= {"load_average_after": load, "usual": USUAL, "results": found}
    write_json(options.folder / "results" / "bench-growth.json", record)
    draw(found, options.folder / "benchmarks" / "growth.svg")
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
