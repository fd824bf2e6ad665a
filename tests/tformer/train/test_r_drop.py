"""R-Drop: what it adds to the loss, and that a run computes it."""

from __future__ import annotations

import pytest
import torch
from small_runs import (
    assert_same_weights,
    quick,
    quick_fit,
    small,
    weights_of,
    without_time,
)
from torch.nn import functional as F
from torch.testing import assert_close

from tformer.data.batches import Batch
from tformer.loss import cross_entropy
from tformer.train.loop import Lesson
from tformer.train.r_drop import divergence

PAD = 0


def two_passes(dtype=torch.float64, *, v=11, d=6):
    torch.manual_seed(1)
    hidden = torch.randn(4, 5, d, dtype=dtype, requires_grad=True)
    table = torch.randn(v, d, dtype=dtype, requires_grad=True)
    labels = torch.randint(1, v, (2, 5))
    labels[1, 3:] = PAD
    return hidden, table, labels.repeat(2, 1)


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("is_told", [False, True])
def test_the_divergence_is_half_the_mean_of_both_of_pytorchs(with_bias, is_told):
    hidden, table, labels = two_passes()
    bias = torch.linspace(-1, 1, len(table), dtype=table.dtype) if with_bias else None
    n_labels = int((labels != PAD).sum()) if is_told else None
    options = {"pad_id": PAD, "bias": bias, "n_labels": n_labels}
    ours = divergence(hidden, table, labels, **options)
    first, second = F.linear(hidden, table, bias).log_softmax(-1).chunk(2)
    is_real = labels[:2] != PAD
    both = [
        F.kl_div(a[is_real], b[is_real], log_target=True, reduction="batchmean")
        for a, b in ((first, second), (second, first))
    ]
    theirs = sum(both) / 4
    assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    for each in (hidden, table):
        gradients = (
            torch.autograd.grad(x, each, retain_graph=True) for x in (ours, theirs)
        )
        assert_close(*(gradient for (gradient,) in gradients))


def test_equal_passes_do_not_diverge_and_the_order_does_not_matter():
    hidden, table, labels = two_passes()
    first, second = hidden.chunk(2)

    def between(a, b):
        return divergence(torch.cat([a, b]), table, labels, pad_id=PAD)

    assert between(first, first) == 0
    assert between(first, second) > 0.1
    assert_close(between(first, second), between(second, first))


def test_the_divergence_of_bfloat16_is_computed_in_float32():
    hidden, table, labels = two_passes(torch.bfloat16)
    assert divergence(hidden, table, labels, pad_id=PAD).dtype == torch.float32


def test_r_drop_adds_how_far_two_passes_disagree(make_model, random_ids):
    model = make_model(dropout=0.3).train()
    source, target = random_ids([5, 3]), random_ids([4, 2])
    labels = random_ids([4, 2], seed=1)
    batch = Batch(source, target, labels, n_tokens=14, n_labels=6)
    torch.manual_seed(3)
    lean = Lesson(model)(batch, 0.1, 5.0)
    torch.manual_seed(3)
    logits = model(source.repeat(2, 1), target.repeat(2, 1))  # the same dropped
    plain = cross_entropy(logits, labels.repeat(2, 1), pad_id=0, smoothing=0.1)
    first, second = logits.log_softmax(-1).chunk(2)
    each = ((first.exp() - second.exp()) * (first - second)).sum(-1)
    assert_close(lean, plain + 5 * each[labels != 0].mean() / 4)
    assert lean > plain + 0.01
    assert_close(batch.twice().labels, labels.repeat(2, 1))
    assert (batch.twice().n_tokens, batch.twice().n_labels) == (28, 12)


def test_a_run_with_r_drop_repeats_and_differs_from_one_without(tokenizer, tmp_path):
    options = {"config": small(dropout=0.3), "recipe": quick(r_drop=5.0)}
    first = quick_fit(tokenizer, tmp_path / "a", **options)
    again = quick_fit(tokenizer, tmp_path / "b", **options)
    without = quick_fit(
        tokenizer, tmp_path / "c", config=small(dropout=0.3), recipe=quick()
    )
    assert_same_weights(weights_of(first), weights_of(again))
    assert without_time(first.history) != without_time(without.history)
    with pytest.raises(ValueError, match="r_drop"):  # another run's folder
        quick_fit(tokenizer, tmp_path / "a", config=small(dropout=0.3))


def test_r_drop_without_dropout_is_refused(tokenizer, tmp_path):
    with pytest.raises(ValueError, match=r"r_drop=5.0 needs dropout above 0"):
        quick_fit(
            tokenizer,
            tmp_path,
            config=small(dropout=0.0),
            recipe=quick(r_drop=5.0),
        )
    assert not any(tmp_path.iterdir())
