import torch.nn.functional as F

from answers import right, wrong
from tformer.attention import attention


@right
def plain(query, key, value, *, mask=None):
    share = query.size(1) // key.size(1)
    keys, values = (x.repeat_interleave(share, dim=1) for x in (key, value))
    output, _ = attention(query, keys, values, mask=mask)
    return output


@wrong("returns-several", "output, _")
def with_weights(query, key, value, *, mask=None):
    share = query.size(1) // key.size(1)
    keys, values = (x.repeat_interleave(share, dim=1) for x in (key, value))
    return attention(query, keys, values, mask=mask)


@right
def folded(query, key, value, *, mask=None):
    grouped = query.unflatten(1, (key.size(1), -1))  # (B, G, H / G, Tq, Dh)
    output, _ = attention(grouped, key[:, :, None], value[:, :, None], mask=mask)
    return output.flatten(1, 2)


@right
def torchs(query, key, value, *, mask=None):
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, enable_gqa=True
    )


@wrong("heads-in-turn", "repeat_interleave")
def tiled(query, key, value, *, mask=None):
    share = query.size(1) // key.size(1)
    keys, values = (x.repeat(1, share, 1, 1) for x in (key, value))
    return attention(query, keys, values, mask=mask)[0]


@wrong("values-in-turn")
def half_tiled(query, key, value, *, mask=None):
    share = query.size(1) // key.size(1)
    keys, values = key.repeat_interleave(share, 1), value.repeat(1, share, 1, 1)
    return attention(query, keys, values, mask=mask)[0]


@wrong("groups-averaged")
def averaged(query, key, value, *, mask=None):
    keys, values = (x.mean(1, keepdim=True) for x in (key, value))
    return attention(query, keys, values, mask=mask)[0]


@wrong("first-group-only")
def first(query, key, value, *, mask=None):
    return attention(query, key[:, :1], value[:, :1], mask=mask)[0]


wrong("mask-ignored")(lambda query, key, value, *, mask=None: plain(query, key, value))


@wrong("does-not-fit", "2 times")
def ungrouped(query, key, value, *, mask=None):
    return attention(query, key, value, mask=mask)[0]


wrong("scale-missing")(
    lambda query, key, value, *, mask=None: plain(query * 6**0.5, key, value, mask=mask)
)


@wrong("gradient-cut", "detach")
def detached(query, key, value, *, mask=None):
    return plain(query, key.detach(), value, mask=mask)
