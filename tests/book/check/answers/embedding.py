import math

import torch
import torch.nn.functional as F

from answers import right, wrong


@right
def plain(ids, table, positions):
    return table[ids] * math.sqrt(table.shape[1]) + positions[: ids.shape[1]]


@right
def functional(ids, table, positions):
    return F.embedding(ids, table) * table.size(1) ** 0.5 + positions[: ids.size(1)]


@wrong("gradient-cut", "from_pretrained")
def frozen(ids, table, positions):
    layer = torch.nn.Embedding.from_pretrained(table)
    return layer(ids) * math.sqrt(table.shape[1]) + positions[: ids.shape[1]]


@wrong("axis-lost", "squeeze")
def squeezed(ids, table, positions):
    return plain(ids, table, positions).squeeze()


@wrong("not-scaled")
def unscaled(ids, table, positions):
    return table[ids] + positions[: ids.shape[1]]


@wrong("table-changed")
def in_place(ids, table, positions):
    table *= math.sqrt(table.shape[1])
    return table[ids] + positions[: ids.shape[1]]
