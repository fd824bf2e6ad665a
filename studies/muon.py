"""`tformer`, with Muon in place of Adam for the matrices of the layers.

    python -m studies.muon train --corpus multi30k ...     as python -m tformer train

Muon averages gradients as momentum does, and then makes all directions of a matrix's
step equally long. Embeddings and vectors are left to Adam. PyTorch has it as
`torch.optim.Muon`, one matrix after another; here matrices of the same shape move
together, which takes about half of the time where they are small.

Such a run can't be resumed, because a checkpoint of the package knows Adam's averages
only, and the model's card doesn't tell of Muon, because a recipe doesn't.

Source: Jordan and others 2024 (https://kellerjordan.github.io/posts/muon/); the length
of a step and the weight decay are those of Liu and others 2025 (arXiv 2502.16982).
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from tformer.cli import main
from tformer.train import fitting
from tformer.train.loop import Loop

MOMENTUM = 0.95
WEIGHT_DECAY = 0.3  # chosen on the validation set, see studies/speedrun.md
STEPS = 5  # of the iteration, and its three numbers
POLYNOMIAL = (3.4445, -4.7750, 2.0315)


def orthogonal(matrices: Tensor) -> Tensor:
    """Matrices whose singular values are pushed towards 1, by Newton and Schulz.

    Args:
        matrices: (n, rows, columns), no more rows than columns.

    Returns:
        The same shape, in bfloat16; singular values of about 0.7 to 1.2.
    """
    a, b, c = POLYNOMIAL
    x = matrices.bfloat16()
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(STEPS):
        gram = x @ x.mT
        mixed = torch.baddbmm(gram, gram, gram, beta=b, alpha=c)
        x = torch.baddbmm(x, mixed, x, beta=a)
    return x


class Muon(torch.optim.Adam):
    """Adam for all parameters but some matrices, which move by Muon.

    Args:
        parameters: all of them.
        matrices: those that Muon moves.
        weight_decay: of these matrices, as a share of the learning rate.
        adam: further arguments of Adam.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        matrices: Iterable[Tensor],
        *,
        weight_decay: float = WEIGHT_DECAY,
        **adam: Any,
    ) -> None:
        super().__init__(parameters, **adam)
        self.of_matrices = weight_decay
        self.alike: dict[tuple[int, ...], list[Tensor]] = defaultdict(list)
        for each in matrices:
            self.alike[tuple(sorted(each.shape))].append(each)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> Any:
        """Move the matrices, and leave the rest to Adam."""
        if closure is not None:
            raise ValueError("closure: these gradients are computed before the step")
        rate = self.param_groups[0]["lr"]
        for (_, longer), matrices in self.alike.items():
            whole = torch.stack([self._averaged(each) for each in matrices])
            for matrix, change in zip(matrices, orthogonal(whole), strict=True):
                matrix.mul_(1 - rate * self.of_matrices)
                turned = change.mT if matrix.size(0) > matrix.size(1) else change
                matrix.add_(turned, alpha=-rate * 0.2 * math.sqrt(longer))
                matrix.grad = None  # Adam passes it over
        return super().step()

    def _averaged(self, matrix: Tensor) -> Tensor:
        """A matrix's gradient with Nesterov's momentum, lying on its longer side."""
        state, gradient = self.state[matrix], matrix.grad
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix)
        average = state["momentum"].lerp_(gradient, 1 - MOMENTUM)
        ahead = gradient.lerp(average, MOMENTUM)
        return ahead.mT if matrix.size(0) > matrix.size(1) else ahead


class MuonLoop(Loop):
    """The package's loop, with the other optimizer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        named = self.model.named_parameters()
        self.optimizer = Muon(
            self.model.parameters(),
            [each for name, each in named if each.dim() == 2 and "embed" not in name],
            betas=self.recipe.adam_betas,
            eps=self.recipe.adam_epsilon,
            fused=True,
        )


if __name__ == "__main__":
    fitting.Loop = MuonLoop  # type: ignore[misc]
    sys.exit(main(sys.argv[1:]))
