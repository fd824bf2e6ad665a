"""A device of its own in the CPU's memory, as strict as a GPU: ``pretend:0``.

A tensor there is a shell around one on the CPU, whose kernels do the work (PyTorch's
Python backend for PrivateUse1). Two things are as on a GPU:

- an operation on tensors of both devices is refused (not copies, nor CPU scalars);
- what makes the program wait for the device is counted (`waits`): what
  ``torch.cuda.set_sync_debug_mode`` would report. That is reading a value, copying to
  the CPU, a result whose size depends on values, and a copy from the CPU that blocks.

A process can have one such device, and only if it has not differentiated before.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import backend_registration

NAME = "pretend"
DEVICE = torch.device("privateuseone", 0)
COPIES = {"aten::_to_copy", "aten::copy_", "aten::_copy_from"}
READS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
INDEXING = {
    "aten::index",
    "aten::index_put_",
    "aten::index_put",
    "aten::_index_put_impl_",
}

# What autocast computes in the lower precision, and what in float32 (the operations of
# PyTorch's list for CUDA that occur here).
LOWER = ("linear", "matmul", "mm", "addmm", "bmm", "baddbmm")
LOWER += ("scaled_dot_product_attention",)
FULL = ("layer_norm", "log_softmax.int", "softmax.int", "sum", "sum.dim_IntList")
FULL += ("exp", "log", "pow.Tensor_Scalar", "rsqrt", "norm.Scalar")

_waits: Counter[str] = Counter()


class Held(torch.Tensor):
    """A tensor on the pretend device; ``raw`` is the one on the CPU."""

    raw: torch.Tensor

    @staticmethod
    def __new__(cls, raw: torch.Tensor) -> Held:
        with torch.inference_mode(False):  # views of weights must be made there, too
            held = torch.Tensor._make_wrapper_subclass(
                cls,
                raw.size(),
                strides=raw.stride(),
                storage_offset=raw.storage_offset(),
                dtype=raw.dtype,
                device=DEVICE,
            )
        held.raw = raw
        return held

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return on_the_cpu(function, args, kwargs or {})

    # What PyTorch does for its own kinds of devices only:

    def tolist(self) -> list:
        return self.cpu().tolist()

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.raw.untyped_storage()

    def data_ptr(self) -> int:
        return self.raw.data_ptr()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{self.raw!r} on {DEVICE}"

    def __format__(self, form: str) -> str:
        return format(self.cpu(), form)


class Module:
    """What PyTorch asks of ``torch.pretend``."""

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def _is_in_bad_fork() -> bool:
        return False

    # Its dice are the CPU's.

    @staticmethod
    def manual_seed_all(seed: int) -> None:
        """Nothing to do: the CPU's have been seeded, too."""

    @staticmethod
    def get_rng_state(device: Any = None) -> torch.Tensor:
        return torch.get_rng_state()

    @staticmethod
    def set_rng_state(state: torch.Tensor, device: Any = None) -> None:
        torch.set_rng_state(state)

    @staticmethod
    def get_amp_supported_dtype() -> list[torch.dtype]:
        return [torch.float16, torch.bfloat16]


