"""The grader for `diagonal_share` of chapter *Inside the trained model*."""

from __future__ import annotations

import torch
from torch import Tensor

from tformer_book.check._compare import Known, Slip, compare
from tformer_book.check._grade import Function, Result, grade
from tformer_book.check._run import as_tensor, call, draw

OFFSETS = (-1, 1, 0, -2)
SIZES = ((6, 6), (5, 7), (1, 4))


def _right(weights: Tensor, offset: int) -> Tensor:
    return weights.diagonal(offset).mean()


def _known(weights: Tensor, offset: int) -> Known:
    diagonal = weights.diagonal(offset)
    yield Slip(
        "rows-that-have-no-such-place",
        "You divide by the number of all rows. The first row has no previous piece and "
        "the last no next one: take the mean over the rows that have such a place.",
        diagonal.sum() / len(weights),
    )
    yield Slip(
        "wrong-direction",
        "You look to the other side. Rows are queries, columns are keys: the key of "
        "query i is column i + offset, so −1 is the piece before.",
        weights.diagonal(-offset).mean(),
    )
    yield Slip(
        "summed",
        "You add up the weights. A longer sentence would then have more of everything: "
        "take the mean.",
        diagonal.sum(),
    )
    rows = torch.arange(len(weights)) + offset
    inside = (rows >= 0) & (rows < weights.size(1))
    yield Slip(
        "counts-winners",
        "You count the rows in which this place wins. I asked for the share of the "
        "weight, which also tells 0.9 from 0.3.",
        (weights.argmax(-1) == rows)[inside].float().mean(),
    )


def _probe(mine: Function) -> None:
    for seed, size in enumerate(SIZES):
        weights = draw(*size, seed=seed).softmax(-1)
        for offset in OFFSETS:
            wanted = _right(weights, offset)
            if wanted.isnan():  # no row has such a place
                continue
            found = call(mine, {"weights": weights, "offset": offset})
            if isinstance(found, int | float):
                found = torch.tensor(float(found))
            said = f"for weights {size} and offset {offset}"
            found = as_tensor(found, "one number")
            compare(found, wanted, _known(weights, offset), said=said)


def diagonal_share(mine: Function) -> Result:
    """Grade a reader's share of the weight at a fixed distance.

    Args:
        mine: a function ``mine(weights, offset)``: (T, S) weights and -1, 0, 1, … to
            the mean weight of query i on key i + offset, over the rows that have it.

    Returns:
        The verdict; the message is printed.
    """
    praise = "Before, behind and in place, and only over rows that have such a place."
    return grade("diagonal_share", mine, [_probe], praise)
