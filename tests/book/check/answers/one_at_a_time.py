import math

import torch

from answers import right, wrong


@right
def as_in_the_chapter(query, keys, values):
    largest, total, mix = -math.inf, 0.0, torch.zeros(values.size(-1))
    for key, value in zip(keys, values, strict=True):
        score = float(query @ key) / math.sqrt(len(query))
        new = max(largest, score)
        shrink = math.exp(largest - new)
        power = math.exp(score - new)
        total = total * shrink + power
        mix = mix * shrink + power * value
        largest = new
    return mix / total


@right
def in_tensors(query, keys, values):
    m = torch.tensor(-torch.inf)
    d = torch.tensor(0.0)
    o = torch.zeros_like(values[0])
    for i in range(keys.shape[0]):
        x = torch.dot(query, keys[i]) / query.shape[0] ** 0.5
        m_new = torch.maximum(m, x)
        d_new = d * torch.exp(m - m_new) + torch.exp(x - m_new)
        o = (
            o * (d * torch.exp(m - m_new) / d_new)
            + torch.exp(x - m_new) / d_new * values[i]
        )
        m, d = m_new, d_new
    return o


@wrong("all-at-once", "one after the other")
def plain_softmax(query, keys, values):
    return (keys @ query / math.sqrt(len(query))).softmax(-1) @ values


@wrong("all-at-once")
def collects_the_scores(query, keys, values):
    scores = []
    for key in keys:
        scores.append(query @ key / math.sqrt(len(query)))
    weights = torch.stack(scores).softmax(0)
    out = torch.zeros(values.shape[1])
    for weight, value in zip(weights, values, strict=True):
        out = out + weight * value
    return out


@wrong("overflow")
def without_a_maximum(query, keys, values):
    total, mix = 0.0, torch.zeros(values.shape[1])
    for key, value in zip(keys, values, strict=True):
        power = torch.exp(query @ key / math.sqrt(len(query)))
        total, mix = total + power, mix + power * value
    return mix / total


@wrong("total-not-rescaled")
def forgets_the_total(query, keys, values):
    largest, total, mix = -math.inf, 0.0, torch.zeros(values.size(-1))
    for key, value in zip(keys, values, strict=True):
        score = float(query @ key) / math.sqrt(len(query))
        new = max(largest, score)
        power = math.exp(score - new)
        total += power
        mix = mix * math.exp(largest - new) + power * value
        largest = new
    return mix / total


@wrong("two-passes", "twice")
def two_passes(query, keys, values):
    largest = max(float(query @ key) / math.sqrt(len(query)) for key in keys)
    total, mix = 0.0, torch.zeros(values.size(-1))
    for key, value in zip(keys, values, strict=True):
        power = math.exp(float(query @ key) / math.sqrt(len(query)) - largest)
        total += power
        mix = mix + power * value
    return mix / total


wrong("wrong-numbers")(lambda query, keys, values: values.mean(0))
wrong("overflow")(
    lambda q, k, v: (powers := (k @ q / len(q) ** 0.5).exp()) @ v / powers.sum()
)
wrong("nan")(lambda *given: as_in_the_chapter(*given) + 0 * math.inf)


@right
def starts_with_the_first_key(query, keys, values):
    largest, total, mix = float(query @ keys[0]) / math.sqrt(len(query)), 1.0, values[0]
    for key, value in zip(keys[1:], values[1:], strict=True):
        score = float(query @ key) / math.sqrt(len(query))
        if score > largest:
            rescale = math.exp(largest - score)
            total, mix, largest = total * rescale, mix * rescale, score
        power = math.exp(score - largest)
        total, mix = total + power, mix + power * value
    return mix / total
