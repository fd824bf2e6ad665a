"""The grader for `embedding` of chapter *Embeddings*, and known mistakes."""

import math
from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit
from tformer_book.check.problems._embedding import explain, vectors

HINTS = (
    "Which of the two is scaled: the words' rows, or the sum?",
    "Look the rows up with `table[ids]`, multiply them by the root of the width, then"
    " add the first T rows of `positions`. Don't change `table` itself.",
    "d_model = table.size(-1)",
)

POSITIONS_BY_ID = (
    "You look the positions up by id. A position's row belongs to the place in the "
    "sentence, not to the piece that stands there."
)

SIZES = ((2, 3, 11, 4), (1, 2, 6, 9), (1, 5, 9, 16), (3, 3, 7, 7))  # B, T, V, D


def _case(batch: int, length: int, size: int, width: int) -> kit.Case:
    """Ids with padding (0), with a piece that comes twice; a table; positions."""
    generator = torch.Generator().manual_seed(size)
    ids = torch.randint(1, size, (batch, length), generator=generator)
    ids[-1, -1], ids[0, 1] = 0, ids[0, 0]
    table = kit.draw(size, width, seed=width)
    positions = kit.draw(length + 4, width, seed=100 + width)
    return kit.Case({"ids": ids, "table": table, "positions": positions})


@kit.of_terms
def _of(ids: Tensor, table: Tensor, positions: Tensor) -> dict[str, Any]:
    batch, length = ids.shape
    size, width = table.shape
    rows, root = table[ids], math.sqrt(width)
    places = positions[:length]
    right = rows * root + places
    real = (ids != 0)[..., None]
    unit = torch.nn.functional.normalize(rows, dim=-1)
    return locals()


def _other_root(name: str) -> tuple[kit.Function, kit.Function]:
    """The root of another size than the width, which `name` calls."""
    sizes = {"length": "length", "vocabulary": "size", "batch": "batch"}
    return (
        _of(lambda t: t.rows * math.sqrt(getattr(t, sizes[name])) + t.places),
        _of(
            lambda t: (
                f"You take the root of the wrong size: that of the {name}, "
                f"{getattr(t, sizes[name])}. The width of the vectors is "
                f"table.size(-1) = {t.width}."
            )
        ),
    )


SLIPS: kit.Table = {
    "not-scaled": (
        _of(lambda t: t.rows + t.places),
        _of(
            lambda t: (
                "The factor is missing: multiply the rows by √d_model, here "
                f"√{t.width} = {t.root:g}, before the positions are added. Rows start "
                "with length 1, because the same table also makes the logits; "
                "positions would drown them."
            )
        ),
    ),
    "divided": (
        _of(lambda t: t.rows / t.root + t.places),
        "You divide by √d_model; the paper multiplies. Dividing is for the scores of "
        "attention, where sums have grown large. Here rows are small and must grow.",
    ),
    "scaled-after-adding": (
        _of(lambda t: (t.rows + t.places) * t.root),
        "You add the positions first and multiply the sum by √d_model, so positions "
        "grow along with the words, and the factor has changed nothing between them. "
        "Multiply the rows alone, then add.",
    ),
    "positions-scaled-instead": (
        _of(lambda t: t.rows + t.places * t.root),
        "You multiply the positions, not the rows: the drowning gets worse.",
    ),
    "times-the-width": (
        _of(lambda t: t.rows * t.width + t.places),
        "You multiply by d_model. The factor is its square root: math.sqrt(d_model), "
        "or d_model ** 0.5.",
    ),
    **{
        f"root-of-another-size:{name}": _other_root(name)
        for name in ("length", "vocabulary", "batch")
    },
    "positions-forgotten": (
        _of(lambda t: t.rows * t.root),
        "The rows are right and scaled, but no positions are added: the first T rows "
        "of `positions`.",
    ),
    "not-scaled:2": (
        _of(lambda t: t.rows),
        "Only the look-up is there. Multiply by √d_model, then add the positions.",
    ),
    "positions-from-one": (
        _of(lambda t: t.rows * t.root + t.positions[1 : t.length + 1]),
        "Your first piece gets row 1 of the positions. Count from 0: positions[:T].",
    ),
    "one-position-for-all": (
        _of(lambda t: t.rows * t.root + t.positions[0]),
        "All pieces of a sentence get the same position. Piece t needs row t: "
        "positions[:T] has T rows, which broadcast over the batch.",
    ),
    "position-of-the-sentence": (
        _of(lambda t: t.rows * t.root + t.positions[: t.batch, None]),
        "You take the row of positions by the number of the sentence in the batch. It "
        "belongs to the place of the piece in its sentence: the second axis of ids.",
    ),
    "positions-by-id": (
        _of(lambda t: t.rows * t.root + t.positions[t.ids % len(t.positions)]),
        POSITIONS_BY_ID,
    ),
    "padding-zeroed": (
        _of(lambda t: t.rows * t.real * t.root + t.places),
        "You make the rows of padding 0 (or skip them). The package does not: nobody "
        "reads them, since masks hide padding as keys and the loss leaves it out. And "
        "which id is padding, your function cannot know.",
    ),
    "padding-zeroed:2": (
        _of(lambda t: t.right * t.real),
        "You make the whole vector of padding 0, its position included. The package "
        "does not: masks hide padding as keys, and the loss leaves it out.",
    ),
    "normalised": (
        _of(lambda t: t.unit * t.root + t.places),
        "You bring each row to length 1 first. The length of a row is learned, like "
        "its direction: leave it.",
    ),
    "ids-counted-from-one": (
        _of(lambda t: t.table[(t.ids - 1) % t.size] * t.root + t.places),
        "Each piece gets the row of its neighbour: you subtract 1 from the ids. Row 0 "
        "belongs to id 0.",
    ),
    "table-transposed": (
        _of(lambda t: t.table.T[t.ids] * t.root + t.places),
        "You take columns of the table for rows: table[:, ids] or table.T[ids]. "
        "The table is (V, D): one ROW for each piece, table[ids].",
    ),
    "batch-and-length-swapped": (
        _of(lambda t: t.right.transpose(0, 1)),
        "Batch and positions have changed places: (T, B, D). Batch comes first.",
    ),
    "counts-instead-of-rows": (
        _of(lambda t: t.right.sum(1)),
        "You add up the rows of a sentence: a bag of words. Each position keeps its "
        "own vector.",
    ),
}


