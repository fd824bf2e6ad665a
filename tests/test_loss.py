"""The loss: PyTorch's own cross-entropy, padding left out, mass smoothed."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from tformer.loss import cross_entropy

PAD = 0


def scores_and_labels(dtype=torch.float32, *, v=11):
    torch.manual_seed(0)
    logits = 4 * torch.randn(3, 5, v, dtype=dtype)
    labels = torch.randint(1, v, (3, 5))
    labels[0, 3:] = labels[2, 1:] = PAD
    return logits.requires_grad_(), labels


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-12)]
)
def test_it_is_pytorchs_cross_entropy_in_value_and_gradient(
    smoothing, dtype, tolerance
):
    logits, labels = scores_and_labels(dtype)
    ours = cross_entropy(logits, labels, pad_id=PAD, smoothing=smoothing)
    theirs = F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
    )
    assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    grad_ours, grad_theirs = (torch.autograd.grad(x, logits)[0] for x in (ours, theirs))
    assert_close(grad_ours, grad_theirs, rtol=tolerance, atol=tolerance)


def test_smoothing_is_cross_entropy_against_the_smoothed_distribution():
    logits, labels = scores_and_labels(torch.float64)
    v, smoothing = logits.size(-1), 0.1
    wanted = torch.full_like(logits, smoothing / v)  # 0.1 over all V pieces, label too
    wanted.scatter_(-1, labels[..., None], 1 - smoothing + smoothing / v)
    assert_close(wanted.sum(-1), torch.ones(3, 5, dtype=torch.float64))
    each = -(wanted * logits.log_softmax(-1)).sum(-1)
    ours = cross_entropy(logits, labels, pad_id=PAD, smoothing=smoothing)
    assert_close(ours, each[labels != PAD].mean(), rtol=1e-12, atol=1e-12)


def test_what_stands_at_padding_changes_nothing():
    logits, labels = scores_and_labels()
    before = cross_entropy(logits, labels, pad_id=PAD, smoothing=0.1)
    noisy = logits.detach().clone()
    noisy[labels == PAD] = 1e4
    after = cross_entropy(noisy, labels, pad_id=PAD, smoothing=0.1)
    assert_close(after, before, rtol=0, atol=0)
    (grad,) = torch.autograd.grad(before, logits)
    assert (grad[labels == PAD] == 0).all()
    assert (grad[labels != PAD] != 0).all()


def test_more_padding_changes_nothing():
    logits, labels = scores_and_labels()
    wider = torch.cat([labels, torch.full((3, 4), PAD)], dim=1)
    more = torch.cat([logits, torch.randn(3, 4, logits.size(-1))], dim=1)
    assert_close(
        cross_entropy(more, wider, pad_id=PAD, smoothing=0.1),
        cross_entropy(logits, labels, pad_id=PAD, smoothing=0.1),
    )


def test_a_model_that_knows_nothing_is_surprised_by_log_v():
    labels = torch.tensor([[3, 4, 5]])
    for smoothing in (0.0, 0.1):
        loss = cross_entropy(
            torch.zeros(1, 3, 50), labels, pad_id=PAD, smoothing=smoothing
        )
        assert loss.item() == pytest.approx(math.log(50), rel=1e-6)


def test_certainty_costs_nothing_unless_labels_are_smoothed():
    labels = torch.tensor([[3, 4]])
    certain = 50.0 * F.one_hot(labels, 10).float()
    assert cross_entropy(certain, labels, pad_id=PAD).item() == pytest.approx(0)
    smoothed = cross_entropy(certain, labels, pad_id=PAD, smoothing=0.1).item()
    assert smoothed == pytest.approx(0.1 * 50 * 9 / 10)  # mass on nine others, 50 nats


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_summed_in_float32(dtype):
    logits, labels = scores_and_labels()
    half = (30 * logits).detach().to(dtype)
    loss = cross_entropy(half, labels, pad_id=PAD, smoothing=0.1)
    assert loss.dtype == torch.float32
    same = cross_entropy(half.float(), labels, pad_id=PAD, smoothing=0.1)
    assert_close(loss, same, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("labels", "smoothing", "error", "message"),
    [
        (torch.zeros(3, 5), 0.0, TypeError, "int64, got torch.float32"),
        (
            torch.zeros(3, 4, dtype=torch.int64),
            *(0.0, ValueError, r"need labels \(3, 5\), got \(3, 4\)"),
        ),
        (torch.ones(3, 5, dtype=torch.int64), 1.0, ValueError, "smoothing=1.0"),
        (torch.ones(3, 5, dtype=torch.int64), -0.1, ValueError, "smoothing=-0.1"),
    ],
)
def test_what_does_not_fit_is_refused(labels, smoothing, error, message):
    logits, _ = scores_and_labels()
    with pytest.raises(error, match=message):
        cross_entropy(logits, labels, pad_id=PAD, smoothing=smoothing)
