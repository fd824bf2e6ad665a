"""Loss and gradients of a projection onto the vocabulary, a few rows at a time.

`tformer.loss.projected_cross_entropy` says what is computed. Chapter *Training*.
"""

from typing import Any

import torch
from torch import Tensor

from tformer.fast.training import product

ROWS_ON_A_CPU = 256  # logits of this many rows at a time: a few megabytes
ROWS_ON_A_GPU = 4096  # … and these are enough to keep a GPU busy


class ProjectedCrossEntropy(torch.autograd.Function):
    """`tformer.loss.projected_cross_entropy` of labels that are real."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        table: Tensor,
        labels: Tensor,
        smoothing: float,
        is_learning: bool,
    ) -> Tensor:
        """The mean loss; gradients, if needed, are kept for `backward`."""
        if is_learning:
            hidden_gradient = torch.empty_like(hidden)
            table_gradient = torch.zeros_like(table, dtype=_wide(table.dtype))
        wide = _wide(hidden.dtype)
        total = hidden.new_zeros((), dtype=wide)
        at_once = ROWS_ON_A_CPU if hidden.device.type == "cpu" else ROWS_ON_A_GPU
        for start in range(0, len(labels), at_once):
            part = slice(start, start + at_once)
            logits = product(hidden[part], table)
            n = len(labels) if is_learning else None
            loss, gradient = of_logits(logits, labels[part], smoothing, n)
            total += loss
            if gradient is not None:
                hidden_gradient[part] = product(gradient, table.T)
                table_gradient += product(gradient.T, hidden[part].T)
        if is_learning:
            ctx.save_for_backward(hidden_gradient, table_gradient.to(table.dtype))
        return total / len(labels)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, outer: Tensor) -> Any:
        """The gradients from `forward`, times the incoming gradient."""
        hidden_gradient, table_gradient = ctx.saved_tensors
        return hidden_gradient * outer, table_gradient * outer, None, None, None


def of_logits(
    logits: Tensor, labels: Tensor, smoothing: float, n_labels: int | None
) -> tuple[Tensor, Tensor | None]:
    """The losses of some rows, added up, and what they add to the logits' gradient.

    Args:
        logits: (R, V) float.
        labels: (R,) int64.
        smoothing: in [0, 1).
        n_labels: of how many losses the mean is to be differentiated; None for no
            gradient.
    """
    at_label = labels[:, None]
    log_p = logits.log_softmax(dim=1, dtype=_wide(logits.dtype))
    loss = (smoothing - 1) * log_p.gather(1, at_label).sum()
    loss -= smoothing * log_p.mean(dim=1).sum()
    if n_labels is None:
        return loss, None
    gradient = log_p.exp_().sub_(smoothing / logits.size(1))
    rest = torch.full_like(at_label, smoothing - 1, dtype=gradient.dtype)
    gradient = gradient.scatter_add_(1, at_label, rest).div_(n_labels)
    return loss, gradient.to(logits.dtype)


def without_padding(
    hidden: Tensor, labels: Tensor, pad_id: int, n_labels: int | None
) -> tuple[Tensor, Tensor]:
    """The rows and labels that count: (..., D), (...) -> (n, D), (n,).

    To know how many there are, the program must wait for a GPU, unless it is told.
    """
    is_real = labels != pad_id
    if n_labels is None or labels.device.type == "cpu":
        return hidden[is_real], labels[is_real]
    order = is_real.flatten().int().argsort(descending=True, stable=True)
    places = order[:n_labels]
    rows = hidden.flatten(0, -2).index_select(0, places)
    return rows, labels.flatten().index_select(0, places)


def _wide(dtype: torch.dtype) -> torch.dtype:
    """float32, or wider if the values are."""
    return torch.promote_types(dtype, torch.float32)
