import torch

from answers import right, wrong


@right
def transposed(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).contiguous().view(b, t, h * d)


@right
def concatenated(x):
    return torch.cat([x[:, h] for h in range(x.size(1))], dim=-1)


@wrong("not-transposed-back")
def straight(x):
    b, h, t, d = x.shape
    return x.reshape(b, t, h * d)


@wrong("view-of-a-transposed-tensor")
def viewed(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).view(b, t, h * d)


@wrong("averaged")
def mean(x):
    return x.mean(1)


@wrong("axis-lost")
def squeezed(x):
    return transposed(x).squeeze()
