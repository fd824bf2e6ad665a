"""The loss: cross-entropy against a smoothed target, padding left out.

Source: Vaswani et al. 2017, section 5.4; Szegedy et al. 2016. Chapter *Training*.
"""

import torch
from torch import Tensor


def cross_entropy(
    logits: Tensor, labels: Tensor, *, pad_id: int, smoothing: float = 0.0
) -> Tensor:
    """How surprised the model is by the labels, in nats a token.

    The target distribution gives ``1 - smoothing`` to the label and spreads
    ``smoothing`` evenly over all V pieces (the label included)::

        loss = -(1 - smoothing) log p[label] - smoothing * mean_v log p[v]

    averaged over the labels that are not padding.

    Args:
        logits: (..., V) float.
        labels: (...) int64.
        pad_id: labels to leave out.
        smoothing: in [0, 1); 0.1 in the paper.

    Returns:
        A scalar, float32 or wider.

    Raises:
        TypeError: labels are not int64.
        ValueError: shapes do not fit, or smoothing is out of range.

    Source: section 5.4.
    """
    if labels.dtype != torch.int64:
        raise TypeError(f"labels must be int64, got {labels.dtype}")
    if logits.shape[:-1] != labels.shape:
        raise ValueError(
            f"logits {tuple(logits.shape)} need labels {tuple(logits.shape[:-1])}, "
            f"got {tuple(labels.shape)}"
        )
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing={smoothing} must be in [0, 1)")
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    log_p = logits.log_softmax(dim=-1)  # (..., V)
    at_label = log_p.gather(-1, labels[..., None]).squeeze(-1)
    each = -(1 - smoothing) * at_label - smoothing * log_p.mean(dim=-1)
    is_real = labels != pad_id
    return (each * is_real).sum() / is_real.sum()
