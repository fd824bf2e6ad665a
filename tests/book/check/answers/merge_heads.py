import torch

from answers import right, wrong


@right
def transposed(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).contiguous().view(b, t, h * d)


right(lambda x: torch.cat([x[:, h] for h in range(x.size(1))], dim=-1))


@wrong("not-transposed-back")
def straight(x):
    b, h, t, d = x.shape
    return x.reshape(b, t, h * d)


@wrong("view-of-a-transposed-tensor")
def viewed(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).view(b, t, h * d)


wrong("averaged")(lambda x: x.mean(1))
wrong("axis-lost")(lambda x: transposed(x).squeeze())
wrong("changes-inputs")(lambda x: transposed(x.mul_(1.5)) / 1.5)
wrong("gradient-cut")(lambda x: transposed(x.detach()))
wrong("returns-several")(lambda x: list(x.unbind(1)))
wrong("shifted")(lambda x: transposed(x).roll(1, -1))
wrong("sizes-fixed")(lambda x: x.transpose(1, 2).reshape(2, 5, 12))
