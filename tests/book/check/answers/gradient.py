import torch

from answers import right, wrong


@right
def central(loss, p):
    out = torch.zeros_like(p)
    for i in range(len(p)):
        step = torch.zeros_like(p)
        step[i] = 1e-5
        out[i] = (loss(p + step) - loss(p - step)) / 2e-5
    return out


@wrong("one-sided")
def forward(loss, p):
    out = torch.zeros_like(p)
    for i in range(len(p)):
        step = torch.zeros_like(p)
        step[i] = 1e-6
        out[i] = (loss(p + step) - loss(p)) / 1e-6
    return out


@wrong("autograd")
def autograd(loss, p):
    p = p.clone().requires_grad_()
    return torch.autograd.grad(loss(p), p)[0]


wrong("other-dtype", "32 bits")(lambda loss, p: central(loss, p.float()))


def differences(h=1e-5):
    def mine(loss, p):
        steps = h * torch.eye(len(p), dtype=p.dtype)
        return torch.stack([(loss(p + s) - loss(p - s)) / (2 * h) for s in steps])

    return mine


right(differences(1e-4))
right(differences(1e-6))
wrong("step-too-large")(differences(0.1))
wrong("step-too-small")(differences(1e-13))
wrong("step-too-small", "at p itself only")(differences(1e-25))
wrong("shape")(lambda loss, p: central(loss, p).sum())
wrong("stops-with-an-error")(lambda loss, p: loss(p[0] + 1e-5) - loss(p[0] - 1e-5))
wrong("wrong-numbers")(lambda loss, p: central(loss, p) + 1)
wrong("loss-not-called")(lambda loss, p: 3 * p**2)
wrong("all-at-once")(
    lambda loss, p: (loss(p + 1e-5) - loss(p - 1e-5)) / 2e-5 * torch.ones_like(p)
)


@wrong("not-put-back")
def leaves_it_moved(loss, p, h=1e-5):
    slopes, moved = torch.zeros_like(p), p.clone()
    for i in range(len(p)):
        moved[i] += h
        above = loss(moved)
        moved[i] -= 3 * h
        slopes[i] = (above - loss(moved)) / (2 * h)
    return slopes
