"""Products with a matrix that stays the same: what can be prepared is, once.

Chapter *Decoding and scoring*.
"""

from collections.abc import Callable
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROWS = 64  # of x, for which oneDNN arranges a matrix; it serves any other number, too

Product = Callable[[Tensor], Tensor]  # (rows, in) -> (rows, out)
Prepare = Callable[[Tensor, Tensor | None], Product]


def packed(weight: Tensor, bias: Tensor | None) -> Product:
    """``x W^T + b``, the matrix arranged as oneDNN's kernel reads it."""
    ops = torch.ops.mkldnn
    arranged = ops._reorder_linear_weight(weight, ROWS)
    return lambda x: ops._linear_pointwise(x, arranged, bias, "none", [], "")


def plain(weight: Tensor, bias: Tensor | None) -> Product:
    """``x W^T + b``, by PyTorch's usual product."""
    return lambda x: F.linear(x, weight, bias)


def eight_bit(weight: Tensor, bias: Tensor | None) -> Product:
    """``x W^T + b`` with whole numbers: W rounded row by row, x as it comes.

    The whole of x shares a scale, so a row's result depends a little on the others. Of
    x's eight bits seven are used: on processors without VNNI, sums of two products of
    eight bits would not fit their sixteen.
    """
    scales = weight.abs().amax(dim=1).clamp(min=1e-12) / 127
    zeros = torch.zeros_like(scales, dtype=torch.int64)
    rounded = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    arranged = torch.ops.quantized.linear_prepack(rounded, bias)
    return lambda x: torch.ops.quantized.linear_dynamic(x, arranged, True)


@cache
def works(prepare: Prepare) -> bool:
    """Whether this build of PyTorch, on this processor, has the operators."""
    weight, x = torch.eye(8, 16), torch.arange(32.0).view(2, 16)
    try:
        found = prepare(weight, torch.ones(8))(x)
    except (AttributeError, NotImplementedError, RuntimeError):
        return False
    return torch.allclose(found, x[:, :8] + 1, atol=0.2)


def prepared(prepare: Prepare, weight: Tensor, bias: Tensor | None) -> Product:
    """A product with parameters of a model, which nobody trains through it."""
    return prepare(weight.detach(), None if bias is None else bias.detach())


def stacked(prepare: Prepare, *projections: nn.Linear) -> Product:
    """Several linear maps of the same input as one product, results side by side."""
    weight = torch.cat([each.weight.detach() for each in projections])
    biases = [each.bias for each in projections if each.bias is not None]
    return prepared(prepare, weight, torch.cat(biases) if biases else None)
