"""The graders for chapter 00: softmax, the matrix product and the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tformer.check._grade import (
    Function,
    Known,
    Mistake,
    Result,
    Stopped,
    call,
    grade,
    matches,
)


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


def _by_hand(mine: Function, ready_made: set[str], remedy: str) -> Function:
    """`mine`, which raises `Mistake` if it lets PyTorch do the whole work."""

    def watched(*args: Any) -> Any:
        with _Watch() as watch:
            returned = mine(*args)
        used = watch.names & ready_made
        if used:
            name = sorted(used)[0].strip("_")
            raise Mistake("ready-made", f"Your function calls torch's {name}. {remedy}")
        return returned

    return watched


def _tensor(returned: object, what: str) -> Tensor:
    if not isinstance(returned, Tensor):
        raise Mistake(
            "not-a-tensor",
            f"Your {what} is a {type(returned).__name__}, not a torch tensor. If it is "
            "a list of numbers, torch.tensor(…) makes one of it.",
        )
    return returned


def _draw(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


# --------------------------------------------------------------------------- softmax

KEEPDIM = (
    "A sum along an axis loses that axis, and what is left is lined up from the right: "
    "row sums end up dividing columns. Keep the axis: sum(dim=-1, keepdim=True)."
)


def _wrong_softmax(scores: Tensor) -> Known:
    powers = scores.exp()
    shifted = (scores - scores.amax(-1, keepdim=True)).exp()
    if scores.dim() > 1:
        for axis in range(scores.dim() - 1):
            for each in (powers, shifted):
                yield (
                    "wrong-axis",
                    f"Softmax runs along axis {axis} of {scores.dim()}, so it is not "
                    "the rows that sum to 1. The scores of one question lie along the "
                    "last axis: dim=-1.",
                    each / each.sum(axis, keepdim=True),
                )
        yield (
            "everything-at-once",
            "All your shares together sum to 1. Each row has a budget of its own: sum "
            "along the last axis only, sum(dim=-1, keepdim=True).",
            scores.flatten().softmax(0).view_as(scores),
        )
        if scores.shape[-1] == scores.shape[-2]:
            yield "keepdim-forgotten", KEEPDIM, powers / powers.sum(-1)
            yield "keepdim-forgotten", KEEPDIM, shifted / shifted.sum(-1)
    yield (
        "no-exponential",
        "You divide the scores by their sum. Scores may be negative, so these are no "
        "shares. Take the exponential first.",
        scores / scores.sum(-1, keepdim=True),
    )
    yield (
        "not-normalised",
        "You take the exponential and stop there. Divide by the sum of each row, so "
        "that it becomes 1.",
        powers,
    )
    yield (
        "not-normalised",
        "In your result the winner of each row always has 1, since its power is "
        "e⁰ or was divided by itself. Divide by the sum of the row.",
        shifted,
    )
    yield (
        "shifted-in-one-place-only",
        "You subtract the largest score above the fraction line and not below it. "
        "Compute the powers once, and divide them by their own sum.",
        shifted / powers.sum(-1, keepdim=True),
    )
    yield (
        "logarithm",
        "These are the logarithms of the shares. Leave the last log out.",
        scores.log_softmax(-1),
    )
    yield (
        "wrong-base",
        "You raise 2, not e, to the power of the scores. Use torch.exp.",
        (2**scores) / (2**scores).sum(-1, keepdim=True),
    )
    yield (
        "sign",
        "The largest score gets the smallest share: there is a minus too many.",
        (-scores).softmax(-1),
    )
    yield (
        "sigmoid",
        "You squash each score by itself, so a row need not sum to 1. Divide by the "
        "sum of the row.",
        scores.sigmoid(),
    )


def _shares(mine: Function, scores: Tensor) -> Tensor:
    found = _tensor(call(mine, {"scores": scores}, {}), "result")
    if found.shape != scores.shape:
        raise Mistake(
            "shape",
            f"For scores of shape {tuple(scores.shape)} your shares have shape "
            f"{tuple(found.shape)}. There is one share for each score.",
        )
    return found


def _judge_softmax(found: Tensor, scores: Tensor) -> None:
    if matches(found, scores.softmax(-1)):
        return
    for diagnosis, message, wrong in _wrong_softmax(scores):
        if matches(found, wrong):
            raise Mistake(diagnosis, message)
    total = found.sum(-1).flatten()[0].item()
    raise Mistake(
        "wrong-numbers",
        f"For scores of shape {tuple(scores.shape)} your numbers are not the shares, "
        f"and I do not know this mistake. Your first row sums to {total:.3f}. Do "
        "softmax of 2, 1, 0 by hand: it is 0.665, 0.245, 0.090.",
    )


def _one_row(mine: Function) -> None:
    scores = _draw(4, seed=0)
    _judge_softmax(_shares(mine, scores), scores)


def _rows(mine: Function) -> None:
    square, oblong = _draw(3, 3, seed=1), _draw(2, 4, seed=2)
    try:
        _judge_softmax(_shares(mine, oblong), oblong)
    except Stopped as stopped:
        try:
            _judge_softmax(_shares(mine, square), square)
        except Stopped:
            pass
        except Mistake as mistake:
            if mistake.diagnosis == "keepdim-forgotten":
                raise
        raise stopped from None
    _judge_softmax(_shares(mine, square), square)


def _batches(mine: Function) -> None:
    scores = _draw(2, 3, 4, seed=3)
    _judge_softmax(_shares(mine, scores), scores)


def _large_scores(mine: Function) -> None:
    for sign in (1, -1):
        scores = 1000.0 * sign + _draw(2, 4, seed=4)
        if not _shares(mine, scores).isfinite().all():
            what = (
                "the powers overflow: ∞ ÷ ∞ is nan"
                if sign > 0
                else "all powers are 0, and 0 ÷ 0 is nan"
            )
            raise Mistake(
                "overflow",
                f"With scores near {sign * 1000} {what}. Only differences count, so "
                "subtract each row's largest score before exp: "
                "scores - scores.amax(dim=-1, keepdim=True).",
            )
        _judge_softmax(_shares(mine, scores), scores)
    apart = torch.stack([1000 + _draw(4, seed=5), _draw(4, seed=6) - 1000])
    if not _shares(mine, apart).isfinite().all():
        raise Mistake(
            "one-maximum-for-all",
            "Right while all rows are of one size. With one row near 1000 and another "
            "near −1000 the second becomes nan: you subtract the largest score of the "
            "whole table. Take each row's own: amax(dim=-1, keepdim=True).",
        )
    _judge_softmax(_shares(mine, apart), apart)
    hidden = torch.tensor([[0.0, -torch.inf, 1.0]], dtype=torch.float64)
    if not matches(_shares(mine, hidden), hidden.softmax(-1)):
        raise Mistake(
            "minus-infinity",
            "A score of −∞ must get the share 0, and the others their usual ones: "
            "masks use this.",
        )


def _learnable(mine: Function) -> None:
    leaf = _draw(2, 4, seed=7).requires_grad_()
    shares = mine(leaf)
    if not shares.requires_grad:
        raise Mistake(
            "gradient-cut",
            "The numbers are right, but no gradient gets back to the scores, so "
            "nothing could be learned. Look for detach, .data, .item(), "
            "torch.tensor(…) or no_grad.",
        )
    single = mine(leaf.detach().float()).dtype
    if single != torch.float32:
        raise Mistake(
            "dtype", f"For float32 scores your shares are {single}. Keep the type."
        )


def softmax(mine: Callable[[Tensor], Tensor]) -> Result:
    """Grade your own ``softmax(scores)``, along the last axis.

    Prints what a teacher would say.

    Args:
        mine: your function. It takes scores (..., N) and returns shares (..., N).

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """

    def own_work(mine: Function) -> None:
        ready = {"softmax", "log_softmax", "logsumexp", "softmin"}
        remedy = "Write it with exp, a sum and a division."
        _by_hand(mine, ready, remedy)(_draw(3, seed=8))

    return grade(
        "softmax",
        mine,
        (_one_row, _rows, _batches, _large_scores, _learnable, own_work),
        """Rows sum to 1 along the last axis, for any number of axes; large scores and
        very negative ones do not break it; and gradients flow through it.""",
    )


# -------------------------------------------------------------------- matrix product


def _matrices(m: int, k: int, n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Small whole numbers, so that no rounding blurs a mistake."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randint(-4, 5, shape, generator=generator).float()

    return draw(m, k), draw(k, n)


def _wrong_products(a: Tensor, b: Tensor) -> Known:
    m, k, n = *a.shape, b.shape[1]
    yield (
        "result-transposed",
        "Your result is the transpose of the product. Entry (i, j) takes row i of the "
        "left matrix and column j of the right one.",
        (a @ b).T,
    )
    yield (
        "sums-before-multiplying",
        "You add up first and multiply then. Multiply number by number along row and "
        "column, and add up the products.",
        a.sum(1)[:, None] * b.sum(0)[None, :],
    )
    yield (
        "keeps-the-last-term",
        "Each entry of your result holds only the last product: write +=, not =, in "
        "the inner loop.",
        a[:, -1:] * b[-1:, :],
    )
    yield (
        "one-term-short",
        f"Your sums leave the last product out: range({k}) already ends at {k - 1}.",
        a[:, :-1] @ b[:-1],
    )
    yield (
        "one-term-short",
        "Your sums leave the first product out: indices count from 0.",
        a[:, 1:] @ b[1:],
    )
    yield (
        "sum-not-reset",
        "Your sum runs on from one entry to the next. Set it to 0 for each (i, j).",
        (a @ b).flatten().cumsum(0).view(m, n),
    )
    yield (
        "mean",
        "You take the mean of the products. The entry is their sum.",
        a @ b / k,
    )
    if m == k == n:
        yield from (
            (
                "elementwise",
                "You multiply entry by entry, which is a * b. In the matrix product a "
                "whole row meets a whole column.",
                a * b,
            ),
            (
                "swapped",
                "This is b times a. Order matters: rows of a, columns of b.",
                b @ a,
            ),
            (
                "second-transposed",
                "You run along the rows of b: b[j, k]. Go down its columns: b[k, j].",
                a @ b.T,
            ),
            (
                "first-transposed",
                "You go down the columns of a: a[k, i]. Run along its rows: a[i, k].",
                a.T @ b,
            ),
            (
                "first-transposed",
                "You use a[k, i] and b[j, k]; it must be a[i, k] and b[k, j].",
                a.T @ b.T,
            ),
        )


def _judge_product(mine: Function, a: Tensor, b: Tensor) -> None:
    found = _tensor(call(mine, {"a": a, "b": b}, {}), "product")
    wanted = a @ b
    if matches(found, wanted):
        return
    for diagnosis, message, wrong in _wrong_products(a, b):
        if matches(found, wrong):
            raise Mistake(diagnosis, message)
    if found.shape != wanted.shape:
        raise Mistake(
            "shape",
            f"{tuple(a.shape)} times {tuple(b.shape)} is {tuple(wanted.shape)}: as "
            "many rows as the left one has, as many columns as the right one. Yours "
            f"has shape {tuple(found.shape)}.",
        )
    i, j = (found - wanted).ne(0).nonzero()[0].tolist()
    terms = " + ".join(
        f"({x:g})({y:g})" for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)
    )
    raise Mistake(
        "wrong-numbers",
        f"In a product of shape {tuple(wanted.shape)} your entry ({i}, {j}) is "
        f"{found[i, j].item():g}. It should be {terms} = {wanted[i, j].item():g}. I do "
        "not know this mistake.",
    )


def _square(mine: Function) -> None:
    _judge_product(mine, *_matrices(3, 3, 3, seed=0))


def _oblong(mine: Function) -> None:
    for seed, sizes in enumerate([(2, 3, 4), (4, 2, 3), (1, 5, 1)]):
        _judge_product(mine, *_matrices(*sizes, seed=seed + 1))


def _impossible(mine: Function) -> None:
    for left, right in (((2, 3), (4, 2)), ((2, 3), (2, 2))):
        a, b = torch.ones(left), torch.ones(right)
        try:
            call(mine, {"a": a, "b": b}, {})
        except Stopped as stopped:
            if isinstance(stopped.problem, ValueError):
                continue
            raise Mistake(
                "unhelpful-error",
                f"{left} times {right} is impossible, and your function stops with a "
                f"{type(stopped.problem).__name__} somewhere inside. Compare the inner "
                "lengths first and raise a ValueError that names both shapes.",
            ) from None
        raise Mistake(
            "impossible-product",
            f"{left} times {right} is impossible: the inner lengths differ. Your "
            "function gives a result all the same, and leaves some numbers out. Raise "
            "a ValueError instead.",
        )


def matrix_product(mine: Callable[[Tensor, Tensor], Tensor]) -> Result:
    """Grade your own ``matrix_product(a, b)``, written with loops.

    Prints what a teacher would say.

    Args:
        mine: your function. It takes a (M, K) and b (K, N) and returns (M, N); where
            the inner lengths differ it raises a ValueError.

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """

    def own_work(mine: Function) -> None:
        ready = {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "einsum"}
        ready |= {"tensordot", "linear", "addmm"}
        remedy = "That is the product itself. Write the loops."
        _by_hand(mine, ready, remedy)(*_matrices(2, 3, 4, seed=9))

    return grade(
        "matrix product",
        mine,
        (_square, _oblong, _impossible, own_work),
        """Rows times columns, for square matrices and others; and a product that cannot
        be is refused.""",
    )


# -------------------------------------------------------------------------- gradient


def _loss(p: Tensor) -> Tensor:
    """Curved in every direction, with a slope that differs in each."""
    weights = torch.arange(1, len(p) + 1, dtype=p.dtype)
    return (weights * p**3).sum() + p.sin().prod() + (2 * p[0]).exp()


class _Spy:
    """The loss, which remembers where it was asked for."""

    def __init__(self) -> None:
        self.points: list[Tensor] = []
        self.tracked = False

    def __call__(self, p: Tensor) -> Tensor:
        if not isinstance(p, Tensor) or p.dim() != 1:
            shape = tuple(getattr(p, "shape", ()))
            raise TypeError(f"the loss takes a vector of all parameters, got {shape}")
        self.tracked |= p.requires_grad
        self.points.append(p.detach().clone())
        return _loss(p)


def _moves(spy: _Spy, p: Tensor) -> tuple[Tensor, Tensor]:
    """How far each asked point is from p, and how many parameters moved in it."""
    away = torch.stack(spy.points) - p
    return away, (away != 0).sum(dim=1)


def _where_asked(spy: _Spy, p: Tensor) -> None:
    """Mistakes that show in the points at which the loss was asked for."""
    if spy.tracked:
        raise Mistake(
            "autograd",
            "You let PyTorch differentiate. Here the slope is to come from losses at "
            "points near p, so that you have something to compare autograd with.",
        )
    if not spy.points:
        raise Mistake("loss-not-called", "Your function never calls the loss.")
    away, moved = _moves(spy, p)
    if moved.max() == 0:
        raise Mistake(
            "step-too-small",
            "You ask for the loss at p itself only. If you do add a step, it is so "
            "small that p + h rounds to p. Try 1e-5.",
        )
    if moved.max() > 1:
        widest = away[moved.argmax()]
        if torch.allclose(widest, widest[0], rtol=1e-3, atol=0):
            raise Mistake(
                "all-at-once",
                "You move all parameters by the same step at once, which gives one "
                "slope for all of them together. Move one and leave the others.",
            )
        raise Mistake(
            "not-put-back",
            "When you come to the second parameter, the first is still moved. Start "
            "each time from a fresh copy of p, or put it back.",
        )
    if not (bool((away > 0).any()) and bool((away < 0).any())):
        raise Mistake(
            "one-sided",
            "You compare p with one side only. The curve bends, so the error of that "
            "is of the size of h. Go to both sides: (loss(p + h) − loss(p − h)) / 2h, "
            "whose error is of the size of h².",
        )


def _gradient(mine: Function, p: Tensor) -> tuple[Tensor, _Spy]:
    spy = _Spy()
    found = _tensor(call(mine, {"loss": spy, "p": p}, {}), "gradient")
    if found.shape != p.shape:
        _where_asked(spy, p)
        raise Mistake(
            "shape",
            f"For {len(p)} parameters your gradient has shape {tuple(found.shape)}. It "
            f"has one slope for each: ({len(p)},).",
        )
    return found.detach(), spy


def _numbers(mine: Function) -> None:
    for seed, size in ((0, 3), (1, 1), (2, 5)):
        p = _draw(size, seed=seed)
        leaf = p.clone().requires_grad_()
        (wanted,) = torch.autograd.grad(_loss(leaf), leaf)
        found, spy = _gradient(mine, p)
        _where_asked(spy, p)
        if matches(found, wanted, 1e-5):
            continue
        away, _ = _moves(spy, p)
        h = away.abs().max().item()
        for diagnosis, message, factor in (
            ("sign", "Every slope has the wrong sign: right minus left.", -1.0),
            (
                "divided-by-h",
                "Your slopes are twice too large: from p − h to p + h it is 2h.",
                2.0,
            ),
            (
                "half",
                "Your slopes are half of what they should be. The distance from p − h "
                "to p + h is 2h: divide by it once.",
                0.5,
            ),
            (
                "not-divided",
                "You return how much the loss changes, not how much it changes per "
                "step: divide by 2h.",
                2 * h,
            ),
            (
                "multiplied",
                "You multiply by the distance; divide by it: / (2 * h), in brackets.",
                4 * h * h,
            ),
            (
                "brackets",
                "`/ 2 * h` divides by 2 and multiplies by h: write / (2 * h).",
                h * h,
            ),
        ):
            if matches(found, factor * wanted, 1e-3 * abs(factor)):
                raise Mistake(diagnosis, message)
        error = (found - wanted).abs().max().item()
        if h >= 1e-3:
            raise Mistake(
                "step-too-large",
                f"Your step is {h:.0e}, and over that distance the curve bends: the "
                f"slope is off by {error:.1g}. The error falls with h². Try 1e-5.",
            )
        if h <= 1e-9:
            raise Mistake(
                "step-too-small",
                f"Your step is {h:.0e}. The two losses agree in nearly all of their "
                "digits, so their difference is mostly rounding: the slope is off by "
                f"{error:.1g}. Try 1e-5.",
            )
        raise Mistake(
            "wrong-numbers",
            f"For {size} parameters your first slope is {found[0].item():.5f} and "
            f"should be {wanted[0].item():.5f}. I do not know this mistake. Try it on "
            "p², whose slope at 1 is 2.",
        )


def gradient(mine: Callable[[Callable[[Tensor], Tensor], Tensor], Tensor]) -> Result:
    """Grade your own ``gradient(loss, p)`` by central differences.

    Prints what a teacher would say.

    Args:
        mine: your function. It takes a loss, which maps a vector to one number, and
            the parameters p (N,) in float64; it returns the N slopes at p.

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """
    return grade(
        "gradient",
        mine,
        (_numbers,),
        """It agrees with automatic differentiation to five digits, and every slope
        comes from a small step to both sides.""",
    )
