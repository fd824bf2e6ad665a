import math

import torch

from answers import right, wrong


@right
def plain(positions, d_model, *, base=10_000.0):
    speed = base ** (-torch.arange(0, d_model, 2) / d_model)
    angle = positions[:, None] * speed
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@right
def looped(positions, d_model, base=10_000.0):
    out = torch.zeros(len(positions), d_model)
    for row, p in enumerate(positions.tolist()):
        for i in range(d_model // 2):
            angle = p / base ** (2 * i / d_model)
            out[row, i] = math.sin(angle)
            out[row, d_model // 2 + i] = math.cos(angle)
    return out


@wrong("interleaved")
def as_the_paper(positions, d_model, *, base=10_000.0):
    angle = positions[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


@wrong("positions-ignored")
def counts(positions, d_model, *, base=10_000.0):
    return plain(torch.arange(len(positions)), d_model, base=base)


wrong("base-ignored")(
    lambda positions, d_model, *, base=10000.0: plain(positions, d_model)
)


@wrong("doubled-exponent")
def doubled(positions, d_model, *, base=10_000.0):
    i = torch.arange(0, d_model, 2)
    angle = positions[:, None] / base ** (2 * i / d_model)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)


@wrong("precedence")
def no_brackets(positions, d_model, *, base=10_000.0):
    i = torch.arange(d_model // 2)
    angle = positions[:, None] / base * 2 * i / d_model
    return torch.cat([angle.sin(), angle.cos()], dim=-1)
