"""The grader for `one_hot` of chapter *Embeddings*, and known mistakes."""

from __future__ import annotations

import torch
from torch import Tensor

from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    as_tensor,
    call,
)
from tformer_book.check.problems._embedding import TENSOR, explain


def _wrong_one_hot(ids: Tensor, size: int) -> Known:
    right = torch.eye(size)[ids]
    yield Slip(
        "ids-counted-from-one",
        "Each 1 stands one place too far left: you count ids from 1. Id 0 is a piece, "
        "too (padding), and has the first column.",
        torch.eye(size)[(ids - 1) % size],
    )
    yield Slip(
        "ids-counted-from-one",
        "Each 1 stands one place too far right. Id 0 has the first column.",
        torch.eye(size)[(ids + 1) % size],
    )
    yield Slip(
        "counts-instead-of-rows",
        "You have one vector for the whole sentence, with a count for each piece: a "
        "bag of words. The order is lost. Each position needs a vector of its own.",
        right.sum(dim=-2),
    )
    yield Slip(
        "counts-instead-of-rows",
        "You have one vector for the whole sentence that says which pieces occur. Each "
        "position needs a vector of its own.",
        right.amax(dim=-2),
    )
    yield Slip(
        "axes-swapped",
        "Vocabulary and positions have changed places: one row for each piece of the "
        "vocabulary. Put the vocabulary last, (…, T, V): then the product with the "
        "table (V, D) gives (…, T, D).",
        right.transpose(-1, -2),
    )
    yield Slip(
        "the-id-instead-of-one",
        "You write the id itself where the 1 belongs. Then piece 12 would be twelve "
        "times as much as piece 1, and padding, id 0, would have no 1 at all.",
        right * ids[..., None],
    )
    yield Slip(
        "thermometer",
        "All places up to the id are 1. Only the place of the id is.",
        (torch.arange(size) <= ids[..., None]).float(),
    )
    yield Slip(
        "upside-down",
        "You have 0 at the id and 1 everywhere else: compare with ==, not with !=.",
        1 - right,
    )


def _probe_one_hot(mine: Function) -> None:
    for ids, size in (
        (torch.tensor([2, 0, 3, 2]), 6),
        (torch.tensor([1, 4]), 5),
        (torch.tensor([[5, 2, 0], [1, 1, 6]]), 8),
    ):
        said = f"For ids {ids.tolist()} and vocab_size {size}"
        try:
            found = as_tensor(call(mine, {"ids": ids, "vocab_size": size}, {}), TENSOR)
        except Stopped as stopped:
            if ids.dim() == 2:
                raise Mistake(
                    "one-sentence-only",
                    "Right for one sentence, but it stops with an error for a batch, "
                    "ids (B, T). Write it for any shape: compare ids[..., None] with "
                    "torch.arange(vocab_size).",
                ) from None
            raise explain(stopped) from None
        wanted = torch.eye(size)[ids]
        needed = int(ids.max()) + 1
        if found.shape == (*ids.shape, needed) and needed != size:
            raise Mistake(
                "vocabulary-from-the-ids",
                f"{said} your vectors are {found.size(-1)} wide: as wide as the "
                "largest id needs. The width is the size of the vocabulary, or no "
                "two sentences fit the same table. F.one_hot guesses in the same "
                "way unless you give it num_classes.",
            )
        compare(found, wanted, _wrong_one_hot(ids, size), said=said)
        if not found.is_floating_point():
            raise Mistake(
                "not-floats",
                f"The places are right, but the dtype is {found.dtype}, and whole "
                "numbers cannot be multiplied with a table of floats: hot @ table "
                "would stop with an error. End in .float().",
            )


def one_hot(mine: Function) -> Result:
    """Grade a reader's one-hot vectors.

    Args:
        mine: a function ``mine(ids, vocab_size)``: (..., T) int64 ids -> (..., T, V)
            floats, zero everywhere but 1 at each id.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "A 1 at each id, as wide as the vocabulary, for one sentence and for a batch, "
        "ready to be multiplied with a table."
    )
    return grade("one_hot", mine, [_probe_one_hot], praise)