def on_the_cpu(function: Any, args: tuple, kwargs: dict) -> Any:
    """Do an operation with the tensors' insides; what comes out is on the device."""
    if _is_composed(function):  # inference_mode leaves these to us
        return function.decompose(*args, **kwargs)
    name = function._schema.name
    shells: dict[int, Held] = {}  # by their inside: an operation in place returns it

    def inside(x: Any) -> Any:
        if isinstance(x, Held):
            shells[id(x.raw)] = x
            return x.raw
        if isinstance(x, torch.Tensor) and x.dim() and name not in COPIES:
            raise RuntimeError(
                f"{name}: expected all tensors to be on {NAME}:0, but one of shape "
                f"{tuple(x.shape)} is on {x.device}"
            )
        return x

    raw_args = mapped(inside, args)
    raw_kwargs = {key: mapped(inside, x) for key, x in kwargs.items()}
    _count(function, name, args, kwargs)
    goes_to_cpu = name == "aten::copy_" and not isinstance(args[0], Held)
    if kwargs.get("device") is not None:
        goes_to_cpu = torch.device(kwargs["device"]).type == "cpu"
        raw_kwargs["device"] = torch.device("cpu")
    out = function(*raw_args, **raw_kwargs)
    if goes_to_cpu:
        return out

    def shell(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return shells[id(x)] if id(x) in shells else Held(x)

    return mapped(shell, out)


def mapped(change: Callable[[Any], Any], x: Any) -> Any:
    """Change what an operation is given or gives, be it in lists or not."""
    if isinstance(x, (list, tuple)):
        return type(x)([mapped(change, each) for each in x])
    return change(x)


@functools.cache
def _is_composed(function: Any) -> bool:
    """Whether an operation consists of others, which are to be seen one by one."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), key)


def _count(function: Any, name: str, args: tuple, kwargs: dict) -> None:
    """Note whether an operation makes the program wait for the device."""
    if name in INDEXING:  # a mask must be turned into places, and how many are there?
        masks = [x for x in args[1] if x is not None and x.dtype == torch.bool]
        if masks:
            _waits["index by a mask"] += 1
    elif READS & set(function.tags):
        _waits[name.removeprefix("aten::")] += 1
    elif name == "aten::_to_copy":
        if torch.device(kwargs.get("device") or DEVICE).type == "cpu":
            _waits["copy to the CPU"] += 1
    elif name in COPIES:
        to, source = args[:2] if name == "aten::copy_" else args[1::-1]
        may_run_on = kwargs.get("non_blocking", args[2] if len(args) > 2 else False)
        if not isinstance(to, Held):
            _waits["copy to the CPU"] += 1
        elif not isinstance(source, Held) and not may_run_on:
            _waits["blocking copy to the device"] += 1


def so_far() -> int:
    """How often the program has waited for the device since it began."""
    return _waits.total()


@contextmanager
def waits() -> Iterator[Counter[str]]:
    """What made the program wait for the device inside, and how often."""
    before, found = Counter(_waits), Counter[str]()
    yield found
    found.update(_waits - before)


def install() -> torch.device:
    """Give PyTorch the device; call it once, before anything is differentiated."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, Module())
    fallback = torch.library.Library("_", "IMPL")
    fallback.fallback(
        lambda function, *args, **kwargs: on_the_cpu(function, args, kwargs),
        "PrivateUse1",
    )
    fallback.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    single = torch.library.Library("aten", "IMPL")
    copy = torch.ops.aten.copy_.default  # `torch.tensor` calls it past the fallback
    single.impl("copy_", lambda *a, **k: on_the_cpu(copy, a, k), "PrivateUse1")
    for name in LOWER:
        single.impl(name, _cast(name, to_lower=True), "AutocastPrivateUse1")
    for name in FULL:
        single.impl(name, _cast(name, to_lower=False), "AutocastPrivateUse1")
    _kept.extend([fallback, single])
    return torch.device(NAME, 0)


_kept: list[torch.library.Library] = []  # what they register lives as long as they do


def _cast(name: str, *, to_lower: bool) -> Any:
    """An operation whose floats autocast brings to one precision."""
    packet, _, overload = name.partition(".")
    function = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def cast(x: Any) -> Any:
        is_held = isinstance(x, torch.Tensor) and x.device.type == NAME
        if not is_held or x.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            return x
        return x.to(torch.get_autocast_dtype(NAME) if to_lower else torch.float32)

    def with_casts(*args: Any, **kwargs: Any) -> Any:
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            named = {key: mapped(cast, x) for key, x in kwargs.items()}
            return function(*mapped(cast, args), **named)

    return with_casts
