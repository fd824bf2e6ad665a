"""Every mistake that the graders of chapter 12 know is made here on purpose."""

import math

import pytest
import torch
from torch.nn import functional

from tformer.loss import cross_entropy
from tformer.schedule import inverse_square_root
from tformer_book import check


def loss(*, each=None, end=None, start=lambda logits: logits.log_softmax(-1)):
    """The loss with one step exchanged."""

    def plain(log_p, labels, epsilon):
        at = log_p.gather(-1, labels[..., None])[..., 0]
        return -(1 - epsilon) * at - epsilon * log_p.mean(-1)

    def mean(values, real):
        return (values * real).sum() / real.sum()

    def mine(logits, labels, *, pad_id, smoothing=0.0):
        log_p = start(logits)
        values = (each or plain)(log_p, labels, smoothing)
        return (end or mean)(values, labels != pad_id)

    return mine


def at(log_p, labels):
    return log_p.gather(-1, labels[..., None])[..., 0]


def stub(logits, labels, *, pad_id, smoothing=0.0):
    raise NotImplementedError


def stub_target(labels, *, vocab_size, smoothing):
    raise NotImplementedError


LOSS_MISTAKES = {
    "padding-counted": loss(end=lambda v, real: v.mean()),
    "padding-dilutes": loss(end=lambda v, real: (v * real).mean()),
    "mean-of-rows": loss(end=lambda v, r: ((v * r).sum(-1) / r.sum(-1)).mean()),
    "sum": loss(end=lambda v, real: v[real].sum()),
    "not-a-number": loss(end=lambda v, real: v * real),
    "not-a-tensor": loss(end=lambda v, real: v[real].mean().item()),
    "probability": loss(each=lambda p, y, e: -at(p, y).exp()),
    "softmax-over-positions": loss(start=lambda x: x.log_softmax(-2)),
    "sign": loss(end=lambda v, real: -v[real].mean()),
    "two-logarithms": loss(start=lambda x: x.softmax(-1).log_softmax(-1)),
    "base-2": loss(end=lambda v, real: v[real].mean() / math.log(2)),
    "no-smoothing": loss(each=lambda p, y, e: -at(p, y)),
    "label-left-out": loss(
        each=lambda p, y, e: (
            -(1 - e) * at(p, y) - e * (p.sum(-1) - at(p, y)) / (p.size(-1) - 1)
        )
    ),
    "too-much-mass": loss(each=lambda p, y, e: -at(p, y) - e * p.mean(-1)),
    "mass-times-v": loss(each=lambda p, y, e: -(1 - e) * at(p, y) - e * p.sum(-1)),
    "overflow": loss(
        start=lambda x: x.softmax(-1).log(),
        end=lambda v, real: v[real].mean(),
    ),
    "gradient-cut": loss(end=lambda v, real: v[real].mean().detach()),
    "wrong-numbers": loss(end=lambda v, real: v[real].mean() + 0.5),
    "stub": stub,
    "signature": lambda logits, labels: logits.mean(),
}


@pytest.mark.parametrize("diagnosis", LOSS_MISTAKES)
def test_a_mistake_in_the_loss_is_called_by_its_name(diagnosis, capsys):
    result = check.cross_entropy(LOSS_MISTAKES[diagnosis])
    assert not result
    assert result.diagnosis == diagnosis
    assert capsys.readouterr().out.startswith("✗ Your cross_entropy is not right yet.")


def torchs(logits, labels, *, pad_id, smoothing=0.0):
    return functional.cross_entropy(
        logits.flatten(0, -2),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=smoothing,
    )


@pytest.mark.parametrize("right", [cross_entropy, torchs, loss()])
def test_right_losses_pass(right, capsys):
    assert check.cross_entropy(right)
    assert capsys.readouterr().out.startswith("✓")


def rate(formula):
    def mine(step, *, d_model, warmup_steps, scale=1.0):
        return scale * formula(step, d_model, warmup_steps)

    return mine


RATE_MISTAKES = {
    "max": rate(lambda s, d, w: d**-0.5 * max(s**-0.5, s * w**-1.5)),
    "no-warm-up": rate(lambda s, d, w: (d * s) ** -0.5),
    "no-decay": rate(lambda s, d, w: d**-0.5 * s * w**-1.5),
    "warmup-exponent": rate(lambda s, d, w: d**-0.5 * min(s**-0.5, s * w**-0.5)),
    "linear-warm-up-to-one": rate(lambda s, d, w: d**-0.5 * min(s**-0.5, s / w)),
    "no-width": rate(lambda s, d, w: min(s**-0.5, s * w**-1.5)),
    "width-upside-down": rate(lambda s, d, w: d**0.5 * min(s**-0.5, s * w**-1.5)),
    "step-from-zero": rate(
        lambda s, d, w: d**-0.5 * min((s + 1) ** -0.5, (s + 1) * w**-1.5)
    ),
    "inverse-not-root": rate(lambda s, d, w: d**-0.5 * min(w**0.5 / s, s * w**-1.5)),
    "wrong-numbers": rate(lambda s, d, w: 0.001),
    "not-a-number": rate(lambda s, d, w: torch.tensor([1.0, 2.0])),
    "scale-ignored": lambda step, *, d_model, warmup_steps, scale=1.0: (
        inverse_square_root(step, d_model=d_model, warmup_steps=warmup_steps)
    ),
}


