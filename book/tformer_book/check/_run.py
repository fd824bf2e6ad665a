"""The one place where a reader's function is called: for its values, its gradients.

Whatever goes wrong in there becomes a `Mistake`: a stub, a signature that does not fit,
an error, a loop without end, a changed input, chance, a gradient that is cut.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import dis
import inspect
import linecache
import random
import re
import signal
import textwrap
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tformer_book.check._compare import matches
from tformer_book.check._grade import Function, Mistake

SECONDS = 10.0  # a right answer takes some thousandths


def draw(*shape: int, seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Normal random numbers, without touching the reader's generator."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


# --- values -------------------------------------------------------------------------


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
            with _seeded(seed):
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
    copies = {name: _copy(value) for name, value in given.items()}
    positional = [copies[name] for name in inputs]
    try:
        with _time_limit(), warnings.catch_warnings():
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
    except Exception as problem:
        if _is_stub(problem):
            raise Mistake(
                "stub",
                "Nothing to grade yet: the function still raises NotImplementedError. "
                "Replace that line with your own, then run the cell again.",
            ) from None
        raise Stopped(mine, problem) from problem
    if returned is None and not nothing:
        raise Mistake(
            "returns-nothing",
            "Your function returns None. Its last line should be a return statement: "
            "what is printed, or put into a variable, stays inside.",
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


def _is_stub(problem: Exception) -> bool:
    """Whether a ``raise NotImplementedError`` was met, not one of PyTorch's own."""
    last: TracebackType | None = problem.__traceback__
    if not isinstance(problem, NotImplementedError) or last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code.co_code
    return code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


class Stopped(Mistake):
    """The reader's function stopped with an error; a probe may know better why.

    Attributes:
        problem: the error.
    """

    def __init__(self, mine: Function, problem: Exception) -> None:
        reason = str(problem).strip().splitlines() or [""]
        name, says = next(
            (
                (name, says)
                for pattern, name, says in REASONS
                if re.search(pattern, reason[0])
            ),
            ("stops-with-an-error", ""),
        )
        if "must match the size" in reason[0] or "broadcast" in reason[0]:
            for line in _lines(mine, lambda line, node: bool(_loses_axis(line))):
                name, says = "keepdim-forgotten", KEEPDIM.format(line=line)
        super().__init__(
            name,
            f"Your function stops with {type(problem).__name__}"
            f"{_where(mine, problem)}: {reason[0].rstrip('.')}. {says}",
        )
        self.problem = problem


# What is behind the errors that people meet most.
REASONS: tuple[tuple[str, str, str], ...] = (
    (
        r"torch\.return_types\.m|'m(ax|in)' object|return_types",
        "values-forgotten",
        "max and min along an axis return two things, the values and where they "
        "stand: add .values, or use amax and amin.",
    ),
    (
        r"Boolean value of Tensor with more than one value",
        "truth-of-a-tensor",
        "A tensor of many numbers is neither true nor false. To ask whether there is "
        "one, write “is not None”; to join two masks, &, not “and”; to choose entry by "
        "entry, torch.where, clamp or masked_fill, not “if”, min or max.",
    ),
    (
        r"not implemented for 'Float'|only supports boolean type|"
        r"unsupported operand type\(s\) for [&|~]",
        "not-bool",
        "&, | and ~ join truth values, and one side is made of numbers. Compare "
        "(ids != pad_id), say dtype=torch.bool, or end in .bool().",
    ),
    (
        r"^m(ax|in|aximum|inimum)\(\).*got \(int, Tensor\)|Tensor, not (int|float)$",
        "number-and-tensor",
        "PyTorch's max, min, maximum and minimum compare two tensors. To cut off at a "
        "number: clamp(min=0), or relu for 0.",
    ),
    (
        r"view size is not compatible",
        "view-of-a-transposed-tensor",
        "After a transpose the numbers no longer lie in memory in the order of the "
        "axes, and view cannot follow. Use reshape or flatten.",
    ),
    (
        r"missing \d+ required positional argument.*'dim'",
        "axis-not-named",
        "This needs to know along which axis: dim=-1.",
    ),
)


KEEPDIM = (
    "Look at “{line}”: a sum, mean or maximum along an axis loses that axis, and what "
    "is left is lined up from the right, with the wrong one. Keep it: keepdim=True."
)


def _loses_axis(line: str) -> bool:
    reduces = re.search(r"\.(sum|mean|a?max|a?min|var|std|norm|logsumexp)\([^)]", line)
    return bool(reduces) and "keepdim" not in line and "None]" not in line


