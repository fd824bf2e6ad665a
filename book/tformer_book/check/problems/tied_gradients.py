"""The grader for `tied_gradients` of chapter *Embeddings*, and the slips it knows."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "If one logit is `hidden · row`, by what does it change when `hidden` changes? "
    "And when the row does?",
    "A hidden vector gets the rows of the table, each weighted by its push: one "
    "product. A row gets the hidden vectors of all positions and sentences, weighted "
    "by theirs: the other product, summed over the batch.",
    "to_hidden = push @ table  # (B, T, D)",
)


def built(
    hidden: Tensor,
    table: Tensor,
    push: Tensor,
    *,
    pushes: str = "sum",
    from_what: str = "hidden",
    sign: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """The gradients of both; other settings make that of the table wrong."""
    source = {"hidden": hidden, "rows": table[push.argmax(-1) % len(table)]}[from_what]
    each = push.mT @ source  # (B, V, D)
    total = {
        "sum": each.sum(0),
        "first": each[0],
        "mean": each.mean(0),
        "apart": each,
        "mean of all": each.sum(0) / (push.size(0) * push.size(1)),
        "transposed": each.sum(0).mT,
    }[pushes]
    return push @ table, sign * total


def _hidden(of: kit.Function) -> kit.Function:
    """A whole function that makes something else of the hidden vectors' gradient."""

    def wrong(hidden: Tensor, table: Tensor, push: Tensor) -> tuple[Tensor, Tensor]:
        return of(table, push), built(hidden, table, push)[1]

    return wrong


FROM_TABLE: kit.Table = {
    "sign:hidden": (
        _hidden(lambda table, push: -push @ table),
        "The sign of the hidden vectors' gradient is the wrong way round.",
    ),
    "mean-of-the-batch:hidden": (
        _hidden(lambda table, push: push @ table / (push.size(0) * push.size(1))),
        "You divide the hidden vectors' gradient by a size. Nothing is to be divided.",
    ),
    "table-transposed": (
        _hidden(
            lambda rows, push: push @ (rows.T if len(rows) == len(rows.T) else rows)
        ),
        "On the way back the table is not transposed: logits = hidden @ "
        "table.T, so to_hidden = push @ table.",
    ),
}
TO_TABLE: kit.Table = {
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


SLIPS: kit.Table = FROM_TABLE | TO_TABLE


def _pair(returned: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        raise kit.Mistake(
            "not-two",
            "I need two tensors: return to_hidden, to_table. You return a "
            f"{type(returned).__name__}.",
        )
    return kit.as_tensor(returned[0], "the hidden vectors' gradient"), kit.as_tensor(
        returned[1], "the table's gradient"
    )


def _part(case: kit.Case, i: int, wrong: kit.Function) -> Tensor:
    gradient: Tensor = case.of(wrong)[i]
    return gradient


def _probe(mine: kit.Function) -> None:
    for i, (b, t, v, d) in enumerate(((2, 3, 7, 4), (3, 2, 5, 6), (1, 4, 4, 4))):
        shapes = {"hidden": (b, t, d), "table": (v, d), "push": (b, t, v)}
        case = kit.Case(
            {
                name: kit.draw(*shape, seed=i + 10 * j)
                for j, (name, shape) in enumerate(shapes.items())
            }
        )
        to_hidden, to_table = case.ask(mine, _pair)
        said = f"for hidden {(b, t, d)}, a table {(v, d)} and push {(b, t, v)}, "
        if v != d and to_hidden.shape == (v, d) and to_table.shape == (b, t, d):
            raise kit.Mistake(
                "swapped",
                "The two gradients have changed places: return to_hidden, to_table.",
            )
        right = case.of(built)
        kit.compare(
            to_hidden,
            right[0],
            kit.slips(FROM_TABLE, partial(_part, case, 0)),
            said=f"{said}the hidden vectors' gradient:",
        )
        kit.compare(
            to_table,
            right[1],
            kit.slips(TO_TABLE, partial(_part, case, 1), built),
            said=f"{said}the table's gradient:",
            hint="Which logits does row v of the table have a part in, and what is it "
            "multiplied with there?",
        )


def _own_work(mine: kit.Function) -> None:
    given = {
        "hidden": kit.draw(2, 3, 4, seed=30),
        "table": kit.draw(7, 4, seed=31),
        "push": kit.draw(2, 3, 7, seed=32),
    }
    try:
        with torch.no_grad():  # which leaves autograd nothing to go back through
            kit.call(mine, given)
    except kit.Stopped as stopped:
        raise kit.Mistake(
            "ready-made",
            "Your function lets autograd do the work. Here the gradients are to come "
            "from products, by hand, so that you see what pushes a row.",
        ) from stopped


@kit.grader(_probe, _own_work)
def tied_gradients(mine: kit.Function) -> str:
    """Grade a reader's way back through ``logits = hidden @ table.T``, by hand.

    ``mine`` is a function ``mine(hidden, table, push)`` with hidden (B, T, D), the
    table (V, D) and push (B, T, V), the gradient of the loss for the logits. Returns
    the gradients for hidden (B, T, D) and for the table (V, D).
    """
    return (
        "Both gradients are autograd's: each hidden vector gets the rows, weighted by "
        "their pushes; each row gets the hidden vectors of all places."
    )
