"""The loss: PyTorch's own cross-entropy, padding left out, mass smoothed."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F
from torch.testing import assert_close

from tformer.loss import cross_entropy, projected_cross_entropy

PAD = 0


def scores_and_labels(dtype=torch.float32, *, v=11):
    torch.manual_seed(0)
    logits = 4 * torch.randn(3, 5, v, dtype=dtype)
    labels = torch.randint(1, v, (3, 5))
    labels[0, 3:] = labels[2, 1:] = PAD
    return logits.requires_grad_(), labels


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_pytorchs_cross_entropy_in_value_and_gradient(smoothing, dtype):
    tolerance = 1e-6 if dtype == torch.float32 else 1e-12
    logits, labels = scores_and_labels(dtype)
    ours = cross_entropy(logits, labels, pad_id=PAD, smoothing=smoothing)
    rows, wanted = logits.flatten(0, 1), labels.flatten()
    options = {"ignore_index": PAD, "label_smoothing": smoothing}
    theirs = F.cross_entropy(rows, wanted, **options)
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
    loss = cross_entropy(logits, labels, pad_id=PAD, smoothing=0.1)
    assert_close(cross_entropy(more, wider, pad_id=PAD, smoothing=0.1), loss)


def test_a_model_that_knows_nothing_is_surprised_by_log_v():
    logits, labels = torch.zeros(1, 3, 50), torch.tensor([[3, 4, 5]])
    for smoothing in (0.0, 0.1):
        loss = cross_entropy(logits, labels, pad_id=PAD, smoothing=smoothing)
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
        (torch.zeros(3, 5), 0.0, TypeError, "labels must be int64, got torch.float32"),
        (torch.ones(3, 4).long(), 0.0, ValueError, r"need labels \(3, 5\), got \(3, 4"),
        (torch.ones(3, 5).long(), 1.0, ValueError, "smoothing=1.0"),
        (torch.ones(3, 5).long(), -0.1, ValueError, "smoothing=-0.1"),
    ],
)
def test_what_does_not_fit_is_refused(labels, smoothing, error, message):
    logits, _ = scores_and_labels()
    with pytest.raises(error, match=message):
        cross_entropy(logits, labels, pad_id=PAD, smoothing=smoothing)
    hidden, table, _ = streams_and_table()
    with pytest.raises(error, match=message):
        projected_cross_entropy(hidden, table, labels, pad_id=PAD, smoothing=smoothing)


# --- without ever holding all the logits -------------------------------------------


def streams_and_table(dtype=torch.float64, *, v=11, d=6):
    _, labels = scores_and_labels(v=v)
    hidden = torch.randn(3, 5, d, dtype=dtype, requires_grad=True)
    table = torch.randn(v, d, dtype=dtype, requires_grad=True)
    return hidden, table, labels


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("rows", [1, 4, 128])
@pytest.mark.parametrize("biased", [False, True])
def test_made_in_parts_it_is_the_same(biased, smoothing, rows, monkeypatch):
    """In value and gradients."""
    monkeypatch.setattr("tformer.fast.loss.ROWS_ON_A_CPU", rows)
    hidden, table, labels = streams_and_table()
    bias = torch.randn(len(table), dtype=torch.float64, requires_grad=True)
    given = [hidden, table, bias] if biased else [hidden, table]
    settings = {"pad_id": PAD, "smoothing": smoothing}
    logits = hidden @ table.T + (bias if biased else 0)
    clear = cross_entropy(logits, labels, **settings)
    more = {"bias": bias} if biased else {}
    lean = projected_cross_entropy(hidden, table, labels, **more, **settings)
    assert_close(lean, clear, rtol=1e-12, atol=1e-12)
    wanted = torch.autograd.grad(3 * clear, given)
    found = torch.autograd.grad(3 * lean, given)
    assert_close(found, wanted, rtol=1e-10, atol=1e-12)


def test_a_tied_table_gathers_the_gradients_of_both_its_uses():
    hidden, table, labels = streams_and_table()

    def gradient(last_step):
        embedded = table[labels.clamp(max=2)] * hidden  # the table on the way in
        return torch.autograd.grad(last_step(embedded), table)[0]

    clear = gradient(lambda x: cross_entropy(x @ table.T, labels, pad_id=PAD))
    lean = gradient(lambda x: projected_cross_entropy(x, table, labels, pad_id=PAD))
    assert_close(lean, clear, rtol=1e-10, atol=1e-12)


def test_under_autocast_it_is_as_close_as_the_logits_of_that_precision():
    hidden, table, labels = streams_and_table(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        lean = projected_cross_entropy(hidden, table, labels, pad_id=PAD, smoothing=0.1)
        logits = hidden @ table.T
    assert logits.dtype == torch.bfloat16
    clear = cross_entropy(logits, labels, pad_id=PAD, smoothing=0.1)
    assert lean.dtype == torch.float32
    assert_close(lean, clear, rtol=1e-5, atol=1e-5)
    found, wanted = (torch.autograd.grad(loss, table)[0] for loss in (lean, clear))
    assert_close(found, wanted, rtol=0.05, atol=0.01)


def test_without_gradients_it_keeps_none_and_says_the_same():
    hidden, table, labels = streams_and_table()
    wanted = cross_entropy(hidden @ table.T, labels, pad_id=PAD)
    with torch.no_grad():
        found = projected_cross_entropy(hidden, table, labels, pad_id=PAD)
    assert not found.requires_grad
    assert_close(found, wanted.detach(), rtol=1e-12, atol=1e-12)
