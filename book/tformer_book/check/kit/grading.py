"""How a grader works, whatever it grades: probes, mistakes, and the verdict."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tformer_book.check.kit.hints import hints_of
from tformer_book.check.kit.state import judging

Function = Callable[..., Any]


class Mistake(Exception):
    """What a probe found.

    Attributes:
        diagnosis: short name of the mistake.
        message: what the reader is told.
    """

    def __init__(self, diagnosis: str, message: str) -> None:
        super().__init__(message)
        self.diagnosis = diagnosis
        self.message = " ".join(message.split())


@dataclass(frozen=True)
class Result:
    """What a grader found; true only if every hidden case came out right.

    Attributes:
        passed: whether that is so.
        message: what the reader is told.
        diagnosis: short name of the mistake, such as ``"softmax-over-queries"``, or
            ``"correct"``.
    """

    passed: bool
    message: str
    diagnosis: str

    def __bool__(self) -> bool:
        return self.passed

    def _ipython_display_(self) -> None:
        """Show nothing below the cell: the grader has printed the message."""


def grader(
    *probes: Callable[[Function], str | None], part: str = ""
) -> Callable[[Callable[[Function], str]], Callable[[Function], Result]]:
    """Make a grader of a function that says what to praise if no probe finds a mistake.

    Args:
        *probes: asked in order; each takes the reader's function and raises `Mistake`
            if it finds one; it may return a remark that follows the praise.
        part: what is graded, for the headline, if that is not the function's name.
    """

    def make(praise: Callable[[Function], str]) -> Callable[[Function], Result]:
        @functools.wraps(praise)
        def graded(mine: Function) -> Result:
            result = grade(part or praise.__name__, mine, probes, praise(mine))
            if result.diagnosis == "stub" and hints_of(praise):
                print(f"  For a hint, call check.hint(check.{praise.__name__}).")
            return result

        graded.__annotations__ = {"mine": Function, "return": Result}
        return graded

    return make


def grade(
    part: str,
    mine: Function,
    probes: Sequence[Callable[[Function], str | None]],
    praise: str,
) -> Result:
    """Ask the probes in order, print what a teacher would say, and return it."""
    try:
        with judging():
            _is_a_function(part, mine)
            remarks = [remark for probe in probes if (remark := probe(mine))]
    except Mistake as mistake:
        result = Result(False, mistake.message, mistake.diagnosis)
    except (Exception, SystemExit) as problem:
        result = Result(
            False,
            "I could not make sense of what your function returns; comparing it ended "
            f"in {type(problem).__name__}: {problem}",
            "not-judged",
        )
    else:
        result = Result(True, " ".join([*praise.split(), *remarks]), "correct")
    mark = "✓" if result else "✗"
    text = textwrap.fill(
        result.message, 76, initial_indent="  ", subsequent_indent="  "
    )
    verdict = "is right." if result else "is not right yet."
    print(f"{mark} Your {part} {verdict}\n{text}")
    return result


def _is_a_function(part: str, mine: object) -> None:
    if isinstance(mine, type):
        raise Mistake(
            "a-class",
            f"You gave me the class {mine.__name__}. I need something that I can call "
            "with the inputs: a function, or an object made from the class.",
        )
    if not callable(mine):
        raise Mistake(
            "not-a-function",
            f"I need your function itself, without brackets: check.{part}(mine), not "
            f"check.{part}(mine(…)). I got a {type(mine).__name__}.",
        )
