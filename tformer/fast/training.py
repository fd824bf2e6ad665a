"""Training's products by oneDNN, which on many processors is faster than the usual.

PyTorch multiplies float32 matrices by MKL, which is made for Intel's processors: on
AMD's, oneDNN takes half the time. Chapter *Training*.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tformer.fast.products import by_onednn, plain, works

LEAST = 1 << 22  # multiplications of a product, below which setting out takes too long


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x W^T + b`` of x (R, in), W (out, in), b (out,); no gradient passes through."""
    return (by_onednn if helps(x, weight) else plain)(weight, bias)(x)


def helps(x: Tensor, weight: Tensor) -> bool:
    """Whether oneDNN can multiply these, and has enough to do."""
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and x.numel() * weight.size(0) >= LEAST
        and {type(x), type(weight)} <= {Tensor, nn.Parameter}
        and not torch.is_autocast_enabled("cpu")
        and works(by_onednn)
    )


class _Linear(torch.autograd.Function):
    """A linear layer whose three products, forward and backward, are `product`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return product(x.flatten(0, -2), weight, bias).view(*x.shape[:-1], -1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, outer: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        rows = outer.flatten(0, -2)
        of_x = of_weight = None
        if ctx.needs_input_grad[0]:
            of_x = product(rows, weight.T).view(x.shape)
        if ctx.needs_input_grad[1]:
            of_weight = product(rows.T, x.flatten(0, -2).T)
        return of_x, of_weight, rows.sum(0) if ctx.has_bias else None


class _ByOneDnn(TorchFunctionMode):
    """Every linear layer that is computed inside is a `_Linear` if that helps."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if (
            function is F.linear
            and not kwargs
            and args[0].dim() > 1
            and helps(*args[:2])
        ):
            x, weight, bias = (*args, None)[:3]
            return _Linear.apply(x, weight, bias)
        return function(*args, **kwargs or {})


def faster_products(
    model: nn.Module, n_rows: int
) -> Callable[[], AbstractContextManager[Any]]:
    """What to enter so that linear layers on a CPU are multiplied by oneDNN.

    Their gradients are the same, but cannot be differentiated again.

    Args:
        model: if it is small or not on a CPU, nothing happens inside.
        n_rows: how many positions a batch has, more or less.
    """
    weights = (each.weight for each in model.modules() if isinstance(each, nn.Linear))
    sizes = (each.numel() for each in weights if each.device.type == "cpu")
    return _ByOneDnn if max(sizes, default=0) * n_rows >= 4 * LEAST else nullcontext
