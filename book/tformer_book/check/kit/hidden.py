"""Hidden cases, and the shapes that most probes have."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from tformer_book.check.kit.comparison import compare
from tformer_book.check.kit.gradients import probe_gradients
from tformer_book.check.kit.grading import Function, Mistake
from tformer_book.check.kit.known import Table, recognise, slips
from tformer_book.check.kit.matching import matches
from tformer_book.check.kit.returned import as_tensor
from tformer_book.check.kit.running import call
from tformer_book.check.kit.stopped import Stopped


@dataclass(frozen=True)
class Case:
    """What a function is given in one hidden run.

    Attributes:
        inputs: passed by position, in order, by the names that the reader knows.
        keywords: passed by name.
    """

    inputs: Mapping[str, Any]
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.inputs[name] if name in self.inputs else self.keywords[name]

    def of(self, function: Function) -> Any:
        """What one of our own functions gives."""
        return function(*self.inputs.values(), **self.keywords)

    def ask(self, mine: Function, take: Function = as_tensor) -> Any:
        """What the reader's function gives, if `take` has nothing to say against it."""
        return take(call(mine, self.inputs, self.keywords))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of an input, for a message."""
        return tuple(self[name].shape)

    def compare(
        self,
        found: Tensor,
        right: Function,
        table: Table,
        built: Function | None = None,
        **said: Any,
    ) -> None:
        """Compare what came out with what should have, and name the difference.

        Args:
            found: what the reader's function gave.
            right: what it should be.
            table: the known mistakes.
            built: the part that settings of the table are settings of.
            **said: as for the function `compare`.
        """
        with torch.no_grad():
            wanted = self.of(right)
        compare(found, wanted, slips(table, self.of, built), **said)

    def learn(
        self,
        mine: Function,
        right: Function,
        *leaves: str,
        take: Callable[[Any], Tensor] = as_tensor,
    ) -> None:
        """Ask whether the gradients that get back to the inputs are right.

        Args:
            mine: the reader's function, whose numbers are right already.
            right: what it should be.
            *leaves: names of inputs; without any, all of them.
            take: makes a tensor of what was returned.
        """
        probe_gradients(
            mine,
            lambda: self.ask(mine, take),
            lambda: self.of(right),
            {name: self.inputs[name] for name in leaves or self.inputs},
        )


def cases(names: str, *given: Sequence[Any]) -> list[Case]:
    """Cases from the names of their inputs, ``"a b"``, and the values of each."""
    return [Case(dict(zip(names.split(), each, strict=True))) for each in given]


def all_of(cases: Sequence[Case]) -> Callable[[Function], list[Any]]:
    """Run one of our own functions on all of these cases."""
    return lambda function: [case.of(function) for case in cases]


def judge(
    mine: Function,
    cases: Sequence[Case],
    right: Function,
    table: Table,
    built: Function | None = None,
    *,
    take: Function,
    otherwise: Callable[..., Mistake],
) -> None:
    """Compare all cases, and look for the one mistake that explains all of them.

    Args:
        mine: the reader's function.
        cases: of several together a mistake is told more surely than of one.
        right: what it should be.
        table: the known mistakes.
        built: the part that settings of the table are settings of.
        take: turns what was returned into what is compared, or says what is wrong.
        otherwise: what to say if nobody knows the mistake, from what was found in the
            first case that is wrong, what was wanted, and the inputs.
    """
    found = [case.ask(mine, take) for case in cases]
    wanted = [case.of(right) for case in cases]
    if matches(found, wanted):
        return
    recognise(found, slips(table, all_of(cases), built))
    for case, is_, should in zip(cases, found, wanted, strict=True):
        if not matches(is_, should):
            raise otherwise(is_, should, *case.inputs.values(), **case.keywords)


@contextlib.contextmanager
def if_it_stops(name: str, says: str) -> Iterator[None]:
    """Explain an error by what the probe has just tried, and quote it."""
    try:
        yield
    except Stopped as stopped:
        raise Mistake(name, f"{says} {stopped.message}") from None
