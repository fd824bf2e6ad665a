"""Fair times on a machine that does other things, too.

What is compared is run in turn, in an order that changes, on the same input; a ratio is
taken between neighbours in time, within one rotation, and what is told is the median of
these ratios with its quartiles. The processor's time of this process is taken beside
the clock's: on a busy machine it is the steadier of the two.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from tformer.train import device_name

PACKAGES = ("torch", "transformers", "ctranslate2", "numpy")


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds of all processors for this process, and of the clock."""
    clock, processors = time.perf_counter(), time.process_time()
    call()
    return time.process_time() - processors, time.perf_counter() - clock


def rotations(
    calls: Mapping[str, Callable[[int], object]], n: int, warm_up: int = 1
) -> dict[str, dict[str, list[float]]]:
    """Run all calls in turn, n times; each is told the number of the rotation.

    Returns:
        For each call its seconds of the processors (``cpu``) and of the clock
        (``wall``), one for each rotation.
    """
    names = list(calls)
    found: dict[str, dict[str, list[float]]] = {
        name: {"cpu": [], "wall": []} for name in names
    }
    for turn in range(-warm_up, n):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            cpu, wall = seconds(partial(calls[name], max(turn, 0)))
            if turn >= 0:
                found[name]["cpu"].append(cpu)
                found[name]["wall"].append(wall)
    return found


def spread(values: list[float]) -> dict[str, float]:
    """Median and quartiles."""
    if len(values) == 1:
        return {"q1": values[0], "median": values[0], "q3": values[0]}
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return {"q1": low, "median": middle, "q3": high}


def ratios(faster: list[float], slower: list[float]) -> dict[str, float]:
    """How many times as fast the first is, rotation by rotation."""
    pairs = zip(faster, slower, strict=True)
    return spread([theirs / ours for ours, theirs in pairs])


def matmul_peak(dtype: torch.dtype, device: torch.device, n: int) -> Callable[[], int]:
    """A product of two n × n matrices; the call returns its operations."""
    a, b = torch.randn(2, n, n, device=device).to(dtype)
    out = torch.empty(n, n, dtype=dtype, device=device)

    def multiply() -> int:
        torch.mm(a, b, out=out)
        return 2 * n**3

    return multiply


def circumstances(command: str, device: torch.device) -> dict[str, Any]:
    """Where, when and with what a measurement was made."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "device": device_name(device),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "system": platform.system(),
        "load_average": [round(each, 1) for each in os.getloadavg()],
        "versions": versions,
    }
