"""The processes that train one model together, as started by torchrun.

Each holds the whole model and computes its share of every step's batch. Their gradients
are averaged, so all of them take the same step, which is the step that one process
would have taken alone. The first one (rank 0) writes the folder and all messages.

Source: Li et al. 2020, "PyTorch Distributed". Chapter *Training*.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from tformer.common.launch import TORCHRUN, placed
from tformer.train.devices import choose_device

MEETING = timedelta(minutes=5)  # for all processes to arrive
WORK = timedelta(hours=2)  # for what one does alone, such as learning pieces


@dataclass(frozen=True)
class Ranks:
    """The processes that train together; one alone waits for nobody.

    Attributes:
        device: where this process computes.
        rank: its number.
        n: how many processes there are.
    """

    device: torch.device
    rank: int = 0
    n: int = 1
    _store: Any = None  # where they exchange notes
    _notes: Iterator[int] = field(default_factory=count)

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes files and messages."""
        return self.rank == 0

    def wrapped(self, module: nn.Module) -> nn.Module:
        """The module; its gradients will be averaged over all processes."""
        if self.n == 1:
            return module
        return DistributedDataParallel(module, broadcast_buffers=False)

    def syncing(self, module: nn.Module, yes: bool) -> AbstractContextManager[None]:
        """Whether a backward pass inside also averages the gradients so far."""
        if yes or not isinstance(module, DistributedDataParallel):
            return nullcontext()
        return module.no_sync()

    def total(self, numbers: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.n > 1:
            distributed.all_reduce(numbers)
        return numbers

    def largest(self, number: int) -> int:
        """The largest of the processes' values."""
        if self.n == 1:
            return number
        numbers = torch.tensor(number, device=self.device)
        distributed.all_reduce(numbers, distributed.ReduceOp.MAX)
        return int(numbers)

    def of_first(self, make: Any) -> bytes:
        """What the first process makes, shared with all."""
        note = f"note-{next(self._notes)}"
        if self.n == 1 or self.is_first:
            made: bytes = make()
            if self.n > 1:
                self._store.set(note, made)
            return made
        self._store.wait([note], WORK)
        return self._store.get(note)

    def wait(self) -> None:
        """Wait until all have arrived here."""
        self.largest(0)

    @contextmanager
    def first_ahead(self) -> Iterator[None]:
        """Let the first process run this alone, then the others.

        They find what it has downloaded.
        """
        if not self.is_first:
            self.wait()
        yield
        if self.is_first:
            self.wait()

    def fails_first(self) -> bool:
        """Whether no other process has failed already, causing this one to fail."""
        try:
            return self.n == 1 or self._store.add("failed", 1) == 1
        except RuntimeError:  # the process that keeps the notes is gone
            return False


_together: list[Ranks] = []  # those that this process has joined


@contextmanager
def joined(device: str) -> Iterator[Ranks]:
    """Join the processes that torchrun has started; without it, run alone.

    Args:
        device: as in `choose_device`. Several processes take one GPU each.

    Raises:
        ValueError: the environment's processes make no sense, or not each of them
            can have the device.
        ConnectionError: the others do not arrive, or one of them has ended.
    """
    if _together:
        yield _together[-1]
        return
    n, rank, local = placed()
    if n == 1:
        yield Ranks(choose_device(device))
        return
    ranks = _meet(_own_device(device, local), rank, n)
    _together.append(ranks)
    try:
        yield ranks
    except RuntimeError as error:
        if not _is_lost(error):
            raise
        raise ConnectionError(
            f"rank {rank} has lost the other processes: one of them has ended"
        ) from error
    finally:
        _together.pop()
        distributed.destroy_process_group()


def _own_device(name: str, local: int) -> torch.device:
    """The CPU, or the GPU with this process's number on its machine."""
    device = choose_device(name)
    if device.type == "cpu":
        return device
    if device.type != "cuda" or name not in ("auto", "cuda"):
        raise ValueError(
            f"device={name!r} is one device, but there are several processes: give "
            "'cuda' for one GPU each, or 'cpu'"
        )
    there, wanted = torch.cuda.device_count(), int(os.environ["LOCAL_WORLD_SIZE"])
    if wanted > there:
        raise ValueError(
            f"{wanted} processes on a machine where PyTorch sees {there} GPUs: start "
            f"--nproc-per-node {there}, or give device 'cpu'"
        )
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


def _meet(device: torch.device, rank: int, n: int) -> Ranks:
    backend = "nccl" if device.type == "cuda" else "gloo"
    try:
        store, _, _ = next(distributed.rendezvous("env://", timeout=MEETING))
        distributed.init_process_group(
            backend, store=store, rank=rank, world_size=n, timeout=WORK
        )
    except RuntimeError as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise ConnectionError(
            f"rank {rank} cannot reach the other {n - 1} processes at {where}: start "
            f"all of them with {TORCHRUN}"
        ) from error
    return Ranks(device, rank, n, store)


def _is_lost(error: RuntimeError) -> bool:
    """Whether an error says that another process is gone."""
    if isinstance(error, distributed.DistError):
        return True
    return any(each in str(error) for each in ("gloo", "Gloo", "NCCL", "by peer"))