def _where(mine: Function, problem: Exception) -> str:
    file = getattr(getattr(mine, "__code__", None), "co_filename", None)
    frames = [
        f for f in traceback.extract_tb(problem.__traceback__) if f.filename == file
    ]
    if not frames:
        return ""
    last = frames[-1]
    text = last.line or linecache.getline(last.filename, last.lineno or 0).strip()
    return f" in the line “{text}”" if text else f" in line {last.lineno}"


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


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed all generators, and put the reader's own states back."""
    ours, theirs = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(ours)
            np.random.set_state(theirs)  # noqa: NPY002


# --- what came back -----------------------------------------------------------------


def as_tensor(returned: object, wanted: str = "one tensor") -> Tensor:
    """Return what the reader's function returned, if it is a tensor.

    Args:
        returned: anything.
        wanted: what it should be, for the message.

    Raises:
        Mistake: it is something else.
    """
    if isinstance(returned, Tensor):
        return returned
    if isinstance(returned, np.ndarray | np.generic):
        raise Mistake(
            "not-a-tensor",
            f"Your function returns a NumPy {type(returned).__name__}; I need "
            f"{wanted}. Stay in torch throughout: NumPy keeps no record for the "
            "gradient, so nothing could be learned through it.",
        )
    if isinstance(returned, tuple | list) and all(
        isinstance(each, Tensor) for each in returned
    ):
        raise Mistake(
            "returns-several",
            f"Your function returns a {type(returned).__name__} of {len(returned)} "
            f"tensors; I need {wanted}.",
        )
    raise Mistake(
        "not-a-tensor",
        f"Your function returns a {type(returned).__name__}; I need {wanted}.",
    )


def as_number(returned: object, what: str = "one number") -> float:
    """Return what the reader's function returned as a number, whatever kind it has.

    Args:
        returned: anything; tensors and NumPy arrays of one number and NumPy's own
            scalars are fine.
        what: what it should be, for the message.

    Raises:
        Mistake: it is something else.
    """
    returned = _item(returned, what)
    if isinstance(returned, bool) or not isinstance(returned, int | float):
        raise Mistake(
            "not-a-number",
            f"Your function returns a {type(returned).__name__}; I need {what}.",
        )
    return float(returned)


def as_whole(returned: object, what: str = "a whole number") -> int:
    """Return what the reader's function returned as an int, whatever kind it has.

    Args:
        returned: anything; tensors and NumPy arrays of one number, NumPy's own
            scalars and floats without a fraction are fine.
        what: what it should be, for the message.

    Raises:
        Mistake: it is something else.
    """
    returned = _item(returned, what)
    if isinstance(returned, float) and returned.is_integer():
        returned = int(returned)
    if isinstance(returned, bool) or not isinstance(returned, int):
        raise Mistake(
            "not-a-whole-number",
            f"Your function returns {returned!r}, a {type(returned).__name__}; I need "
            f"{what}. Use // where you divide, or round().",
        )
    return returned


# --- gradients ----------------------------------------------------------------------


def probe_gradients(
    mine: Function,
    run: Callable[[], Tensor],
    right: Callable[[], Tensor],
    leaves: Mapping[str, Tensor],
) -> None:
    """Ask, where the numbers are right already, whether the gradients are, too.

    Args:
        mine: the reader's function, whose lines the message may quote.
        run: calls it through `call`, on (or through) the leaves.
        right: what should come out, made from the same leaves.
        leaves: tensors that need a gradient, by the name that the reader knows.

    Raises:
        Mistake: no gradient gets back to a leaf, or another one than should.
    """
    for leaf in leaves.values():
        leaf.requires_grad_()
    with torch.enable_grad():
        _probe_gradients(mine, run, right, leaves)


