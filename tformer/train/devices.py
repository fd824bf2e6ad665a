"""Where a run computes: the device, its name, precision, random state and memory.

Chapter *Training*.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from tformer.analysis.cost import bytes_to_train, kept_for_each_token
from tformer.config import ModelConfig

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}
NO_MEMORY = ("out of memory", "not enough memory", "can't allocate memory")
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # what a container may use


def choose_device(name: str) -> torch.device:
    """The device for a name such as "cuda:1"; for "auto" a GPU if there is one.

    Raises:
        ValueError: no such device, one that we do not train on, or one that PyTorch
            does not see.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", torch.cuda.current_device())
        has_mps = torch.backends.mps.is_available()
        return torch.device("mps" if has_mps else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device={name!r} is not a device: try 'auto'") from error
    if device.type not in ("cpu", "cuda", "mps"):
        raise ValueError(
            f"device={name!r} is of a type that is not supported: give 'auto', 'cpu', "
            "'cuda' or 'mps'"
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError(f"device={name!r}, but PyTorch sees no Apple GPU: try 'auto'")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"device={name!r}, but PyTorch sees no GPU: try 'auto'")
        if device.index is None:
            return torch.device("cuda", torch.cuda.current_device())
        n_devices = torch.cuda.device_count()
        if device.index >= n_devices:
            raise ValueError(
                f"device={name!r}, but the GPUs that PyTorch sees end with "
                f"'cuda:{n_devices - 1}'"
            )
    return device


def device_name(device: torch.device) -> str:
    """The name of the hardware, for reports and captions."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type == "cpu":
        n_threads = torch.get_num_threads()
        threads = "1 thread" if n_threads == 1 else f"{n_threads} threads"
        return f"CPU ({platform.machine()}, {threads})"
    return device.type


def choose_precision(wanted: str, device: torch.device) -> str:
    """The precision that a recipe's "auto" means on a device."""
    if wanted != "auto":
        return wanted
    if device.type != "cuda":
        return "fp32"
    has_bf16 = torch.cuda.get_device_capability(device) >= (8, 0)
    return "bf16" if has_bf16 else "fp16"


def steady_attention(device: torch.device) -> AbstractContextManager[None]:
    """On a GPU, attention without cuDNN's kernels, which plan anew for each shape.

    On a Hopper GPU PyTorch prefers them for bf16, and the shape of a batch changes at
    every step: `benchmarks/README.md` has the times.
    """
    if device.type != "cuda":
        return nullcontext()
    return sdpa_kernel(
        [
            SDPBackend.FLASH_ATTENTION,
            SDPBackend.EFFICIENT_ATTENTION,
            SDPBackend.MATH,
        ]
    )


# Random state -----------------------------------------------------------------------


def random_state(device: torch.device) -> dict[str, Tensor]:
    """The state of every generator that a run on this device draws from."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def set_random_state(device: torch.device, states: dict[str, Tensor]) -> None:
    """Restore the generators; those of other kinds of devices are left alone.

    Raises:
        RuntimeError, TypeError: what is given is not the state of a generator.
    """
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
    elif device.type == "mps" and "mps" in states:
        torch.mps.set_rng_state(states["mps"])


@contextmanager
def own_dice(device: torch.device) -> Iterator[None]:
    """Preserve the caller's random state, whatever is drawn inside."""
    before = random_state(device)
    try:
        yield
    finally:
        set_random_state(device, before)


# Memory -----------------------------------------------------------------------------


def check_room(config: ModelConfig, device: torch.device) -> None:
    """Reject a model that cannot fit, before anything is allocated.

    Raises:
        TypeError: it is not the configuration of a model.
        ValueError: weights, gradients and Adam's averages alone need more than the
            device has; the message says what to lower.
    """
    if not isinstance(config, ModelConfig):
        raise TypeError(f"config={config!r} must be the configuration of a model")
    try:
        needed = bytes_to_train(config)
    except (RuntimeError, OverflowError, TypeError) as error:  # beyond 64 bits
        raise ValueError(
            f"no machine has the memory for a model of {_sizes(config)}"
        ) from error
    there = _memory_of(device)
    if there is not None and needed > there:
        raise ValueError(
            f"a model of {_sizes(config)} takes {_gib(needed)} to train, and "
            f"{device.type} has {_gib(there)}: lower the largest of them"
        )


def check_batch_room(config: ModelConfig, n_tokens: int, device: torch.device) -> None:
    """Reject batches that cannot fit: systems kill a program that asks for too much.

    Args:
        config: the model.
        n_tokens: tokens of a batch, both sides together.
        device: where it computes.

    Raises:
        ValueError: what a step keeps of them for the backward pass is more than the
            device has, even at two bytes per number.
    """
    needed, there = 2 * n_tokens * kept_for_each_token(config), _memory_of(device)
    if there is not None and needed > there:
        raise ValueError(
            f"a batch of {n_tokens:,} tokens takes {_gib(needed)} or more to train on, "
            f"and {device.type} has {_gib(there)}: raise accumulate, or lower "
            f"max_tokens or the model's sizes ({_sizes(config)})"
        )


@contextmanager
def memory_told(config: ModelConfig, max_tokens: int) -> Iterator[None]:
    """Say what to lower if memory runs out inside.

    Raises:
        MemoryError: one line, in place of what PyTorch raises.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        is_memory = isinstance(error, MemoryError)
        if not is_memory and not any(each in str(error).lower() for each in NO_MEMORY):
            raise
        raise MemoryError(
            f"out of memory: raise accumulate, or lower max_tokens={max_tokens} or the "
            f"model's sizes ({_sizes(config)})"
        ) from error


def _memory_of(device: torch.device) -> int | None:
    """The memory of a device in bytes; None if the system does not say."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
    if CGROUP_LIMIT.is_file():
        limit = CGROUP_LIMIT.read_text().strip()
        if limit.isdigit():
            there = min(there, int(limit))
    return there


def _sizes(config: ModelConfig) -> str:
    return ", ".join(
        f"{name}={value}"
        for name, value in config.to_dict().items()
        if name in ("vocab_size", "max_len")
        or name.startswith("d_")
        or "layers" in name
    )


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:,.1f} GiB"
