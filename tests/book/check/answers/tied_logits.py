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


@wrong("axis-lost", "squeeze")
def squeezed(hidden, table):
    return (hidden @ table.T).squeeze()
