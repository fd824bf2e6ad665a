"""Dropout, with a quarter of the random numbers.

Source: Srivastava et al. 2014; Vaswani et al. 2017, section 5.4. Chapter *Training*.
"""

import torch
from torch import Tensor, nn

STEPS = 2**16  # the values that 16 random bits can take


class Dropout(nn.Dropout):
    """Zero each entry with probability p while training, and scale up the rest.

    ``y = x * keep / (1 - p)`` with ``keep`` 0 or 1, so that the mean stays the same.
    On a GPU, and where it is compiled, this is PyTorch's own. On a CPU, PyTorch draws
    one random number for every entry, which takes a seventh of a training step; here a
    single 64-bit number decides four entries, and p is rounded to a multiple of
    1 / 65,536.

    Args:
        p: probability of zeroing an entry.

    Raises:
        ValueError: p is not in [0, 1].
    """

    def forward(self, x: Tensor) -> Tensor:
        """Any shape -> the same shape."""
        if not self.training:
            return x
        dropped = round(self.p * STEPS)
        is_fused = x.device.type != "cpu" or torch.compiler.is_compiling()
        if is_fused or not 0 < dropped < STEPS:
            return super().forward(x)
        keep = random_steps(x.shape) >= dropped - STEPS // 2
        return x * (keep.to(x.dtype) * (1 / (1 - self.p)))


def random_steps(shape: torch.Size) -> Tensor:
    """Random int16 of this shape, on the CPU, uniform over their 65,536 values."""
    n = shape.numel()
    words = torch.empty(-(-n // 4), dtype=torch.int64).random_(-(2**63), None)
    return words.view(torch.int16)[:n].view(shape)
