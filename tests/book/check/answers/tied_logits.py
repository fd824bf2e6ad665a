import torch

from answers import right, wrong


@right
def plain(hidden, table):
    return hidden @ table.T


@wrong("gradient-cut", "Parameter")
def copied(hidden, table):
    layer = torch.nn.Linear(table.size(1), table.size(0), bias=False)
    layer.weight = torch.nn.Parameter(table.clone())
    return layer(hidden)


wrong("axis-lost", "squeeze")(lambda hidden, table: (hidden @ table.T).squeeze())
wrong("axes")(lambda hidden, table: plain(hidden, table).flatten(0, 1))
wrong("axes-swapped")(lambda hidden, table: table @ hidden.mT)
wrong("changes-inputs")(lambda hidden, table: hidden.mul_(2) @ table.T)
wrong("not-finite")(lambda hidden, table: plain(hidden, table) / 0)
wrong("wrong-numbers")(lambda hidden, table: plain(hidden, table) + 1)
wrong("table-not-transposed")(lambda hidden, table: hidden @ table)
right(lambda hidden, table: torch.einsum("btd,vd->btv", hidden, table))
