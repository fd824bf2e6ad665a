"""What graders compute themselves is what the field's own tools compute."""

import pytest
import torch
from sacrebleu.metrics import BLEU
from torch.testing import assert_close

from tformer import decode
from tformer.attention import attention
from tformer.loss import cross_entropy
from tformer_book.check.problems import one_at_a_time, smoothed_target, top_p_filter
from tformer_book.check.problems._bleu import bleu
from tformer_book.check.problems.sentence_bleu import HYPOTHESES, REFERENCE


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=" ".join)
def test_the_graders_bleu_is_sacrebleus(hypothesis):
    metric = BLEU(tokenize="none", force=True)
    score = metric.corpus_score([" ".join(hypothesis)], [[" ".join(REFERENCE)]])
    assert bleu(hypothesis, REFERENCE) == pytest.approx(score.score)


@pytest.mark.parametrize(("values", "top_p"), top_p_filter.CASES)
def test_the_graders_top_p_is_the_packages_and_hangs_on_no_rounding(values, top_p):
    p = torch.tensor(values, dtype=torch.float64)
    kept = top_p_filter._keep(p, top_p)
    assert_close(kept, decode.distribution(p.log(), top_p=top_p))
    reached = p.sort(descending=True)[0].cumsum(0)
    assert (reached - top_p).abs().min() > 0.01


def test_the_graders_smoothed_target_is_the_one_that_the_loss_has_in_mind():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(3, 4, 6, generator=generator, dtype=torch.float64)
    labels = torch.randint(1, 6, (3, 4), generator=generator)
    right = smoothed_target._of(lambda t: t.right)
    target = right(labels, vocab_size=6, smoothing=0.2)
    by_target = -(target * logits.log_softmax(-1)).sum(-1).mean()
    assert_close(by_target, cross_entropy(logits, labels, pad_id=0, smoothing=0.2))


def test_attention_key_by_key_is_attention():
    query, keys, values = torch.randn(4), torch.randn(6, 4), torch.randn(6, 3)
    streamed = one_at_a_time._streamed(query, keys, values)
    assert_close(streamed, attention(query[None], keys, values)[0][0])
