"""The grader for `tied_logits` of chapter *Embeddings*, and known mistakes."""

import math

import torch
from torch import Tensor
from torch.nn.functional import normalize

from tformer_book.check import kit
from tformer_book.check.problems._embedding import explain, vectors


def _right(hidden: Tensor, table: Tensor) -> Tensor:
    return hidden @ table.T


def _distance(hidden: Tensor, table: Tensor) -> Tensor:
    return -torch.cdist(hidden, table.expand(*hidden.shape[:-2], *table.shape))


SLIPS: kit.Table = {
    "table-not-transposed": (
        lambda hidden, table: hidden @ table,
        "You multiply by the table as it is, hidden @ table. With as many pieces "
        "as columns that runs, and is wrong: each logit must be the product of the "
        "vector with a ROW. hidden @ table.T, or F.linear(hidden, table).",
    ),
    "scaled-on-the-way-out": (
        lambda hidden, table: hidden @ table.T * math.sqrt(table.size(1)),
        "You multiply by √d_model here as well. The factor belongs to the way in "
        "alone: there rows are added to positions, here they are compared.",
    ),
    "divided-on-the-way-out": (
        lambda hidden, table: hidden @ table.T / math.sqrt(table.size(1)),
        "You divide by √d_model. The rows are small already, with variance 1/d, so "
        "that logits start near variance 1. No factor on the way out.",
    ),
    "probabilities": (
        lambda hidden, table: (hidden @ table.T).softmax(-1),
        "These are probabilities; I asked for logits, the scores before softmax. The "
        "loss and the search apply softmax themselves, and twice is once too often.",
    ),
    "probabilities:2": (
        lambda hidden, table: (hidden @ table.T).log_softmax(-1),
        "These are log-probabilities; I asked for logits, before (log_)softmax.",
    ),
    "cosine": (
        lambda hidden, table: normalize(hidden, dim=-1) @ normalize(table, dim=-1).T,
        "You bring vectors to length 1 first, so these are cosines, from −1 to 1. "
        "Softmax over such small differences can never be sure of anything. A plain "
        "product.",
    ),
    "cosine:2": (
        lambda hidden, table: hidden @ normalize(table, dim=-1).T,
        "You bring the rows to length 1 first. Their length is learned: frequent "
        "pieces may have other lengths than rare ones.",
    ),
    "distance": (
        _distance,
        "These are negative distances. The paper's last layer is linear: products.",
    ),
    "the-best-piece-alone": (
        lambda hidden, table: (hidden @ table.T).argmax(-1).float(),
        "You return the best piece for each position. I asked for the scores of all.",
    ),
    "last-position-only": (
        lambda hidden, table: (hidden @ table.T)[:, -1],
        "You keep only the last position. That is enough while generating, but in "
        "training every position has a piece to predict.",
    ),
    "last-position-only:2": (
        lambda hidden, table: (hidden @ table.T)[:, -1:],
        "You keep only the last position. In training every one has a piece to "
        "predict.",
    ),
}


def _logits(returned: object) -> Tensor:
    found = vectors(returned)
    return found.float() if found.dtype == torch.int64 else found


def _probe_logits(mine: kit.Function) -> None:
    for (batch, length), size, width in (
        ((2, 3), 11, 4),
        ((1, 4), 5, 8),
        ((1, 1), 5, 8),
        ((3, 2), 6, 6),
    ):
        hidden = kit.draw(batch, length, width, seed=size)
        case = kit.Case({"hidden": hidden, "table": kit.draw(size, width, seed=width)})
        said = f"For hidden {tuple(hidden.shape)} and a table ({size}, {width})"
        try:
            found = case.ask(mine, _logits)
        except kit.Stopped as stopped:
            text = str(stopped.problem)
            if isinstance(stopped.problem, RuntimeError) and (
                "shapes cannot be multiplied" in text or "size" in text.lower()
            ):
                raise kit.Mistake(
                    "table-not-transposed",
                    f"{said} the shapes do not fit: a vector has {width} numbers, and "
                    f"so has each ROW of the table. Transpose it, hidden @ table.T, or "
                    "use F.linear(hidden, table), which does.",
                ) from None
            raise explain(stopped) from None
        if kit.matches(found.detach(), case.of(_right).mT):
            raise kit.Mistake(
                "axes-swapped",
                f"{said} your result has shape {tuple(found.shape)}: vocabulary "
                "and positions have changed places. The vocabulary comes last.",
            )
        case.compare(found, _right, SLIPS, said=said)


def _learns_from_both_ends(mine: kit.Function) -> None:
    case = kit.Case(
        {"hidden": kit.draw(2, 3, 4, seed=4), "table": kit.draw(11, 4, seed=3)}
    )
    try:
        case.learn(mine, _right)
    except kit.Mistake as mistake:
        if "table" not in mistake.message:
            raise
        raise kit.Mistake(
            mistake.diagnosis,
            f"{mistake.message} A copy of the table is not tied to it: both would go "
            "their own ways from the first step on.",
        ) from None


@kit.grader(_probe_logits, _learns_from_both_ends)
def tied_logits(mine: kit.Function) -> str:
    """Grade a reader's way out: from the last vectors to a score for each piece.

    ``mine`` is a function ``mine(hidden, table)``: (B, T, D) vectors and the (V, D)
    table that embeds the pieces, too -> (B, T, V) logits, ``hidden table^T``.
    """
    return (
        "Each vector times each row of the table, unscaled, for every position; and "
        "the gradient reaches the table from this end, too."
    )
