"""What the problems of chapter *Multi-head attention* share."""

import math

import torch
from torch import Tensor

from tformer_book.check import kit

TRANSPOSE = "x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)"
BACK = "x.transpose(-3, -2).flatten(-2)"


def right_split(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, D) -> (B, H, T, Dh), as the package's layer does it."""
    return x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)


def right_merge(x: Tensor) -> Tensor:
    """(B, H, T, Dh) -> (B, T, D), the inverse."""
    return x.transpose(-3, -2).flatten(-2)


def interleaved_split(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, D) -> (B, H, T, Dh), but head i takes every H-th number, from i on."""
    return x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)


def numbered(*shape: int) -> Tensor:
    """A tensor in which every number is another one, so that each tells its place."""
    return torch.arange(math.prod(shape), dtype=torch.float32).view(shape) + 1


def one_tensor(returned: object) -> Tensor:
    """The reader's tensor, not a list of one for each head."""
    if isinstance(returned, tuple | list) and all(
        isinstance(part, Tensor) for part in returned
    ):
        raise kit.Mistake(
            "returns-several",
            f"Your function returns {len(returned)} tensors; I need one, with all "
            "heads along an axis of their own: then one matrix product serves them "
            "all.",
        )
    return kit.as_tensor(returned)
