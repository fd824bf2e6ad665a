"""How a grader works, whatever it grades.

A grader is a list of probes, asked in order; the first that finds a mistake ends the
grading. A probe raises `Mistake`, with a short name and what a teacher would say. It
finds mistakes in two ways:

- by *symptom*: a property fails, such as "every row of weights sums to 1";
- by *known mistakes*: the part built wrongly on purpose. If the reader's numbers are
  not the right ones but equal those of a known mistake, that mistake is named.

`tformer.check._attention` is the example to follow for a new part.
"""

from __future__ import annotations

import inspect
import linecache
import textwrap
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

Function = Callable[..., Any]
# Mistakes that people make: a name, what a teacher would say, and what comes of it.
Known = Iterable[tuple[str, str, Any]]


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


def grade(
    part: str, mine: Function, probes: Sequence[Callable[[Function], None]], praise: str
) -> Result:
    """Ask the probes in order, print what a teacher would say, and return it.

    Args:
        part: what is graded, for the headline.
        mine: the reader's function or class.
        probes: each takes `mine` and raises `Mistake` if it finds one.
        praise: what to say if none does.
    """
    try:
        if not callable(mine):
            raise Mistake(
                "not-a-function",
                f"I need your function itself, without brackets: check.{part}(mine), "
                f"not check.{part}(mine(…)). I got a {type(mine).__name__}.",
            )
        for probe in probes:
            probe(mine)
    except Mistake as mistake:
        result = Result(False, mistake.message, mistake.diagnosis)
    else:
        result = Result(True, " ".join(praise.split()), "correct")
    mark = "✓" if result else "✗"
    text = textwrap.fill(
        result.message, 76, initial_indent="  ", subsequent_indent="  "
    )
    verdict = "is right." if result else "is not right yet."
    print(f"{mark} Your {part} {verdict}\n{text}")
    return result


def call(mine: Function, inputs: Mapping[str, Any], keywords: Mapping[str, Any]) -> Any:
    """Run the reader's function on copies of the inputs.

    Args:
        mine: the reader's function.
        inputs: passed by position, in order; tensors are cloned.
        keywords: passed by name.

    Raises:
        Mistake: it is a stub, does not take these arguments, returns nothing, stops
            with an error, or changes a tensor that it was given.
    """
    copies = {name: _copy(value) for name, value in {**inputs, **keywords}.items()}
    positional = [copies[name] for name in inputs]
    named = {name: copies[name] for name in keywords}
    try:
        inspect.signature(mine).bind(*positional, **named)
    except TypeError:
        head = ", ".join([*inputs, *(["*"] if keywords else [])])
        tail = "".join(f", {name}=None" for name in keywords)
        raise Mistake(
            "signature",
            f"I cannot call your function: it must take ({head}{tail}), with these "
            f"names. Yours takes {inspect.signature(mine)}.",
        ) from None
    except ValueError:
        pass  # some built-ins do not tell their signature
    try:
        returned = mine(*positional, **named)
    except NotImplementedError:
        raise Mistake(
            "stub",
            "Nothing to grade yet: the function still raises NotImplementedError. "
            "Replace that line by your own, then run the cell again.",
        ) from None
    except Exception as problem:
        raise Stopped(mine, problem) from problem
    if returned is None:
        raise Mistake(
            "stub",
            "Your function returns None. If it is finished, its last line should be a "
            "return statement.",
        )
    for name, before in {**inputs, **keywords}.items():
        if isinstance(before, Tensor) and not torch.equal(before, copies[name]):
            raise Mistake(
                "changes-inputs",
                f"Your function changes the {name} that it was given. Whoever calls it "
                "still needs that tensor. Look for operations in place (names that end "
                "in _, such as masked_fill_, or +=) and make a new tensor instead.",
            )
    return returned


class Stopped(Mistake):
    """The reader's function stopped with an error; a probe may know better why."""

    def __init__(self, mine: Function, problem: Exception) -> None:
        file = getattr(getattr(mine, "__code__", None), "co_filename", None)
        frames = [
            f for f in traceback.extract_tb(problem.__traceback__) if f.filename == file
        ]
        line = ""
        if frames:
            last = frames[-1]
            text = (
                last.line or linecache.getline(last.filename, last.lineno or 0).strip()
            )
            line = f" in the line “{text}”" if text else f" in line {last.lineno}"
        reason = str(problem).strip().splitlines() or [""]
        super().__init__(
            "stops-with-an-error",
            f"Your function stops with {type(problem).__name__}{line}: {reason[0]}",
        )
        self.problem = problem


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def as_tensor(returned: object, wanted: str = "one tensor") -> Tensor:
    """Return what the reader's function returned, if it is a tensor.

    Args:
        returned: anything.
        wanted: what it should be, for the message.

    Raises:
        Mistake: it is something else.
    """
    if not isinstance(returned, Tensor):
        raise Mistake(
            "not-a-tensor",
            f"Your function returns a {type(returned).__name__}; I need {wanted}.",
        )
    return returned


def matches(found: Tensor, wanted: Tensor, tolerance: float = 1e-6) -> bool:
    """Whether two tensors agree in shape and in every number; nan equals nan."""
    return found.shape == wanted.shape and torch.allclose(
        found.to(wanted.dtype), wanted, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def recognise(
    found: Any, known: Known, same: Callable[[Any, Any], bool] = matches
) -> None:
    """Raise the known mistake of which just this comes, if there is one."""
    for name, message, wrong in known:
        if same(found, wrong):
            raise Mistake(name, message)
