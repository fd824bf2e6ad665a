"""One step of training through one attention, with all of its numbers.

Chapter *Training* shows it. ``maths.js`` goes forward and backward, ``steps.js`` says
what each step does; PyTorch's autograd checks the numbers.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from tformer.attention import attention
from tformer_book.widgets._figure import PageFigure

LAST_STEP = 12  # of steps.js, from 0: the update


class OneGradient(PageFigure):
    """A loss is computed, its gradient goes back, and the matrices are changed once.

    The last of three words attends to all three, and one of three German words should
    come next. Everything is small enough to be recomputed by hand.

    Args:
        target: which word should come next, from 0.
        rate: the learning rate of the one step of gradient descent.
        step: how far it is shown, 0 to 12.

    Raises:
        traitlets.TraitError: no such word or step, or a rate outside 0 to 4.

    Source: the chain rule; attention is equation 1 of the paper for one query.
    """

    words = traitlets.List(["dog", "was", "it"], read_only=True).tag(sync=True)
    answers = traitlets.List(["er", "sie", "es"], read_only=True).tag(sync=True)
    x = traitlets.List([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]).tag(sync=True)
    w_query = traitlets.List([[2.0, 0.0], [0.0, 1.0]]).tag(sync=True)
    w_key = traitlets.List([[0.0, 1.0], [1.0, 0.0]]).tag(sync=True)
    w_value = traitlets.List([[1.0, -1.0], [0.0, 2.0]]).tag(sync=True)
    table = traitlets.List([[1.0, 0.0, -1.0], [0.0, 1.0, 1.0]]).tag(sync=True)
    target = traitlets.Int(0, min=0, max=2).tag(sync=True)
    rate = traitlets.Float(1.0, min=0.0, max=4.0).tag(sync=True)
    step = traitlets.Int(0, min=0, max=LAST_STEP).tag(sync=True)

    def __init__(
        self, *, target: int = 0, rate: float = 1.0, step: int = 0, **state: object
    ) -> None:
        super().__init__(target=target, rate=rate, step=step, **state)

    def _tensors(self) -> dict[str, Tensor]:
        names = ("w_query", "w_key", "w_value", "table")
        return {
            name: torch.tensor(getattr(self, name), dtype=torch.float64)
            for name in names
        }

    def _loss(self, w: dict[str, Tensor]) -> Tensor:
        x = torch.tensor(self.x, dtype=torch.float64)
        query, key, value = x[-1:] @ w["w_query"], x @ w["w_key"], x @ w["w_value"]
        output, _ = attention(query, key, value)
        return F.cross_entropy(output @ w["table"], torch.tensor([self.target]))

    @property
    def gradients(self) -> dict[str, Tensor]:
        """Of the loss, by PyTorch: w_query, w_key, w_value (2, 2) and table (2, 3)."""
        w = {name: each.requires_grad_() for name, each in self._tensors().items()}
        self._loss(w).backward()
        return {name: each.grad for name, each in w.items() if each.grad is not None}

    @property
    def losses(self) -> tuple[float, float]:
        """Before the update and after it, by PyTorch."""
        before, gradients = self._tensors(), self.gradients
        after = {name: w - self.rate * gradients[name] for name, w in before.items()}
        return self._loss(before).item(), self._loss(after).item()

    def __repr__(self) -> str:
        before, after = self.losses
        return (
            f"{' '.join(self.words)} → {self.answers[self.target]}: one step of size "
            f"{self.rate:g} takes the loss from {before:.3f} to {after:.3f}."
        )
