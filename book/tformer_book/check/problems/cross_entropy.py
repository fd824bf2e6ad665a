"""The grader for `cross_entropy` of chapter *Training*, and known mistakes."""

import math
from typing import Any

import torch
from torch import Tensor

from tformer.loss import cross_entropy as right_loss
from tformer_book.check import kit

HINTS = (
    "The smoothed target has two parts. What does each of them ask of the log-"
    "probabilities?",
    "One part wants the log-probability at the label, weighted by 1 − ε, the other "
    "the mean over all pieces, weighted by ε. Then leave out the positions whose "
    "label is padding, and average over the rest.",
    "log_p = logits.log_softmax(dim=-1)",
)

PAD = 0


@kit.of_terms
def _of(
    logits: Tensor, labels: Tensor, *, pad_id: int, smoothing: float = 0.0
) -> dict[str, Any]:
    epsilon, size = smoothing, logits.size(-1)
    log_p = logits.log_softmax(-1)
    real = labels != pad_id
    at = log_p.gather(-1, labels[..., None])[..., 0]
    each = -(1 - epsilon) * at - epsilon * log_p.mean(-1)
    hard = -at

    def over(values: Tensor) -> Tensor:
        return (values * real).sum() / real.sum()

    return locals()


def _smoothed(of: kit.Function) -> kit.Function:
    """Wrong with smoothing, and right without."""
    return _of(lambda t: of(t) if t.epsilon else t.over(t.each))


def _kl(t: Any) -> Tensor:
    own, share = 1 - t.epsilon + t.epsilon / t.size, t.epsilon / t.size
    entropy = -own * math.log(own) - (t.size - 1) * share * math.log(share)
    return t.over(t.each) - entropy


def _annotated(
    spared: bool, fewer: int, *, kl: bool
) -> tuple[kit.Function, kit.Function]:
    """As The Annotated Transformer smooths, over all pieces but so many."""

    def loss(t: Any) -> Tensor:
        rest, count = t.size - fewer, t.size - (2 if spared else 1)
        others = t.log_p.sum(-1) - t.at - (t.log_p[..., PAD] if spared else 0)
        smooth = t.over(-(1 - t.epsilon) * t.at - t.epsilon * others / rest)
        q = t.epsilon / rest
        less = -(1 - t.epsilon) * math.log(1 - t.epsilon) - count * q * math.log(q)
        return smooth - less if kl else smooth

    also = " And you take the Kullback–Leibler divergence." if kl else ""
    return _smoothed(loss), _of(
        lambda t: (
            f"You spread ε over {t.size - fewer} pieces, and <pad> and the label get "
            "none of it, as in The Annotated Transformer. Here, as in "
            f"PyTorch, all V pieces get ε/V, the label and <pad> included.{also}"
        )
    )


