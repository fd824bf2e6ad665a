import torch

from answers import right, wrong


@right
def loops(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"{tuple(a.shape)} @ {tuple(b.shape)}")
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@wrong("ready-made")
def at(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"{tuple(a.shape)} @ {tuple(b.shape)}")
    return a @ b


@wrong("impossible-product")
def no_check(a, b):
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(min(a.shape[1], b.shape[0])):
                c[i, j] += a[i, k] * b[k, j]
    return c


@right
def inner_dot(a, b):
    if a.size(1) != b.size(0):
        raise ValueError(f"cannot multiply {list(a.shape)} by {list(b.shape)}")
    columns = b.unbind(1)
    return torch.stack([torch.stack([torch.dot(r, c) for c in columns]) for r in a])


@wrong("shapes-not-named", "both shapes")
def silent_error(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"inner lengths {a.shape[1]} and {b.shape[0]} differ")
    return loops(a, b)


wrong("whole-numbers", "int64")(lambda *given: loops(*given).long())
wrong("wrong-numbers", "Entry (0, 0) is (")(lambda a, b: loops(a, b) + 1)
wrong("unhelpful-error")(lambda a, b: (a[:, :, None] * b[None]).sum(1))


@wrong("ready-made", "matmul")
def in_numpy(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"{tuple(a.shape)} @ {tuple(b.shape)}")
    return torch.from_numpy(a.numpy() @ b.numpy())


@right
def loops_in_numpy(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"{tuple(a.shape)} @ {tuple(b.shape)}")
    a, b = a.numpy(), b.numpy()
    return torch.tensor([[sum(r * c) for c in b.T] for r in a])


def ready(product):
    """A product that is refused where it should be, and ready-made elsewhere."""

    def mine(a, b):
        if a.shape[1] != b.shape[0]:
            raise ValueError(f"{tuple(a.shape)} @ {tuple(b.shape)}")
        return product(a, b)

    return mine


wrong("ready-made")(ready(torch.mm))
wrong("ready-made")(ready(torch.ops.aten.mm))
wrong("ready-made")(ready(lambda a, b: torch.conv1d(a.T[None], b.T[..., None])[0].T))
wrong("ready-made")(ready(lambda a, b: torch.einsum("ik,kj->ij", a, b)))
wrong("ready-made")(ready(lambda a, b: torch.nn.functional.linear(a, b.T)))
right(ready(lambda a, b: (a[:, :, None] * b[None]).sum(1)))
