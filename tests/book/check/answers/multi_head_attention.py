import math

import torch
import torch.nn.functional as F

from answers import right, wrong


def heads(x, n):
    return x.reshape(x.shape[0], x.shape[1], n, -1).transpose(1, 2)


def back(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def attend(q, k, v, mask, root=None):
    s = q @ k.mT / math.sqrt(root or q.size(-1))
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return s.softmax(-1) @ v


@right
def plain(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    return layer.to_output(back(attend(q, k, v, mask)))


@right
def with_torchs_attention(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    return layer.to_output(
        back(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))
    )


@right
def head_by_head(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    w = q.size(-1) // layer.n_heads
    outs = []
    for h in range(layer.n_heads):
        part = slice(h * w, (h + 1) * w)
        m = mask
        if m is not None and m.dim() == 4:
            m = m[:, h] if m.size(1) > 1 else m[:, 0]
        outs.append(attend(q[..., part], k[..., part], v[..., part], m))
    return layer.to_output(torch.cat(outs, -1))


@wrong("scaled-by-d-model")
def whole_width(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    d = q.size(-1)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    return layer.to_output(back(attend(q, k, v, mask, root=d)))


@wrong("no-output-projection")
def no_output(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    return back(attend(q, k, v, mask))


@wrong("keys-from-the-query")
def self_only(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(query), layer.to_value(query)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    return layer.to_output(back(attend(q, k, v, mask)))


@wrong("not-transposed-back")
def merged_by_view(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    out = attend(q, k, v, mask)
    return layer.to_output(out.reshape(query.shape))


@wrong("gradient-cut", "no_grad")
def frozen(layer, query, key, value, *, mask=None):
    with torch.no_grad():
        return plain(layer, query, key, value, mask=mask)


@wrong("mask-adds-an-axis", "unsqueeze")
def unsqueezed_mask(layer, query, key, value, *, mask=None):
    if mask is not None:
        mask = mask.unsqueeze(1)
    return plain(layer, query, key, value, mask=mask)


@wrong("mask-flipped")
def flipped(layer, query, key, value, *, mask=None):
    return plain(layer, query, key, value, mask=None if mask is None else ~mask)


@wrong("returns-several")
def weights_too(layer, query, key, value, *, mask=None):
    return plain(layer, query, key, value, mask=mask), None


@wrong("not-scaled", "second slip: Softmax runs over the axis of heads")
def two_slips(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    return layer.to_output(back((q @ k.mT).softmax(1) @ v))


@wrong("gradient-in-place")
def in_place(layer, query, key, value, *, mask=None):
    q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
    q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
    s = q @ k.mT / math.sqrt(q.size(-1))
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    s = (s - s.amax(-1, keepdim=True)).exp()
    s /= s.sum(-1, keepdim=True)
    return layer.to_output(back(s @ v))


@wrong("wrong-numbers")
def doubled(layer, query, key, value, *, mask=None):
    return 2 * plain(layer, query, key, value, mask=mask)


def hiding(hide):
    """A layer that hides scores in another way."""

    def mine(layer, query, key, value, *, mask=None):
        q, k, v = layer.to_query(query), layer.to_key(key), layer.to_value(value)
        q, k, v = (heads(x, layer.n_heads) for x in (q, k, v))
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if mask is not None:
            scores = hide(scores, mask)
        return layer.to_output(back(scores.softmax(-1) @ v))

    return mine


def exactly(scores, mask):
    if mask.shape != scores.shape:
        raise RuntimeError("mask and scores differ in shape")
    return scores.masked_fill(~mask, -math.inf)


def squeezed(scores, mask):
    if mask.dim() == 4 and mask.size(1) == 1:
        mask = mask.squeeze(1)
    return scores.masked_fill(~mask, -math.inf)


wrong("nan")(hiding(lambda scores, mask: scores + (~mask) * -math.inf))
wrong("mask-does-not-broadcast")(hiding(exactly))
wrong("mask-meets-the-heads")(hiding(squeezed))


@wrong("only-one-head")
def for_one_head(layer, query, key, value, *, mask=None):
    if layer.n_heads > 1:
        raise RuntimeError("heads?")
    return plain(layer, query, key, value, mask=mask)


@wrong("only-self-attention")
def for_one_length(layer, query, key, value, *, mask=None):
    if key.size(1) != query.size(1):
        raise RuntimeError("lengths differ")
    return plain(layer, query, key, value, mask=mask)
