"""Graders for the book's problems: they run your function and say what is wrong.

Each ``check.<part>(mine)`` runs your function on hidden cases, prints what it found in
the words of a teacher, and returns a `Result` that is true only if all is well, so that
``assert check.attention(mine)`` works, too.

Each grader is the function of its module's name in `tformer_book.check.problems`. Where
that module has ``HINTS``, ``check.hint(check.<part>)`` prints the next of them.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from tformer_book.check import problems
from tformer_book.check.kit import Result
from tformer_book.check.kit.hints import hint as hint
from tformer_book.check.kit.state import remember

_GRADERS: dict[str, Callable[[Callable[..., Any]], Result]] = {
    module.name: getattr(
        import_module(f"{problems.__name__}.{module.name}"), module.name
    )
    for module in iter_modules(problems.__path__)
    if not module.name.startswith("_")
}
__all__ = ["Result", "hint", *sorted(_GRADERS)]
remember()


def __getattr__(name: str) -> Callable[[Callable[..., Any]], Result]:
    if name not in _GRADERS:
        raise AttributeError(f"there is no grader {name!r}; there are {[*_GRADERS]}")
    return _GRADERS[name]


def __dir__() -> list[str]:
    return __all__
