import sys

import numpy as np
import torch
import torch.nn.functional as F

from answers import right, wrong


@right
def plain(scores):
    e = (scores - scores.max(dim=-1, keepdim=True).values).exp()
    return e / e.sum(dim=-1, keepdim=True)


@right
def largest_detached(scores):
    e = torch.exp(scores - scores.detach().amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


@wrong("not-the-largest", "mean")
def minus_the_mean(scores):
    e = (scores - scores.mean(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@wrong("values-forgotten", ".values")
def no_values(scores):
    e = (scores - scores.max(dim=-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


@wrong("gradient-in-place", "e /= ")
def in_place(scores):
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    e /= e.sum(-1, keepdim=True)
    return e


@wrong("gradient-cut", "np.")
def numpy_inside(scores):
    e = np.exp(scores.numpy() - scores.numpy().max(-1, keepdims=True))
    return torch.from_numpy(e / e.sum(-1, keepdims=True))


@wrong("not-a-tensor", "NumPy")
def numpy_array(scores):
    e = np.exp(scores.numpy() - scores.numpy().max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@wrong("keepdim-forgotten", "keepdim=True")
def no_keepdim(scores):
    e = scores.exp()
    return e / e.sum(-1)


wrong("ready-made")(lambda scores: F.softmax(scores, dim=-1))
right(lambda scores: torch.exp(scores - torch.logsumexp(scores, -1, keepdim=True)))


def shifted_by(shift):
    def mine(scores):
        powers = (scores - shift(scores)).exp()
        return powers / powers.sum(-1, keepdim=True)

    return mine


wrong("overflow", "overflow")(shifted_by(lambda s: 0))
wrong("overflow", "0 ÷ 0")(shifted_by(lambda s: s.amax(-1, keepdim=True).clamp(min=0)))
wrong("one-maximum-for-all")(shifted_by(lambda s: s.max()))
wrong("minus-infinity")(lambda scores: plain(scores.nan_to_num(neginf=0)))
wrong("dtype")(lambda scores: plain(scores.double()))
wrong("wrong-numbers")(lambda s: (e := s.exp() + 1) / e.sum(-1, keepdim=True))
wrong("ready-made")(lambda scores: scores.log_softmax(-1).exp())
wrong("exits", "sys.exit")(lambda scores: sys.exit())
wrong("ready-made")(lambda scores: torch.ops.aten._softmax(scores, -1, False))


@wrong("ready-made")
def traced(scores):
    made = torch.jit.trace(
        F.softmax, (scores.detach(), torch.tensor(-1)), check_trace=False
    )
    return made(scores, torch.tensor(-1))