def _probe_gradients(
    mine: Function,
    run: Callable[[], Tensor],
    right: Callable[[], Tensor],
    leaves: Mapping[str, Tensor],
) -> None:
    try:
        found = run()
        if not found.requires_grad:
            raise _cut(mine, list(leaves))
        weights = draw(*found.shape, seed=99, dtype=found.dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = torch.autograd.grad(
                found, list(leaves.values()), weights, allow_unused=True
            )
    except (Stopped, RuntimeError) as problem:
        raise _no_way_back(mine, problem) from None
    wanted = torch.autograd.grad(
        (right() * weights).sum(), list(leaves.values()), allow_unused=True
    )
    needed = {
        n: (g, w)
        for n, g, w in zip(leaves, given, wanted, strict=True)
        if w is not None
    }
    lost = [
        name for name, (mine_, want) in needed.items() if mine_ is None and want.any()
    ]
    if lost:
        raise _cut(mine, lost)
    for name, (gradient, want) in needed.items():
        if gradient is None or matches(gradient, want, 1e-4):
            continue
        if not gradient.isfinite().all():
            raise Mistake(
                "gradient-not-finite",
                f"The numbers are right, but the gradient that gets back to {name} "
                "holds nan or infinity: somewhere you divide by 0, or take a root or a "
                "logarithm of 0, even if the result is thrown away afterwards.",
            )
        raise Mistake(
            "gradient-partly-cut",
            f"The numbers are right, but the gradient that gets back to {name} is "
            f"not: a part of the way is cut. {_suspects(mine)}",
        )


def _cut(mine: Function, names: list[str]) -> Mistake:
    if len(names) > 4:
        names = [*names[:2], f"{len(names) - 2} more"]
    where = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return Mistake(
        "gradient-cut",
        f"Right numbers, but this cuts the gradient: none gets back to {where}, so "
        f"nothing could be learned there. {_suspects(mine)}",
    )


def _no_way_back(mine: Function, problem: Exception) -> Mistake:
    """Name the reason why asking for the gradient ended in an error."""
    if isinstance(problem, Mistake) and not isinstance(problem, Stopped):
        return problem
    text = str(getattr(problem, "problem", problem))
    if "inplace operation" in text or "in-place operation" in text:
        lines = _lines(mine, _in_place)
        which = f"“{lines[0]}” writes" if lines else "An operation in place writes"
        return Mistake(
            "gradient-in-place",
            f"Right numbers, but this cuts the gradient: {which} over a tensor whose "
            "old values the backward pass still needs. Make a new tensor: y = y + …, "
            "not y += …; s.exp(), not s.exp_().",
        )
    if "numpy" in text.lower() or "requires grad" in text or "require grad" in text:
        return _cut(mine, ["the inputs"])
    return Mistake(
        "gradient-stops",
        "Right numbers, but as soon as gradients are asked for, your function stops: "
        f"{text.splitlines()[0]}",
    )


SUSPECTS = (
    r"\.detach\(",
    r"\.data\b",
    r"\.numpy\(|\bnp\.|\bnumpy\.",
    r"\.item\(",
    r"\.tolist\(",
    r"no_grad|inference_mode",
    r"from_pretrained",
    r"torch\.tensor\(|torch\.Tensor\(|as_tensor\(",
    r"nn\.Parameter\(",
    r"\bfloat\(|\bmath\.",
    r"\.long\(|\.int\(|\bround\(|argmax|one_hot",
)


def _suspects(mine: Function) -> str:
    """Quote the line that cuts gradients, if one of the usual ways is to be seen."""
    for pattern in SUSPECTS:
        lines = [
            line
            for line in _lines(mine, lambda line, node: True)
            if re.search(pattern, line)
        ]
        if lines:
            return f"Look at the line “{lines[0]}”."
    return (
        "Look for detach, .data, .item(), .numpy(), torch.tensor(…), a new "
        "nn.Parameter or no_grad."
    )


def _in_place(line: str, node: ast.stmt) -> bool:
    if isinstance(node, ast.AugAssign):
        return True
    if isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Subscript) for target in node.targets
    ):
        return True
    return bool(re.search(r"\.[a-z]\w*[a-z]_\(|out=", line))


def _lines(mine: Function, holds: Callable[[str, ast.stmt], bool]) -> list[str]:
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


# --- PyTorch's ready-made answers ---------------------------------------------------


class _Watch(TorchFunctionMode):
    """Notes the names of the torch functions that are called inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        self.names.add(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


def by_hand(
    mine: Function, inputs: Mapping[str, Any], ready_made: set[str], remedy: str
) -> None:
    """Raise `Mistake` if the reader's function lets PyTorch do the whole work."""
    with _Watch() as watch:
        call(mine, inputs)
    used = watch.names & ready_made
    if used:
        name = sorted(used)[0].strip("_")
        raise Mistake("ready-made", f"Your function calls torch's {name}. {remedy}")


def _item(returned: object, what: str) -> object:
    """The one number of a tensor or an array; anything else as it is."""
    if not isinstance(returned, Tensor | np.ndarray | np.generic):
        return returned
    if returned.reshape(-1).shape[0] != 1:
        raise Mistake(
            "not-one-number",
            f"Your function returns numbers of shape {tuple(returned.shape)}; I need "
            f"{what}.",
        )
    found: object = returned.item()
    return found
