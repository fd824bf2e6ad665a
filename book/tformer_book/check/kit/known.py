"""The one kind of table of known mistakes, and how a mistake is recognised by it.

A grader declares the mistakes that it knows as a `Table`: from the name of a mistake to
the way in which it is made, and what a teacher would say. A way is either

- a whole wrong function, which takes what the reader's function takes; or
- settings of the grader's own part, `built`, whose steps can be exchanged by name. Two
  such mistakes may come together, and are then both named.

Either way the mistake is a function that a reader might have written, so what comes out
of it is found by running it; see `ways`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tformer_book.check.kit.grading import Function, Mistake
from tformer_book.check.kit.matching import CLOSE, matches

Way = Function | Mapping[str, Any]
# Several ways may have one name. What is said may depend on what the function is given:
# then it is a function of that. What follows a colon in a name only tells two entries
# apart. Whatever comes first in a table is recognised first.
Table = dict[str, tuple[Way | Sequence[Way], str | Function]]


class Slip(NamedTuple):
    """A mistake that people make, on the case at hand.

    Attributes:
        name: short name of the mistake.
        says: what a teacher would say.
        gives: what comes out of it.
    """

    name: str
    says: str
    gives: Any


Known = Iterable[Slip]


def ways(
    table: Table, built: Function | None = None
) -> Iterator[tuple[str, Function, str | Function, Mapping[str, Any]]]:
    """Every mistake of a table as a whole function, one by one.

    Args:
        table: the known mistakes.
        built: the part that settings are settings of.

    Yields:
        The name, the wrong function, what to say, and the settings if it has some.
    """
    for name, (several, says) in table.items():
        for way in several if isinstance(several, Sequence) else [several]:
            if isinstance(way, Mapping):
                if built is None:
                    raise TypeError(f"{name}: settings of what?")
                yield name, partial(built, **way), says, way
            else:
                yield name, way, says, {}


def of_terms(terms: Function) -> Callable[[Function], Function]:
    """Make whole functions from what they make of terms that all of them share.

    Decorates a function that takes what the reader's function takes, and returns the
    terms by name. Then ``_of(lambda t: t.rows * t.root)`` is a function of the same
    inputs.
    """

    def whole(of: Function) -> Function:
        return lambda *inputs, **keywords: of(
            SimpleNamespace(**terms(*inputs, **keywords))
        )

    return whole


def slips(
    table: Table,
    run: Callable[[Function], Any],
    built: Function | None = None,
    *,
    with_nan: bool = False,
) -> Iterator[Slip]:
    """What comes out of each mistake of a table, then of each two of them together.

    Args:
        table: the known mistakes.
        run: runs a function on the case at hand; where shapes do not allow a mistake it
            may stop with an error.
        built: the part that settings are settings of.
        with_nan: whether pairs that end in nan count; too many do.
    """
    single = list(ways(table, built))
    for name, function, says, _ in single:
        yield from _tried(name, function, [says], run)
    exchanged = [way for way in single if way[3]]
    for one, two in itertools.combinations(exchanged, 2):
        if one[0] != two[0] and not one[3].keys() & two[3].keys():
            both = partial(one[1], **two[3])
            for slip in _tried(one[0], both, [one[2], two[2]], run):
                if with_nan or not _has_nan(slip.gives):
                    yield slip


def _tried(
    name: str,
    function: Function,
    says: Sequence[str | Function],
    run: Callable[[Function], Any],
) -> Iterator[Slip]:
    try:
        with torch.no_grad():
            gives = run(function)
            texts = [each if isinstance(each, str) else run(each) for each in says]
    except (RuntimeError, IndexError, ValueError, TypeError, ArithmeticError):
        return
    texts = [text[0] if isinstance(text, list) else text for text in texts]
    yield Slip(name, " And there is a second slip: ".join(texts), gives)


def _has_nan(result: Any) -> bool:
    if isinstance(result, Tensor):
        return bool(result.isnan().any())
    return isinstance(result, list | tuple) and any(map(_has_nan, result))


def recognise(found: Any, known: Known, tolerance: float = CLOSE) -> None:
    """Raise the known mistake of which just this comes, if there is one."""
    for name, says, wrong in known:
        if matches(found, wrong, tolerance):
            raise Mistake(name.partition(":")[0], says)
