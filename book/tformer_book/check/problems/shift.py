"""The grader for `shift` of chapter *Data*, and known mistakes."""

from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "Row by row: which column must the input not have, and which the labels?",
    "Both are the same table. The input leaves out the last column, the labels leave "
    "out the first.",
    "return target_ids[:, :-1], …",
)

PAD, BOS, EOS = 0, 1, 2
_ROWS = torch.tensor(
    [
        [BOS, 7, 8, 9, 5, EOS],
        [BOS, 6, 4, EOS, PAD, PAD],
        [BOS, 9, EOS, PAD, PAD, PAD],
    ]
)


def _without(rows: Tensor, i: int, width: int) -> Tensor:
    """Each row without the id `i`, padded to a width."""
    kept = [[x for x in row if x != i][:width] for row in rows.tolist()]
    return torch.tensor([row + [PAD] * (width - len(row)) for row in kept])


SLIPS: kit.Table = {
    "not-shifted": (
        [
            lambda rows: (rows[:, :-1], rows[:, :-1]),
            lambda rows: (rows[:, 1:], rows[:, 1:]),
            lambda rows: (rows, rows),
        ],
        "Inputs and labels are the same row: at each place the model is asked for the "
        "piece that it has just read. It learns to copy its input, the loss falls to "
        "nearly 0, and it cannot write a word. Labels run one place ahead: drop their "
        "first column.",
    ),
    "wrong-way-round": (
        lambda rows: (rows[:, 1:], rows[:, :-1]),
        "The wrong way round (or you return labels first): you drop bos from the "
        "input and the last column from the labels, so each place must say what came "
        "BEFORE it. bos begins the input: "
        "target_ids[:, :-1]. The labels lack bos: target_ids[:, 1:].",
    ),
    "rolled": (
        lambda rows: (rows, rows.roll(-1, 1)),
        "You roll the row round (torch.roll), so the last label is bos: the model is "
        "asked to say bos after the end. Cut a column off each side instead.",
    ),
    "shifted-by-two": (
        lambda rows: (rows[:, :-2], rows[:, 2:]),
        "Labels run two places ahead. Input place t must meet the piece at t + 1: "
        "[:, :-1] and [:, 1:].",
    ),
    "labels-without-eos": (
        [
            lambda rows: (
                rows[:, :-1],
                rows[:, 1:].masked_fill(rows[:, 1:] == EOS, PAD),
            ),
            lambda rows: (
                _without(rows, EOS, rows.size(1) - 1),
                _without(rows[:, 1:], EOS, rows.size(1) - 1),
            ),
        ],
        "eos is missing from the labels. The model then never learns to stop: its "
        "translations run on to the limit. The input may go without eos, the labels "
        "may not.",
    ),
    "input-without-bos": (
        lambda rows: (_without(rows[:, :-1], BOS, rows.size(1) - 1), rows[:, 1:]),
        "Your input has no bos: it begins with the first piece, which is therefore "
        "never asked for. bos is what the decoder reads before it has said anything.",
    ),
    "labels-minus-100": (
        lambda rows: (rows[:, :-1], rows[:, 1:].masked_fill(rows[:, 1:] == PAD, -100)),
        "Your labels have −100 where padding was. That is what "
        "torch.nn.functional.cross_entropy ignores unless told otherwise; the loss of "
        "this book takes pad_id. Leave padding as it is.",
    ),
    "last-sentence-cut": (
        lambda rows: (rows[:-1], rows[1:]),
        "You cut off a row, a whole sentence, instead of a column: the first axis is "
        "the batch. Write [:, :-1] and [:, 1:], with the colon and the comma.",
    ),
}


def _two_tensors(returned: Any) -> tuple[Tensor, Tensor]:
    if isinstance(returned, tuple | list) and len(returned) == 2:
        inputs, labels = returned
        if isinstance(inputs, Tensor) and isinstance(labels, Tensor):
            return inputs, labels
    raise kit.Mistake(
        "not-two-tensors",
        "Return two tensors, inputs and labels, in this order; your function returns "
        f"{type(returned).__name__}.",
    )


def _are_ids(inputs: Tensor, labels: Tensor) -> None:
    for name, ids in (("inputs", inputs), ("labels", labels)):
        if ids.dtype != torch.int64:
            raise kit.Mistake(
                "dtype",
                f"Your {name} have dtype {ids.dtype}. They are ids, the numbers of "
                "rows in a table, and stay whole: torch.int64, as target_ids has it.",
            )


def _probe_shift(mine: kit.Function) -> None:
    for rows in (_ROWS, _ROWS[:1], _ROWS[1:2, :4]):
        try:
            inputs, labels = _two_tensors(kit.call(mine, {"target_ids": rows}, {}))
        except kit.Stopped as stopped:
            text = str(stopped.problem)
            if rows is _ROWS and ("shape" in text or "size" in text):
                raise kit.Mistake(
                    "picks-by-value",
                    "Your function stops with an error about shapes. Do you pick out "
                    "padding by value? Rows have it in different numbers, so the rest "
                    "is no rectangle. Cut columns instead: [:, :-1].",
                ) from None
            raise
        wanted = rows[:, :-1], rows[:, 1:]
        tidy = wanted[0].masked_fill(wanted[0] == EOS, PAD)
        if kit.matches((inputs, labels), wanted) or kit.matches(
            (inputs, labels), (tidy, wanted[1])
        ):
            _are_ids(inputs, labels)
            continue
        kit.recognise(
            (inputs, labels), kit.slips(SLIPS, kit.Case({"target_ids": rows}).of)
        )
        if inputs.shape != labels.shape:
            raise kit.Mistake(
                "widths-differ",
                f"Your inputs are {tuple(inputs.shape)} and your labels "
                f"{tuple(labels.shape)}. Each place of the input has one label, so "
                "both lose one column: the input its last, the labels their first.",
            )
        if inputs.shape != wanted[0].shape:
            raise kit.Mistake(
                "shape",
                f"From target_ids {tuple(rows.shape)} come inputs "
                f"{tuple(inputs.shape)}; they must be {tuple(wanted[0].shape)}: as "
                "many rows, one column less.",
            )
        name = "labels" if torch.equal(inputs, wanted[0]) else "inputs"
        mine_, right = (labels, wanted[1]) if name == "labels" else (inputs, wanted[0])
        row = int((mine_ != right).any(1).nonzero()[0])
        raise kit.Mistake(
            "wrong-numbers",
            f"For the row {rows[row].tolist()} your {name} are {mine_[row].tolist()}; "
            f"they should be {right[row].tolist()}. (pad 0, bos 1, eos 2.)",
        )


@kit.grader(_probe_shift)
def shift(mine: kit.Function) -> str:
    """Grade how a reader makes the decoder's input and the labels.

    ``mine`` is a function ``mine(target_ids)`` that gets (B, T + 1) ids, bos + pieces +
    eos, padded, and returns inputs and labels, both (B, T).
    """
    return (
        "The input lacks its last column, the labels lack bos; for one row and for "
        "many. Where eos stays in the input of a short row, its label is padding, so "
        "it does no harm."
    )
