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
