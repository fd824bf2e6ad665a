"""What is behind the error with which a reader's function stopped."""

from __future__ import annotations

import linecache
import re
import traceback

from tformer_book.check.kit.grading import Function, Mistake
from tformer_book.check.kit.source import lines_where

# What is behind the errors that people meet most.
REASONS: tuple[tuple[str, str, str], ...] = (
    (
        r"torch\.return_types\.m|'m(ax|in)' object|return_types",
        "values-forgotten",
        "max and min along an axis return two things, the values and where they "
        "stand: add .values, or use amax and amin.",
    ),
    (
        r"Boolean value of Tensor with more than one value",
        "truth-of-a-tensor",
        "A tensor of many numbers is neither true nor false. To ask whether there is "
        "one, write “is not None”; to join two masks, &, not “and”; to choose entry by "
        "entry, torch.where, clamp or masked_fill, not “if”, min or max.",
    ),
    (
        r"not implemented for 'Float'|only supports boolean type|"
        r"unsupported operand type\(s\) for [&|~]",
        "not-bool",
        "&, | and ~ join truth values, and one side is made of numbers. Compare "
        "(ids != pad_id), say dtype=torch.bool, or end in .bool().",
    ),
    (
        r"^m(ax|in|aximum|inimum)\(\).*got \(int, Tensor\)|Tensor, not (int|float)$",
        "number-and-tensor",
        "PyTorch's max, min, maximum and minimum compare two tensors. To cut off at a "
        "number: clamp(min=0), or relu for 0.",
    ),
    (
        r"view size is not compatible",
        "view-of-a-transposed-tensor",
        "After a transpose the numbers no longer lie in memory in the order of the "
        "axes, and view cannot follow. Use reshape or flatten.",
    ),
    (
        r"missing \d+ required positional argument.*'dim'",
        "axis-not-named",
        "This needs to know along which axis: dim=-1.",
    ),
)


KEEPDIM = (
    "Look at “{line}”: a sum, mean or maximum along an axis loses that axis, and what "
    "is left is lined up from the right, with the wrong one. Keep it: keepdim=True."
)


class Stopped(Mistake):
    """The reader's function stopped with an error; a probe may know better why.

    Attributes:
        problem: the error.
    """

    def __init__(self, mine: Function, problem: BaseException) -> None:
        reason = str(problem).strip().splitlines() or [""]
        name, says = next(
            (
                (name, says)
                for pattern, name, says in REASONS
                if re.search(pattern, reason[0])
            ),
            ("stops-with-an-error", ""),
        )
        if "must match the size" in reason[0] or "broadcast" in reason[0]:
            for line in lines_where(mine, lambda line, node: _loses_axis(line)):
                name, says = "keepdim-forgotten", KEEPDIM.format(line=line)
        super().__init__(
            name,
            f"Your function stops with {type(problem).__name__}"
            f"{_where(mine, problem)}: {reason[0].rstrip('.')}. {says}",
        )
        self.problem = problem


def _loses_axis(line: str) -> bool:
    reduces = re.search(r"\.(sum|mean|a?max|a?min|var|std|norm|logsumexp)\([^)]", line)
    return bool(reduces) and "keepdim" not in line and "None]" not in line


def _where(mine: Function, problem: BaseException) -> str:
    file = getattr(getattr(mine, "__code__", None), "co_filename", None)
    frames = [
        f for f in traceback.extract_tb(problem.__traceback__) if f.filename == file
    ]
    if not frames:
        return ""
    last = frames[-1]
    text = last.line or linecache.getline(last.filename, last.lineno or 0).strip()
    return f" in the line “{text}”" if text else f" in line {last.lineno}"