SLIPS: kit.Table = {
    "padding-counted": (
        _of(lambda t: t.each.mean()),
        "Padding is counted: your number is the mean over all labels, with those that "
        "equal pad_id. Leave them out of the sum and of what you divide by.",
    ),
    "padding-dilutes": (
        _of(lambda t: (t.each * t.real).sum() / t.real.numel()),
        "You zero the loss of padding, but still divide by the number of all labels. "
        "Divide by the number of labels that are not padding.",
    ),
    "mean-of-rows": (
        _of(lambda t: ((t.each * t.real).sum(-1) / t.real.sum(-1)).mean()),
        "You average each row first and then the rows, so labels in short sentences "
        "count more. Sum over all labels, then divide once.",
    ),
    "sum": (
        _of(lambda t: (t.each * t.real).sum()),
        "Your loss is the sum over the labels. It must be their mean, or it grows with "
        "the batch.",
    ),
    "probability": (
        _of(lambda t: t.over(-t.at.exp())),
        "You average probabilities, not their logarithms: use log_softmax.",
    ),
    "softmax-over-positions": (
        _of(
            lambda t: t.over(
                -t.logits.log_softmax(-2).gather(-1, t.labels[..., None])[..., 0]
            )
        ),
        "Your softmax runs over positions, not over the vocabulary: use dim=-1.",
    ),
    "sign": (
        _of(lambda t: -t.over(t.each)),
        "The sign is wrong: the loss is *minus* the log.",
    ),
    "two-logarithms": (
        _of(
            lambda t: t.over(
                -t.logits.softmax(-1)
                .log_softmax(-1)
                .gather(-1, t.labels[..., None])[..., 0]
            )
        ),
        "You take log_softmax of log-probabilities or of probabilities. Apply it to "
        "the logits, once.",
    ),
    "base-2": (
        _of(lambda t: t.over(t.each) / math.log(2)),
        "Your numbers are bits: use the natural logarithm, for nats.",
    ),
    "divided-by-sentences": (
        _of(lambda t: (t.each * t.real).sum() / t.labels.size(0)),
        "You divide the sum by the number of sentences. Divide by the number of labels "
        "that are not padding, or long sentences weigh more.",
    ),
    "divided-by-length": (
        _of(lambda t: (t.each * t.real).sum() / t.labels.size(1)),
        "You divide the sum by the length of a row. Divide by the number of labels "
        "that are not padding.",
    ),
    "perplexity": (
        _of(lambda t: t.over(t.each).exp()),
        "You return the perplexity, e to the power of the loss. Return the loss.",
    ),
    "kl-divergence": (
        _smoothed(_kl),
        "Your loss is the Kullback–Leibler divergence: the cross-entropy less the "
        "entropy of the smoothed target. Its gradient is the same, but the number "
        "is lower by a constant. KLDivLoss gives it; ask for the cross-entropy.",
    ),
    **{
        f"smoothed-without-padding:{spared}, {fewer}, {kl}": _annotated(
            spared, fewer, kl=kl
        )
        for spared, fewer in ((True, 2), (True, 1), (False, 2))
        for kl in (False, True)
    },
    "smoothed-without-padding": (
        _smoothed(
            lambda t: t.over(
                -(1 - t.epsilon) * t.at
                - t.epsilon * (t.log_p.sum(-1) - t.log_p[..., PAD]) / (t.size - 1)
            )
        ),
        "No mass goes to <pad>. Here, as in PyTorch, all V pieces get ε/V.",
    ),
    "no-smoothing": (
        _of(lambda t: t.over(t.hard)),
        "Right without smoothing, but your function ignores `smoothing`.",
    ),
    "label-left-out": (
        _smoothed(
            lambda t: t.over(
                -(1 - t.epsilon) * t.at
                - t.epsilon * (t.log_p.sum(-1) - t.at) / (t.size - 1)
            )
        ),
        _of(
            lambda t: (
                f"You spread the mass over the other {t.size - 1} pieces only. In the "
                "paper's and PyTorch's smoothing the label gets its share of ε/V, too."
            )
        ),
    ),
    "too-much-mass": (
        _of(lambda t: t.over(t.hard - t.epsilon * t.log_p.mean(-1))),
        "Your target sums to more than 1: the label must keep 1 − ε (and its share "
        "of ε), not 1.",
    ),
    "mass-times-v": (
        _of(lambda t: t.over((1 - t.epsilon) * t.hard - t.epsilon * t.log_p.sum(-1))),
        "You add ε times the *sum* of the log-probabilities. Each piece gets ε/V: "
        "take the mean.",
    ),
}


