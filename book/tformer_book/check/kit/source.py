"""The lines of a reader's function, to be quoted in a message."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable

from tformer_book.check.kit.grading import Function


def lines_where(mine: Function, holds: Callable[[str, ast.stmt], bool]) -> list[str]:
    """The simple statements of a function's source for which something holds."""
    try:
        source = textwrap.dedent(inspect.getsource(mine))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return []
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            line = source.splitlines()[node.lineno - 1].strip()
            if holds(line, node):
                found.append(line)
    return found
