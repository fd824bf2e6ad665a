import math

import numpy as np
import torch
import torch.nn.functional as F

from answers import right, without_gradient, wrong


@right
def plain(query, key, value, *, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


@right
def divides_in_place(query, key, value, *, mask=None):
    scores = query @ key.mT
    scores /= math.sqrt(query.size(-1))
    if mask is not None:
        scores.masked_fill_(~mask, -torch.inf)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


@right
def as_the_annotated_transformer(query, key, value, mask=None, dropout=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


@right
def with_einsum(query, key, value, *, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(-torch.inf))
    weights = scores.softmax(-1)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


@right
def adds_zeros_and_infinities(query, key, value, *, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        bias = torch.zeros(mask.shape)
        bias.masked_fill_(mask.logical_not(), float("-inf"))
        scores = scores + bias
    weights = scores.softmax(-1)
    return weights @ value, weights


@right
def own_softmax(query, key, value, *, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    powers = (scores - scores.max(-1, keepdim=True).values).exp()
    weights = powers / powers.sum(-1, keepdim=True)
    return weights @ value, weights


@wrong("gradient-in-place", "Right numbers, but this cuts the gradient")
def own_softmax_in_place(query, key, value, *, mask=None):
    s = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    s = s - s.max(-1, keepdim=True).values
    s.exp_()
    s /= s.sum(-1, keepdim=True)
    return s @ value, s


@wrong("gradient-cut", "numpy()")
def in_numpy(query, key, value, *, mask=None):
    q, k, v = query.numpy(), key.numpy(), value.numpy()
    s = q @ np.swapaxes(k, -2, -1) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask.numpy(), s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    w = e / e.sum(-1, keepdims=True)
    return torch.from_numpy(w @ v), torch.from_numpy(w)


@wrong("not-a-tensor", "NumPy")
def numpy_arrays(query, key, value, *, mask=None):
    q, k, v = query.numpy(), key.numpy(), value.numpy()
    s = q @ np.swapaxes(k, -2, -1) / np.sqrt(q.shape[-1])
    e = np.exp(s)
    w = e / e.sum(-1, keepdims=True)
    return w @ v, w


@wrong("gradient-partly-cut", "detach")
def weights_detached(query, key, value, *, mask=None):
    _, weights = plain(query, key, value, mask=mask)
    return weights.detach() @ value, weights


@wrong("truth-of-a-tensor", "is not None")
def truth_of_the_mask(query, key, value, *, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    if mask:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(-1)
    return weights @ value, weights


@wrong("keepdim-forgotten", "keepdim=True")
def sum_without_keepdim(query, key, value, *, mask=None):
    s = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    e = s.exp()
    weights = e / e.sum(-1)
    return weights @ value, weights


@wrong("keepdim-forgotten", "keepdim=True")
def max_without_keepdim(query, key, value, *, mask=None):
    s = query @ key.mT / math.sqrt(query.size(-1))
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf)
    e = (s - s.max(-1).values).exp()
    weights = e / e.sum(-1, keepdim=True)
    return weights @ value, weights


@wrong("values-forgotten", ".values")
def max_without_values(query, key, value, *, mask=None):
    s = query @ key.mT / math.sqrt(query.size(-1))
    e = (s - s.max(-1, keepdim=True)).exp()
    weights = e / e.sum(-1, keepdim=True)
    return weights @ value, weights


@wrong("changes-inputs")
def scales_the_query_in_place(query, key, value, *, mask=None):
    query /= math.sqrt(query.size(-1))
    weights = (query @ key.mT).softmax(-1)
    return weights @ value, weights


def given_back(give):
    """Right, but for what is returned."""

    def mine(query, key, value, *, mask=None):
        return give(*plain(query, key, value, mask=mask))

    return mine


wrong("returns-in-the-wrong-order")(given_back(lambda o, w: (w, o)))
wrong("weights-transposed")(given_back(lambda o, w: (o, w.mT)))
wrong("weights-shape")(given_back(lambda o, w: (o, w[..., :1])))
wrong("output-shape")(given_back(lambda o, w: (o[..., :1], w)))
wrong("output-is-not-the-mix")(given_back(lambda o, w: (2 * o, w)))
wrong("returns-only-one", "like the output")(given_back(lambda o, w: o))
wrong("returns-something-else")(given_back(lambda o, w: (o, w, w)))
right(given_back(lambda o, w: [o, w]))
wrong("axes-squeezed", "squeeze")(given_back(lambda o, w: (o.squeeze(), w.squeeze())))
wrong("random", "dropout")(given_back(lambda o, w: (F.dropout(o, 0.1), w)))
wrong("gradient-cut", "no_grad")(without_gradient(plain))


@wrong("stops-with-an-error", "query.no_such_thing()")
def no_such_method(query, key, value, *, mask=None):
    return query.no_such_thing()


def hidden(scores, mask, fill=-math.inf):
    return scores.masked_fill(~mask, fill)


def scored(
    score=lambda q, k: q @ k.mT / math.sqrt(q.size(-1)),
    share=lambda s: s.softmax(-1),
    mix=lambda w, k, v: w @ v,
    fill=hidden,
):
    """Attention with one step exchanged."""

    def mine(query, key, value, *, mask=None):
        scores = score(query, key)
        weights = share(scores if mask is None else fill(scores, mask))
        return mix(weights, key, value), weights

    return mine


wrong("mixes-the-keys")(scored(mix=lambda w, k, v: w @ k))

wrong("softmax-over-queries")(scored(share=lambda s: s.softmax(-2)))
wrong("softmax-over-queries", "second slip: The scores are not scaled")(
    scored(lambda q, k: q @ k.mT, lambda s: s.softmax(-2))
)
wrong("rows-do-not-sum-to-1")(scored(share=lambda s: 0.9 * s.softmax(-1)))
wrong("wrong-numbers")(scored(share=lambda s: (2 * s).softmax(-1)))
wrong("log-softmax", "logarithm")(scored(share=lambda s: s.log_softmax(-1)))
wrong("overflow")(scored(share=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)))
wrong("nan", "mean")(
    scored(
        share=lambda s: (
            (e := (s - s.mean(-1, keepdim=True)).exp()) / e.sum(-1, keepdim=True)
        ),
        fill=lambda s, mask: hidden(s, mask, -1e9),
    )
)

wrong("key-not-transposed")(scored(lambda q, k: q @ k))
wrong("key-transposed-by-reshape", "reshape")(
    scored(
        lambda q, k: q @ k.reshape(*k.shape[:-2], -1, k.size(-2)) / q.size(-1) ** 0.5
    )
)
wrong("query-and-key-swapped")(scored(lambda q, k: k @ q.mT))
wrong("only-two-axes")(scored(lambda q, k: q @ k.t() / math.sqrt(q.size(-1))))
wrong("only-two-axes")(
    scored(lambda q, k: q @ k.T / math.sqrt(q.shape[1]), lambda s: s.softmax(1))
)
wrong("scaled-by-width")(scored(lambda q, k: q @ k.mT / q.size(-1)))
wrong("scale-rounded", "whole number")(
    scored(lambda q, k: q @ k.mT / (q.size(-1) // 2))
)
wrong("cosine", "length")(
    scored(lambda q, k: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT)
)

wrong("mask-flipped", "True means may attend")(
    scored(fill=lambda s, mask: s + mask * -1e9)
)
wrong("mask-flipped")(scored(fill=lambda s, mask: s.masked_fill(mask, -1e9)))
wrong("mask-multiplied", "e⁰")(scored(fill=lambda s, mask: hidden(s, mask, 0)))
wrong("mask-leaks", "too small")(scored(fill=lambda s, mask: hidden(s, mask, -10.0)))
wrong("nan")(scored(fill=lambda s, mask: s + (1 - mask.float()) * -math.inf))
wrong("mask-adds-an-axis", "unsqueeze")(
    scored(
        fill=lambda s, mask: hidden(s, mask.unsqueeze(1) if mask.dim() > 2 else mask)
    )
)
wrong("mask-adds-an-axis", "unsqueeze")(
    scored(fill=lambda s, mask: hidden(s, mask.unsqueeze(1)))
)
wrong("mask-does-not-broadcast")(
    scored(fill=lambda s, mask: hidden(s, mask.view(s.shape)))
)


@wrong("mask-not-optional")
def needs_a_mask(query, key, value, *, mask=None):
    scores = query @ key.mT / math.sqrt(query.size(-1))
    weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
    return weights @ value, weights


@wrong("returns-scores")
def scores_for_weights(query, key, value, *, mask=None):
    return plain(query, key, value, mask=mask)[0], query @ key.mT


@wrong("dtype")
def always_double(query, key, value, *, mask=None):
    return plain(query.double(), key.double(), value.double(), mask=mask)


@wrong("mixes-examples")
def one_key_for_all_sentences(query, key, value, *, mask=None):
    if query.dim() > 2:
        key = key.mean(0, keepdim=True).expand_as(key)
    return plain(query, key, value, mask=mask)


@wrong("mixes-heads")
def one_value_for_all_heads(query, key, value, *, mask=None):
    if query.dim() > 2:
        value = value.mean(1, keepdim=True).expand_as(value)
    return plain(query, key, value, mask=mask)
