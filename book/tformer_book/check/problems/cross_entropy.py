"""The grader for `cross_entropy` of chapter *Training*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tformer.loss import cross_entropy as right_loss
from tformer_book.check._compare import (
    Known,
    Slip,
    matches,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import (
    Stopped,
    call,
    probe_gradients,
)

PAD = 0


def _loss_case(*, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Logits (2, 5, 7) and labels (2, 5), of which three are padding."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 5, 7, generator=generator) * 2
    labels = torch.randint(1, 7, (2, 5), generator=generator)
    labels[0, 4] = labels[1, 3] = labels[1, 4] = PAD
    return logits, labels


def _run_loss(
    mine: Function,
    logits: Tensor,
    labels: Tensor,
    epsilon: float,
    pad_id: int = PAD,
) -> Tensor:
    loss = call(
        mine,
        {"logits": logits, "labels": labels},
        {"pad_id": pad_id, "smoothing": epsilon},
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
    yield Slip(
        "divided-by-sentences",
        "You divide the sum by the number of sentences. Divide by the number of labels "
        "that are not padding, or long sentences weigh more.",
        (each * real).sum() / labels.size(0),
    )
    yield Slip(
        "divided-by-length",
        "You divide the sum by the length of a row. Divide by the number of labels "
        "that are not padding.",
        (each * real).sum() / labels.size(1),
    )
    yield Slip(
        "perplexity",
        "You return the perplexity, e to the power of the loss. Return the loss.",
        over(each).exp(),
    )
    if epsilon:
        own = 1 - epsilon + epsilon / size
        share = torch.tensor(epsilon / size)
        entropy = -own * math.log(own) - (size - 1) * share * share.log()
        yield Slip(
            "kl-divergence",
            "Your loss is the Kullback–Leibler divergence: the cross-entropy less the "
            "entropy of the smoothed target. Its gradient is the same, but the number "
            "is lower by a constant. KLDivLoss gives it; ask for the cross-entropy.",
            over(each) - entropy,
        )
        for spared, rest in ((True, size - 2), (True, size - 1), (False, size - 2)):
            others = log_p.sum(-1) - at - (log_p[..., PAD] if spared else 0)
            smooth = -(1 - epsilon) * at - epsilon * others / rest
            q, log_q = epsilon / rest, math.log(epsilon / rest)
            count = size - 2 if spared else size - 1
            less = -(1 - epsilon) * math.log(1 - epsilon) - count * q * log_q
            for says, number in (
                ("", over(smooth)),
                (" And you take the Kullback–Leibler divergence.", over(smooth) - less),
            ):
                yield Slip(
                    "smoothed-without-padding",
                    f"You spread ε over {rest} pieces, and <pad> and the label get "
                    "none of it, as in The Annotated Transformer. Here, as in "
                    "PyTorch, all V pieces get ε/V, the label and <pad> included."
                    + says,
                    number,
                )
        for rest in (size - 1,):
            others = (log_p.sum(-1) - log_p[..., PAD]) / rest
            yield Slip(
                "smoothed-without-padding",
                "No mass goes to <pad>. Here, as in PyTorch, all V pieces get ε/V.",
                over(-(1 - epsilon) * at - epsilon * others),
            )
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


def _other_padding(mine: Function) -> None:
    """Padding is the id that the caller names; 0 is then a piece like any other."""
    logits, labels = _loss_case(seed=3)
    labels[0, 0] = 4
    pad_id = 4
    found = _run_loss(mine, logits, labels, 0.1, pad_id)
    wanted = right_loss(logits, labels, pad_id=pad_id, smoothing=0.1)
    if not matches(found, wanted):
        raise Mistake(
            "pad-id-ignored",
            f"Right where padding is {PAD}, wrong where it is {pad_id}: an id is "
            "written into your code. Compare the labels with the pad_id that you are "
            "given.",
        )


def _other_axes(mine: Function) -> None:
    """Any number of axes in front."""
    logits, labels = _loss_case(seed=4)
    for shape in ((10,), (2, 1, 5)):
        some, of = logits.reshape(*shape, -1), labels.reshape(shape)
        said = f"For logits {tuple(some.shape)} and labels {shape}"
        try:
            found = _run_loss(mine, some, of, 0.1)
        except Stopped as stopped:
            raise Mistake(
                "axes-fixed",
                "Right for logits (B, T, V), but any number of axes may stand in front "
                f"of V. {said}: {stopped.message}",
            ) from None
        wanted = right_loss(some, of, pad_id=PAD, smoothing=0.1)
        if not matches(found, wanted):
            raise Mistake(
                "axes-fixed",
                f"Right for logits (B, T, V), but any number of axes may stand in "
                f"front of V. {said} your loss is {found.item():.4f} and should be "
                f"{wanted.item():.4f}.",
            )


def _hard_cases(mine: Function) -> None:
    logits, labels = _loss_case(seed=2)
    large = logits * 50
    found = _run_loss(mine, large, labels, 0.1)
    wanted = right_loss(large, labels, pad_id=PAD, smoothing=0.1)
    if found.isfinite() and not matches(found, wanted, 1e-4):
        raise Mistake(
            "clipped-logarithm",
            f"With large logits your loss is {found.item():.1f} and should be "
            f"{wanted.item():.1f}: a small number inside the logarithm (or a clamp) "
            "hides how wrong the model is, and its gradient vanishes just there. "
            "log_softmax needs no such help: it never takes the logarithm of 0.",
        )
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
        (_plain_loss, _smoothed_loss, _other_padding, _other_axes, _hard_cases),
        """It agrees with tformer.loss, with smoothing and without; padding adds nothing
        to it and gets no gradient; and large logits do not break it.""",
    )
