"""The grader for `inputs_and_labels` of chapter *The decoder*, and known mistakes."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer_book.check._compare import (
    Known,
    Slip,
    matches,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    call,
)

Row = list[int]
Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Lists:
    """Translations as lists of pieces, and the ids of pad, bos and eos."""

    targets: tuple[tuple[int, ...], ...]
    pad: int = 0
    bos: int = 1
    eos: int = 2

    @property
    def width(self) -> int:
        """Columns of both tensors: the longest translation, and bos or eos."""
        return 1 + max(map(len, self.targets))

    def padded(
        self, first: Row, last: Row, *, width: int = 0, left: bool = False
    ) -> Tensor:
        """Each translation between `first` and `last`, padded and cut to a width."""
        width = width or self.width
        rows = []
        for target in self.targets:
            row = [*first, *target, *last][:width]
            gap = [self.pad] * (width - len(row))
            rows.append(gap + row if left else row + gap)
        return torch.tensor(rows)

    def right(self) -> Pair:
        """What the decoder reads, and what it must say."""
        return self.padded([self.bos], []), self.padded([], [self.eos])

    def whole(self, last: Row) -> Tensor:
        """Bos, pieces and `last` in one rectangle, for slicing."""
        return self.padded([self.bos], last, width=self.width + len(last))


def _wrong_lists(case: Lists) -> Known:
    """Known mistakes: short name, what to say, inputs and labels that they give."""
    bos, eos = [case.bos], [case.eos]
    inputs, labels = case.right()
    pieces = case.padded([], [])
    whole = case.whole(eos)
    exchanged = (
        "Inputs and labels have changed places (or you return labels first). The input "
        "begins with bos, the label ends with eos: each place reads what was, and must "
        "say what comes."
    )
    yield Slip("wrong-way-round", exchanged, (labels, inputs))
    yield Slip("wrong-way-round", exchanged, (whole[:, 1:], whole[:, :-1]))
    same = (
        "Inputs and labels are the same row: at each place the model is asked for the "
        "piece that it has just read. The loss falls to nearly 0, and the model cannot "
        "write a word. The input is bos + pieces, the label pieces + eos."
    )
    for row in (inputs, labels, whole, whole[:, :-1], pieces):
        yield Slip("not-shifted", same, (row, row))
    no_end = (
        "No eos among the labels: the model never learns to stop, and its translations "
        "run on to the limit. A label is pieces + eos."
    )
    yield Slip("labels-without-eos", no_end, (inputs, pieces))
    yield Slip("labels-without-eos", no_end, (inputs[:, :-1], inputs[:, 1:]))
    late = torch.full((len(labels), 1), case.eos)
    yield Slip(
        "eos-after-the-padding",
        "In short rows eos stands after the padding: you pad first and append eos as "
        "a column. The model then learns that padding follows the last piece. First "
        "append eos to each list, then pad.",
        (inputs, torch.cat([pieces[:, :-1], late], dim=1)),
    )
    no_begin = (
        "The input has no bos. It begins with the first piece, so that piece is never "
        "asked for, and in use nobody can begin. The input is bos + pieces."
    )
    yield Slip("input-without-bos", no_begin, (pieces, labels))
    yield Slip("input-without-bos", no_begin, (pieces[:, :-1], labels[:, :-1]))
    with_bos = (
        "Your labels begin with bos and are one column too wide. Nobody asks for bos: "
        "a label is pieces + eos."
    )
    yield Slip("labels-with-bos", with_bos, (inputs, whole))
    yield Slip("labels-with-bos", with_bos, (whole[:, :-1], whole))
    yield Slip(
        "input-with-the-last-column",
        "Your input is one column too wide: it holds eos of the longest row, and there "
        "is nothing left to say after it. The input is bos + pieces; of the whole "
        "rectangle, [:, :-1].",
        (whole, labels),
    )
    yield Slip(
        "labels-minus-100",
        "Your labels have −100 where padding is. That is what "
        "torch.nn.functional.cross_entropy ignores unless told otherwise; the loss of "
        "this book takes pad_id. Pad with pad_id.",
        (inputs, labels.masked_fill(labels == case.pad, -100)),
    )
    twice = (
        "Shifted twice: labels run two places ahead. To begin the input with bos is "
        "the shift already; do not cut a column off as well. Either build bos + pieces "
        "and pieces + eos, or build bos + pieces + eos once and slice [:, :-1] and "
        "[:, 1:]; not both."
    )
    yield Slip("shifted-twice", twice, (inputs[:, :-1], labels[:, 1:]))
    yield Slip("shifted-twice", twice, (whole[:, :-2], whole[:, 2:]))
    yield Slip(
        "padded-on-the-left",
        "You pad on the left. Then the first rows of causal attention see nothing but "
        "padding, and positions no longer count from bos. Pad on the right.",
        (case.padded(bos, [], left=True), case.padded([], eos, left=True)),
    )
    left = case.padded(bos, eos, width=case.width + 1, left=True)
    yield Slip(
        "padded-on-the-left",
        "You pad on the left. Then the first rows of causal attention see nothing but "
        "padding, and positions no longer count from bos. Pad on the right.",
        (left[:, :-1], left[:, 1:]),
    )
    swapped = dataclasses.replace(case, bos=case.eos, eos=case.bos)
    for gives in (
        swapped.right(),
        (swapped.whole(bos)[:, :-1], swapped.whole(bos)[:, 1:]),
    ):
        yield Slip(
            "bos-and-eos-swapped",
            "bos and eos have changed places. bos, the beginning, opens the input; "
            "eos, the end, closes the labels.",
            gives,
        )
    for ids in (Lists(case.targets), dataclasses.replace(case, pad=0)):
        if ids != case:
            yield Slip(
                "ids-ignored",
                "Right for the usual ids, pad 0, bos 1, eos 2; but you write them as "
                "numbers. Take pad_id, bos_id and eos_id as they are given: other "
                "tokenizers have others.",
                ids.right(),
            )
    if case.pad:
        zeros = dataclasses.replace(case, pad=0)
        for gives in (
            zeros.right(),
            (zeros.whole(eos)[:, :-1], zeros.right()[1]),
        ):
            yield Slip(
                "pad-id-ignored",
                "You fill up with 0. Padding has the id that you are given, pad_id: "
                "torch.full(…, pad_id), not torch.zeros.",
                gives,
            )


def _as_pair(returned: object) -> Pair:
    if isinstance(returned, tuple | list) and len(returned) == 2:
        inputs, labels = returned
        if isinstance(inputs, Tensor) and isinstance(labels, Tensor):
            if inputs.dtype != torch.int64 or labels.dtype != torch.int64:
                raise Mistake(
                    "not-int64",
                    f"Your tensors hold {inputs.dtype} and {labels.dtype}. They are "
                    "ids, indices into tables: int64, as torch.tensor makes of whole "
                    "numbers.",
                )
            return inputs, labels
    raise Mistake(
        "not-two-tensors",
        "Return two tensors, inputs and labels, in this order; your function returns "
        f"{type(returned).__name__}.",
    )


def _judge_lists(case: Lists, found: Pair) -> None:
    inputs, labels = case.right()
    tolerated = case.whole([case.eos])[:, :-1], labels  # eos stays in short inputs
    if matches(found, (inputs, labels)) or matches(found, tolerated):
        return
    recognise(found, _wrong_lists(case))
    if found[0].shape != found[1].shape:
        raise Mistake(
            "widths-differ",
            f"Your inputs are {tuple(found[0].shape)} and your labels "
            f"{tuple(found[1].shape)}. Every place of the input has one label, so both "
            f"are {tuple(inputs.shape)} here: bos + pieces, and pieces + eos.",
        )
    if found[0].shape != inputs.shape:
        raise Mistake(
            "shape",
            f"From {len(case.targets)} translations, the longest of {case.width - 1} "
            f"pieces, come tensors of shape {tuple(found[0].shape)}; they must be "
            f"{tuple(inputs.shape)}.",
        )
    read = any(torch.equal(found[0], given) for given in (inputs, tolerated[0]))
    name = "labels" if read else "inputs"
    mine, right = (found[1], labels) if read else (found[0], inputs)
    row = int((mine != right).any(1).nonzero()[0])
    raise Mistake(
        "wrong-numbers",
        f"For the pieces {list(case.targets[row])} your {name} are "
        f"{mine[row].tolist()}; they should be {right[row].tolist()} (pad {case.pad}, "
        f"bos {case.bos}, eos {case.eos}).",
    )


def _probe_lists(mine: Function) -> None:
    several = ((7, 8, 9, 6), (9, 7), (8,))
    for case in (
        Lists(several),
        Lists(several[:1]),
        Lists(several, pad=3, bos=5, eos=4),
    ):
        given = [list(target) for target in case.targets]
        ids = {"pad_id": case.pad, "bos_id": case.bos, "eos_id": case.eos}
        try:
            returned = call(mine, {"targets": given}, ids)
        except Stopped as stopped:
            if "length" in str(stopped.problem) or "size" in str(stopped.problem):
                raise Mistake(
                    "not-padded",
                    "Your function stops where rows differ in length: a tensor is a "
                    "rectangle. Fill short rows up with pad_id, after eos.",
                ) from None
            raise
        if given != [list(target) for target in case.targets]:
            raise Mistake(
                "changes-inputs",
                "Your function changes the lists that it was given: append and insert "
                "work in place, so in the next epoch each has two bos or two eos. Make "
                "new lists: [bos_id, *target].",
            )
        _judge_lists(case, _as_pair(returned))


def inputs_and_labels(mine: Function) -> Result:
    """Grade how a reader makes decoder inputs and labels out of lists of pieces.

    Args:
        mine: a function ``mine(targets, *, pad_id, bos_id, eos_id)`` that gets lists of
            ids without special ones, and returns inputs (bos + pieces) and labels
            (pieces + eos), both (B, T) int64, padded on the right. Eos may stay in the
            input of short rows, as slicing leaves it.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "The input begins with bos, the label ends with eos, each before the padding; "
        "every place meets the piece that follows, for one row and for many, whatever "
        "the ids."
    )
    return grade("inputs_and_labels", mine, [_probe_lists], praise)
