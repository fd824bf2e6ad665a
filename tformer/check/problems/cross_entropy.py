"""The grader for `cross_entropy` of chapter *Training*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tformer.check._compare import (
    Known,
    Slip,
    matches,
    recognise,
)
from tformer.check._grade import Function, Mistake, Result, grade
from tformer.check._run import (
    call,
    probe_gradients,
)
from tformer.loss import cross_entropy as right_loss

PAD = 0


def _loss_case(*, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Logits (2, 5, 7) and labels (2, 5), of which three are padding."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 5, 7, generator=generator, dtype=torch.float64) * 2
    labels = torch.randint(1, 7, (2, 5), generator=generator)
    labels[0, 4] = labels[1, 3] = labels[1, 4] = PAD
    return logits, labels


def _run_loss(mine: Function, logits: Tensor, labels: Tensor, epsilon: float) -> Tensor:
    loss = call(
        mine,
        {"logits": logits, "labels": labels},
        {"pad_id": PAD, "smoothing": epsilon},
    )
    if not isinstance(loss, Tensor):
        raise Mistake(
            "not-a-tensor",
            f"Your loss is a {type(loss).__name__}, not a torch tensor, so nothing can "
            "be learned from it. Stay in torch; no .item() and no math.log.",
        )
    if loss.numel() != 1:
        raise Mistake(
            "not-a-number",
            f"Your loss has shape {tuple(loss.shape)}. It must be one number: the mean "
            "over all labels that are not padding.",
        )
    return loss.reshape(())


def _wrong_losses(logits: Tensor, labels: Tensor, epsilon: float) -> Known:
    """Known mistakes: short name, what to say, the number that they give."""
    log_p = logits.log_softmax(-1)
    real = labels != PAD
    size = logits.size(-1)
    at = log_p.gather(-1, labels[..., None])[..., 0]
    each = -(1 - epsilon) * at - epsilon * log_p.mean(-1)
    hard = -at

    def over(values: Tensor) -> Tensor:
        return (values * real).sum() / real.sum()

    yield Slip(
        "padding-counted",
        "Padding is counted: your number is the mean over all labels, with those that "
        "equal pad_id. Leave them out of the sum and of what you divide by.",
        each.mean(),
    )
    yield Slip(
        "padding-dilutes",
        "You zero the loss of padding, but still divide by the number of all labels. "
        "Divide by the number of labels that are not padding.",
        (each * real).sum() / real.numel(),
    )
    yield Slip(
        "mean-of-rows",
        "You average each row first and then the rows, so labels in short sentences "
        "count more. Sum over all labels, then divide once.",
        ((each * real).sum(-1) / real.sum(-1)).mean(),
    )
    yield Slip(
        "sum",
        "Your loss is the sum over the labels. It must be their mean, or it grows with "
        "the batch.",
        (each * real).sum(),
    )
    yield Slip(
        "probability",
        "You average probabilities, not their logarithms: use log_softmax.",
        over(-at.exp()),
    )
    yield Slip(
        "softmax-over-positions",
        "Your softmax runs over positions, not over the vocabulary: use dim=-1.",
        over(-logits.log_softmax(-2).gather(-1, labels[..., None])[..., 0]),
    )
    yield Slip("sign", "The sign is wrong: the loss is *minus* the log.", -over(each))
    yield Slip(
        "two-logarithms",
        "You take log_softmax of log-probabilities or of probabilities. Apply it to "
        "the logits, once.",
        over(-logits.softmax(-1).log_softmax(-1).gather(-1, labels[..., None])[..., 0]),
    )
    yield Slip(
        "base-2",
        "Your numbers are bits: use the natural logarithm, for nats.",
        over(each) / math.log(2),
    )
    if epsilon:
        yield Slip(
            "no-smoothing",
            "Right without smoothing, but your function ignores `smoothing`.",
            over(hard),
        )
        yield Slip(
            "label-left-out",
            f"You spread the mass over the other {size - 1} pieces only. In the "
            "paper's and PyTorch's smoothing the label gets its share of ε/V, too.",
            over(
                -(1 - epsilon) * at - epsilon * (log_p.sum(-1) - at) / (size - 1),
            ),
        )
        yield Slip(
            "too-much-mass",
            "Your target sums to more than 1: the label must keep 1 − ε (and its share "
            "of ε), not 1.",
            over(hard - epsilon * log_p.mean(-1)),
        )
        yield Slip(
            "mass-times-v",
            "You add ε times the *sum* of the log-probabilities. Each piece gets ε/V: "
            "take the mean.",
            over((1 - epsilon) * hard - epsilon * log_p.sum(-1)),
        )


def _judge(found: Tensor, epsilon: float, seed: int) -> None:
    logits, labels = _loss_case(seed=seed)
    wanted = right_loss(logits, labels, pad_id=PAD, smoothing=epsilon)
    if matches(found, wanted):
        return
    recognise(found, _wrong_losses(logits, labels, epsilon))
    raise Mistake(
        "wrong-numbers",
        f"For a batch with ten labels, three of them padding, and smoothing {epsilon}, "
        f"your loss is {found.item():.4f} and should be {wanted.item():.4f}; I do not "
        "know this mistake. Go through one position by hand: log_softmax, the label's "
        "entry, the mean over all entries.",
    )


def _plain_loss(mine: Function) -> None:
    logits, labels = _loss_case()
    _judge(_run_loss(mine, logits, labels, 0.0), 0.0, seed=0)


def _smoothed_loss(mine: Function) -> None:
    logits, labels = _loss_case(seed=1)
    _judge(_run_loss(mine, logits, labels, 0.1), 0.1, seed=1)


def _hard_cases(mine: Function) -> None:
    logits, labels = _loss_case(seed=2)
    if not _run_loss(mine, logits * 1000, labels, 0.1).isfinite():
        raise Mistake(
            "overflow",
            "With large logits your loss is not finite: softmax gives an exact 0, and "
            "log 0 is −∞. log_softmax never takes the logarithm of 0.",
        )
    probe_gradients(
        mine,
        lambda: _run_loss(mine, logits, labels, 0.1),
        lambda: right_loss(logits, labels, pad_id=PAD, smoothing=0.1),
        {"logits": logits},
    )


def cross_entropy(mine: Callable[..., Tensor]) -> Result:
    """Grade your own ``cross_entropy(logits, labels, *, pad_id, smoothing=0.0)``.

    Prints what a teacher would say.

    Args:
        mine: your function. It takes logits (..., V) and labels (...), and returns the
            mean loss over the labels that are not ``pad_id``, in nats.

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """
    return grade(
        "cross_entropy",
        mine,
        (_plain_loss, _smoothed_loss, _hard_cases),
        """It agrees with tformer.loss, with smoothing and without; padding adds nothing
        to it and gets no gradient; and large logits do not break it.""",
    )
