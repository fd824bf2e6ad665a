import torch

from answers import right, wrong


@right
def plain(x, k, base=10_000.0):
    turn = k / base ** (torch.arange(0, x.size(1), 2) / x.size(1))
    s, c = x[:, 0::2], x[:, 1::2]
    up, across = s * turn.cos() + c * turn.sin(), c * turn.cos() - s * turn.sin()
    return torch.stack([up, across], dim=-1).flatten(1)


wrong("base-ignored")(lambda x, k, base=10000.0: plain(x, k))


@wrong("pairs-from-halves", "rotate_half")
def llama(x, k, base=10_000.0):
    d = x.size(1)
    turn = k / base ** (torch.arange(0, d, 2) / d)
    turn = torch.cat([turn, turn])
    rotated = torch.cat([-x[:, d // 2 :], x[:, : d // 2]], dim=-1)
    return x * turn.cos() + rotated * turn.sin()


wrong("wrong-numbers")(lambda x, k: plain(x, k) + 1)
right(lambda x, k: plain(x.double(), k))
