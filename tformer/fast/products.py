"""Products with a matrix that stays the same: what can be prepared is, once.

Chapter *Decoding and scoring*.
"""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS = 64  # of x, for which oneDNN arranges a matrix; it serves any other number, too
SMALL = 1 << 20  # numbers in a matrix

Product = Callable[[Tensor], Tensor]  # (rows, in) -> (rows, out)


class Prepare(Protocol):
    """Makes a product with W (out, in), b (out,) or None, and a relu if asked."""

    def __call__(
        self, weight: Tensor, bias: Tensor | None, *, relu: bool = False
    ) -> Product:
        """``x W^T + b``, or the positive part of it."""


def packed(weight: Tensor, bias: Tensor | None, *, relu: bool = False) -> Product:
    """By oneDNN, with the matrix arranged as its kernel reads it.

    A single row goes through a small matrix sooner than oneDNN sets out.
    """
    multiply = torch.ops.mkldnn._linear_pointwise.default
    after = "relu" if relu else "none"
    arranged = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)
    if weight.numel() > SMALL:
        return lambda x: multiply(x, arranged, bias, after, [], "")
    usual = plain(weight, bias, relu=relu)
    return lambda x: (
        multiply(x, arranged, bias, after, [], "") if x.size(0) > 1 else usual(x)
    )


def by_onednn(weight: Tensor, bias: Tensor | None, *, relu: bool = False) -> Product:
    """By oneDNN, with the matrix as it lies, for matrices that soon change."""
    multiply = torch.ops.mkldnn._linear_pointwise.default
    after = "relu" if relu else "none"
    return lambda x: multiply(x, weight, bias, after, [], "")


def plain(weight: Tensor, bias: Tensor | None, *, relu: bool = False) -> Product:
    """By PyTorch's usual product."""
    if relu:
        return lambda x: F.linear(x, weight, bias).relu_()
    return lambda x: F.linear(x, weight, bias)


def eight_bit(weight: Tensor, bias: Tensor | None, *, relu: bool = False) -> Product:
    """With whole numbers: W rounded row by row in advance, x as it comes.

    The whole of x shares one scale, so a row's result depends a little on the others.
    """
    ops, arranged = torch.ops.quantized, _rounded(weight, bias)
    multiply = (ops.linear_relu_dynamic if relu else ops.linear_dynamic).default
    seven_bits = _sums_overflow()
    return lambda x: multiply(x, arranged, seven_bits)


def _rounded(weight: Tensor, bias: Tensor | None) -> Any:
    """A matrix of int8, with a scale for each row, arranged for its products."""
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / 127
    zeros = torch.zeros_like(scales, dtype=torch.int64)
    with warnings.catch_warnings():  # it is deprecated, without a successor in PyTorch
        warnings.simplefilter("ignore")
        rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    return torch.ops.quantized.linear_prepack(rounded, bias)


@cache
def _sums_overflow() -> bool:
    """Whether this processor has but sixteen bits for a sum of two products.

    Those without VNNI do, so there x gets seven bits of its eight.
    """
    ones = _rounded(torch.ones(16, 64), None)
    found = torch.ops.quantized.linear_dynamic(torch.ones(1, 64), ones, False)
    return not torch.allclose(found, torch.full_like(found, 64), rtol=0.02)


@cache
def works(prepare: Prepare) -> bool:
    """Whether this build of PyTorch, on this processor, has the operators."""
    weight, x = torch.eye(8, 16), torch.arange(32.0).view(2, 16)
    try:
        found = prepare(weight, torch.ones(8))(x)
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return torch.allclose(found, x[:, :8] + 1, atol=0.3)