@pytest.mark.parametrize("diagnosis", RATE_MISTAKES)
def test_a_mistake_in_the_rate_is_called_by_its_name(diagnosis):
    result = check.inverse_square_root(RATE_MISTAKES[diagnosis])
    assert not result
    assert result.diagnosis == diagnosis


def test_the_packages_own_rate_passes():
    assert check.inverse_square_root(inverse_square_root)


def smoothed(row):
    """A target function from what it does with a one-hot row, V and epsilon."""

    def mine(labels, *, vocab_size, smoothing):
        hot = functional.one_hot(labels, vocab_size).double()
        return row(hot, vocab_size, smoothing)

    return mine


def right_target(hot, v, e):
    return (1 - e) * hot + e / v


TARGET_MISTAKES = {
    "no-smoothing": smoothed(lambda hot, v, e: hot),
    "label-left-out": smoothed(
        lambda hot, v, e: (1 - e) * hot + e / (v - 1) * (1 - hot)
    ),
    "too-little-mass": smoothed(lambda hot, v, e: (1 - e) * hot + e / v * (1 - hot)),
    "too-much-mass": smoothed(lambda hot, v, e: hot + e / v),
    "mass-not-shared": smoothed(lambda hot, v, e: (1 - e) * hot + e * (1 - hot)),
    "shares-swapped": smoothed(lambda hot, v, e: e * hot + (1 - e) / v),
    "label-ignored": smoothed(lambda hot, v, e: hot * 0 + 1 / v),
    "label-off-by-one": smoothed(lambda hot, v, e: right_target(hot.roll(1, -1), v, e)),
    "first-row-only": smoothed(
        lambda hot, v, e: right_target(hot, v, e)[:1, :1].expand(hot.shape)
    ),
    "vocabulary-first": smoothed(
        lambda hot, v, e: right_target(hot, v, e).movedim(-1, 0)
    ),
    "shape": smoothed(lambda hot, v, e: right_target(hot, v, e).flatten(0, 1)),
    "integers": smoothed(lambda hot, v, e: right_target(hot, v, e).long()),
    "not-a-tensor": smoothed(lambda hot, v, e: right_target(hot, v, e).tolist()),
    "wrong-numbers": smoothed(lambda hot, v, e: right_target(hot, v, e) ** 2),
    "not-one-hot-at-zero": smoothed(lambda hot, v, e: right_target(hot, v, e or 0.1)),
    "stub": stub_target,
    "signature": lambda labels: labels,
}


@pytest.mark.parametrize("diagnosis", TARGET_MISTAKES)
def test_a_mistake_in_the_target_is_called_by_its_name(diagnosis, capsys):
    result = check.smoothed_target(TARGET_MISTAKES[diagnosis])
    assert not result
    assert result.diagnosis == diagnosis
    said = capsys.readouterr().out
    assert said.startswith("✗ Your smoothed_target is not right yet.")


@pytest.mark.parametrize(
    ("diagnosis", "row"),
    [
        ("mass-not-shared", lambda hot, v, e: (1 - e) * hot + e),
        ("label-off-by-one", lambda hot, v, e: right_target(hot.roll(-1, -1), v, e)),
    ],
)
def test_so_is_the_same_mistake_made_another_way(diagnosis, row):
    assert check.smoothed_target(smoothed(row)).diagnosis == diagnosis


def filled(labels, *, vocab_size, smoothing):
    target = torch.full((*labels.shape, vocab_size), smoothing / vocab_size)
    return target.scatter(-1, labels[..., None], 1 - smoothing + smoothing / vocab_size)


@pytest.mark.parametrize("right", [smoothed(right_target), filled])
def test_right_targets_pass(right, capsys):
    assert check.smoothed_target(right)
    assert capsys.readouterr().out.startswith("✓")


def test_the_right_target_is_the_one_that_the_loss_has_in_mind():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(3, 4, 6, generator=generator, dtype=torch.float64)
    labels = torch.randint(1, 6, (3, 4), generator=generator)
    target = smoothed(right_target)(labels, vocab_size=6, smoothing=0.2)
    by_target = -(target * logits.log_softmax(-1)).sum(-1).mean()
    ours = cross_entropy(logits, labels, pad_id=0, smoothing=0.2)
    torch.testing.assert_close(by_target, ours)