def _probe_embedding(mine: kit.Function) -> None:
    for sizes in SIZES:
        batch, length, size, width = sizes
        case = _case(*sizes)
        said = f"For ids ({batch}, {length}) and a table ({size}, {width})"
        try:
            found = case.ask(mine, vectors)
        except kit.Stopped as stopped:
            raise _embedding_stopped(stopped, case) from None
        except kit.Mistake as mistake:
            if mistake.diagnosis == "changes-inputs" and "table" in mistake.message:
                raise kit.Mistake(
                    "table-changed",
                    "Your function changes the table itself, so the second call finds "
                    "other rows than the first, and the logits, which need the rows "
                    "unscaled, are wrong. Look for *= or mul_, and make new tensors.",
                ) from None
            raise
        if found.shape == (width, batch, length):
            raise kit.Mistake(
                "table-transposed",
                f"{said} your result has shape {tuple(found.shape)}: you take columns, "
                "table[:, ids]. The table has one ROW for each piece: table[ids].",
            )
        case.compare(found, _right, SLIPS, said=said)
        if found.dtype != torch.float32:
            raise kit.Mistake(
                "dtype",
                f"For a float32 table your vectors are {found.dtype}. Keep the type: "
                "a plain number such as math.sqrt(d) does, a float64 tensor does not.",
            )


_right = _of(lambda t: t.right)


def _embedding_stopped(stopped: kit.Stopped, case: kit.Case) -> kit.Mistake:
    text = str(stopped.problem)
    table, ids = case["table"], case["ids"]
    if isinstance(stopped.problem, RuntimeError) and "must match" in text:
        if str(len(case["positions"])) in text:
            return kit.Mistake(
                "all-positions",
                f"You add all {len(case['positions'])} rows of positions to "
                f"{ids.size(1)} pieces. Take as many as there are: positions[:T].",
            )
        if str(table.size(1)) in text:
            return kit.Mistake(
                "table-transposed",
                "Shapes do not fit: do you take columns of the table, table[:, ids]? "
                "It has one ROW for each piece: table[ids] is (B, T, D).",
            )
    if isinstance(stopped.problem, IndexError) and "out of" in text:
        if text.endswith(f"size {len(case['positions'])}"):
            return kit.Mistake("positions-by-id", POSITIONS_BY_ID)
        return kit.Mistake(
            "table-transposed",
            f"An id is out of range for the axis that you look it up in. The table is "
            f"(V, D) = {tuple(table.shape)}: ids choose ROWS, table[ids].",
        )
    return explain(stopped)


def _learnable_rows(mine: kit.Function) -> None:
    _case(2, 3, 11, 4).learn(mine, _right, "table")


@kit.grader(_probe_embedding, _learnable_rows)
def embedding(mine: kit.Function) -> str:
    """Grade a reader's way in: from ids to what the first layer reads.

    ``mine`` is a function ``mine(ids, table, positions)``: (B, T) int64 ids, a (V, D)
    table and positions of at least T rows -> (B, T, D), the rows times sqrt(D) plus the
    first T positions.
    """
    return (
        "Rows of the table, times the root of the width, then the positions: for any "
        "batch, with the table left as it was, and with a gradient back to it."
    )
