"""The one place where a reader's function is called.

Whatever goes wrong in there becomes a `Mistake`: a stub, a signature that does not fit,
an error, a loop without end, a changed input, chance.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import inspect
import random
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping
from types import FrameType, SimpleNamespace, TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tformer_book.check.kit.comparison import matches
from tformer_book.check.kit.grading import Function, Mistake
from tformer_book.check.kit.state import kept
from tformer_book.check.kit.stopped import Stopped

SECONDS = 10.0  # a right answer takes some thousandths


def call(
    mine: Function,
    inputs: Mapping[str, Any],
    keywords: Mapping[str, Any] | None = None,
    *,
    chance: bool = False,
    nothing: bool = False,
) -> Any:
    """Run the reader's function on copies of the inputs.

    Args:
        mine: the reader's function.
        inputs: passed by position, in order; tensors, lists and dictionaries are
            copied.
        keywords: passed by name.
        chance: whether the result may differ from call to call (dropout).
        nothing: whether None is a result.

    Raises:
        Mistake: it is a stub, does not take these arguments, returns nothing, stops
            with an error or not at all, gives another result each time, or changes
            what it was given.
    """
    keywords = keywords or {}
    _takes(mine, inputs, keywords)
    before = _random_state()
    returned = _once(mine, inputs, keywords, nothing)
    if not chance and _random_state() != before:
        for seed in range(8):
            with kept():
                _seed(seed)
                again = _once(mine, inputs, keywords, nothing)
            if not matches(again, returned):
                raise Mistake(
                    "random",
                    "Two runs on the same inputs give different results: "
                    "something in it is random. Look for dropout, torch.rand, "
                    "multinomial or a layer that is made anew, with new weights, "
                    "at every call.",
                )
    return returned


def _once(
    mine: Function,
    inputs: Mapping[str, Any],
    keywords: Mapping[str, Any],
    nothing: bool,
) -> Any:
    given = {**inputs, **keywords}
    modules = _Modules(given)
    copies = {name: _copy(value) for name, value in given.items()}
    positional = [copies[name] for name in inputs]
    try:
        with _time_limit(), kept(chance=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returned = mine(*positional, **{name: copies[name] for name in keywords})
    except Mistake:  # from something of ours that the reader's function called
        raise
    except Endless:
        raise Mistake(
            "endless",
            f"Your function was still running after {SECONDS:g} seconds, and I stopped "
            "it. Does a loop wait for something that never comes, such as a counter "
            "that is not increased?",
        ) from None
    except SystemExit:
        raise Mistake(
            "exits",
            "Your function calls sys.exit (or exit, or quit), which ends the whole "
            "program. End a function with return, or raise an error that says what is "
            "wrong.",
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as problem:
        if _is_stub(problem):
            raise Mistake(
                "stub",
                "Nothing to grade yet: the function still raises NotImplementedError. "
                "Replace that line with your own, then run the cell again.",
            ) from None
        raise Stopped(mine, problem) from problem
    finally:
        changed = modules.put_back()
    if returned is None and not nothing:
        raise Mistake(
            "returns-nothing",
            "Your function returns None. Its last line should be a return statement: "
            "what is printed, or put into a variable, stays inside.",
        )
    if changed:
        raise Mistake(
            "changes-inputs",
            "Your function changes the layer or model that it was given for good, its "
            "weights or what it consists of, and its caller still needs that. Compute "
            "with a part of a weight, or with a product of it, which are new tensors.",
        )
    for name, value in given.items():
        if not _unchanged(value, copies[name]):
            raise Mistake(
                "changes-inputs",
                f"Your function changes the {name} that it was given, and its caller "
                "still needs that. Look for operations in place (+=, names that end in "
                "_ such as masked_fill_, assignments to x[…], append, pop) and make a "
                "new object instead.",
            )
    return returned


def _takes(
    mine: Function, inputs: Mapping[str, Any], keywords: Mapping[str, Any]
) -> None:
    try:
        inspect.signature(mine).bind(*inputs.values(), **keywords)
    except TypeError:
        wanted = ", ".join([*inputs, *(["*"] if keywords else []), *keywords])
        raise Mistake(
            "signature",
            f"I cannot call your function: it must take ({wanted}), with these names. "
            f"Yours takes {inspect.signature(mine)}.",
        ) from None
    except ValueError:
        pass  # some built-ins do not tell their signature


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        copied = value.clone()
        if copied.stride() == value.stride():
            return copied
        # A part of a larger block of memory stays one.
        return torch.cat([value, value], dim=-1).narrow(-1, 0, value.size(-1))
    return copy.deepcopy(value) if isinstance(value, list | dict | set) else value


def _unchanged(before: Any, after: Any) -> bool:
    if isinstance(before, Tensor):
        return before.is_meta or torch.equal(before, after)
    return not isinstance(before, list | dict | set) or bool(before == after)


class _Modules:
    """The modules in what a function is given, to see whether it has changed them."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        parts = [
            part
            for value in given.values()
            for each in (
                vars(value).values() if isinstance(value, SimpleNamespace) else [value]
            )
            if isinstance(each, nn.Module)
            for part in each.modules()
        ]
        self._held = [
            (held, dict(held))
            for part in parts
            for held in (vars(part), *vars(part).values())
            if isinstance(held, dict)
        ]
        self._weights = [
            (each, each.detach().clone(), each.requires_grad)
            for part in parts
            for each in (*part.parameters(False), *part.buffers(False))
        ]

    def put_back(self) -> bool:
        """Whether they have changed, but for their mode; they are then as before."""
        changed = False
        for held, before in self._held:
            if "training" in held:
                before["training"] = held["training"]
            if [*map(id, held.values())] != [*map(id, before.values())]:
                changed = True
                held.clear()
                held.update(before)
        for each, was, learns in self._weights:
            if not matches(each, was, 0):
                changed, each.data = True, was
            each.requires_grad_(learns)
        return changed


def _is_stub(problem: BaseException) -> bool:
    """Whether a ``raise NotImplementedError`` was met, not one of PyTorch's own."""
    last: TracebackType | None = problem.__traceback__
    if not isinstance(problem, NotImplementedError) or last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code.co_code
    return code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


class Endless(BaseException):
    """Raised inside a reader's function that runs too long."""


@contextlib.contextmanager
def _time_limit() -> Iterator[None]:
    """Raise `Endless` after `SECONDS`, where the system can (not on Windows)."""
    can = hasattr(signal, "setitimer")
    if not can or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Endless

    handler = signal.signal(signal.SIGALRM, stop)
    rest, _ = signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, rest)
        signal.signal(signal.SIGALRM, handler)


def _random_state() -> tuple[Any, ...]:
    numpy: Any = np.random.get_state()  # noqa: NPY002
    torchs = torch.get_rng_state().numpy().tobytes()
    return torchs, random.getstate(), numpy[1].tobytes(), *numpy[2:]


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
