"""Forced decoding: the model's own log-softmax, looked up in one pass."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from tformer import decode

LENGTHS = [3, 7, 5, 2]
TARGETS = [[5, 6, 7], [4], [], [12, 11, 10, 9, 8, 3]]  # one empty, one with unk


@pytest.fixture
def model(make_model):
    return make_model()


@pytest.fixture
def source_ids(random_ids):
    return random_ids(LENGTHS)


def test_a_score_is_the_sum_of_the_log_softmax_of_the_models_logits(model, source_ids):
    for row, scored in enumerate(decode.score(model, source_ids, TARGETS)):
        pieces = TARGETS[row]
        alone = source_ids[row : row + 1, : LENGTHS[row]]
        with torch.no_grad():
            logits = model(alone, torch.tensor([[1, *pieces]]))[0]
        labels = torch.tensor([*pieces, 2])[:, None]
        log_p = logits.log_softmax(-1).gather(1, labels)[:, 0].tolist()
        assert scored.ids == pieces
        assert scored.log_probabilities == pytest.approx(log_p, abs=1e-5)
        assert scored.log_probability == pytest.approx(sum(log_p), abs=1e-5)
        assert scored.log_probability < 0


def test_it_is_one_pass_over_all_positions(bigram):
    model = bigram()
    decode.score(model, torch.tensor([[5, 2], [6, 2]]), [[4, 5, 6], [7]])
    assert model.calls == [(2, 4)]


def test_lists_of_pieces_and_what_the_model_reads_give_the_same(model, source_ids):
    rows = [torch.tensor([1, *pieces]) for pieces in TARGETS]
    target_ids = pad_sequence(rows, batch_first=True)
    before = target_ids.clone()
    by_tensor = decode.score(model, source_ids, target_ids)
    assert by_tensor == decode.score(model, source_ids, TARGETS)
    assert torch.equal(target_ids, before)


def test_neighbours_and_padding_change_no_score(model, source_ids):
    together = decode.score(model, source_ids, TARGETS)
    wide = F.pad(torch.tensor([[1, 5, 6, 7]]), (0, 4))
    padded = decode.score(model, F.pad(source_ids[:1], (0, 3)), wide)
    alone = [
        decode.score(model, source_ids[row : row + 1, :length], [TARGETS[row]])[0]
        for row, length in enumerate(LENGTHS)
    ]
    for ours, theirs in zip([*together, together[0]], [*alone, *padded], strict=True):
        assert ours.ids == theirs.ids
        wanted = pytest.approx(theirs.log_probabilities, abs=1e-5)
        assert ours.log_probabilities == wanted
    assert len({round(each.log_probability, 3) for each in alone}) == 4


def test_what_searches_return_can_be_scored_as_it_is(model, source_ids):
    greedy = decode.greedy(model, source_ids, max_len=10)
    scored = decode.score(model, source_ids, greedy)
    assert [each.ids for each in scored] == greedy
    wide = decode.n_best(model, source_ids, n=1, beam_size=8, length_penalty=0.0)
    for one, best in zip(scored, wide, strict=True):
        assert one.log_probability <= best[0].log_probability + 1e-5


def test_scoring_is_without_dropout_and_gives_the_mode_back(make_model, source_ids):
    model = make_model(dropout=0.5)
    calm = decode.score(model, source_ids, TARGETS)
    model.train()
    assert decode.score(model, source_ids, TARGETS) == calm
    assert model.training
    model(source_ids, source_ids).sum().backward()  # no inference tensors left behind


@pytest.mark.parametrize(
    ("targets", "error", "message"),
    [
        ([[5], [5]], ValueError, "4 sources and 2 translations"),
        ([], ValueError, r"shape \(batch, length\)"),
        ([[5, 13], [], [], []], ValueError, "token id 13 is outside the vocabulary"),
        ([[4] * 16, [], [], []], ValueError, "of 16 pieces is too long.*takes 15"),
        ([[5, 2], [], [], []], ValueError, "translation 0 holds the special id 2"),
        ([[], [1, 5], [], []], ValueError, "translation 1 holds the special id 1"),
        ([[], [5, 0, 6], [], []], ValueError, "translation 1 holds the special id 0"),
        ([[], [], [], [5, 0]], ValueError, "translation 3 holds the special id 0"),
        ([[5.5], [], [], []], ValueError, "piece of translation 0=5.5 must be a whole"),
        ([[True], [], [], []], TypeError, "piece of translation 0=True must be a who"),
        (torch.tensor([[1, 5, 2]] * 4), ValueError, r"row 0 .*without eos \(2\)"),
        (torch.tensor([[1, 5, 1]] * 4), ValueError, r"row 0 .*give bos \(1\)"),
        (torch.tensor([[5, 6]] * 4), ValueError, r"row 0 .*give bos \(1\)"),
        (torch.tensor([[0, 1, 6]] * 4), ValueError, "row 0 .*padded on the right"),
        (torch.ones(4, 2), TypeError, "int64, got torch.float32"),
    ],
)
def test_what_cannot_be_scored_is_refused(targets, error, message, model, source_ids):
    with pytest.raises(error, match=message):
        decode.score(model, source_ids, targets)
    with pytest.raises(ValueError, match="row 0 has pad_id=0 before its last token"):
        decode.score(model, source_ids.flip(1), TARGETS)
