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


@wrong("other-dtype", "32 bits")
def in_single_precision(loss, p):
    return central(loss, p.float())
