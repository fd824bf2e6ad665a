"""R-Drop: two passes over each batch, pulled towards each other.

Source: Liang et al. 2021, R-Drop: Regularized Dropout for Neural Networks.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from tformer.fast.loss import without_padding


def divergence(
    hidden: Tensor,
    table: Tensor,
    labels: Tensor,
    *,
    pad_id: int,
    bias: Tensor | None = None,
    n_labels: int | None = None,
) -> Tensor:
    """How much two passes disagree about the next piece, in nats per label.

    The passes drop different activations, so they give different distributions p and
    q. What R-Drop adds to the loss is half the mean of both divergences::

        (KL(p, q) + KL(q, p)) / 4 = sum_v (p[v] - q[v]) (log p[v] - log q[v]) / 4

    averaged over the labels of one pass. The paper adds up the cross-entropies of both
    passes; ours are averaged, so what is added to them is halved, too.

    Args:
        hidden: (2B, T, D) float, the decoder's output: the first pass, then the second.
        table: (V, D) float, the rows of the output embedding.
        labels: (2B, T) int64, the same ones twice.
        pad_id: labels to ignore.
        bias: (V,) float, added to every row of logits.
        n_labels: how many of all the labels are not padding, if you know it.

    Returns:
        A scalar, float32 or wider.
    """
    rows, _ = without_padding(hidden, labels, pad_id, n_labels)
    logits = F.linear(rows, table, bias)
    wide = torch.promote_types(logits.dtype, torch.float32)
    log_p, log_q = logits.log_softmax(dim=-1, dtype=wide).chunk(2)
    each = (log_p.exp() - log_q.exp()) * (log_p - log_q)
    return each.sum(dim=-1).mean() / 4
