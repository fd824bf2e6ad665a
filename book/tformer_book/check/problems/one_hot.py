"""The grader for `one_hot` of chapter *Embeddings*, and known mistakes."""

import torch
from torch import Tensor

from tformer_book.check import kit
from tformer_book.check.problems._embedding import explain, vectors

HINTS = (
    "Which question has the answer yes at exactly one place of each vector?",
    "Compare every id with all the numbers from 0 to `vocab_size` − 1 at once: an "
    "axis of size 1 at the end of `ids` makes it a comparison of each with each.",
    "return (ids[..., None] == …).float()",
)


def _hot(ids: Tensor, size: int) -> Tensor:
    return torch.eye(size)[ids]


SLIPS: kit.Table = {
    "ids-counted-from-one": (
        lambda ids, size: torch.eye(size)[(ids - 1) % size],
        "Each 1 stands one place too far left: you count ids from 1. Id 0 is a piece, "
        "too (padding), and has the first column.",
    ),
    "ids-counted-from-one:2": (
        lambda ids, size: torch.eye(size)[(ids + 1) % size],
        "Each 1 stands one place too far right. Id 0 has the first column.",
    ),
    "counts-instead-of-rows": (
        lambda ids, size: _hot(ids, size).sum(dim=-2),
        "You have one vector for the whole sentence, with a count for each piece: a "
        "bag of words. The order is lost. Each position needs a vector of its own.",
    ),
    "counts-instead-of-rows:2": (
        lambda ids, size: _hot(ids, size).amax(dim=-2),
        "You have one vector for the whole sentence that says which pieces occur. Each "
        "position needs a vector of its own.",
    ),
    "axes-swapped": (
        lambda ids, size: _hot(ids, size).transpose(-1, -2),
        "Vocabulary and positions have changed places: one row for each piece of the "
        "vocabulary. Put the vocabulary last, (…, T, V): then the product with the "
        "table (V, D) gives (…, T, D).",
    ),
    "the-id-instead-of-one": (
        lambda ids, size: _hot(ids, size) * ids[..., None],
        "You write the id itself where the 1 belongs. Then piece 12 would be twelve "
        "times as much as piece 1, and padding, id 0, would have no 1 at all.",
    ),
    "thermometer": (
        lambda ids, size: (torch.arange(size) <= ids[..., None]).float(),
        "All places up to the id are 1. Only the place of the id is.",
    ),
    "upside-down": (
        lambda ids, size: 1 - _hot(ids, size),
        "You have 0 at the id and 1 everywhere else: compare with ==, not with !=.",
    ),
}


def _probe_one_hot(mine: kit.Function) -> None:
    for ids, size in (
        (torch.tensor([2, 0, 3, 2]), 6),
        (torch.tensor([1, 4]), 5),
        (torch.tensor([[5, 2, 0], [1, 1, 6]]), 8),
    ):
        said = f"For ids {ids.tolist()} and vocab_size {size}"
        case = kit.Case({"ids": ids, "vocab_size": size})
        try:
            found = case.ask(mine, vectors)
        except kit.Stopped as stopped:
            if ids.dim() == 2:
                raise kit.Mistake(
                    "one-sentence-only",
                    "Right for one sentence, but it stops with an error for a batch, "
                    "ids (B, T). Write it for any shape: compare ids[..., None] with "
                    "torch.arange(vocab_size).",
                ) from None
            raise explain(stopped) from None
        needed = int(ids.max()) + 1
        if found.shape == (*ids.shape, needed) and needed != size:
            raise kit.Mistake(
                "vocabulary-from-the-ids",
                f"{said} your vectors are {found.size(-1)} wide: as wide as the "
                "largest id needs. The width is the size of the vocabulary, or no "
                "two sentences fit the same table. F.one_hot guesses in the same "
                "way unless you give it num_classes.",
            )
        case.compare(found, _hot, SLIPS, said=said)
        if not found.is_floating_point():
            raise kit.Mistake(
                "not-floats",
                f"The places are right, but the dtype is {found.dtype}, and whole "
                "numbers cannot be multiplied with a table of floats: hot @ table "
                "would stop with an error. End in .float().",
            )


@kit.grader(_probe_one_hot)
def one_hot(mine: kit.Function) -> str:
    """Grade a reader's one-hot vectors.

    ``mine`` is a function ``mine(ids, vocab_size)``: (..., T) int64 ids -> (..., T, V)
    floats, zero everywhere but 1 at each id.
    """
    return (
        "A 1 at each id, as wide as the vocabulary, for one sentence and for a batch, "
        "ready to be multiplied with a table."
    )
