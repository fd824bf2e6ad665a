"""The grader for `smoothed_target` of chapter *Training*, and known mistakes."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tformer_book.check._compare import (
    Known,
    Slip,
    matches,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    as_tensor,
    call,
)


def _wrong_targets(labels: Tensor, size: int, epsilon: float) -> Known:
    """Known mistakes: short name, what to say, the target that they give."""
    hot = functional.one_hot(labels, size).double()
    cold = 1 - hot
    yield Slip(
        "no-smoothing",
        "Your target is one-hot: all mass on the label. Take the share `smoothing` "
        "away from it and spread that over all pieces.",
        hot,
    )
    yield Slip(
        "label-left-out",
        f"You spread the mass over the other {size - 1} pieces only. In the paper's "
        "source and in PyTorch the label gets its share of ε/V, too. (Both are "
        "called label smoothing; the floor of the loss differs a little.)",
        (1 - epsilon) * hot + epsilon / (size - 1) * cold,
    )
    without = cold.clone()
    without[..., 0] = 0
    not_pad = torch.ones_like(hot)
    not_pad[..., 0] = 0
    annotated = [
        (1 - epsilon) * hot + epsilon / rest * without for rest in (size - 2, size - 1)
    ]
    for gives in (*annotated, *(each * not_pad for each in annotated)):
        yield Slip(
            "smoothed-without-padding",
            f"You spread ε over {size - 2} or {size - 1} pieces, and <pad> (id 0) and "
            "the label get none of it, as in The Annotated Transformer. Here, as in "
            "PyTorch, all V pieces get ε/V, the label and <pad> included.",
            gives,
        )
    yield Slip(
        "smoothed-without-padding",
        "No mass goes to <pad> (id 0). Here, as in PyTorch, all V pieces get ε/V.",
        (1 - epsilon) * hot + epsilon / (size - 1) * not_pad,
    )
    yield Slip(
        "label-left-out",
        f"You divide ε by {size - 2} and give nothing of it to the label. All V pieces "
        "get ε/V.",
        (1 - epsilon) * hot + epsilon / (size - 2) * cold,
    )
    yield Slip(
        "too-little-mass",
        f"Your rows sum to {1 - epsilon / size:.4f}, not to 1: the others get ε/V "
        "each, but the label forgets its own share. It keeps 1 − ε + ε/V.",
        (1 - epsilon) * hot + epsilon / size * cold,
    )
    yield Slip(
        "too-much-mass",
        "Your rows sum to more than 1: you add ε/V everywhere, but take nothing from "
        "the label. First scale the one-hot row by 1 − ε.",
        hot + epsilon / size,
    )
    yield Slip(
        "mass-not-shared",
        "Each other piece gets all of ε. They share it: ε/V each.",
        (1 - epsilon) * hot + epsilon * cold,
    )
    yield Slip(
        "mass-not-shared",
        "You add all of ε to every piece. They share it: ε/V each.",
        (1 - epsilon) * hot + epsilon,
    )
    yield Slip(
        "shares-swapped",
        "The label gets ε and the rest shares 1 − ε: the wrong way round.",
        epsilon * hot + (1 - epsilon) / size,
    )
    yield Slip(
        "label-ignored",
        "Every row is uniform: the label is in none of them.",
        torch.full_like(hot, 1 / size),
    )
    for by in (-1, 1):
        moved = hot.roll(by, -1)
        yield Slip(
            "label-off-by-one",
            "The mass sits beside the label. Ids count from 0, and so do places in a "
            "row: id 3 is row[3], its fourth number.",
            (1 - epsilon) * moved + epsilon / size,
        )
    if epsilon != 0.1:
        yield Slip(
            "smoothing-ignored",
            "Right for 0.1, which is written into your code. Take `smoothing` as it is "
            "given.",
            0.9 * hot + 0.1 / size,
        )
    yield Slip(
        "softmax-on-top",
        "Your target has been through softmax. Its rows are shares already and sum to "
        "1; return them as they are.",
        ((1 - epsilon) * hot + epsilon / size).softmax(-1),
    )
    yield Slip(
        "first-row-only",
        "Every row of your target is that of the first label. Each label needs its "
        "own row.",
        ((1 - epsilon) * hot + epsilon / size)[:1, :1].expand(*labels.shape, size),
    )


def _run_target(mine: Function, labels: Tensor, size: int, epsilon: float) -> Tensor:
    keywords = {"vocab_size": size, "smoothing": epsilon}
    target = as_tensor(call(mine, {"labels": labels}, keywords))
    wanted = (*labels.shape, size)
    if tuple(target.shape) == (size, *labels.shape) and tuple(target.shape) != wanted:
        raise Mistake(
            "vocabulary-first",
            f"Your target has shape {tuple(target.shape)}: the vocabulary is its first "
            f"axis. It belongs last, {wanted}, as in the logits.",
        )
    if tuple(target.shape) != wanted:
        raise Mistake(
            "shape",
            f"For labels {tuple(labels.shape)} and {size} pieces the target has shape "
            f"{wanted}: a distribution for each label. Yours is "
            f"{tuple(target.shape)}.",
        )
    if not target.is_floating_point():
        raise Mistake(
            "integers",
            f"Your target holds {str(target.dtype).removeprefix('torch.')} numbers, "
            "which cannot be 0.9. one_hot returns integers, and so does a tensor that "
            "was made like the labels: make it float.",
        )
    return target.double()


def _targets(mine: Function) -> None:
    generator = torch.Generator().manual_seed(0)
    for size, epsilon in ((7, 0.1), (5, 0.3)):
        labels = torch.randint(0, size - 1, (2, 4), generator=generator)
        labels[0, 0], labels[1, 3] = 1, 3
        found = _run_target(mine, labels, size, epsilon)
        hot = functional.one_hot(labels, size).double()
        right = (1 - epsilon) * hot + epsilon / size
        if matches(found, right):
            continue
        recognise(found, _wrong_targets(labels, size, epsilon))
        yours, wanted = (
            [round(x, 4) for x in rows[0, 0].tolist()] for rows in (found, right)
        )
        raise Mistake(
            "wrong-numbers",
            f"For label {labels[0, 0].item()} of {size} pieces and smoothing {epsilon} "
            f"your row is {yours} and should be {wanted}; I don't know this mistake.",
        )


def _hard_target(mine: Function) -> None:
    labels = torch.tensor([[2, 0, 1, 2]])
    found = _run_target(mine, labels, 4, 0.0)
    if not matches(found, functional.one_hot(labels, 4).double()):
        raise Mistake(
            "not-one-hot-at-zero",
            "Right with smoothing; with smoothing=0 the target must be one-hot.",
        )


def smoothed_target(mine: Callable[..., Tensor]) -> Result:
    """Grade your own ``smoothed_target(labels, *, vocab_size, smoothing)``.

    Prints what a teacher would say.

    Args:
        mine: your function. It takes labels (...) int64 and returns the target
            distributions (..., V): ``smoothing`` spread over all V pieces, the rest on
            the label.

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """
    return grade(
        "smoothed_target",
        mine,
        (_targets, _hard_target),
        """Every row is a distribution: the label keeps 1 − ε + ε/V, each other piece
        gets ε/V; and with ε = 0 it is one-hot.""",
    )
