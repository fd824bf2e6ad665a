import math

import torch

from answers import right, without_gradient, wrong
from tformer.attention import attention


@right
def with_attention(x, memory, w_query, w_key, w_value, *, mask=None):
    out, _ = attention(x @ w_query, memory @ w_key, memory @ w_value, mask=mask)
    return out


@right
def by_hand(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    s = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    return torch.softmax(s, dim=-1) @ v


def steps(
    root=lambda q, k, x: math.sqrt(q.size(-1)),
    hide=lambda scores, mask: scores.masked_fill(~mask, -torch.inf),
    late=lambda weights, mask: weights,
):
    """Cross-attention with one step exchanged."""

    def mine(x, memory, w_query, w_key, w_value, *, mask=None):
        q, k, v = x @ w_query, memory @ w_key, memory @ w_value
        scores = q @ k.mT / root(q, k, x)
        if mask is None:
            return scores.softmax(-1) @ v
        return late(hide(scores, mask).softmax(-1), mask) @ v

    return mine


wrong("not-scaled")(steps(lambda q, k, x: 1))
wrong("scaled-by-d-model", "√")(steps(lambda q, k, x: math.sqrt(x.size(-1))))
wrong("scaled-by-length")(steps(lambda q, k, x: math.sqrt(k.size(1))))
wrong("scaled-without-root")(steps(lambda q, k, x: k.size(2)))
wrong("mask-flipped")(steps(hide=lambda s, mask: s.masked_fill(mask == 1, -1e9)))
wrong("mask-flipped")(steps(hide=lambda s, mask: s + mask * -1e9))
wrong("mask-multiplied", "e⁰")(steps(hide=lambda s, mask: s * mask))
wrong("mask-after-softmax")(
    steps(hide=lambda s, mask: s, late=lambda weights, mask: weights * mask)
)
wrong("gradient-cut")(without_gradient(by_hand))


@wrong("queries-from-the-memory")
def reversed_roles(x, memory, w_query, w_key, w_value, *, mask=None):
    return with_attention(memory, x, w_query, w_key, w_value)


@wrong("returns-weights-too")
def both(x, memory, w_query, w_key, w_value, *, mask=None):
    return attention(x @ w_query, memory @ w_key, memory @ w_value, mask=mask)


@wrong("gradient-partly-cut", "detach")
def detached_memory(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory.detach() @ w_key, memory @ w_value
    return attention(q, k, v, mask=mask)[0]


@wrong("matrices-transposed", "transpose")
def as_linear(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query.T, memory @ w_key.T, memory @ w_value.T
    return attention(q, k, v, mask=mask)[0]


@wrong("residual-inside")
def with_residual(x, memory, w_query, w_key, w_value, *, mask=None):
    return x + with_attention(x, memory, w_query, w_key, w_value, mask=mask)


@wrong("concatenated", "memory alone")
def appended(x, memory, w_query, w_key, w_value, *, mask=None):
    both = torch.cat([memory, x], dim=1)
    if mask is not None:
        seen = torch.ones(x.shape[0], 1, x.shape[1], dtype=torch.bool)
        mask = torch.cat([mask, seen], dim=-1)
    return attention(x @ w_query, both @ w_key, both @ w_value, mask=mask)[0]


wrong("wrong-numbers")(lambda *given, **named: with_attention(*given, **named) + 0.1)


@wrong("mask-not-optional")
def needs_a_mask(x, memory, w_query, w_key, w_value, *, mask=None):
    return with_attention(x, memory, w_query, w_key, w_value, mask=mask & mask)


@wrong("only-equal-lengths")
def shaped_like_x(x, memory, w_query, w_key, w_value, *, mask=None):
    out = with_attention(x, memory, w_query, w_key, w_value, mask=mask)
    return out.view(x.shape)


@wrong("only-equal-lengths")
def cut_to_the_target(x, memory, w_query, w_key, w_value, *, mask=None):
    memory = memory[:, : x.size(1)]
    mask = None if mask is None else mask[..., : x.size(1)]
    return with_attention(x, memory, w_query, w_key, w_value, mask=mask)


@wrong("nan")
def no_query_sees(x, memory, w_query, w_key, w_value, *, mask=None):
    hidden = torch.zeros(1, 1, memory.size(1), dtype=torch.bool)
    return with_attention(x, memory, w_query, w_key, w_value, mask=hidden)
