"""What an answer may change outside itself, and how it gets back to what it was.

An answer is any code. It may leave gradients switched off or another working folder,
and it may put a function of its own in place of one of PyTorch's, by which it is then
judged. So what the reader's session and the graders depend on is noted, and put back.
"""

from __future__ import annotations

import builtins
import contextlib
import math
import operator
import os
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

Setting = tuple[Callable[[], Any], Callable[[Any], Any]]
Functions = list[tuple[Any, dict[str, Any]]]


def _attribute(place: object, name: str) -> Setting:
    return lambda: getattr(place, name), lambda was: setattr(place, name, was)


def _set_environment(was: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(was)


# How each is read, and how it is set.
SETTINGS: tuple[Setting, ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (
        torch.get_default_device,  # to set one, even the CPU, slows every call
        lambda was: torch.set_default_device(None if was.type == "cpu" else was),
    ),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    *(
        (
            partial(torch.is_autocast_enabled, kind),
            partial(torch.set_autocast_enabled, kind),
        )
        for kind in ("cpu", "cuda")
    ),
    _attribute(torch.backends.cudnn, "benchmark"),
    _attribute(torch.backends.cudnn, "deterministic"),
    (np.geterr, lambda was: np.seterr(**was)),
    (lambda: dict(os.environ), _set_environment),
    (lambda: [*sys.path], lambda was: operator.setitem(sys.path, slice(None), was)),
    (sys.getrecursionlimit, sys.setrecursionlimit),
    _attribute(sys, "stdout"),
    _attribute(sys, "stderr"),
    (os.getcwd, os.chdir),  # the last one, since the folder may be gone
)
CHANCE: tuple[Setting, ...] = (
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (np.random.get_state, np.random.set_state),
)


def _read(get: Callable[[], Any]) -> Any:
    """None where there is nothing to read, such as a folder that has been removed."""
    try:
        return get()
    except (OSError, RuntimeError):
        return None


def _functions() -> Functions:
    """By what results are made and judged: PyTorch, the package, and Python's own."""
    modules = [m for name, m in [*sys.modules.items()] if name.startswith("tformer.")]
    classes = [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
    ]
    torchs = [torch, torch.Tensor, torch.nn.functional, torch.linalg, torch.special]
    places = [builtins, math, random, *torchs, *modules, *classes]
    return [(place, dict(vars(place))) for place in places]


def _put_back(before: Functions) -> None:
    for place, names in before:
        now = dict(vars(place))
        if [*map(id, now.values())] == [*map(id, names.values())]:
            continue
        for name, was in names.items():
            if now.get(name) is not was:
                setattr(place, name, was)
        if isinstance(place, type):  # a new function hides the one that was inherited
            for name in now.keys() - names.keys():
                if callable(now[name]):
                    delattr(place, name)


@contextlib.contextmanager
def kept(*, chance: bool = True) -> Iterator[None]:
    """Put back afterwards what may have been changed inside.

    Args:
        chance: whether that holds for the generators of random numbers, too.
    """
    before = _functions()
    settings = [_read(get) for get, _ in SETTINGS]
    states = [get() for get, _ in CHANCE]
    try:
        yield
    finally:
        _put_back(before)
        for (get, put), was in zip(SETTINGS, settings, strict=True):
            if was is not None and _read(get) != was:
                put(was)
        if chance:
            for (_, put), state in zip(CHANCE, states, strict=True):
                put(state)


_ORIGINAL: Functions = []


def remember() -> None:
    """Take the functions as they are now for those by which answers are judged."""
    _ORIGINAL[:] = _functions()


@contextlib.contextmanager
def judging() -> Iterator[None]:
    """Judge by the original functions and usual settings, whatever the session has."""
    with kept():
        _put_back(_ORIGINAL)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        torch.set_autocast_enabled("cpu", False)
        yield
