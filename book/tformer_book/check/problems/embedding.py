"""The grader for `embedding` of chapter *Embeddings*, and known mistakes."""

from __future__ import annotations

import math

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
    draw,
    probe_gradients,
)
from tformer_book.check.problems._embedding import TENSOR, explain

POSITIONS_BY_ID = (
    "You look the positions up by id. A position's row belongs to the place in the "
    "sentence, not to the piece that stands there."
)
SIZES = ((2, 3, 11, 4), (1, 2, 6, 9), (1, 5, 9, 16), (3, 3, 7, 7))  # B, T, V, D


def _case(batch: int, length: int, size: int, width: int) -> dict[str, Tensor]:
    """Ids with padding (0), with a piece that comes twice; a table; positions."""
    generator = torch.Generator().manual_seed(size)
    ids = torch.randint(1, size, (batch, length), generator=generator)
    ids[-1, -1], ids[0, 1] = 0, ids[0, 0]
    return {
        "ids": ids,
        "table": draw(size, width, seed=width),
        "positions": draw(length + 4, width, seed=100 + width),
    }


def _wrong_embedding(ids: Tensor, table: Tensor, positions: Tensor) -> Known:
    batch, length = ids.shape
    size, width = table.shape
    rows, root = table[ids], math.sqrt(width)
    places = positions[:length]
    right = rows * root + places
    yield Slip(
        "not-scaled",
        f"The factor is missing: multiply the rows by √d_model, here √{width} = "
        f"{root:g}, before the positions are added. Rows start with length 1, because "
        "the same table also makes the logits; positions would drown them.",
        rows + places,
    )
    yield Slip(
        "divided",
        "You divide by √d_model; the paper multiplies. Dividing is for the scores of "
        "attention, where sums have grown large. Here rows are small and must grow.",
        rows / root + places,
    )
    yield Slip(
        "scaled-after-adding",
        "You add the positions first and multiply the sum by √d_model, so positions "
        "grow along with the words, and the factor has changed nothing between them. "
        "Multiply the rows alone, then add.",
        (rows + places) * root,
    )
    yield Slip(
        "positions-scaled-instead",
        "You multiply the positions, not the rows: the drowning gets worse.",
        rows + places * root,
    )
    yield Slip(
        "times-the-width",
        "You multiply by d_model. The factor is its square root: math.sqrt(d_model), "
        "or d_model ** 0.5.",
        rows * width + places,
    )
    for other, name in ((length, "length"), (size, "vocabulary"), (batch, "batch")):
        if other != width:
            yield Slip(
                "root-of-another-size",
                f"You take the root of the wrong size: that of the {name}, {other}. "
                f"The width of the vectors is table.size(-1) = {width}.",
                rows * math.sqrt(other) + places,
            )
    yield Slip(
        "positions-forgotten",
        "The rows are right and scaled, but no positions are added: the first T rows "
        "of `positions`.",
        rows * root,
    )
    yield Slip(
        "not-scaled",
        "Only the look-up is there. Multiply by √d_model, then add the positions.",
        rows,
    )
    yield Slip(
        "positions-from-one",
        "Your first piece gets row 1 of the positions. Count from 0: positions[:T].",
        rows * root + positions[1 : length + 1],
    )
    yield Slip(
        "one-position-for-all",
        "All pieces of a sentence get the same position. Piece t needs row t: "
        "positions[:T] has T rows, which broadcast over the batch.",
        rows * root + positions[0],
    )
    yield Slip(
        "position-of-the-sentence",
        "You take the row of positions by the number of the sentence in the batch. It "
        "belongs to the place of the piece in its sentence: the second axis of ids.",
        rows * root + positions[:batch, None],
    )
    yield Slip(
        "positions-by-id",
        POSITIONS_BY_ID,
        rows * root + positions[ids % len(positions)],
    )
    yield Slip(
        "padding-zeroed",
        "You make the rows of padding 0 (or skip them). The package does not: nobody "
        "reads them, since masks hide padding as keys and the loss leaves it out. And "
        "which id is padding, your function cannot know.",
        rows * (ids != 0)[..., None] * root + places,
    )
    yield Slip(
        "padding-zeroed",
        "You make the whole vector of padding 0, its position included. The package "
        "does not: masks hide padding as keys, and the loss leaves it out.",
        right * (ids != 0)[..., None],
    )
    unit = torch.nn.functional.normalize(rows, dim=-1)
    yield Slip(
        "normalised",
        "You bring each row to length 1 first. The length of a row is learned, like "
        "its direction: leave it.",
        unit * root + places,
    )
    yield Slip(
        "ids-counted-from-one",
        "Each piece gets the row of its neighbour: you subtract 1 from the ids. Row 0 "
        "belongs to id 0.",
        table[(ids - 1) % size] * root + places,
    )
    if size == width:
        yield Slip(
            "table-transposed",
            "You take columns of the table for rows: table[:, ids] or table.T[ids]. "
            "The table is (V, D): one ROW for each piece, table[ids].",
            table.T[ids] * root + places,
        )
    yield Slip(
        "batch-and-length-swapped",
        "Batch and positions have changed places: (T, B, D). Batch comes first.",
        right.transpose(0, 1),
    )
    yield Slip(
        "counts-instead-of-rows",
        "You add up the rows of a sentence: a bag of words. Each position keeps its "
        "own vector.",
        right.sum(1),
    )


