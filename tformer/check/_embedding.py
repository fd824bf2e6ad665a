"""The graders for chapter 03: one-hot vectors, the embedding, and the way back out."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from tformer.check._grade import (
    Function,
    Known,
    Mistake,
    Result,
    Stopped,
    as_tensor,
    call,
    grade,
    matches,
    recognise,
)

TENSOR = (
    "a torch tensor: torch.tensor(…) makes one of a list of lists, torch.stack one of "
    "a list of tensors"
)
CUT = (
    "The numbers are right, but no gradient gets back to the table, so its rows would "
    "never be learned. Look for detach, .data, .item(), torch.tensor(…), a new "
    "nn.Parameter or no_grad."
)
POSITIONS_BY_ID = (
    "You look the positions up by id. A position's row belongs to the place in the "
    "sentence, not to the piece that stands there."
)
LAST_LOOK = (
    "{said}; it should be {wanted:.4f}, yours is {found:.4f}. I do not know this "
    "mistake."
)


def _draw(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _stopped(stopped: Stopped) -> Mistake:
    """What is behind the error messages that people meet with tables and ids."""
    problem, text = stopped.problem, str(stopped.problem)
    if isinstance(problem, IndexError) and "must be" in text and "long" in text:
        return Mistake(
            "ids-not-whole-numbers",
            "You turn the ids into floats before you look them up. An id is a name, "
            "the number of a row: it stays a whole number (int64), and nothing is "
            "calculated with it.",
        )
    return stopped


def _compare(found: Tensor, wanted: Tensor, mistakes: Known, said: str) -> None:
    """Raise the known mistake that gives these numbers, else the first wrong one."""
    if matches(found.detach(), wanted, 1e-5):
        return
    recognise(found.detach(), mistakes, partial(matches, tolerance=1e-5))
    if found.shape != wanted.shape:
        raise Mistake(
            "shape",
            f"{said} your result has shape {tuple(found.shape)}; it must be "
            f"{tuple(wanted.shape)}.",
        )
    if not found.isfinite().all():
        raise Mistake("not-finite", f"{said} your result holds nan or infinity.")
    off = ~torch.isclose(found.detach().to(wanted.dtype), wanted, rtol=1e-5, atol=1e-5)
    place = off.nonzero()[0].tolist()
    raise Mistake(
        "wrong-value",
        LAST_LOOK.format(
            said=f"{said} look at the entry {place}",
            wanted=wanted[tuple(place)].item(),
            found=found[tuple(place)].item(),
        ),
    )


# --- one-hot ----------------------------------------------------------------------


def _wrong_one_hot(ids: Tensor, size: int) -> Known:
    right = torch.eye(size)[ids]
    yield (
        "ids-counted-from-one",
        "Each 1 stands one place too far left: you count ids from 1. Id 0 is a piece, "
        "too (padding), and has the first column.",
        torch.eye(size)[(ids - 1) % size],
    )
    yield (
        "ids-counted-from-one",
        "Each 1 stands one place too far right. Id 0 has the first column.",
        torch.eye(size)[(ids + 1) % size],
    )
    yield (
        "counts-instead-of-rows",
        "You have one vector for the whole sentence, with a count for each piece: a "
        "bag of words. The order is lost. Each position needs a vector of its own.",
        right.sum(dim=-2),
    )
    yield (
        "counts-instead-of-rows",
        "You have one vector for the whole sentence that says which pieces occur. Each "
        "position needs a vector of its own.",
        right.amax(dim=-2),
    )
    yield (
        "axes-swapped",
        "Vocabulary and positions have changed places: one row for each piece of the "
        "vocabulary. Put the vocabulary last, (…, T, V): then the product with the "
        "table (V, D) gives (…, T, D).",
        right.transpose(-1, -2),
    )
    yield (
        "the-id-instead-of-one",
        "You write the id itself where the 1 belongs. Then piece 12 would be twelve "
        "times as much as piece 1, and padding, id 0, would have no 1 at all.",
        right * ids[..., None],
    )
    yield (
        "thermometer",
        "All places up to the id are 1. Only the place of the id is.",
        (torch.arange(size) <= ids[..., None]).float(),
    )
    yield (
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
            raise _stopped(stopped) from None
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
        _compare(found, wanted, _wrong_one_hot(ids, size), said)
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


# --- the embedding ----------------------------------------------------------------

SIZES = ((2, 3, 11, 4), (1, 5, 9, 16), (3, 3, 7, 7))  # B, T, V, D


def _case(batch: int, length: int, size: int, width: int) -> dict[str, Tensor]:
    """Ids with padding (0), with a piece that comes twice; a table; positions."""
    generator = torch.Generator().manual_seed(size)
    ids = torch.randint(1, size, (batch, length), generator=generator)
    ids[-1, -1], ids[0, 1] = 0, ids[0, 0]
    return {
        "ids": ids,
        "table": _draw(size, width, seed=width),
        "positions": _draw(length + 4, width, seed=100 + width),
    }


def _wrong_embedding(ids: Tensor, table: Tensor, positions: Tensor) -> Known:
    batch, length = ids.shape
    size, width = table.shape
    rows, root = table[ids], math.sqrt(width)
    places = positions[:length]
    right = rows * root + places
    yield (
        "not-scaled",
        f"The factor is missing: multiply the rows by √d_model, here √{width} = "
        f"{root:g}, before the positions are added. Rows start with length 1, because "
        "the same table also makes the logits; positions would drown them.",
        rows + places,
    )
    yield (
        "divided",
        "You divide by √d_model; the paper multiplies. Dividing is for the scores of "
        "attention, where sums have grown large. Here rows are small and must grow.",
        rows / root + places,
    )
    yield (
        "scaled-after-adding",
        "You add the positions first and multiply the sum by √d_model, so positions "
        "grow along with the words, and the factor has changed nothing between them. "
        "Multiply the rows alone, then add.",
        (rows + places) * root,
    )
    yield (
        "positions-scaled-instead",
        "You multiply the positions, not the rows: the drowning gets worse.",
        rows + places * root,
    )
    yield (
        "times-the-width",
        "You multiply by d_model. The factor is its square root: math.sqrt(d_model), "
        "or d_model ** 0.5.",
        rows * width + places,
    )
    for other, name in ((length, "length"), (size, "vocabulary"), (batch, "batch")):
        if other != width:
            yield (
                "root-of-another-size",
                f"You take the root of the wrong size: that of the {name}, {other}. "
                f"The width of the vectors is table.size(-1) = {width}.",
                rows * math.sqrt(other) + places,
            )
    yield (
        "positions-forgotten",
        "The rows are right and scaled, but no positions are added: the first T rows "
        "of `positions`.",
        rows * root,
    )
    yield (
        "not-scaled",
        "Only the look-up is there. Multiply by √d_model, then add the positions.",
        rows,
    )
    yield (
        "positions-from-one",
        "Your first piece gets row 1 of the positions. Count from 0: positions[:T].",
        rows * root + positions[1 : length + 1],
    )
    yield (
        "one-position-for-all",
        "All pieces of a sentence get the same position. Piece t needs row t: "
        "positions[:T] has T rows, which broadcast over the batch.",
        rows * root + positions[0],
    )
    yield (
        "position-of-the-sentence",
        "You take the row of positions by the number of the sentence in the batch. It "
        "belongs to the place of the piece in its sentence: the second axis of ids.",
        rows * root + positions[:batch, None],
    )
    yield (
        "positions-by-id",
        POSITIONS_BY_ID,
        rows * root + positions[ids % len(positions)],
    )
    yield (
        "padding-zeroed",
        "You make the rows of padding 0 (or skip them). The package does not: nobody "
        "reads them, since masks hide padding as keys and the loss leaves it out. And "
        "which id is padding, your function cannot know.",
        rows * (ids != 0)[..., None] * root + places,
    )
    yield (
        "padding-zeroed",
        "You make the whole vector of padding 0, its position included. The package "
        "does not: masks hide padding as keys, and the loss leaves it out.",
        right * (ids != 0)[..., None],
    )
    unit = torch.nn.functional.normalize(rows, dim=-1)
    yield (
        "normalised",
        "You bring each row to length 1 first. The length of a row is learned, like "
        "its direction: leave it.",
        unit * root + places,
    )
    yield (
        "ids-counted-from-one",
        "Each piece gets the row of another one: you subtract 1 from the ids. Row 0 "
        "belongs to id 0.",
        table[(ids - 1) % size] * root + places,
    )
    if size == width:
        yield (
            "table-transposed",
            "You take columns of the table for rows: table[:, ids] or table.T[ids]. "
            "The table is (V, D): one ROW for each piece, table[ids].",
            table.T[ids] * root + places,
        )
    yield (
        "batch-and-length-swapped",
        "Batch and positions have changed places: (T, B, D). Batch comes first.",
        right.transpose(0, 1),
    )
    yield (
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
        _compare(found, wanted, _wrong_embedding(**case), said)
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
    return _stopped(stopped)


def _learnable_rows(mine: Function) -> None:
    case = _case(2, 3, 11, 4)
    case["table"].requires_grad_()
    found = mine(case["ids"], case["table"], case["positions"])
    if not found.requires_grad:
        raise Mistake("gradient-cut", CUT)


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


# --- the way out ------------------------------------------------------------------


def _wrong_logits(hidden: Tensor, table: Tensor) -> Known:
    right, width = hidden @ table.T, table.size(1)
    if table.size(0) == width:
        yield (
            "table-not-transposed",
            "You multiply by the table as it is, hidden @ table. With as many pieces "
            "as columns that runs, and is wrong: each logit must be the product of the "
            "vector with a ROW. hidden @ table.T, or F.linear(hidden, table).",
            hidden @ table,
        )
    yield (
        "scaled-on-the-way-out",
        "You multiply by √d_model here as well. The factor belongs to the way in "
        "alone: there rows are added to positions, here they are compared.",
        right * math.sqrt(width),
    )
    yield (
        "divided-on-the-way-out",
        "You divide by √d_model. The rows are small already, with variance 1/d, so "
        "that logits start near variance 1. No factor on the way out.",
        right / math.sqrt(width),
    )
    yield (
        "probabilities",
        "These are probabilities; I asked for logits, the scores before softmax. The "
        "loss and the search apply softmax themselves, and twice is once too often.",
        right.softmax(-1),
    )
    yield (
        "probabilities",
        "These are log-probabilities; I asked for logits, before (log_)softmax.",
        right.log_softmax(-1),
    )
    unit = torch.nn.functional.normalize
    yield (
        "cosine",
        "You bring vectors to length 1 first, so these are cosines, from −1 to 1. "
        "Softmax over such small differences can never be sure of anything. A plain "
        "product.",
        unit(hidden, dim=-1) @ unit(table, dim=-1).T,
    )
    yield (
        "cosine",
        "You bring the rows to length 1 first. Their length is learned: frequent "
        "pieces may have other lengths than rare ones.",
        hidden @ unit(table, dim=-1).T,
    )
    yield (
        "distance",
        "These are negative distances. The paper's last layer is linear: products.",
        -torch.cdist(hidden, table.expand(*hidden.shape[:-2], *table.shape)),
    )
    yield (
        "the-best-piece-alone",
        "You return the best piece for each position. I asked for the scores of all.",
        right.argmax(-1).float(),
    )
    if hidden.dim() == 3:
        yield (
            "last-position-only",
            "You keep only the last position. That is enough while generating, but in "
            "training every position has a piece to predict.",
            right[:, -1],
        )
        yield (
            "last-position-only",
            "You keep only the last position. In training every one has a piece to "
            "predict.",
            right[:, -1:],
        )


def _probe_logits(mine: Function) -> None:
    for (batch, length), size, width in (
        ((2, 3), 11, 4),
        ((1, 4), 5, 8),
        ((3, 2), 6, 6),
    ):
        hidden = _draw(batch, length, width, seed=size)
        table = _draw(size, width, seed=width)
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
            raise _stopped(stopped) from None
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
        _compare(found, wanted, _wrong_logits(hidden, table), said)


def _learns_from_both_ends(mine: Function) -> None:
    table = _draw(11, 4, seed=3).requires_grad_()
    hidden = _draw(2, 3, 4, seed=4).requires_grad_()
    found = mine(hidden, table)
    gradients: list[Any] = [None, None]
    if found.requires_grad:
        gradients = list(
            torch.autograd.grad(found.sum(), [table, hidden], allow_unused=True)
        )
    if gradients[0] is None:
        raise Mistake(
            "gradient-cut",
            CUT + " A copy of the table is not tied to it: both would go their own "
            "ways from the first step on.",
        )
    if gradients[1] is None:
        raise Mistake(
            "gradient-cut-below",
            "The gradient reaches the table, but not the hidden vectors, so nothing "
            "below the last layer would learn.",
        )


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
