"""The grader for `tied_logits` of chapter *Embeddings*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tformer_book.check._compare import (
    Known,
    Slip,
    compare,
    matches,
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


def _wrong_logits(hidden: Tensor, table: Tensor) -> Known:
    right, width = hidden @ table.T, table.size(1)
    if table.size(0) == width:
        yield Slip(
            "table-not-transposed",
            "You multiply by the table as it is, hidden @ table. With as many pieces "
            "as columns that runs, and is wrong: each logit must be the product of the "
            "vector with a ROW. hidden @ table.T, or F.linear(hidden, table).",
            hidden @ table,
        )
    yield Slip(
        "scaled-on-the-way-out",
        "You multiply by √d_model here as well. The factor belongs to the way in "
        "alone: there rows are added to positions, here they are compared.",
        right * math.sqrt(width),
    )
    yield Slip(
        "divided-on-the-way-out",
        "You divide by √d_model. The rows are small already, with variance 1/d, so "
        "that logits start near variance 1. No factor on the way out.",
        right / math.sqrt(width),
    )
    yield Slip(
        "probabilities",
        "These are probabilities; I asked for logits, the scores before softmax. The "
        "loss and the search apply softmax themselves, and twice is once too often.",
        right.softmax(-1),
    )
    yield Slip(
        "probabilities",
        "These are log-probabilities; I asked for logits, before (log_)softmax.",
        right.log_softmax(-1),
    )
    unit = torch.nn.functional.normalize
    yield Slip(
        "cosine",
        "You bring vectors to length 1 first, so these are cosines, from −1 to 1. "
        "Softmax over such small differences can never be sure of anything. A plain "
        "product.",
        unit(hidden, dim=-1) @ unit(table, dim=-1).T,
    )
    yield Slip(
        "cosine",
        "You bring the rows to length 1 first. Their length is learned: frequent "
        "pieces may have other lengths than rare ones.",
        hidden @ unit(table, dim=-1).T,
    )
    yield Slip(
        "distance",
        "These are negative distances. The paper's last layer is linear: products.",
        -torch.cdist(hidden, table.expand(*hidden.shape[:-2], *table.shape)),
    )
    yield Slip(
        "the-best-piece-alone",
        "You return the best piece for each position. I asked for the scores of all.",
        right.argmax(-1).float(),
    )
    if hidden.dim() == 3:
        yield Slip(
            "last-position-only",
            "You keep only the last position. That is enough while generating, but in "
            "training every position has a piece to predict.",
            right[:, -1],
        )
        yield Slip(
            "last-position-only",
            "You keep only the last position. In training every one has a piece to "
            "predict.",
            right[:, -1:],
        )


def _probe_logits(mine: Function) -> None:
    for (batch, length), size, width in (
        ((2, 3), 11, 4),
        ((1, 4), 5, 8),
        ((1, 1), 5, 8),
        ((3, 2), 6, 6),
    ):
        hidden = draw(batch, length, width, seed=size)
        table = draw(size, width, seed=width)
        said = f"For hidden {tuple(hidden.shape)} and a table ({size}, {width})"
        try:
            returned = call(mine, {"hidden": hidden, "table": table}, {})
        except Stopped as stopped:
            text = str(stopped.problem)
            if isinstance(stopped.problem, RuntimeError) and (
                "shapes cannot be multiplied" in text or "size" in text.lower()
            ):
                raise Mistake(
                    "table-not-transposed",
                    f"{said} the shapes do not fit: a vector has {width} numbers, and "
                    f"so has each ROW of the table. Transpose it, hidden @ table.T, or "
                    "use F.linear(hidden, table), which does.",
                ) from None
            raise explain(stopped) from None
        found = as_tensor(returned, TENSOR)
        if found.dtype == torch.int64:
            found = found.float()
        wanted = hidden @ table.T
        if matches(found.detach(), wanted.transpose(1, 2), 1e-5):
            raise Mistake(
                "axes-swapped",
                f"{said} your result has shape {tuple(found.shape)}: vocabulary "
                "and positions have changed places. The vocabulary comes last.",
            )
        compare(found, wanted, _wrong_logits(hidden, table), said=said)


def _learns_from_both_ends(mine: Function) -> None:
    case = {"hidden": draw(2, 3, 4, seed=4), "table": draw(11, 4, seed=3)}
    try:
        probe_gradients(
            mine,
            lambda: as_tensor(call(mine, case)),
            lambda: case["hidden"] @ case["table"].T,
            case,
        )
    except Mistake as mistake:
        if "table" not in mistake.message:
            raise
        raise Mistake(
            mistake.diagnosis,
            f"{mistake.message} A copy of the table is not tied to it: both would go "
            "their own ways from the first step on.",
        ) from None


def tied_logits(mine: Function) -> Result:
    """Grade a reader's way out: from the last vectors to a score for each piece.

    Args:
        mine: a function ``mine(hidden, table)``: (B, T, D) vectors and the (V, D) table
            that embeds the pieces, too -> (B, T, V) logits, ``hidden table^T``.

    Returns:
        The verdict; the message is printed.
    """
    probes: list[Callable[[Function], None]] = [_probe_logits, _learns_from_both_ends]
    praise = (
        "Each vector times each row of the table, unscaled, for every position; and "
        "the gradient reaches the table from this end, too."
    )
    return grade("tied_logits", mine, probes, praise)
