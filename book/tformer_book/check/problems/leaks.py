"""The grader for `leaks` of chapter *Masks*, and the slips it knows."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tformer.config import TransformerConfig
from tformer_book.check import kit

HINTS = (
    "If you change target piece t, which rows of the logits may move, and which must "
    "not?",
    "Compute the logits once. Then, for each t from 1 on, exchange that piece in a "
    "copy for another one (not padding) and compare the rows before t: they must be "
    "equal to the last bit.",
    "before = model(source_ids, target_ids)",
)

PAD, SIZE = 0, 14


class Toy(nn.Module):
    """A stand-in for a model, whose positions see just what `sees` says."""

    def __init__(self, sees: Tensor, rows: tuple[int, ...] = (0, 1, 2)) -> None:
        super().__init__()
        self.config = TransformerConfig(vocab_size=SIZE, d_model=8, n_heads=2)
        self.sees, self.rows = sees, rows
        self.table = nn.Parameter(kit.draw(SIZE, SIZE, seed=1))

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Tensor:
        """(B, S), (B, T) -> (B, T, V)."""
        length = target_ids.size(1)
        causal = torch.ones(length, length).tril()
        each = torch.stack(
            [
                self.sees[:length, :length] if i in self.rows else causal
                for i in range(len(target_ids))
            ]
        )
        source = self.table[source_ids].mean(1, keepdim=True)
        return each @ self.table[target_ids] + source


def _models(length: int) -> list[tuple[str, bool, Toy, str]]:
    causal = torch.ones(length, length).tril()

    def opened(*cells: tuple[int, int], by: float = 1.0) -> Tensor:
        sees = causal.clone()
        for query, key in cells:
            sees[query, key] = by
        return sees

    everything = torch.ones(length, length)
    nexts = causal + torch.diag(torch.ones(length - 1), 1)
    return [
        ("always-true", False, Toy(causal), "a model whose mask is right"),
        ("always-false", True, Toy(everything), "a model without a causal mask"),
        ("next-missed", True, Toy(nexts), "a model that sees one piece ahead"),
        (
            "last-missed",
            True,
            Toy(opened((0, length - 1))),
            "a model whose first position sees the last piece and nothing else ahead",
        ),
        (
            "middle-missed",
            True,
            Toy(opened((2, 3))),
            "a model that leaks at one position in the middle only",
        ),
        (
            "first-sentence-only",
            True,
            Toy(everything, rows=(1,)),
            "a model that leaks in the second sentence of the batch only",
        ),
        (
            "small-leak-missed",
            True,
            Toy(opened((1, 4), by=1e-3)),
            "a model that leaks a little, by a factor of 0.001",
        ),
    ]


REMINDERS = {
    "always-true": "A logit at position t may depend on pieces up to t; change a later "
    "one, and compare positions before it only.",
    "always-false": "Change a later piece, and see whether earlier logits move.",
    "next-missed": "Change position t and look at all positions before it, t − 1 "
    "included: [:, :t].",
    "last-missed": "Try every position, the last one too.",
    "middle-missed": "Try every position, not just one or two.",
    "first-sentence-only": "Compare the logits of all sentences.",
    "small-leak-missed": "A piece that changes a logit by little still leaks: compare "
    "exactly, or with a small tolerance. And change it to another piece, really.",
}


def _answer(mine: kit.Function, model: Toy, source: Tensor, target: Tensor) -> bool:
    given: dict[str, Any] = {
        "model": model,
        "source_ids": source,
        "target_ids": target,
    }
    found = kit.call(mine, given)
    if isinstance(found, Tensor | np.generic) and math.prod(found.shape) == 1:
        found = bool(found)
    if not isinstance(found, bool):
        raise kit.Mistake(
            "not-a-truth",
            f"Your function returns {found!r}; I need True (it leaks) or False.",
        )
    return found


def _probe(mine: kit.Function) -> None:
    generator = torch.Generator().manual_seed(3)
    source = torch.randint(4, SIZE, (3, 5), generator=generator)
    target = torch.randint(4, SIZE, (3, 6), generator=generator)
    target[:, 0] = 1
    answers = [
        (name, leaky, _answer(mine, model, source, target), what)
        for name, leaky, model, what in _models(6)
    ]
    if all(found != leaky for _, leaky, found, _ in answers):
        raise kit.Mistake(
            "wrong-way-round",
            "Your answers are the wrong way round: True means that it leaks.",
        )
    if not any(found for *_, found, _ in answers):
        raise kit.Mistake(
            "always-false",
            f"You never say True, not even for {answers[1][3]}. "
            f"{REMINDERS['always-false']}",
        )
    for name, leaky, found, what in answers:
        if found != leaky:
            raise kit.Mistake(
                name,
                f"For {what} you say {found}; it should be {leaky}. {REMINDERS[name]}",
            )


@kit.grader(_probe)
def leaks(mine: kit.Function) -> str:
    """Grade a reader's test of whether a model sees the future.

    ``mine`` is a function ``mine(model, source_ids, target_ids)``: True if any logit of
    ``model(source_ids, target_ids)`` depends on a later target piece.
    """
    return (
        "It accepts a causal model and catches leaks that are wide or narrow, near or "
        "far, large or small, in any sentence."
    )
