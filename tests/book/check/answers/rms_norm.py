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


wrong("root-forgotten")(
    lambda x, gain, epsilon: gain * x / ((x**2).mean(-1, keepdim=True) + epsilon)
)
wrong("epsilon-outside-the-root")(
    lambda x, gain, epsilon: gain * x / ((x**2).mean(-1, keepdim=True).sqrt() + epsilon)
)
wrong("gain-missing")(
    lambda x, gain, epsilon: x / torch.sqrt((x**2).mean(-1, keepdim=True) + epsilon)
)
wrong("gain-plus-one")(lambda x, gain, epsilon: plain(x, 1 + gain, epsilon))


@wrong("over-the-positions")
def positions(x, gain, epsilon):
    return gain * x / torch.sqrt((x**2).mean(-2, keepdim=True) + epsilon)


wrong("over-everything")(
    lambda x, gain, epsilon: gain * x / torch.sqrt((x**2).mean() + epsilon)
)
wrong("epsilon-ignored")(lambda x, gain, epsilon=1e-06: plain(x, gain, 1e-6))


@wrong("gradient-partly-cut", "detach")
def detached(x, gain, epsilon):
    return gain * x / torch.sqrt((x**2).mean(-1, keepdim=True).detach() + epsilon)
