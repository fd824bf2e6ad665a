"""Whether two results agree, whatever they are made of."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

CLOSE = 1e-5


def matches(found: Any, wanted: Any, tolerance: float = CLOSE) -> bool:
    """Whether two results agree: in shape and number, in order, in every part.

    Tensors and floats agree up to a tolerance, and nan equals nan; lists and tuples
    part by part; all else if it is equal.
    """
    if isinstance(wanted, Tensor):
        if not isinstance(found, Tensor) or found.shape != wanted.shape:
            return False
        if found.is_complex() or found.device != wanted.device:
            return False
        kind = torch.promote_types(found.dtype, wanted.dtype)
        if not kind.is_floating_point:
            return torch.equal(found.to(kind), wanted.to(kind))
        return torch.allclose(
            found.detach().to(kind),
            wanted.detach().to(kind),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
        )
    if isinstance(found, Tensor):
        return found.numel() == 1 and matches(found.item(), wanted, tolerance)
    if isinstance(wanted, float) and isinstance(found, int | float):
        return math.isclose(found, wanted, rel_tol=tolerance, abs_tol=1e-12) or (
            math.isnan(found) and math.isnan(wanted)
        )
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return len(found) == len(wanted) and all(
            matches(one, other, tolerance)
            for one, other in zip(found, wanted, strict=True)
        )
    # What says that it is equal to anything at all says nothing.
    return bool(found == wanted) and not bool(found == object())
