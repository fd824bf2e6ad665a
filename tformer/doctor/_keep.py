"""The model is given back exactly as it came: weights, mode, gradients, chance."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn


@contextlib.contextmanager
def as_found(model: nn.Module) -> Iterator[None]:
    """Put everything back that an examination may change, whatever happens.

    That is every parameter and buffer, ``requires_grad``, the gradients, the mode of
    each module, the state of every random number generator, and two settings of
    PyTorch: fused attention layers are off meanwhile (they show nothing inside), and
    there is one thread (on a busy machine, several wait for each other at every small
    operation).
    """
    tensors = [*model.parameters(), *model.buffers()]
    values = [tensor.detach().clone() for tensor in tensors]
    wanted = [(each, each.requires_grad, each.grad) for each in model.parameters()]
    grads = [None if grad is None else grad.clone() for _, _, grad in wanted]
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(module, dict(module._buffers)) for module in model.modules()]
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
