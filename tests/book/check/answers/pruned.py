import copy
import math

import torch
import torch.nn.functional as F

from answers import right, wrong


def rows_of(layer, keep):
    w = layer.to_query.weight.shape[0] // layer.n_heads
    return torch.cat([torch.arange(i * w, i * w + w) for i in keep]), w


def attended(layer, x, rows, w):
    q, k, v = (
        F.linear(x, m.weight[rows], m.bias[rows]).unflatten(-1, (-1, w)).transpose(1, 2)
        for m in (layer.to_query, layer.to_key, layer.to_value)
    )
    a = (q @ k.mT / math.sqrt(w)).softmax(-1) @ v
    return a.transpose(1, 2).flatten(-2)


@right
def cut(layer, x, keep):
    rows, w = rows_of(layer, keep)
    out = layer.to_output
    return F.linear(attended(layer, x, rows, w), out.weight[:, rows], out.bias)


@wrong("output-bias")
def no_bias(layer, x, keep):
    rows, w = rows_of(layer, keep)
    return F.linear(attended(layer, x, rows, w), layer.to_output.weight[:, rows])


@wrong("output-columns")
def first_columns(layer, x, keep):
    rows, w = rows_of(layer, keep)
    out = layer.to_output
    n = len(rows)
    return F.linear(attended(layer, x, rows, w), out.weight[:, :n], out.bias)


@wrong("computes-all-heads")
def zeros(layer, x, keep):
    everything, w = rows_of(layer, range(layer.n_heads))
    gains = torch.zeros(layer.n_heads)
    gains[keep] = 1
    merged = attended(layer, x, everything, w) * gains.repeat_interleave(w)
    return layer.to_output(merged)


def zeroed(layer, keep):
    """The layer, with zeros in all matrices where heads should go."""
    rows = torch.cat(
        [rows_of(layer, [i])[0] for i in range(layer.n_heads) if i not in keep]
        or [torch.arange(0)]
    )
    with torch.no_grad():
        for part in (layer.to_query, layer.to_key, layer.to_value):
            part.weight[rows] = part.bias[rows] = 0
        layer.to_output.weight[:, rows] = 0
    return layer


@wrong("changes-inputs", "for good")
def zeroed_for_good(layer, x, keep):
    return zeroed(layer, keep)(x, x, x)


@wrong("computes-all-heads")
def zeroed_in_a_copy(layer, x, keep):
    return zeroed(copy.deepcopy(layer), keep)(x, x, x)


@wrong("changes-inputs", "for good")
def cut_for_good(layer, x, keep):
    rows, _ = rows_of(layer, keep)
    layer.to_output.weight = torch.nn.Parameter(layer.to_output.weight[:, rows])
    merged = attended(layer, x, *rows_of(layer, keep))
    return layer.to_output(merged)
