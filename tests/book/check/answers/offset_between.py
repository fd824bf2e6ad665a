import numpy as np
import torch

from answers import right, wrong


def fit(a, b, k):
    speed = 10_000 ** (-torch.arange(0, len(a), 2) / len(a))
    cos = a[1::2] * b[1::2] + a[0::2] * b[0::2]
    sin = b[0::2] * a[1::2] - b[1::2] * a[0::2]
    turn = k[:, None] * speed
    return k[(turn.cos() * cos + turn.sin() * sin).sum(-1).argmax()]


@right
def all_hands(a, b):
    return int(fit(a, b, torch.arange(-1000, 1001)))


right(lambda a, b: np.int64(int(fit(a, b, torch.arange(-1000, 1001)))))
right(lambda a, b: fit(a, b, torch.arange(-1000, 1001)))
wrong("range-ends-early", "1_001")(
    lambda a, b: int(fit(a, b, torch.arange(-1000, 1000)))
)


@wrong("slowest-hand-only", "vote")
def slowest(a, b):
    turn = torch.atan2(b[-2], b[-1]) - torch.atan2(a[-2], a[-1])
    return round(float(turn) * 10_000 ** ((len(a) - 2) / len(a)))


wrong("one-width-only")(lambda a, b: all_hands(a, b) if len(a) == 64 else 7)
wrong("wrong-offset")(lambda a, b: 3)
wrong("one-hand")(
    lambda a, b: round(
        float(torch.atan2(b[0] * a[1] - b[1] * a[0], a[0] * b[0] + a[1] * b[1]))
    )
)
