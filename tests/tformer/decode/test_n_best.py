"""Lists of the best: sorted, distinct, and as probable as they say."""

from __future__ import annotations

import functools
import itertools

import pytest
import torch
from torch.nn import functional as F

from tformer import decode

LENGTHS = [3, 7, 5, 2, 6, 4]


@pytest.fixture
def found(make_model, random_ids):
    model, source_ids = make_model(seed=12), random_ids(LENGTHS)
    return model, source_ids, decode.n_best(model, source_ids, n=5, beam_size=6)


def ids_of(lists):
    return [[each.ids for each in best] for best in lists]


def test_a_list_is_sorted_and_no_two_of_it_are_alike(found):
    for best in found[2]:
        assert len(best) == 5
        scores = [each.score for each in best]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(each.ids) for each in best}) == 5
    assert len({len(each.ids) for best in found[2] for each in best}) > 4
    by_p = [[each.log_probability for each in best] for best in found[2]]
    assert by_p != [sorted(each, reverse=True) for each in by_p]  # lengths matter


def test_each_is_as_probable_as_forced_decoding_finds_it(found):
    model, source_ids, lists = found
    for rank in range(5):
        hypotheses = [best[rank] for best in lists]
        scored = decode.score(model, source_ids, [each.ids for each in hypotheses])
        for one, again in zip(hypotheses, scored, strict=True):
            wanted = pytest.approx(again.log_probability, abs=1e-4)
            assert one.log_probability == wanted
            penalty = decode.length_penalty_of(len(one.ids) + 1, 0.6)
            assert one.score == pytest.approx(one.log_probability / penalty)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_asking_for_fewer_gives_the_first_ones(alpha, n, make_model, random_ids):
    for seed in (7, 12, 14):  # these end their sentences at many lengths
        model, source_ids = make_model(seed=seed), random_ids(LENGTHS)
        options = {"beam_size": 4, "length_penalty": alpha, "max_len": 10}
        four = decode.n_best(model, source_ids, n=4, **options)
        fewer = decode.n_best(model, source_ids, n=n, **options)
        assert ids_of(fewer) == [ids[:n] for ids in ids_of(four)]
        first = decode.beam_search(model, source_ids, **options)
        assert first == [best[0].ids for best in four]


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_a_beam_as_wide_as_all_there_is_finds_the_best_of_all(alpha, bigram):
    for seed in range(8):
        model, source_ids = bigram(7, seed), torch.tensor([[5, 2]])
        words = (itertools.product((4, 5, 6), repeat=n) for n in range(4))
        every = [list(each) for each in itertools.chain(*words)]
        scores = {}
        for each in decode.score(model, source_ids.expand(len(every), -1), every):
            penalty = decode.length_penalty_of(len(each.ids) + 1, alpha)
            scores[tuple(each.ids)] = each.log_probability / penalty
        wanted = sorted(scores, key=lambda ids: -scores[ids])[:10]
        options = {"beam_size": 200, "length_penalty": alpha, "max_len": 3}
        [best] = decode.n_best(model, source_ids, n=10, **options)
        assert [tuple(each.ids) for each in best] == wanted
        assert [e.score for e in best] == pytest.approx([scores[i] for i in wanted])


def test_neighbours_padding_and_the_cache_change_nothing(found):
    model, source_ids, lists = found
    ids = ids_of(lists)
    search = functools.partial(decode.n_best, model, n=5, beam_size=6)
    assert ids_of(search(source_ids, use_cache=False)) == ids
    assert ids_of(search(F.pad(source_ids, (0, 2)))) == ids
    for row, length in enumerate(LENGTHS):
        assert ids_of(search(source_ids[row : row + 1, :length])) == [ids[row]]


def test_where_there_are_fewer_fewer_are_given(bigram):
    source_ids = torch.tensor([[4, 2]])
    [best] = decode.n_best(bigram(5), source_ids, n=9, beam_size=9, max_len=2)
    assert sorted((each.ids for each in best), key=len) == [[], [4], [4, 4]]


def test_one_broken_row_is_enough_to_refuse(bigram):
    model = bigram(6)
    with torch.no_grad():
        model.logits[5] = float("nan")  # only sentences that say 5 meet it
    model.logits.data[1, 5] = 9.0
    with pytest.raises(ValueError, match=r"NaN.*earlier checkpoint"):
        decode.n_best(model, torch.tensor([[4, 2], [5, 2]]), max_len=5)


@pytest.mark.parametrize(
    ("n", "rule"), [(0, "at least 1"), (-1, "at least 1"), (5, "at most beam_size=4")]
)
def test_a_list_longer_than_the_beam_is_refused(n, rule, bigram):
    with pytest.raises(ValueError, match=rf"n_best={n} must be {rule}"):
        decode.n_best(bigram(), torch.tensor([[5, 2]]), n=n)
