"""The graders of *Decoding and scoring* know what the field's own tools compute."""

import pytest
import torch
from sacrebleu.metrics import BLEU
from torch.testing import assert_close

from tformer import decode
from tformer_book import check
from tformer_book.check.problems import cached_greedy, top_p_filter
from tformer_book.check.problems._bleu import bleu
from tformer_book.check.problems.sentence_bleu import HYPOTHESES, REFERENCE


@pytest.mark.parametrize("hypothesis", HYPOTHESES, ids=" ".join)
def test_the_graders_bleu_is_sacrebleus(hypothesis):
    metric = BLEU(tokenize="none", force=True)
    score = metric.corpus_score([" ".join(hypothesis)], [[" ".join(REFERENCE)]])
    assert bleu(hypothesis, REFERENCE) == pytest.approx(score.score)


@pytest.mark.parametrize(("values", "top_p"), top_p_filter.CASES)
def test_the_graders_top_p_is_the_packages(values, top_p):
    p = torch.tensor(values, dtype=torch.float64)
    assert_close(
        top_p_filter._keep(p, top_p), decode.distribution(p.log(), top_p=top_p)
    )


def test_no_case_of_top_p_hangs_on_rounding():
    for values, top_p in top_p_filter.CASES:
        reached = torch.tensor(values, dtype=torch.float64).sort(descending=True)[0]
        assert (reached.cumsum(0) - top_p).abs().min() > 0.01


def test_a_cache_that_is_lost_changes_what_the_hidden_model_says():
    kept, lost = cached_greedy._loop(20), cached_greedy._loop(20, keeps=False)
    assert kept == list(cached_greedy.PATH) != lost


@pytest.mark.parametrize(
    "name",
    [
        "cached_greedy",
        "clipped_precision",
        "length_penalised",
        "sentence_bleu",
        "top_p_filter",
    ],
)
def test_unfinished_work_is_told_so(name):
    def stub(*args, **options):
        raise NotImplementedError

    assert getattr(check, name)(stub).diagnosis == "stub"
