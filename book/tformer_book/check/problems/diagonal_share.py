"""The grader for `diagonal_share` of chapter *Inside the trained model*."""

from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "Where in the table do the weights on “the next key” stand?",
    "On a diagonal: key = query + offset. `Tensor.diagonal` takes the offset, and its"
    " length is the number of rows that have such a key.",
    "return weights.diagonal(offset)…",
)

OFFSETS = (-1, 1, 0, -2)
SIZES = ((6, 6), (5, 7), (1, 4))


def _right(weights: Tensor, offset: int) -> Tensor:
    return weights.diagonal(offset).mean()


def _winners(weights: Tensor, offset: int) -> Tensor:
    rows = torch.arange(len(weights)) + offset
    inside = (rows >= 0) & (rows < weights.size(1))
    return (weights.argmax(-1) == rows)[inside].float().mean()


SLIPS: kit.Table = {
    "rows-that-have-no-such-place": (
        lambda weights, offset: weights.diagonal(offset).sum() / len(weights),
        "You divide by the number of all rows. The first row has no previous piece and "
        "the last no next one: take the mean over the rows that have such a place.",
    ),
    "wrong-direction": (
        lambda weights, offset: weights.diagonal(-offset).mean(),
        "You look to the other side. Rows are queries, columns are keys: the key of "
        "query i is column i + offset, so −1 is the piece before.",
    ),
    "summed": (
        lambda weights, offset: weights.diagonal(offset).sum(),
        "You add up the weights. A longer sentence would then have more of everything: "
        "take the mean.",
    ),
    "counts-winners": (
        _winners,
        "You count the rows in which this place wins. I asked for the share of the "
        "weight, which also tells 0.9 from 0.3.",
    ),
}


def _number(found: Any) -> Tensor:
    if isinstance(found, int | float):
        found = torch.tensor(float(found))
    return kit.as_tensor(found, "one number")


def _probe(mine: kit.Function) -> None:
    for seed, size in enumerate(SIZES):
        weights = kit.draw(*size, seed=seed).softmax(-1)
        for offset in OFFSETS:
            if _right(weights, offset).isnan():  # no row has such a place
                continue
            (case,) = kit.cases("weights offset", (weights, offset))
            said = f"for weights {size} and offset {offset}"
            case.compare(case.ask(mine, _number), _right, SLIPS, said=said)


@kit.grader(_probe)
def diagonal_share(mine: kit.Function) -> str:
    """Grade a reader's share of the weight at a fixed distance.

    ``mine`` is a function ``mine(weights, offset)``: (T, S) weights and -1, 0, 1, … to
    the mean weight of query i on key i + offset, over the rows that have it.
    """
    return "Before, behind and in place, and only over rows that have such a place."
