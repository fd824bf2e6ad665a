"""The grader for `inputs_and_labels` of chapter *The decoder*, and known mistakes."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "If you wrote each sentence once, with both signs, how would the two tensors "
    "follow from it?",
    "Write whole rows: ⟨bos⟩, pieces, ⟨eos⟩, then padding up to the longest plus two."
    " Input and labels are the same table without its last and without its first "
    "column.",
    "width = max(map(len, targets)) + 2",
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


@kit.of_terms
def _of(targets: list[Row], *, pad_id: int, bos_id: int, eos_id: int) -> dict[str, Any]:
    case = Lists(tuple(map(tuple, targets)), pad_id, bos_id, eos_id)
    bos, eos = [bos_id], [eos_id]
    inputs, labels = case.right()
    pieces, whole = case.padded([], []), case.whole(eos)
    late = torch.full((len(labels), 1), eos_id)
    left = case.padded(bos, eos, width=case.width + 1, left=True)
    swapped = dataclasses.replace(case, bos=eos_id, eos=bos_id)
    crossed = swapped.whole(bos)
    zeros = dataclasses.replace(case, pad=0)
    return locals()


def _twice(of: kit.Function) -> kit.Function:
    """The same row for inputs and labels."""
    return _of(lambda t: (of(t), of(t)))


SLIPS: kit.Table = {
    "wrong-way-round": (
        [
            _of(lambda t: (t.labels, t.inputs)),
            _of(lambda t: (t.whole[:, 1:], t.whole[:, :-1])),
        ],
        "Inputs and labels have changed places (or you return labels first). The input "
        "begins with bos, the label ends with eos: each place reads what was, and must "
        "say what comes.",
    ),
    "not-shifted": (
        [
            _twice(lambda t: t.inputs),
            _twice(lambda t: t.labels),
            _twice(lambda t: t.whole),
            _twice(lambda t: t.whole[:, :-1]),
            _twice(lambda t: t.pieces),
        ],
        "Inputs and labels are the same row: at each place the model is asked for the "
        "piece that it has just read. The loss falls to nearly 0, and the model cannot "
        "write a word. The input is bos + pieces, the label pieces + eos.",
    ),
    "labels-without-eos": (
        [
            _of(lambda t: (t.inputs, t.pieces)),
            _of(lambda t: (t.inputs[:, :-1], t.inputs[:, 1:])),
        ],
        "No eos among the labels: the model never learns to stop, and its translations "
        "run on to the limit. A label is pieces + eos.",
    ),
    "eos-after-the-padding": (
        _of(lambda t: (t.inputs, torch.cat([t.pieces[:, :-1], t.late], dim=1))),
        "In short rows eos stands after the padding: you pad first and append eos as "
        "a column. The model then learns that padding follows the last piece. First "
        "append eos to each list, then pad.",
    ),
    "input-without-bos": (
        [
            _of(lambda t: (t.pieces, t.labels)),
            _of(lambda t: (t.pieces[:, :-1], t.labels[:, :-1])),
        ],
        "The input has no bos. It begins with the first piece, so that piece is never "
        "asked for, and in use nobody can begin. The input is bos + pieces.",
    ),
    "labels-with-bos": (
        [
            _of(lambda t: (t.inputs, t.whole)),
            _of(lambda t: (t.whole[:, :-1], t.whole)),
        ],
        "Your labels begin with bos and are one column too wide. Nobody asks for bos: "
        "a label is pieces + eos.",
    ),
    "input-with-the-last-column": (
        _of(lambda t: (t.whole, t.labels)),
        "Your input is one column too wide: it holds eos of the longest row, and there "
        "is nothing left to say after it. The input is bos + pieces; of the whole "
        "rectangle, [:, :-1].",
    ),
    "labels-minus-100": (
        _of(lambda t: (t.inputs, t.labels.masked_fill(t.labels == t.case.pad, -100))),
        "Your labels have −100 where padding is. That is what "
        "torch.nn.functional.cross_entropy ignores unless told otherwise; the loss of "
        "this book takes pad_id. Pad with pad_id.",
    ),
    "shifted-twice": (
        [
            _of(lambda t: (t.inputs[:, :-1], t.labels[:, 1:])),
            _of(lambda t: (t.whole[:, :-2], t.whole[:, 2:])),
        ],
        "Shifted twice: labels run two places ahead. To begin the input with bos is "
        "the shift already; do not cut a column off as well. Either build bos + pieces "
        "and pieces + eos, or build bos + pieces + eos once and slice [:, :-1] and "
        "[:, 1:]; not both.",
    ),
    "padded-on-the-left": (
        [
            _of(
                lambda t: (
                    t.case.padded(t.bos, [], left=True),
                    t.case.padded([], t.eos, left=True),
                )
            ),
            _of(lambda t: (t.left[:, :-1], t.left[:, 1:])),
        ],
        "You pad on the left. Then the first rows of causal attention see nothing but "
        "padding, and positions no longer count from bos. Pad on the right.",
    ),
    "bos-and-eos-swapped": (
        [
            _of(lambda t: t.swapped.right()),
            _of(lambda t: (t.crossed[:, :-1], t.crossed[:, 1:])),
        ],
        "bos and eos have changed places. bos, the beginning, opens the input; "
        "eos, the end, closes the labels.",
    ),
    "ids-ignored": (
        [_of(lambda t: Lists(t.case.targets).right()), _of(lambda t: t.zeros.right())],
        "Right for the usual ids, pad 0, bos 1, eos 2; but you write them as "
        "numbers. Take pad_id, bos_id and eos_id as they are given: other "
        "tokenizers have others.",
    ),
    "pad-id-ignored": (
        _of(lambda t: (t.zeros.whole(t.eos)[:, :-1], t.zeros.right()[1])),
        "You fill up with 0. Padding has the id that you are given, pad_id: "
        "torch.full(…, pad_id), not torch.zeros.",
    ),
}


def _as_pair(returned: object) -> Pair:
    if isinstance(returned, tuple | list) and len(returned) == 2:
        inputs, labels = returned
        if isinstance(inputs, Tensor) and isinstance(labels, Tensor):
            if inputs.dtype != torch.int64 or labels.dtype != torch.int64:
                raise kit.Mistake(
                    "not-int64",
                    f"Your tensors hold {inputs.dtype} and {labels.dtype}. They are "
                    "ids, indices into tables: int64, as torch.tensor makes of whole "
                    "numbers.",
                )
            return inputs, labels
    raise kit.Mistake(
        "not-two-tensors",
        "Return two tensors, inputs and labels, in this order; your function returns "
        f"{type(returned).__name__}.",
    )


def _judge_lists(case: Lists, found: Pair, known: kit.Known) -> None:
    inputs, labels = case.right()
    tolerated = case.whole([case.eos])[:, :-1], labels  # eos stays in short inputs
    if kit.matches(found, (inputs, labels)) or kit.matches(found, tolerated):
        return
    kit.recognise(found, known)
    if found[0].shape != found[1].shape:
        raise kit.Mistake(
            "widths-differ",
            f"Your inputs are {tuple(found[0].shape)} and your labels "
            f"{tuple(found[1].shape)}. Every place of the input has one label, so both "
            f"are {tuple(inputs.shape)} here: bos + pieces, and pieces + eos.",
        )
    if found[0].shape != inputs.shape:
        raise kit.Mistake(
            "shape",
            f"From {len(case.targets)} translations, the longest of {case.width - 1} "
            f"pieces, come tensors of shape {tuple(found[0].shape)}; they must be "
            f"{tuple(inputs.shape)}.",
        )
    read = any(torch.equal(found[0], given) for given in (inputs, tolerated[0]))
    name = "labels" if read else "inputs"
    mine, right = (found[1], labels) if read else (found[0], inputs)
    row = int((mine != right).any(1).nonzero()[0])
    raise kit.Mistake(
        "wrong-numbers",
        f"For the pieces {list(case.targets[row])} your {name} are "
        f"{mine[row].tolist()}; they should be {right[row].tolist()} (pad {case.pad}, "
        f"bos {case.bos}, eos {case.eos}).",
    )


def _probe_lists(mine: kit.Function) -> None:
    several = ((7, 8, 9, 6), (9, 7), (8,))
    for case in (
        Lists(several),
        Lists(several[:1]),
        Lists(several, pad=3, bos=5, eos=4),
    ):
        given = [list(target) for target in case.targets]
        ids = {"pad_id": case.pad, "bos_id": case.bos, "eos_id": case.eos}
        try:
            returned = kit.call(mine, {"targets": given}, ids)
        except kit.Stopped as stopped:
            if "length" in str(stopped.problem) or "size" in str(stopped.problem):
                raise kit.Mistake(
                    "not-padded",
                    "Your function stops where rows differ in length: a tensor is a "
                    "rectangle. Fill short rows up with pad_id, after eos.",
                ) from None
            raise
        known = kit.slips(SLIPS, kit.Case({"targets": case.targets}, ids).of)
        _judge_lists(case, _as_pair(returned), known)


@kit.grader(_probe_lists)
def inputs_and_labels(mine: kit.Function) -> str:
    """Grade how a reader makes decoder inputs and labels out of lists of pieces.

    ``mine`` is a function ``mine(targets, *, pad_id, bos_id, eos_id)`` that gets lists
    of ids without special ones, and returns inputs (bos + pieces) and labels (pieces +
    eos), both (B, T) int64, padded on the right. Eos may stay in the input of short
    rows, as slicing leaves it.
    """
    return (
        "The input begins with bos, the label ends with eos, each before the padding; "
        "every place meets the piece that follows, for one row and for many, whatever "
        "the ids."
    )
