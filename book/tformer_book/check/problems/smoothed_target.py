"""The grader for `smoothed_target` of chapter *Training*, and known mistakes."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from tformer_book.check import kit

HINTS = (
    "What is left for the right piece, if ε is dealt out evenly to all pieces, itself"
    " included?",
    "Take the one-hot rows times 1 − ε, and add ε / V everywhere.",
    "one_hot = F.one_hot(labels, vocab_size).float()",
)


@kit.of_terms
def _of(labels: Tensor, *, vocab_size: int, smoothing: float) -> dict[str, Any]:
    size, epsilon = vocab_size, smoothing
    hot = functional.one_hot(labels, size).double()
    cold = 1 - hot
    without, not_pad = cold.clone(), torch.ones_like(hot)
    without[..., 0] = not_pad[..., 0] = 0
    right = (1 - epsilon) * hot + epsilon / size
    return locals()


def _annotated(left_out: int, *, hides: bool) -> kit.Function:
    """As The Annotated Transformer smooths, over all pieces but this many."""
    return _of(
        lambda t: (
            ((1 - t.epsilon) * t.hot + t.epsilon / (t.size - left_out) * t.without)
            * (t.not_pad if hides else 1)
        )
    )


def _off(by: int) -> kit.Function:
    return _of(lambda t: (1 - t.epsilon) * t.hot.roll(by, -1) + t.epsilon / t.size)


SLIPS: kit.Table = {
    "no-smoothing": (
        _of(lambda t: t.hot),
        "Your target is one-hot: all mass on the label. Take the share `smoothing` "
        "away from it and spread that over all pieces.",
    ),
    "label-left-out": (
        _of(lambda t: (1 - t.epsilon) * t.hot + t.epsilon / (t.size - 1) * t.cold),
        _of(
            lambda t: (
                f"You spread the mass over the other {t.size - 1} pieces only. In the "
                "paper's source and in PyTorch the label gets its share of ε/V, too. "
                "(Both are called label smoothing; the floor of the loss differs a "
                "little.)"
            )
        ),
    ),
    "smoothed-without-padding": (
        [
            _annotated(left_out, hides=hides)
            for hides in (False, True)
            for left_out in (2, 1)
        ],
        _of(
            lambda t: (
                f"You spread ε over {t.size - 2} or {t.size - 1} pieces, and <pad> "
                "(id 0) and the label get none of it, as in The Annotated "
                "Transformer. Here, as in PyTorch, all V pieces get ε/V, the label "
                "and <pad> included."
            )
        ),
    ),
    "smoothed-without-padding:2": (
        _of(lambda t: (1 - t.epsilon) * t.hot + t.epsilon / (t.size - 1) * t.not_pad),
        "No mass goes to <pad> (id 0). Here, as in PyTorch, all V pieces get ε/V.",
    ),
    "label-left-out:2": (
        _of(lambda t: (1 - t.epsilon) * t.hot + t.epsilon / (t.size - 2) * t.cold),
        _of(
            lambda t: (
                f"You divide ε by {t.size - 2} and give nothing of it to the label. "
                "All V pieces get ε/V."
            )
        ),
    ),
    "too-little-mass": (
        _of(lambda t: (1 - t.epsilon) * t.hot + t.epsilon / t.size * t.cold),
        _of(
            lambda t: (
                f"Your rows sum to {1 - t.epsilon / t.size:.4f}, not to 1: the others "
                "get ε/V each, but the label forgets its own share. It keeps 1 − ε + "
                "ε/V."
            )
        ),
    ),
    "too-much-mass": (
        _of(lambda t: t.hot + t.epsilon / t.size),
        "Your rows sum to more than 1: you add ε/V everywhere, but take nothing from "
        "the label. First scale the one-hot row by 1 − ε.",
    ),
    "mass-not-shared": (
        _of(lambda t: (1 - t.epsilon) * t.hot + t.epsilon * t.cold),
        "Each other piece gets all of ε. They share it: ε/V each.",
    ),
    "mass-not-shared:2": (
        _of(lambda t: (1 - t.epsilon) * t.hot + t.epsilon),
        "You add all of ε to every piece. They share it: ε/V each.",
    ),
    "shares-swapped": (
        _of(lambda t: t.epsilon * t.hot + (1 - t.epsilon) / t.size),
        "The label gets ε and the rest shares 1 − ε: the wrong way round.",
    ),
    "label-ignored": (
        _of(lambda t: torch.full_like(t.hot, 1 / t.size)),
        "Every row is uniform: the label is in none of them.",
    ),
    "label-off-by-one": (
        [_off(-1), _off(1)],
        "The mass sits beside the label. Ids count from 0, and so do places in a "
        "row: id 3 is row[3], its fourth number.",
    ),
    "smoothing-ignored": (
        _of(lambda t: 0.9 * t.hot + 0.1 / t.size),
        "Right for 0.1, which is written into your code. Take `smoothing` as it is "
        "given.",
    ),
    "softmax-on-top": (
        _of(lambda t: t.right.softmax(-1)),
        "Your target has been through softmax. Its rows are shares already and sum to "
        "1; return them as they are.",
    ),
    "first-row-only": (
        _of(lambda t: t.right[:1, :1].expand(t.hot.shape)),
        "Every row of your target is that of the first label. Each label needs its "
        "own row.",
    ),
}


def _case(labels: Tensor, size: int, epsilon: float) -> kit.Case:
    return kit.Case({"labels": labels}, {"vocab_size": size, "smoothing": epsilon})


def _ask(mine: kit.Function, case: kit.Case) -> Tensor:
    target: Tensor = case.ask(mine)
    labels, size = case["labels"], case["vocab_size"]
    wanted = (*labels.shape, size)
    if tuple(target.shape) == (size, *labels.shape) and tuple(target.shape) != wanted:
        raise kit.Mistake(
            "vocabulary-first",
            f"Your target has shape {tuple(target.shape)}: the vocabulary is its first "
            f"axis. It belongs last, {wanted}, as in the logits.",
        )
    if tuple(target.shape) != wanted:
        raise kit.Mistake(
            "shape",
            f"For labels {tuple(labels.shape)} and {size} pieces the target has shape "
            f"{wanted}: a distribution for each label. Yours is "
            f"{tuple(target.shape)}.",
        )
    if not target.is_floating_point():
        raise kit.Mistake(
            "integers",
            f"Your target holds {str(target.dtype).removeprefix('torch.')} numbers, "
            "which cannot be 0.9. one_hot returns integers, and so does a tensor that "
            "was made like the labels: make it float.",
        )
    return target.double()


def _targets(mine: kit.Function) -> None:
    generator = torch.Generator().manual_seed(0)
    for size, epsilon in ((7, 0.1), (5, 0.3)):
        labels = torch.randint(0, size - 1, (2, 4), generator=generator)
        labels[0, 0], labels[1, 3] = 1, 3
        case = _case(labels, size, epsilon)
        found, right = _ask(mine, case), case.of(_of(lambda t: t.right))
        if kit.matches(found, right):
            continue
        kit.recognise(found, kit.slips(SLIPS, case.of))
        yours, wanted = (
            [round(x, 4) for x in rows[0, 0].tolist()] for rows in (found, right)
        )
        raise kit.Mistake(
            "wrong-numbers",
            f"For label {labels[0, 0].item()} of {size} pieces and smoothing {epsilon} "
            f"your row is {yours} and should be {wanted}; I don't know this mistake.",
        )


def _hard_target(mine: kit.Function) -> None:
    labels = torch.tensor([[2, 0, 1, 2]])
    found = _ask(mine, _case(labels, 4, 0.0))
    if not kit.matches(found, functional.one_hot(labels, 4).double()):
        raise kit.Mistake(
            "not-one-hot-at-zero",
            "Right with smoothing; with smoothing=0 the target must be one-hot.",
        )


@kit.grader(_targets, _hard_target)
def smoothed_target(mine: kit.Function) -> str:
    """Grade your own ``smoothed_target(labels, *, vocab_size, smoothing)``.

    ``mine`` takes labels (...) int64 and returns the target distributions (..., V):
    ``smoothing`` spread over all V pieces, the rest on the label.
    """
    return (
        "Every row is a distribution: the label keeps 1 − ε + ε/V, each other piece "
        "gets ε/V; and with ε = 0 it is one-hot."
    )
