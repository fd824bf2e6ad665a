import torch

from answers import right, wrong


@right
def products(hidden, table, push):
    to_table = (push.transpose(1, 2) @ hidden).sum(0)
    return push @ table, to_table


@right
def flat(hidden, table, push):
    v, d = table.shape
    return push @ table, push.reshape(-1, v).T @ hidden.reshape(-1, d)


@right
def einsums(hidden, table, push):
    return (
        torch.einsum("btv,vd->btd", push, table),
        torch.einsum("btv,btd->vd", push, hidden),
    )


@wrong("ready-made")
def autograd(hidden, table, push):
    hidden, table = hidden.requires_grad_(), table.requires_grad_()
    return torch.autograd.grad(hidden @ table.T, [hidden, table], push)


wrong("swapped")(lambda *given: products(*given)[::-1])


@wrong("mean-of-the-batch")
def mean(hidden, table, push):
    return push @ table, (push.transpose(1, 2) @ hidden).mean(0)


wrong("transposed")(
    lambda hidden, table, push: (push @ table, products(hidden, table, push)[1].T)
)
