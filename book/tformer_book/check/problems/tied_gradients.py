"""The grader for `tied_gradients` of chapter *Embeddings*, and the slips it knows."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from tformer_book.check._compare import Slip, Switches, compare, slips
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import Stopped, as_tensor, call, draw


def built(
    hidden: Tensor,
    table: Tensor,
    push: Tensor,
    *,
    pushes: str = "sum",
    from_what: str = "hidden",
    sign: float = 1.0,
) -> Tensor:
    """(V, D), what the table is pushed by; other settings make a known mistake."""
    source = {"hidden": hidden, "rows": table[push.argmax(-1)]}[from_what]
    each = push.mT @ source  # (B, V, D)
    total = {
        "sum": each.sum(0),
        "first": each[0],
        "mean": each.mean(0),
        "apart": each,
        "mean of all": each.sum(0) / (push.size(0) * push.size(1)),
        "transposed": each.sum(0).mT,
    }[pushes]
    return sign * total


SLIPS: Switches = {
    "first-sentence-only": (
        {"pushes": "first"},
        "The table learns from the first sentence only. Every position of every "
        "sentence pushes it: sum over both.",
    ),
    "mean-of-the-batch": (
        [{"pushes": "mean"}, {"pushes": "mean of all"}],
        "You take a mean. A gradient adds up what every place has to say; if the loss "
        "was a mean, the factor is in the gradient of the logits already.",
    ),
    "not-summed": (
        {"pushes": "apart"},
        "Your gradient of the table still has a batch axis. There is one table for "
        "all sentences: add them up.",
    ),
    "transposed": (
        {"pushes": "transposed"},
        "Your gradient of the table is its transpose. A gradient has the shape of what "
        "it is a gradient of: (V, D).",
    ),
    "sign": (
        {"sign": -1.0},
        "The sign of the table's gradient is the wrong way round. The minus of "
        "gradient descent comes later, in the optimizer.",
    ),
    "table-for-hidden": (
        {"from_what": "rows"},
        "The table's gradient is made from its own rows. Each row is pushed along the "
        "hidden vectors that it was multiplied with.",
    ),
}


def _pair(returned: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise Mistake(
            "not-two",
            "I need two tensors: return to_hidden, to_table. You return a "
            f"{type(returned).__name__}.",
        )
    return as_tensor(returned[0], "the hidden vectors' gradient"), as_tensor(
        returned[1], "the table's gradient"
    )


def _probe(mine: Function) -> None:
    for i, (b, t, v, d) in enumerate(((2, 3, 7, 4), (3, 2, 5, 6), (1, 4, 4, 4))):
        hidden, table = draw(b, t, d, seed=i), draw(v, d, seed=i + 10)
        push = draw(b, t, v, seed=i + 20)
        given = {"hidden": hidden, "table": table, "push": push}
        to_hidden, to_table = _pair(call(mine, given))
        said = f"for hidden {(b, t, d)}, a table {(v, d)} and push {(b, t, v)}, "
        if v != d and to_hidden.shape == (v, d) and to_table.shape == (b, t, d):
            raise Mistake(
                "swapped",
                "The two gradients have changed places: return to_hidden, to_table.",
            )
        backwards = push @ table
        known = [
            Slip(
                "sign",
                "The sign of the hidden vectors' gradient is the wrong way round.",
                -backwards,
            ),
            Slip(
                "mean-of-the-batch",
                "You divide the hidden vectors' gradient by a size. Nothing is to be "
                "divided.",
                backwards / (b * t),
            ),
        ]
        if v == d:
            known.append(
                Slip(
                    "table-transposed",
                    "On the way back the table is not transposed: logits = hidden @ "
                    "table.T, so to_hidden = push @ table.",
                    push @ table.T,
                )
            )
        compare(
            to_hidden, backwards, known, said=f"{said}the hidden vectors' gradient:"
        )
        compare(
            to_table,
            built(hidden, table, push),
            slips(functools.partial(built, hidden, table, push), SLIPS),
            said=f"{said}the table's gradient:",
            hint="Which logits does row v of the table have a part in, and what is it "
            "multiplied with there?",
        )


def _own_work(mine: Function) -> None:
    given = {
        "hidden": draw(2, 3, 4, seed=30),
        "table": draw(7, 4, seed=31),
        "push": draw(2, 3, 7, seed=32),
    }
    try:
        with torch.no_grad():  # which leaves autograd nothing to go back through
            call(mine, given)
    except Stopped as stopped:
        raise Mistake(
            "ready-made",
            "Your function lets autograd do the work. Here the gradients are to come "
            "from products, by hand, so that you see what pushes a row.",
        ) from stopped


def tied_gradients(mine: Function) -> Result:
    """Grade a reader's way back through ``logits = hidden @ table.T``, by hand.

    Args:
        mine: a function ``mine(hidden, table, push)`` with hidden (B, T, D), the table
            (V, D) and push (B, T, V), the gradient of the loss for the logits. Returns
            the gradients for hidden (B, T, D) and for the table (V, D).

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Both gradients are autograd's: each hidden vector gets the rows, weighted by "
        "their pushes; each row gets the hidden vectors of all places."
    )
    return grade("tied_gradients", mine, [_probe, _own_work], praise)
