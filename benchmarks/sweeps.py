"""What the programs share that change one size at a time: options, record, drawing."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import timing
from tformer.common.files import write_json

ROOT = Path(__file__).resolve().parent.parent
Sweeps = dict[str, tuple[int, ...]]  # size -> its values, while the others stay
Found = dict[str, dict[str, list[dict[str, Any]]]]  # size -> what is timed -> points


def run(
    program: str | None,
    name: str,
    sweeps: Sweeps,
    usual: dict[str, int],
    measure: Callable[[Sweeps, int], Found],
    draw: Callable[[Found], Any],
    *,
    rotations: int,
    arguments: list[str] | None,
) -> Found:
    """Measure as the command line wants it; write the record and its drawing.

    Args:
        program: what it does, in words: its docstring.
        name: of the module; the record goes to ``results/bench-NAME.json``, the drawing
            to ``benchmarks/NAME.svg``.
        sweeps: what may be changed.
        usual: the sizes that are not being changed.
        measure: from sweeps and rotations to the points.
        draw: from the points to a figure of matplotlib.
        rotations: how many, unless the command line says so.
        arguments: of the command line; those of the process if None.
    """
    parser = argparse.ArgumentParser(description=(program or "").splitlines()[0])
    parser.add_argument("--rotations", type=int, default=rotations)
    parser.add_argument("--folder", type=Path, default=ROOT, help="where to write")
    parser.add_argument("--only", nargs="+", default=list(sweeps), choices=list(sweeps))
    parser.add_argument("--points", type=int, default=9, help="of each sweep at most")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for place in ("results", "benchmarks"):  # now, not when all is measured
        (options.folder / place).mkdir(parents=True, exist_ok=True)
    record = timing.circumstances(f"python -m benchmarks.{name}", torch.device("cpu"))
    found = measure(
        {size: sweeps[size][: options.points] for size in options.only},
        options.rotations,
    )
    load = [round(each, 1) for each in os.getloadavg()]
    record |= {"load_average_after": load, "usual": usual, "results": found}
    write_json(options.folder / "results" / f"bench-{name}.json", record)
    _save(draw, found, options.folder / "benchmarks" / f"{name}.svg")
    return found


def _save(draw: Callable[[Found], Any], found: Found, path: Path) -> None:
    """No date and no random ids: the same numbers give the same file."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = draw(found)
    figure.tight_layout()
    with matplotlib.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