def _case(
    epsilon: float = 0.1, *, seed: int, pad_id: int = PAD, times: float = 1.0
) -> kit.Case:
    """Logits (2, 5, 7) and labels (2, 5), of which three are padding."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 5, 7, generator=generator) * 2 * times
    labels = torch.randint(1, 7, (2, 5), generator=generator)
    labels[0, 4] = labels[1, 3] = labels[1, 4] = PAD
    return kit.Case(
        {"logits": logits, "labels": labels}, {"pad_id": pad_id, "smoothing": epsilon}
    )


def _loss(loss: Any) -> Tensor:
    if not isinstance(loss, Tensor):
        raise kit.Mistake(
            "not-a-tensor",
            f"Your loss is a {type(loss).__name__}, not a torch tensor, so nothing can "
            "be learned from it. Stay in torch; no .item() and no math.log.",
        )
    if loss.numel() != 1:
        raise kit.Mistake(
            "not-a-number",
            f"Your loss has shape {tuple(loss.shape)}. It must be one number: the mean "
            "over all labels that are not padding.",
        )
    return loss.reshape(())


def _unknown(
    found: Tensor, wanted: Tensor, *_: Tensor, smoothing: float, pad_id: int
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-numbers",
        "For a batch with ten labels, three of them padding, and smoothing "
        f"{smoothing}, your loss is {found.item():.4f} and should be "
        f"{wanted.item():.4f}; I do not know this mistake. Go through one position by "
        "hand: log_softmax, the label's entry, the mean over all entries.",
    )


def _plain_loss(mine: kit.Function) -> None:
    case = _case(0.0, seed=0)
    kit.judge(mine, [case], right_loss, SLIPS, take=_loss, otherwise=_unknown)


def _smoothed_loss(mine: kit.Function) -> None:
    case = _case(seed=1)
    kit.judge(mine, [case], right_loss, SLIPS, take=_loss, otherwise=_unknown)


def _other_padding(mine: kit.Function) -> None:
    """Padding is the id that the caller names; 0 is then a piece like any other."""
    case = _case(seed=3, pad_id=4)
    case["labels"][0, 0] = 4
    if not kit.matches(case.ask(mine, _loss), case.of(right_loss)):
        raise kit.Mistake(
            "pad-id-ignored",
            f"Right where padding is {PAD}, wrong where it is 4: an id is "
            "written into your code. Compare the labels with the pad_id that you are "
            "given.",
        )


def _other_axes(mine: kit.Function) -> None:
    """Any number of axes in front."""
    logits, labels = _case(seed=4).inputs.values()
    for shape in ((10,), (2, 1, 5)):
        given = {"logits": logits.reshape(*shape, -1), "labels": labels.reshape(shape)}
        case = kit.Case(given, {"pad_id": PAD, "smoothing": 0.1})
        said = (
            "Right for logits (B, T, V), but any number of axes may stand in front of "
            f"V. For logits {case.shape('logits')} and labels {shape}"
        )
        with kit.if_it_stops("axes-fixed", f"{said}:"):
            found = case.ask(mine, _loss)
        wanted = case.of(right_loss)
        if not kit.matches(found, wanted):
            raise kit.Mistake(
                "axes-fixed",
                f"{said} your loss is {found.item():.4f} and should be "
                f"{wanted.item():.4f}.",
            )


def _hard_cases(mine: kit.Function) -> None:
    case = _case(seed=2, times=50)
    found, wanted = case.ask(mine, _loss), case.of(right_loss)
    if found.isfinite() and not kit.matches(found, wanted, 1e-4):
        raise kit.Mistake(
            "clipped-logarithm",
            f"With large logits your loss is {found.item():.1f} and should be "
            f"{wanted.item():.1f}: a small number inside the logarithm (or a clamp) "
            "hides how wrong the model is, and its gradient vanishes just there. "
            "log_softmax needs no such help: it never takes the logarithm of 0.",
        )
    if not _case(seed=2, times=1000).ask(mine, _loss).isfinite():
        raise kit.Mistake(
            "overflow",
            "With large logits your loss is not finite: softmax gives an exact 0, and "
            "log 0 is −∞. log_softmax never takes the logarithm of 0.",
        )
    _case(seed=2).learn(mine, right_loss, "logits", take=_loss)


@kit.grader(_plain_loss, _smoothed_loss, _other_padding, _other_axes, _hard_cases)
def cross_entropy(mine: kit.Function) -> str:
    """Grade your own ``cross_entropy(logits, labels, *, pad_id, smoothing=0.0)``.

    ``mine`` takes logits (..., V) and labels (...), and returns the mean loss over
    the labels that are not ``pad_id``, in nats.
    """
    return (
        "It agrees with tformer.loss, with smoothing and without; padding adds "
        "nothing to it and gets no gradient; and large logits do not break it."
    )
