import torch

from answers import right, wrong


@right
def loops(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError("inner lengths differ")
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@wrong("ready-made")
def at(a, b):
    if a.shape[1] != b.shape[0]:
        raise ValueError("inner lengths differ")
    return a @ b


@wrong("impossible-product")
def no_check(a, b):
    c = torch.zeros(a.shape[0], b.shape[1])
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(min(a.shape[1], b.shape[0])):
                c[i, j] += a[i, k] * b[k, j]
    return c
