import math

import torch

from answers import right, wrong
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


@wrong("scaled-by-d-model", "√")
def by_root_of_d(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    s = q @ k.transpose(1, 2) / math.sqrt(x.shape[-1])
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    return torch.softmax(s, dim=-1) @ v


@wrong("not-scaled")
def unscaled(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    s = q @ k.transpose(1, 2)
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    return torch.softmax(s, dim=-1) @ v


@wrong("mask-flipped")
def flipped(x, memory, w_query, w_key, w_value, *, mask=None):
    if mask is not None:
        mask = ~mask
    return by_hand(x, memory, w_query, w_key, w_value, mask=mask)


@wrong("mask-flipped")
def added(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    s = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if mask is not None:
        s += mask * -1e9
    return torch.softmax(s, dim=-1) @ v


@wrong("queries-from-the-memory")
def reversed_roles(x, memory, w_query, w_key, w_value, *, mask=None):
    return with_attention(memory, x, w_query, w_key, w_value)


@wrong("returns-weights-too")
def both(x, memory, w_query, w_key, w_value, *, mask=None):
    return attention(x @ w_query, memory @ w_key, memory @ w_value, mask=mask)


@wrong("gradient-cut")
def frozen(x, memory, w_query, w_key, w_value, *, mask=None):
    with torch.no_grad():
        return by_hand(x, memory, w_query, w_key, w_value, mask=mask)


@wrong("gradient-partly-cut", "detach")
def detached_memory(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory.detach() @ w_key, memory @ w_value
    return attention(q, k, v, mask=mask)[0]


@wrong("mask-multiplied", "e⁰")
def multiplied(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    s = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s * mask
    return torch.softmax(s, dim=-1) @ v


@wrong("mask-after-softmax")
def late(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    w = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]), -1)
    if mask is not None:
        w = w * mask
    return w @ v


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


@wrong("scaled-by-length")
def by_root_of_length(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    s = q @ k.transpose(1, 2) / math.sqrt(k.shape[1])
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    return torch.softmax(s, dim=-1) @ v


@wrong("scaled-without-root")
def by_width(x, memory, w_query, w_key, w_value, *, mask=None):
    q, k, v = x @ w_query, memory @ w_key, memory @ w_value
    s = q @ k.transpose(1, 2) / k.shape[2]
    if mask is not None:
        s = s.masked_fill(~mask, -torch.inf)
    return torch.softmax(s, dim=-1) @ v


@wrong("wrong-numbers")
def shifted(x, memory, w_query, w_key, w_value, *, mask=None):
    return with_attention(x, memory, w_query, w_key, w_value, mask=mask) + 0.1


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
