"""The grader for `matrix_product` of chapter *Before you start*, and known mistakes."""

import re

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "Which three numbers does one entry of the product depend on: its row, its "
    "column, and what runs along both?",
    "Three loops: over the rows of `a`, the columns of `b`, and the inner axis, which"
    " both share. Compare the two inner lengths before you start.",
    "if a.shape[1] != b.shape[0]: raise ValueError(…)",
)


def _matrices(m: int, k: int, n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Small whole numbers, so that no rounding blurs a mistake."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randint(-4, 5, shape, generator=generator).float()

    return draw(m, k), draw(k, n)


SLIPS: kit.Table = {
    "result-transposed": (
        lambda a, b: (a @ b).T,
        "Your result is the transpose of the product. Entry (i, j) takes row i of the "
        "left matrix and column j of the right one.",
    ),
    "sums-before-multiplying": (
        lambda a, b: a.sum(1)[:, None] * b.sum(0)[None, :],
        "You add up first and multiply then. Multiply number by number along row and "
        "column, and add up the products.",
    ),
    "keeps-the-last-term": (
        lambda a, b: a[:, -1:] * b[-1:, :],
        "Each entry of your result holds only the last product: write +=, not =, in "
        "the inner loop.",
    ),
    "one-term-short": (
        lambda a, b: a[:, :-1] @ b[:-1],
        lambda a, b: (
            f"Your sums leave the last product out: range({(len(b))}) already ends at "
            f"{(len(b)) - 1}."
        ),
    ),
    "one-term-short:2": (
        lambda a, b: a[:, 1:] @ b[1:],
        "Your sums leave the first product out: indices count from 0.",
    ),
    "sum-not-reset": (
        lambda a, b: (a @ b).flatten().cumsum(0).view(len(a), b.size(1)),
        "Your sum runs on from one entry to the next. Set it to 0 for each (i, j).",
    ),
    "mean": (
        lambda a, b: a @ b / len(b),
        "You take the mean of the products. The entry is their sum.",
    ),
    "elementwise": (
        lambda a, b: a * b,
        "You multiply entry by entry, which is a * b. In the matrix product a "
        "whole row meets a whole column.",
    ),
    "swapped": (
        lambda a, b: b @ a,
        "This is b times a. Order matters: rows of a, columns of b.",
    ),
    "second-transposed": (
        lambda a, b: a @ b.T,
        "You run along the rows of b: b[j, k]. Go down its columns: b[k, j].",
    ),
    "first-transposed": (
        lambda a, b: a.T @ b,
        "You go down the columns of a: a[k, i]. Run along its rows: a[i, k].",
    ),
    "first-transposed:2": (
        lambda a, b: a.T @ b.T,
        "You use a[k, i] and b[j, k]; it must be a[i, k] and b[k, j].",
    ),
}


def _judge_product(mine: kit.Function, a: Tensor, b: Tensor) -> None:
    found = kit.as_tensor(kit.call(mine, {"a": a, "b": b}))
    wanted = a @ b
    if kit.matches(found, wanted):
        if not found.is_floating_point():
            raise kit.Mistake(
                "whole-numbers",
                f"Your result has dtype {found.dtype}, so with other numbers "
                "everything after the point would be lost. Make the table of zeros "
                "float: a.new_zeros(…) takes the dtype of a.",
            )
        return
    kit.recognise(found, kit.slips(SLIPS, lambda wrong: wrong(a, b)))
    if found.shape != wanted.shape:
        raise kit.Mistake(
            "shape",
            f"{tuple(a.shape)} times {tuple(b.shape)} is {tuple(wanted.shape)}: as "
            "many rows as the left one has, as many columns as the right one. Yours "
            f"has shape {tuple(found.shape)}.",
        )
    i, j = (found - wanted).ne(0).nonzero()[0].tolist()
    terms = " + ".join(
        f"({x:g})({y:g})" for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)
    )
    kit.compare(
        found,
        wanted,
        said=f"in a product of shape {tuple(wanted.shape)}",
        hint=f"Entry ({i}, {j}) is {terms} = {wanted[i, j].item():g}.",
    )


def _square(mine: kit.Function) -> None:
    _judge_product(mine, *_matrices(3, 3, 3, seed=0))


def _oblong(mine: kit.Function) -> None:
    for seed, sizes in enumerate([(2, 3, 4), (4, 2, 3), (1, 5, 1)]):
        _judge_product(mine, *_matrices(*sizes, seed=seed + 1))


def _impossible(mine: kit.Function) -> None:
    for left, right in (((2, 3), (5, 7)), ((2, 3), (2, 2))):
        a, b = torch.ones(left), torch.ones(right)
        try:
            kit.call(mine, {"a": a, "b": b}, {})
        except kit.Stopped as stopped:
            if isinstance(stopped.problem, ValueError):
                named = re.findall(r"\d+", str(stopped.problem))
                if not {str(size) for size in left + right} <= {*named}:
                    raise kit.Mistake(
                        "shapes-not-named",
                        f"{left} times {right} is refused, as it should be, but the "
                        f"error says only “{stopped.problem}”. Name both shapes in it: "
                        "the reader has to find out which of the two is wrong.",
                    ) from None
                continue
            raise kit.Mistake(
                "unhelpful-error",
                f"{left} times {right} is impossible, and your function stops with a "
                f"{type(stopped.problem).__name__} somewhere inside. Compare the inner "
                "lengths first and raise a ValueError that names both shapes.",
            ) from None
        raise kit.Mistake(
            "impossible-product",
            f"{left} times {right} is impossible: the inner lengths differ. Your "
            "function gives a result all the same, and leaves some numbers out. Raise "
            "a ValueError instead.",
        )


def _own_work(mine: kit.Function) -> None:
    ready = {"matmul", "rmatmul", "mm", "bmm", "einsum"}
    ready |= {"tensordot", "linear", "addmm", "mv", "inner", "convolution"}
    a, b = _matrices(2, 3, 4, seed=9)
    remedy = "That is the product itself. Write the loops."
    kit.by_hand(mine, {"a": a, "b": b}, ready, remedy)


@kit.grader(_square, _oblong, _impossible, _own_work, part="matrix product")
def matrix_product(mine: kit.Function) -> str:
    """Grade your own ``matrix_product(a, b)``, written with loops.

    ``mine`` takes a (M, K) and b (K, N) and returns (M, N); where the inner lengths
    differ it raises a ValueError that names both shapes.
    """
    return (
        "Rows times columns, for square matrices and others; and a product that "
        "cannot be is refused, with both shapes named."
    )
