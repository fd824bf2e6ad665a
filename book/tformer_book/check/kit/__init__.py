"""What graders are made of: a grader imports from here and from nowhere else.

A grader is a list of probes, asked in order (`grader`); the first that finds a mistake
ends the grading. A probe raises `Mistake`, with a short name and what a teacher would
say. It has these tools:

- `Case` holds what the reader's function is given, `call` runs it, so that no traceback
  of a library reaches the reader (`Stopped` is the error, explained) and nothing that
  it changes outside itself stays changed (`state`), and `as_tensor`, `as_number`,
  `as_whole` take what came back;
- `compare`, or `judge` for several cases together, compares it with what should have
  come, first with the known mistakes of the problem (a `Table` of them), then by
  looking for what kind of difference it is;
- `Case.learn` and `probe_gradients` ask for the gradients;
- `Mistake` itself, for a property that fails ("every row of weights sums to 1").

A new problem is one module in `tformer_book.check.problems`, named like its function;
the package finds it there. Its known mistakes are the table ``SLIPS``; the part whose
settings they exchange, if there is one, is called ``built``. The tests hand each known
mistake to the grader, made into a whole function.
"""

from tformer_book.check.kit.by_hand import by_hand
from tformer_book.check.kit.comparison import compare
from tformer_book.check.kit.gradients import probe_gradients
from tformer_book.check.kit.grading import Function, Mistake, Result, grader
from tformer_book.check.kit.hidden import Case, all_of, cases, if_it_stops, judge
from tformer_book.check.kit.known import (
    Known,
    Slip,
    Table,
    of_terms,
    recognise,
    slips,
    ways,
)
from tformer_book.check.kit.loops import ENDLESS, Endless, generated
from tformer_book.check.kit.matching import matches
from tformer_book.check.kit.numbers import draw
from tformer_book.check.kit.returned import as_number, as_tensor, as_whole
from tformer_book.check.kit.running import call
from tformer_book.check.kit.stopped import Stopped

__all__ = [
    "ENDLESS",
    "Case",
    "Endless",
    "Function",
    "Known",
    "Mistake",
    "Result",
    "Slip",
    "Stopped",
    "Table",
    "all_of",
    "as_number",
    "as_tensor",
    "as_whole",
    "by_hand",
    "call",
    "cases",
    "compare",
    "draw",
    "generated",
    "grader",
    "if_it_stops",
    "judge",
    "matches",
    "of_terms",
    "probe_gradients",
    "recognise",
    "slips",
    "ways",
]