def _probe_embedding(mine: Function) -> None:
    for sizes in SIZES:
        case = _case(*sizes)
        batch, length, size, width = sizes
        said = f"For ids ({batch}, {length}) and a table ({size}, {width})"
        try:
            returned = call(mine, case, {})
        except Stopped as stopped:
            raise _embedding_stopped(stopped, case) from None
        except Mistake as mistake:
            if mistake.diagnosis == "changes-inputs" and "table" in mistake.message:
                raise Mistake(
                    "table-changed",
                    "Your function changes the table itself, so the second call finds "
                    "other rows than the first, and the logits, which need the rows "
                    "unscaled, are wrong. Look for *= or mul_, and make new tensors.",
                ) from None
            raise
        found = as_tensor(returned, TENSOR)
        if found.shape == (width, batch, length):
            raise Mistake(
                "table-transposed",
                f"{said} your result has shape {tuple(found.shape)}: you take columns, "
                "table[:, ids]. The table has one ROW for each piece: table[ids].",
            )
        table, positions = case["table"], case["positions"]
        wanted = table[case["ids"]] * math.sqrt(width) + positions[:length]
        compare(found, wanted, _wrong_embedding(**case), said=said)
        if found.dtype != torch.float32:
            raise Mistake(
                "dtype",
                f"For a float32 table your vectors are {found.dtype}. Keep the type: "
                "a plain number such as math.sqrt(d) does, a float64 tensor does not.",
            )


def _embedding_stopped(stopped: Stopped, case: dict[str, Tensor]) -> Mistake:
    text = str(stopped.problem)
    table, ids = case["table"], case["ids"]
    if isinstance(stopped.problem, RuntimeError) and "must match" in text:
        if str(len(case["positions"])) in text:
            return Mistake(
                "all-positions",
                f"You add all {len(case['positions'])} rows of positions to "
                f"{ids.size(1)} pieces. Take as many as there are: positions[:T].",
            )
        if str(table.size(1)) in text:
            return Mistake(
                "table-transposed",
                "Shapes do not fit: do you take columns of the table, table[:, ids]? "
                "It has one ROW for each piece: table[ids] is (B, T, D).",
            )
    if isinstance(stopped.problem, IndexError) and "out of" in text:
        if text.endswith(f"size {len(case['positions'])}"):
            return Mistake("positions-by-id", POSITIONS_BY_ID)
        return Mistake(
            "table-transposed",
            f"An id is out of range for the axis that you look it up in. The table is "
            f"(V, D) = {tuple(table.shape)}: ids choose ROWS, table[ids].",
        )
    return explain(stopped)


def _learnable_rows(mine: Function) -> None:
    case = _case(2, 3, 11, 4)
    ids, table, positions = case.values()
    probe_gradients(
        mine,
        lambda: as_tensor(call(mine, case)),
        lambda: table[ids] * 2.0 + positions[:3],
        {"table": table},
    )


def embedding(mine: Function) -> Result:
    """Grade a reader's way in: from ids to what the first layer reads.

    Args:
        mine: a function ``mine(ids, table, positions)``: (B, T) int64 ids, a (V, D)
            table and positions of at least T rows -> (B, T, D), the rows times
            sqrt(D) plus the first T positions.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Rows of the table, times the root of the width, then the positions: for any "
        "batch, with the table left as it was, and with a gradient back to it."
    )
    return grade("embedding", mine, [_probe_embedding, _learnable_rows], praise)
