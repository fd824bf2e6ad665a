"""The graders for chapter 12: the smoothed target, the loss, the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional

from tformer.check._grade import (
    Function,
    Mistake,
    Result,
    as_tensor,
    call,
    grade,
    matches,
)
from tformer.loss import cross_entropy as right_loss
from tformer.schedule import inverse_square_root as right_rate

PAD = 0

# --- the target ---------------------------------------------------------------------


def _wrong_targets(
    labels: Tensor, size: int, epsilon: float
) -> Iterator[tuple[str, str, Tensor]]:
    """Known mistakes: short name, what to say, the target that they give."""
    hot = functional.one_hot(labels, size).double()
    cold = 1 - hot
    yield (
        "no-smoothing",
        "Your target is one-hot: all mass on the label. Take the share `smoothing` "
        "away from it and spread that over all pieces.",
        hot,
    )
    yield (
        "label-left-out",
        f"You spread the mass over the other {size - 1} pieces only. In the paper's "
        "source and in PyTorch the label gets its share of ε/V, too. (Both are "
        "called label smoothing; the floor of the loss differs a little.)",
        (1 - epsilon) * hot + epsilon / (size - 1) * cold,
    )
    yield (
        "too-little-mass",
        f"Your rows sum to {1 - epsilon / size:.4f}, not to 1: the others get ε/V "
        "each, but the label forgets its own share. It keeps 1 − ε + ε/V.",
        (1 - epsilon) * hot + epsilon / size * cold,
    )
    yield (
        "too-much-mass",
        "Your rows sum to more than 1: you add ε/V everywhere, but take nothing from "
        "the label. First scale the one-hot row by 1 − ε.",
        hot + epsilon / size,
    )
    yield (
        "mass-not-shared",
        "Each other piece gets all of ε. They share it: ε/V each.",
        (1 - epsilon) * hot + epsilon * cold,
    )
    yield (
        "mass-not-shared",
        "You add all of ε to every piece. They share it: ε/V each.",
        (1 - epsilon) * hot + epsilon,
    )
    yield (
        "shares-swapped",
        "The label gets ε and the rest shares 1 − ε: the wrong way round.",
        epsilon * hot + (1 - epsilon) / size,
    )
    yield (
        "label-ignored",
        "Every row is uniform: the label is in none of them.",
        torch.full_like(hot, 1 / size),
    )
    for by in (-1, 1):
        moved = hot.roll(by, -1)
        yield (
            "label-off-by-one",
            "The mass sits beside the label. Ids count from 0, and so do places in a "
            "row: id 3 is row[3], its fourth number.",
            (1 - epsilon) * moved + epsilon / size,
        )
    yield (
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
        for diagnosis, message, wrong in _wrong_targets(labels, size, epsilon):
            if matches(found, wrong):
                raise Mistake(diagnosis, message)
        yours, wanted = (
            [round(x, 4) for x in rows[0, 0].tolist()] for rows in (found, right)
        )
        raise Mistake(
            "wrong-numbers",
            f"For label {labels[0, 0].item()} of {size} pieces and smoothing {epsilon} "
            f"your row is {yours} and should be {wanted}; I do not know this mistake.",
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


# --- the loss -----------------------------------------------------------------------


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


def _wrong_losses(
    logits: Tensor, labels: Tensor, epsilon: float
) -> Iterator[tuple[str, str, Tensor]]:
    """Known mistakes: short name, what to say, the number that they give."""
    log_p = logits.log_softmax(-1)
    real = labels != PAD
    size = logits.size(-1)
    at = log_p.gather(-1, labels[..., None])[..., 0]
    each = -(1 - epsilon) * at - epsilon * log_p.mean(-1)
    hard = -at

    def over(values: Tensor) -> Tensor:
        return (values * real).sum() / real.sum()

    yield (
        "padding-counted",
        "Padding is counted: your number is the mean over all labels, with those that "
        "equal pad_id. Leave them out of the sum and of what you divide by.",
        each.mean(),
    )
    yield (
        "padding-dilutes",
        "You zero the loss of padding, but still divide by the number of all labels. "
        "Divide by the number of labels that are not padding.",
        (each * real).sum() / real.numel(),
    )
    yield (
        "mean-of-rows",
        "You average each row first and then the rows, so labels in short sentences "
        "count more. Sum over all labels, then divide once.",
        ((each * real).sum(-1) / real.sum(-1)).mean(),
    )
    yield (
        "sum",
        "Your loss is the sum over the labels. It must be their mean, or it grows with "
        "the batch.",
        (each * real).sum(),
    )
    yield (
        "probability",
        "You average probabilities, not their logarithms: use log_softmax.",
        over(-at.exp()),
    )
    yield (
        "softmax-over-positions",
        "Your softmax runs over positions, not over the vocabulary: use dim=-1.",
        over(-logits.log_softmax(-2).gather(-1, labels[..., None])[..., 0]),
    )
    yield ("sign", "The sign is wrong: the loss is *minus* the log.", -over(each))
    yield (
        "two-logarithms",
        "You take log_softmax of log-probabilities or of probabilities. Apply it to "
        "the logits, once.",
        over(-logits.softmax(-1).log_softmax(-1).gather(-1, labels[..., None])[..., 0]),
    )
    yield (
        "base-2",
        "Your numbers are bits: use the natural logarithm, for nats.",
        over(each) / math.log(2),
    )
    if epsilon:
        yield (
            "no-smoothing",
            "Right without smoothing, but your function ignores `smoothing`.",
            over(hard),
        )
        yield (
            "label-left-out",
            f"You spread the mass over the other {size - 1} pieces only. In the "
            "paper's and PyTorch's smoothing the label gets its share of ε/V, too.",
            over(
                -(1 - epsilon) * at - epsilon * (log_p.sum(-1) - at) / (size - 1),
            ),
        )
        yield (
            "too-much-mass",
            "Your target sums to more than 1: the label must keep 1 − ε (and its share "
            "of ε), not 1.",
            over(hard - epsilon * log_p.mean(-1)),
        )
        yield (
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
    for diagnosis, message, number in _wrong_losses(logits, labels, epsilon):
        if matches(found, number):
            raise Mistake(diagnosis, message)
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
    leaf = logits.clone().requires_grad_()
    loss = mine(leaf, labels, pad_id=PAD, smoothing=0.1)
    if not loss.requires_grad:
        raise Mistake(
            "gradient-cut",
            "The number is right, but no gradient gets back to the logits. Look for "
            "detach, .data, torch.tensor(…) or no_grad.",
        )
    (gradient,) = torch.autograd.grad(loss, leaf)
    if gradient[labels == PAD].abs().max() > 0:
        raise Mistake(
            "padding-gradient", "Positions that are padding still get a gradient."
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


# --- the learning rate ------------------------------------------------------------


def _run_rate(mine: Function, step: int, d: int, warmup: int, scale: float) -> float:
    rate = call(
        mine, {"step": step}, {"d_model": d, "warmup_steps": warmup, "scale": scale}
    )
    try:
        return float(rate)
    except (TypeError, ValueError):
        raise Mistake(
            "not-a-number", f"Your rate is a {type(rate).__name__}, not a number."
        ) from None


Rate = Callable[[int, int, int], float]
WRONG_RATES: tuple[tuple[str, str, Rate], ...] = (
    (
        "max",
        "You take the larger of the two arms. Before the peak the straight line is the "
        "smaller, after it the root: use min.",
        lambda s, d, w: d**-0.5 * max(s**-0.5, s * w**-1.5),
    ),
    (
        "no-warm-up",
        "Your rate falls from the first step on: there is no climb. The second arm is "
        "step · warmup_steps^-1.5.",
        lambda s, d, w: d**-0.5 * s**-0.5,
    ),
    (
        "no-decay",
        "Your rate climbs for ever: the other arm is step^-0.5.",
        lambda s, d, w: d**-0.5 * s * w**-1.5,
    ),
    (
        "warmup-exponent",
        "The exponent of warmup_steps is −1.5: only then do the two arms meet at step "
        "= warmup_steps.",
        lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-0.5),
    ),
    (
        "linear-warm-up-to-one",
        "Your climb ends at 1, not where the root begins: step / warmup_steps is "
        "missing the factor warmup_steps^-0.5.",
        lambda s, d, w: d**-0.5 * min(s**-0.5, s / w),
    ),
    (
        "no-width",
        "The factor d_model^-0.5 is missing.",
        lambda s, d, w: min(s**-0.5, s * w**-1.5),
    ),
    (
        "width-upside-down",
        "You multiply by the root of d_model; the paper divides: d_model^-0.5.",
        lambda s, d, w: d**0.5 * min(s**-0.5, s * w**-1.5),
    ),
    (
        "step-from-zero",
        "You count steps from 0, or add 1 to them. The first step is step 1.",
        lambda s, d, w: d**-0.5 * min((s + 1) ** -0.5, (s + 1) * w**-1.5),
    ),
    (
        "inverse-not-root",
        "After the peak your rate falls with 1/step; it should fall with 1/√step.",
        lambda s, d, w: d**-0.5 * min(w**0.5 / s, s * w**-1.5),
    ),
)
RATE_CASES = ((1, 64, 10), (7, 64, 10), (10, 32, 10), (400, 16, 10), (3, 128, 50))


def _rates(mine: Function) -> None:
    found = [_run_rate(mine, *case, 1.0) for case in RATE_CASES]
    wanted = [right_rate(s, d_model=d, warmup_steps=w) for s, d, w in RATE_CASES]

    def agree(others: list[float]) -> bool:
        return all(
            math.isclose(a, b, rel_tol=1e-6) for a, b in zip(found, others, strict=True)
        )

    if agree(wanted):
        return
    for diagnosis, message, wrong in WRONG_RATES:
        if agree([wrong(*case) for case in RATE_CASES]):
            raise Mistake(diagnosis, message)
    i = next(
        i
        for i, (a, b) in enumerate(zip(found, wanted, strict=True))
        if not math.isclose(a, b, rel_tol=1e-6)
    )
    step, d, warmup = RATE_CASES[i]
    raise Mistake(
        "wrong-numbers",
        f"At step {step} with d_model {d} and warm-up {warmup} your rate is "
        f"{found[i]:.4g} and should be {wanted[i]:.4g}; I do not know this mistake. "
        "Compute both arms for this step by hand.",
    )


def _scale(mine: Function) -> None:
    if not math.isclose(
        _run_rate(mine, 7, 64, 10, 2.5),
        2.5 * right_rate(7, d_model=64, warmup_steps=10),
        rel_tol=1e-6,
    ):
        raise Mistake(
            "scale-ignored", "Right for scale=1; `scale` must multiply the whole curve."
        )


def inverse_square_root(mine: Callable[..., float]) -> Result:
    """Grade your own ``inverse_square_root(step, *, d_model, warmup_steps, scale=1)``.

    Prints what a teacher would say.

    Args:
        mine: your function; it returns the learning rate of a step, from 1.

    Returns:
        A result that is true if everything is right, with ``.message`` and
        ``.diagnosis``.
    """
    return grade(
        "learning rate",
        mine,
        (_rates, _scale),
        """It is the paper's equation 3: up in a straight line, down with the root of
        the step, and the peak at step = warmup_steps.""",
    )
