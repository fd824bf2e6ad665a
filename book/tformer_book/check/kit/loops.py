"""Run a reader's loop that generates: the pieces it returns, or why it gives none."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from tformer_book.check.kit.grading import Function, Mistake
from tformer_book.check.kit.returned import as_whole
from tformer_book.check.kit.running import call
from tformer_book.check.kit.stopped import Stopped

ENDLESS = 60  # calls of the model, for a sentence of a few pieces


class Endless(Exception):
    """The reader's loop goes on and on: raised by the stand-in for a model."""


def generated(
    mine: Function, model: dict[str, Any], ids: dict[str, Any], n_pieces: int
) -> list[int]:
    """The pieces that a reader's loop returns.

    Args:
        mine: the loop.
        model: the stand-in, by the argument's name; it raises `Endless` after `ENDLESS`
            calls.
        ids: the loop's settings, ``max_len`` among them.
        n_pieces: what the stand-in has to say, at most.

    Raises:
        Mistake: the loop does not end, or returns something other than a list of ids.
    """
    try:
        found = call(mine, model, ids)
    except Stopped as stopped:
        if isinstance(stopped.problem, Endless):
            raise Mistake(
                "endless",
                f"Your loop doesn't come to an end: {ENDLESS} calls of the model for a "
                f"sentence of {n_pieces} pieces, with max_len={ids['max_len']}. Stop "
                "at eos, and at max_len in any case.",
            ) from None
        raise
    if isinstance(found, Tensor):
        found = found.flatten().tolist()
    if not isinstance(found, list | tuple):
        raise Mistake(
            "not-a-list",
            f"Your function should return the pieces as a list of ids; it returns a "
            f"{type(found).__name__}.",
        )
    return [as_whole(each, "each piece of your list") for each in found]
