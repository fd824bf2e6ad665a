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


wrong("axis-lost", "squeeze")(lambda *given: plain(*given).squeeze())
wrong("not-scaled")(
    lambda ids, table, positions: table[ids] + positions[: ids.shape[1]]
)


@wrong("table-changed")
def in_place(ids, table, positions):
    table *= math.sqrt(table.shape[1])
    return table[ids] + positions[: ids.shape[1]]


wrong("all-positions")(lambda i, table, p: table[i] * table.size(1) ** 0.5 + p)
wrong("axes")(lambda i, table, p: plain(i, table, p)[None])
wrong("changes-inputs")(lambda i, table, p: plain(i.clamp_(max=1), table, p))
wrong("ids-not-whole-numbers")(lambda i, table, p: plain(i.float(), table, p))
wrong("not-finite")(lambda i, table, p: plain(i, table, p) / 0)
wrong("wrong-numbers")(lambda i, table, p: plain(i, table, p).tanh())
wrong("positions-by-id")(lambda i, table, p: table[i] * table.size(1) ** 0.5 + p[i])
wrong("table-transposed")(lambda i, table, p: table[:, i])
wrong("gradient-cut")(lambda i, table, p: plain(i, table.data, p))


@wrong("dtype")
def double_root(ids, table, positions):
    root = torch.tensor([table.size(-1)], dtype=torch.float64).sqrt()
    return table[ids] * root + positions[: ids.size(1)]
