"""Hints in three steps: a question, a pointer, the first line.

They stand beside the grader, as ``HINTS`` of its module; the site shows them, too.
"""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from typing import Any

STEPS = ("a question", "a pointer", "the first line")
_given: Counter[str] = Counter()


def hints_of(problem: Callable[..., Any]) -> tuple[str, ...]:
    """Return the hints that stand beside a grader; none if it has none."""
    module = sys.modules.get(getattr(problem, "__module__", ""))
    return getattr(module, "HINTS", ())


def hint(problem: Callable[..., Any]) -> None:
    """Print the next hint for a problem: ``check.hint(check.attention)``.

    Args:
        problem: its grader.
    """
    hints = hints_of(problem)
    if not hints:
        print("There are no hints for this problem.")
        return
    name = problem.__name__
    at = min(_given[name], len(hints) - 1)
    _given[name] += 1
    print(f"Hint {at + 1} of {len(hints)}, {STEPS[at]}:")
    is_code = at == len(STEPS) - 1
    text = hints[at] if is_code else textwrap.fill(hints[at], 74)
    print(textwrap.indent(text, "  "))
    if at + 1 < len(hints):
        print(f"For the next one, call check.hint(check.{name}) again.")
    else:
        print("That was the last hint. The solution stands below the problem.")
