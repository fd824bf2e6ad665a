import torch

from answers import right, wrong


@right
def plain(x, gain, epsilon):
    return gain * x / torch.sqrt((x**2).mean(-1, keepdim=True) + epsilon)


@right
def by_rsqrt(x, gain, epsilon=1e-6):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + epsilon) * gain


@right
def torchs(x, gain, epsilon=1e-6):
    return torch.nn.functional.rms_norm(x, gain.shape, gain, epsilon)


@wrong("layer-norm", "leaves the mean")
def centred(x, gain, epsilon):
    y = x - x.mean(-1, keepdim=True)
    return plain(y, gain, epsilon)


@wrong("unit-length", "length 1")
def unit(x, gain, epsilon):
    return gain * x / torch.sqrt((x**2).sum(-1, keepdim=True) + epsilon)


@wrong("root-forgotten")
def no_root(x, gain, epsilon):
    return gain * x / ((x**2).mean(-1, keepdim=True) + epsilon)


@wrong("epsilon-outside-the-root")
def outside(x, gain, epsilon):
    return gain * x / ((x**2).mean(-1, keepdim=True).sqrt() + epsilon)


@wrong("gain-missing")
def no_gain(x, gain, epsilon):
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + epsilon)


@wrong("gain-plus-one")
def gemma(x, gain, epsilon):
    return plain(x, 1 + gain, epsilon)


@wrong("over-the-positions")
def positions(x, gain, epsilon):
    return gain * x / torch.sqrt((x**2).mean(-2, keepdim=True) + epsilon)


@wrong("over-everything")
def everything(x, gain, epsilon):
    return gain * x / torch.sqrt((x**2).mean() + epsilon)


@wrong("epsilon-ignored")
def fixed(x, gain, epsilon=1e-6):
    return plain(x, gain, 1e-6)


@wrong("gradient-partly-cut", "detach")
def detached(x, gain, epsilon):
    return gain * x / torch.sqrt((x**2).mean(-1, keepdim=True).detach() + epsilon)
