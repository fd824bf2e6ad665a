"""The model is given back exactly as it came: weights, mode, gradients, chance."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn


class CannotExamine(ValueError):
    """The model does not run as the adapter runs it; the message says what to do."""


def check(model: nn.Module) -> None:
    """Refuse a model whose weights are not there.

    Raises:
        CannotExamine: it is lazy and never ran, or stands on the meta device.
    """
    for name, each in [*model.named_parameters(), *model.named_buffers()]:
        if nn.parameter.is_lazy(each):
            raise CannotExamine(
                f"{name} has no size yet: run the lazy model once on a batch, then "
                "examine it"
            )
        if each.is_meta:
            raise CannotExamine(
                f"{name} is on the meta device, so it has no numbers: "
                'model.to_empty(device="cpu"), then initialise or load the weights'
            )


@contextlib.contextmanager
def in_float32(model: nn.Module) -> Iterator[None]:
    """Half-precision weights as float32, so that rounding hides nothing.

    The parameters stay the same objects, and get their own memory back afterwards.
    """
    found = [(each, each.data) for each in [*model.parameters(), *model.buffers()]]
    for parameter in model.parameters():
        parameter.grad = None  # of the weights as they were; `as_found` has kept it
    wide: dict[object, torch.Tensor] = {}
    try:
        for each, data in found:
            if is_half(each):
                key = (data.data_ptr(), data.shape, data.stride())
                each.data = wide.setdefault(key, data.float())
        yield
    finally:
        for each, data in found:
            each.data = data


def is_half(tensor: torch.Tensor) -> bool:
    """Whether its numbers have 16 bits."""
    return tensor.dtype in (torch.bfloat16, torch.float16)


@contextlib.contextmanager
def as_found(model: nn.Module, *, weights: bool = True) -> Iterator[None]:
    """Put everything back that an examination may change, whatever happens.

    That is every parameter and buffer, ``requires_grad``, the gradients, the mode of
    each module, the state of every random number generator, and two settings of
    PyTorch: fused attention layers are off meanwhile (they show nothing inside), and
    there is one thread (on a busy machine, several wait for each other at every small
    operation).

    Args:
        model: the model.
        weights: whether the parameters' numbers are kept, too.
    """
    tensors = [*(model.parameters() if weights else ()), *model.buffers()]
    values = [tensor.detach().clone() for tensor in tensors]
    wanted = [(each, each.requires_grad, each.grad) for each in model.parameters()]
    grads = [None if grad is None else grad.clone() for _, _, grad in wanted]
    modes = [(module, module.training) for module in model.modules()]
    buffers = [
        (module, dict(module._buffers))
        for module in model.modules()
        if isinstance(module._buffers, dict)  # a compiled module's can't be exchanged
    ]
    fused = torch.backends.mha.get_fastpath_enabled()
    threads = torch.get_num_threads()
    pythons, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        torch.set_num_threads(1)
        with torch.random.fork_rng():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fused)
        torch.set_num_threads(threads)
        random.setstate(pythons)
        np.random.set_state(numpys)  # noqa: NPY002
        for module, found in buffers:
            module._buffers.clear()
            module._buffers.update(found)
        with torch.no_grad():
            for tensor, value in zip(tensors, values, strict=True):
                if not _same(tensor, value):
                    tensor.copy_(value)
        for (parameter, trains, grad), kept in zip(wanted, grads, strict=True):
            parameter.requires_grad_(trains)
            if grad is not None and kept is not None and not _same(grad, kept):
                grad.copy_(kept)
            parameter.grad = grad
        for module, training in modes:
            module.training = training


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same bits, as far as numbers can tell."""
    return torch.equal(one, other)  # NaN is never equal: written back, unharmed
