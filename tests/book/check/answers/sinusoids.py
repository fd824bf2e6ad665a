import math

import torch

from answers import right, wrong


@right
def plain(length, d_model):
    p = torch.arange(length)[:, None]
    angle = p / 10_000 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


@right
def annotated(length, d_model):
    pe = torch.zeros(length, d_model)
    position = torch.arange(0, length).unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


@wrong("precedence", "brackets")
def no_brackets(length, d_model):
    table = torch.zeros(length, d_model)
    for p in range(length):
        for i in range(d_model // 2):
            table[p, 2 * i] = math.sin(p / 10_000**2 * i / d_model)
            table[p, 2 * i + 1] = math.cos(p / 10_000**2 * i / d_model)
    return table


wrong("extra-axis")(lambda n, d: plain(n, d)[None])
wrong("not-flattened")(lambda n, d: plain(n, d).view(n, d // 2, 2))
wrong("half-the-columns")(lambda n, d: plain(n, d)[:, ::2])
wrong("twice-the-columns")(lambda n, d: plain(n, 2 * d))
wrong("shape")(lambda n, d: plain(9, 4))
wrong("not-floats")(lambda n, d: plain(n, d).long())
wrong("not-finite")(lambda n, d: plain(n, d) / torch.arange(n)[:, None])
wrong("imprecise")(lambda n, d: plain(n, d).round(decimals=2))
wrong("wrong-numbers", "column 0 should be sin")(lambda n, d: (plain(n, d) + 1) / 2)
wrong("positions-from-one", "all sines, then all cosines")(
    lambda n, d: torch.cat([plain(n + 1, d)[1:, 0::2], plain(n + 1, d)[1:, 1::2]], -1)
)
wrong("positions-on-the-wrong-axis")(lambda n, d: plain(n, d).T)
