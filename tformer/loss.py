"""The loss: cross-entropy against a smoothed target, ignoring padding.

Source: Vaswani et al. 2017, section 5.4; Szegedy et al. 2016. Chapter *Training*.
"""

import torch
from torch import Tensor

from tformer.fast.loss import ProjectedCrossEntropy, without_padding


def cross_entropy(
    logits: Tensor, labels: Tensor, *, pad_id: int, smoothing: float = 0.0
) -> Tensor:
    """How surprised the model is by the labels, in nats per token.

    The target distribution gives ``1 - smoothing`` to the label and spreads
    ``smoothing`` evenly over all V pieces (the label included)::

        loss = -(1 - smoothing) log p[label] - smoothing * mean_v log p[v]

    averaged over the labels that are not padding.

    Args:
        logits: (..., V) float.
        labels: (...) int64.
        pad_id: labels to ignore.
        smoothing: in [0, 1); 0.1 in the paper.

    Returns:
        A scalar, float32 or wider.

    Raises:
        TypeError: labels are not int64.
        ValueError: shapes do not fit, or smoothing is out of range.

    Source: section 5.4.
    """
    _check_labels(logits, labels, smoothing)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    log_p = logits.log_softmax(dim=-1)  # (..., V)
    at_label = log_p.gather(-1, labels[..., None]).squeeze(-1)
    each = -(1 - smoothing) * at_label - smoothing * log_p.mean(dim=-1)
    is_real = labels != pad_id
    return (each * is_real).sum() / is_real.sum()


def projected_cross_entropy(
    hidden: Tensor,
    table: Tensor,
    labels: Tensor,
    *,
    pad_id: int,
    smoothing: float = 0.0,
    bias: Tensor | None = None,
    n_labels: int | None = None,
) -> Tensor:
    """`cross_entropy` of ``hidden @ table.T``, without ever holding all the logits.

    A batch has thousands of labels and the vocabulary thousands of pieces, so the
    logits are by far the largest tensor of a training step. Here they are computed for
    a few rows at a time, and discarded as soon as their gradients are known: for one
    row of logits z with probabilities p,
    ``d loss / d z = p - (1 - smoothing) onehot(label) - smoothing / V``.
    Rows of padding are skipped altogether.

    Args:
        hidden: (..., D) float, the decoder's output.
        table: (V, D) float, the rows of the output embedding.
        labels: (...) int64.
        pad_id: labels to ignore.
        smoothing: in [0, 1).
        bias: (V,) float, added to every row of logits.
        n_labels: how many labels are not padding, if you know it: a GPU needs not be
            asked then, which would make the program wait for it.

    Returns:
        A scalar, float32 or wider. Its gradient cannot be differentiated again.

    Raises:
        TypeError, ValueError: as `cross_entropy`.
    """
    _check_labels(hidden, labels, smoothing)
    rows, wanted = without_padding(hidden, labels, pad_id, n_labels)
    if bias is not None:  # one more column, times 1
        rows = torch.cat([rows, torch.ones_like(rows[:, :1])], dim=1)
        table = torch.cat([table, bias[:, None]], dim=1)
    if torch.is_autocast_enabled(hidden.device.type):
        dtype = torch.get_autocast_dtype(hidden.device.type)
        rows, table = rows.to(dtype), table.to(dtype)
    is_learning = torch.is_grad_enabled() and (
        rows.requires_grad or table.requires_grad
    )
    return ProjectedCrossEntropy.apply(rows, table, wanted, smoothing, is_learning)


def _check_labels(scores: Tensor, labels: Tensor, smoothing: float) -> None:
    if labels.dtype != torch.int64:
        raise TypeError(f"labels must be int64, got {labels.dtype}")
    if scores.shape[:-1] != labels.shape:
        raise ValueError(
            f"logits {tuple(scores.shape)} need labels {tuple(scores.shape[:-1])}, "
            f"got {tuple(labels.shape)}"
        )
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing={smoothing} must be in [0, 1)")
