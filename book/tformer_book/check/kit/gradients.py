"""Whether the gradients of a reader's function are right, and what cuts them if not."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from tformer_book.check.kit.comparison import matches
from tformer_book.check.kit.grading import Function, Mistake
from tformer_book.check.kit.numbers import draw
from tformer_book.check.kit.source import lines_where
from tformer_book.check.kit.stopped import Stopped


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
        lines = lines_where(mine, _in_place)
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
            for line in lines_where(mine, lambda line, node: True)
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
