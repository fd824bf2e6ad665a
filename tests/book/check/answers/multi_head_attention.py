import math
from functools import partial

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


def steps(
    attend=attend, merge=back, finish=lambda layer, x: layer.to_output(x), masks=None
):
    """The layer with one step exchanged."""

    def mine(layer, query, key, value, *, mask=None):
        projected = layer.to_query(query), layer.to_key(key), layer.to_value(value)
        q, k, v = map(partial(heads, n=layer.n_heads), projected)
        if masks and mask is not None:
            mask = masks(mask)
        return finish(layer, merge(attend(q, k, v, mask)))

    return mine


def hiding(hide):
    """A layer that hides scores in another way."""

    def hidden(q, k, v, mask):
        scores = q @ k.mT / math.sqrt(q.size(-1))
        scores = scores if mask is None else hide(scores, mask)
        return scores.softmax(-1) @ v

    return steps(hidden)


plain = right(steps())
wrong("scaled-by-d-model")(
    steps(lambda q, k, v, mask: attend(q, k, v, mask, q.size(1) * q.size(-1)))
)
wrong("no-output-projection")(steps(finish=lambda layer, x: x))
wrong("keys-from-the-query")(
    lambda layer, query, key, value, *, mask=None: plain(
        layer, query, query, query, mask=mask
    )
)
wrong("not-transposed-back")(steps(merge=lambda x: x.reshape(len(x), x.size(2), -1)))


@wrong("gradient-cut", "no_grad")
def frozen(layer, query, key, value, *, mask=None):
    with torch.no_grad():
        return plain(layer, query, key, value, mask=mask)


wrong("mask-adds-an-axis", "unsqueeze")(steps(masks=lambda mask: mask.unsqueeze(1)))
wrong("mask-flipped")(steps(masks=torch.logical_not))
wrong("not-scaled", "second slip: Softmax runs over the axis of heads")(
    steps(lambda q, k, v, mask: (q @ k.mT).softmax(1) @ v)
)


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


wrong("returns-several")(lambda *given, **named: (plain(*given, **named), None))


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


wrong("wrong-numbers")(lambda *given, **named: 2 * plain(*given, **named))


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
