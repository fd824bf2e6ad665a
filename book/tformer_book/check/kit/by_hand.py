"""Whether a reader's function does its work itself, or lets a library do it."""

from __future__ import annotations

import dis
from collections.abc import Mapping
from types import CodeType
from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tformer_book.check.kit.grading import Function, Mistake
from tformer_book.check.kit.running import call


class _Calls(TorchFunctionMode):
    """Notes the names by which Python calls torch's functions."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self._names = names

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self._names.add(getattr(func, "__name__", "").strip("_"))
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    """Notes the operations that are carried out, whoever calls them and how."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self._names = names

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self._names.add(func.overloadpacket.__name__.strip("_"))
        return func(*args, **(kwargs or {}))


def _written(code: object) -> set[str]:
    """The methods that code calls, as NumPy's do not tell that they are; @ is one."""
    if not isinstance(code, CodeType):
        return set()
    names: set[str] = set().union(*map(_written, code.co_consts))
    for each in dis.get_instructions(code):
        if each.opname in {"LOAD_ATTR", "LOAD_METHOD"}:
            names.add(each.argval)
        elif each.argrepr in {"@", "@="}:
            names.add("matmul")
    return names


def by_hand(
    mine: Function, inputs: Mapping[str, Any], ready_made: set[str], remedy: str
) -> None:
    """Raise `Mistake` if the reader's function lets a library do the whole work."""
    names = _written(getattr(mine, "__code__", None))
    with _Calls(names), _Operations(names):
        call(mine, inputs)
    if used := names & ready_made:
        raise Mistake("ready-made", f"Your function calls {min(used)}. {remedy}")
