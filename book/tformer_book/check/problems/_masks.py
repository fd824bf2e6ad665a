"""What the problems of chapter *Masks* share."""

from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit

FLIPPED = (
    "The mask is the wrong way round. Here True means MAY attend; yours is True where "
    "attention is forbidden, as nn.MultiheadAttention wants it. Put a ~ in front."
)
QUERIES_TOO = (
    "You hide padded queries (rows) as well as padded keys (columns). Then a padded "
    "row sees nothing: softmax makes nan of it (or, with −1e9, silent nonsense). "
    "Hide keys only; what padded rows compute is ignored by the loss."
)
WRONG_AXIS = (
    "Padding is hidden on the wrong axis: you switch off padded queries (rows), and "
    "every real query still sees the padding. The last axis belongs to the keys: "
    "(ids != pad_id)[:, None, None, :]."
)
PAD_IGNORED = (
    "Your function looks for padding at a fixed id. Compare with the pad_id that it is "
    "given: other tokenizers put padding elsewhere."
)
BY_SIZE = (
    "You look for ids above (or below) pad_id. An id is a name, not a quantity, and "
    "other tokenizers put padding last: != pad_id."
)


def as_mask(returned: Any) -> Tensor:
    """The returned mask as a bool tensor, or what is wrong with its kind."""
    returned = kit.as_tensor(returned, "a torch tensor of dtype bool")
    if returned.dtype == torch.bool:
        return returned
    if returned.is_floating_point() and (returned <= -1e3).any():
        raise kit.Mistake(
            "additive",
            "You return numbers to add to the scores (0 and something very negative). "
            "That works with some libraries, but its fill depends on the dtype. Return "
            "a bool tensor, True = may attend; attention() fills with −∞ itself.",
        )
    raise kit.Mistake(
        "not-bool",
        f"Your mask has dtype {returned.dtype}. Numbers do not say which way round "
        "they are meant, and ~ turns 1 into −2, not into 0. Return bool: compare "
        "(ids != pad_id), or end in .bool().",
    )


def compare_masks(found: Tensor, wanted: Tensor, known: kit.Known) -> None:
    """Raise the known mistake that gives this mask, else say which cell is wrong.

    Both are (..., Tq, Tk) and of the same shape.
    """
    if torch.equal(found, wanted):
        return
    kit.recognise(
        found,
        (kit.Slip(name, says, wrong.expand_as(wanted)) for name, says, wrong in known),
    )
    empty = ~found.any(-1)
    if empty.any():
        where = empty.nonzero()[0].tolist()
        raise kit.Mistake(
            "empty-row",
            f"Query {where[-1]} (batch row {where[0]}) may attend to nothing. "
            "Softmax over nothing is nan. Every row needs at least one True.",
        )
    place = (found != wanted).nonzero()[0].tolist()
    batch, query, key = place[0], place[-2], place[-1]
    may, here = ("must not", "True") if found[tuple(place)] else ("may", "False")
    raise kit.Mistake(
        "wrong-cell",
        f"In batch row {batch}, query {query} {may} attend to key {key}, but your "
        f"mask is {here} there. (Positions count from 0.)",
    )


def some_ids(pad_id: int) -> Tensor:
    """(3, 5) ids, lengths 5, 3 and 1; where pad_id is not 0, a real 0 among them."""
    ids = torch.tensor([[4, 5, 6, 8, 2], [9, 5, 2, 0, 0], [2, 0, 0, 0, 0]])
    if pad_id:
        ids[ids == 0] = pad_id
        ids[0, 1] = 0
    return ids
