"""How fast tformer trains and translates on a CUDA GPU, beside torch.nn and Marian.

    make gpu-report            # or: python -m benchmarks.gpu_report

First the chip's own rate of bfloat16 matrix products is measured. Then one step of
training the paper's base model (bfloat16, compiled by ``torch.compile``; the same for
every peer) is told as a share of that rate, and searches as sentences a second. Writes
``results/bench-gpu.json``. Without a GPU there is nothing to measure: exit status 2.
``--tiny`` runs all of it with small sizes, on a CPU if need be, and writes nothing
unless told where: it tries the program, not the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import peers, timing, workload
from benchmarks.peers.tformer import Ours
from tformer import TransformerConfig
from tformer.analysis import cost
from tformer.analysis.cost import BASE
from tformer.common.files import write_json
from tformer.fast import loss as fast_loss

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python -m benchmarks.gpu_report"
GOAL = 0.45  # of the measured rate of matrix products, in training
TINY = replace(
    BASE, vocab_size=64, d_model=16, n_heads=2, d_ff=32, n_encoder_layers=1,
    n_decoder_layers=1,
)  # fmt: skip
SEARCHERS = ("marian", "tformer")
BEAM = 4


def elapsed(call: Callable[[], object], device: torch.device, n: int) -> float:
    """Seconds of a call, the mean of n that are handed to the GPU without a pause."""
    events = []
    if device.type != "cuda":
        return sum(timing.seconds(call)[1] for _ in range(n)) / n
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    events[0].record()
    for _ in range(n):
        call()
    events[1].record()
    torch.cuda.synchronize(device)
    return events[0].elapsed_time(events[1]) / 1e3 / n


def matmul_rate(device: torch.device, n: int) -> float:
    """Operations a second of a large bfloat16 matrix product; the best of five."""
    multiply = timing.matmul_peak(torch.bfloat16, device, n)
    n_operations = multiply()
    return max(n_operations / elapsed(multiply, device, 10) for _ in range(5))


class Trainee:
    """A peer whose loss is computed in bfloat16, by a compiled program if wanted."""

    def __init__(self, peer: Any, device: torch.device, compiled: bool) -> None:
        self.peer, self.device = peer, device
        self.module = peer.module.to(device)
        if compiled and isinstance(peer, Ours):  # whose loss is taken in parts
            peer.hidden = torch.compile(peer.hidden)
            fast_loss.of_logits = torch.compile(fast_loss.of_logits)
        elif compiled:
            peer.loss = torch.compile(peer.loss)

    def loss(self, source_ids: Tensor, target_ids: Tensor, labels: Tensor) -> Tensor:
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            return self.peer.loss(source_ids, target_ids, labels)


def training(
    config: TransformerConfig,
    device: torch.device,
    *,
    rows: int,
    length: int,
    rotations: int,
    compiled: bool,
) -> dict[str, Any]:
    """Steps of each peer in turn: seconds, tokens a second, operations a second."""
    ids = workload.random_ids(config.vocab_size, rows, length).to(device)
    found: dict[str, Any] = {}
    learners = {}
    for name in peers.TRAINED:
        _forget_peak(device)
        peer = peers.make(name, workload.new_model(config))
        if name == "tformer":  # its own training knows it, too, and need not ask
            peer.n_labels = ids.numel()
        learners[name] = peers.Learning(Trainee(peer, device, compiled))
        for _ in range(3):  # compiles, and fills the memory
            learners[name].step(ids, ids, ids)
        found[name] = {"peak_bytes": _peak(device), "seconds": []}
        if device.type == "cuda":  # one at a time: the next one's peak is its own
            learners[name].trainee.module.cpu()
            learners[name].adam.state.clear()
    for learner in learners.values():
        learner.trainee.module.to(device)
        learner.step(ids, ids, ids)
    for turn in range(rotations):
        names = list(learners)
        for name in names[turn % 3 :] + names[: turn % 3]:
            step = learners[name].step
            found[name]["seconds"].append(
                elapsed(lambda step=step: step(ids, ids, ids), device, 5)
            )
    n_operations = cost.training_step(config, rows, length, length, rows * length)
    for each in found.values():
        rates = [n_operations / seconds for seconds in each["seconds"]]
        each["operations_per_second"] = timing.spread(rates)
        each["target_tokens_per_second"] = timing.spread(
            [rows * length / seconds for seconds in each["seconds"]]
        )
        each["ratio_to_torch_nn"] = timing.ratios(
            each["seconds"], found["torch_nn"]["seconds"]
        )
    return found


def searching(
    config: TransformerConfig,
    device: torch.device,
    *,
    rows: int,
    length: int,
    rotations: int,
) -> dict[str, Any]:
    """Greedy and beam search of our weights by both, in bfloat16."""
    ids = workload.random_ids(config.vocab_size, rows, length).to(device)
    engines = {}
    for name in SEARCHERS:
        engines[name] = peers.make(name, workload.new_model(config))
        engines[name].module.to(device, torch.bfloat16)
    ways = {
        "greedy": lambda engine: engine.greedy(ids, length),
        "beam": lambda engine: engine.beam(ids, length, BEAM),
    }
    found: dict[str, Any] = {}
    for way, search in ways.items():
        calls = {
            name: lambda turn, engine=engine, search=search: search(engine)
            for name, engine in engines.items()
        }
        times = timing.rotations(calls, rotations)
        found[way] = {
            name: {
                "seconds": each["wall"],
                "sentences_per_second": timing.spread([rows / s for s in each["wall"]]),
                "ratio_to_marian": timing.ratios(each["wall"], times["marian"]["wall"]),
            }
            for name, each in times.items()
        }
    return found


def _forget_peak(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def _peak(device: torch.device) -> int | None:
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def report(device: torch.device, *, tiny: bool, compiled: bool) -> dict[str, Any]:
    """All of it."""
    config = TINY if tiny else BASE
    # The paper's batches: about 25,000 tokens on each side.
    rows, length, n = (4, 8, 64) if tiny else (768, 32, 8192)
    rotations = 2 if tiny else 7
    rate = matmul_rate(device, n)
    shape = {"rows": rows, "length": length, "rotations": rotations}
    trained = training(config, device, compiled=compiled, **shape)
    for each in trained.values():
        most = each["operations_per_second"]["median"]
        each["share_of_matmul"] = most / rate
    searched = searching(
        config, device, rows=min(rows, 256), length=length, rotations=rotations
    )
    return {
        "config": config.to_dict(),
        "shape": shape,
        "precision": "bf16",
        "compiled": compiled,
        "matmul_operations_per_second": rate,
        "training": trained,
        "searching": searched,
    }


def tell(found: dict[str, Any]) -> None:
    """The tables."""
    rate = found["matmul_operations_per_second"]
    print(f"bf16 matrix products: {rate / 1e12:.1f} TFLOP/s measured\n")
    print(f"{'training, bf16':22}{'tokens/s':>12}{'to torch.nn':>14}{'of matmul':>12}")
    for name, each in found["training"].items():
        tokens = each["target_tokens_per_second"]["median"]
        ratio, share = each["ratio_to_torch_nn"]["median"], each["share_of_matmul"]
        print(f"{peers.NAMES[name]:22}{tokens:12,.0f}{ratio:14.2f}{share:12.1%}")
    share = found["training"]["tformer"]["share_of_matmul"]
    print(f"goal: {GOAL:.0%}: {'reached' if share >= GOAL else 'not reached'}")
    for way, results in found["searching"].items():
        print(f"\n{way + ' search':22}{'sentences/s':>12}{'to Marian':>14}")
        for name, each in results.items():
            speed = each["sentences_per_second"]["median"]
            ratio = each["ratio_to_marian"]["median"]
            print(f"{peers.NAMES[name]:22}{speed:12,.1f}{ratio:14.2f}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="try the program only")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--device", help="another one, with --tiny")
    parser.add_argument("--out", type=Path, help="results/bench-gpu.json unless --tiny")
    options = parser.parse_args(arguments)
    if options.device and not options.tiny:
        parser.error("--device goes with --tiny: the report is about a CUDA GPU")
    if not options.tiny and not torch.cuda.is_available():
        print(
            "gpu-report: PyTorch sees no CUDA GPU here, so there is nothing to "
            "measure; `make bench` measures the CPU",
            file=sys.stderr,
        )
        return 2
    there = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(options.device or there)
    record = timing.circumstances(COMMAND, device)
    record |= report(device, tiny=options.tiny, compiled=not options.no_compile)
    tell(record)
    out = options.out
    if out is None and not options.tiny:
        out = ROOT / "results" / "bench-gpu.json"
    if out is not None:
        write_json(out, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
