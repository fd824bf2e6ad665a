"""Additive attention: compare query and key with a small neural network.

It preceded dot-product attention, in a recurrent network. Everything else is as in
`tformer.attention`: softmax over keys, a mix of values, True = may attend.

Axes: B batch, Tq queries, Tk keys, Dq, Dk, Dv widths, Dh hidden width.

Source: Bahdanau et al. 2015, section 3.1 and appendix A.1.2. Chapters *Transduction*
and *Attention*.
"""

import torch
from torch import Tensor, nn

from tformer.attention import Probe, check_is_bool


class AdditiveAttention(nn.Module):
    """One attention whose scores come from a network with one hidden layer.

    ``score(q, k) = v^T tanh(W_q q + W_k k)``, ``output = softmax(scores) V``

    Query and key may differ in width, and scores need no scaling: tanh keeps the hidden
    layer between -1 and 1. It needs Tq x Tk x Dh numbers where the dot product needs
    Tq x Tk.

    Args:
        d_query: width Dq of the queries.
        d_key: width Dk of the keys.
        d_hidden: width Dh of the hidden layer.

    Attributes:
        weights: `tformer.attention.Probe` of the weights (B, 1, Tq, Tk): one head.

    Raises:
        ValueError: a width below 1.

    Source: appendix A.1.2.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        widths = {"d_query": d_query, "d_key": d_key, "d_hidden": d_hidden}
        for name, width in widths.items():
            if width < 1:
                raise ValueError(f"{name}={width} must be at least 1")
        self.to_query = nn.Linear(d_query, d_hidden, bias=False)
        self.to_key = nn.Linear(d_key, d_hidden, bias=False)
        self.to_score = nn.Linear(d_hidden, 1, bias=False)
        self.weights = Probe()

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Let each query gather from the values.

        Args:
            query: (B, Tq, Dq)
            key: (B, Tk, Dk)
            value: (B, Tk, Dv); the key itself if left out.
            mask: bool, broadcasts to (B, 1, Tq, Tk), as `tformer.masks` makes them;
                True = may attend. Every query must see a key.

        Returns:
            (B, Tq, Dv). The batch axis may be left out of all of them.

        Raises:
            TypeError: mask is not bool, so its polarity is unknown.
            ValueError: the shapes do not fit together.
        """
        value = key if value is None else value
        return self.attend(query, self.to_key(key), value, mask=mask)

    def attend(
        self, query: Tensor, keys: Tensor, value: Tensor, *, mask: Tensor | None = None
    ) -> Tensor:
        """As `forward`, for keys (B, Tk, Dh) that ``to_key`` has projected already.

        While a translation grows, its keys stay the same, so they are projected once.
        """
        _check(query, keys, value)
        hidden = self.to_query(query).unsqueeze(-2) + keys.unsqueeze(-3)
        scores = self.to_score(torch.tanh(hidden)).squeeze(-1)  # (B, Tq, Tk)
        scores = scores.unsqueeze(-3)  # (B, 1, Tq, Tk): one head
        if mask is not None:
            _check_mask(mask, scores)
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = self.weights(scores.softmax(dim=-1))
        return weights.squeeze(-3) @ value


def _check(query: Tensor, keys: Tensor, value: Tensor) -> None:
    if not query.dim() == keys.dim() == value.dim() >= 2:
        raise ValueError(
            "query, key and value need the same axes, (batch, length, width), got "
            f"{tuple(query.shape)}, {tuple(keys.shape)}, {tuple(value.shape)}"
        )
    if keys.size(-2) != value.size(-2):
        raise ValueError(
            "every key needs one value, got "
            f"{keys.size(-2)} keys and {value.size(-2)} values"
        )
    if not query.shape[:-2] == keys.shape[:-2] == value.shape[:-2]:
        raise ValueError(
            "query, key and value must have the same batch size, got "
            f"{tuple(query.shape)}, {tuple(keys.shape)}, {tuple(value.shape)}"
        )


def _check_mask(mask: Tensor, scores: Tensor) -> None:
    check_is_bool(mask)
    pairs = zip(reversed(mask.shape), reversed(scores.shape), strict=False)
    if mask.dim() > scores.dim() or any(have not in (1, want) for have, want in pairs):
        raise ValueError(
            f"mask {tuple(mask.shape)} does not broadcast to (B, 1, Tq, Tk) = "
            f"{tuple(scores.shape)}"
        )
