"""Sampling: what is drawn is as frequent as it is probable, and repeats."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.testing import assert_close

from tformer import decode
from tformer.decode import distribution

SPECIAL = {0, 1, 2, 3}
KNOWN = torch.tensor([0.5, 0.3, 0.2])
LOGITS = st.lists(st.floats(-9, 9, width=32), min_size=1, max_size=12)


def kept(p) -> set[int]:
    return set(p.nonzero().flatten().tolist())


# --- the distribution --------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_temperature_divides_the_logits(temperature):
    logits = torch.randn(4, 9)
    p = distribution(logits, temperature=temperature)
    assert_close(p, torch.softmax(logits / temperature, -1))
    assert_close(distribution(logits.log_softmax(-1), temperature=temperature), p)


def most_probable(logits, **cut):
    """How many are kept, and all p by rank; kept are the first, in proportion."""
    p, all_p = distribution(logits, **cut), distribution(logits)
    by_rank = sorted(range(len(logits)), key=lambda i: (-float(all_p[i]), i))
    n = len(kept(p))
    assert kept(p) == set(by_rank[:n])
    remains = all_p * (p > 0)
    assert_close(p, remains / remains.sum())
    return n, all_p[by_rank].tolist()


@given(LOGITS, st.integers(1, 14))
def test_top_k_keeps_the_k_most_probable_in_their_proportions(logits, k):
    n, _ = most_probable(torch.tensor(logits), top_k=k)
    assert n == min(k, len(logits))


@given(LOGITS, st.floats(0.01, 0.99))
def test_top_p_keeps_the_smallest_set_that_reaches_the_mass(logits, top_p):
    n, by_rank = most_probable(torch.tensor(logits), top_p=top_p)
    assert sum(by_rank[:n]) >= top_p - 1e-5
    assert sum(by_rank[: n - 1]) < top_p + 1e-5


@pytest.mark.parametrize(
    ("top_p", "survivors"),
    [(1e-9, {0}), (0.5, {0}), (0.51, {0, 1}), (0.8, {0, 1}), (0.81, {0, 1, 2})],
)
def test_a_mass_that_is_reached_exactly_is_reached(top_p, survivors):
    """Though 0.5 + 0.3 is not 0.8 in floating point."""
    assert kept(distribution(KNOWN.log(), top_p=top_p)) == survivors
    mirrored = kept(distribution(KNOWN.flip(0).log(), top_p=top_p))
    assert mirrored == {2 - i for i in survivors}


def test_temperature_comes_first_then_top_k_then_top_p():
    # Of the two that top-k leaves, the first has 0.5 / 0.8 = 0.625 of the mass.
    assert kept(distribution(KNOWN.log(), top_k=2, top_p=0.6)) == {0}
    assert kept(distribution(KNOWN.log(), top_p=0.6)) == {0, 1}
    # At temperature 1/2 the first has 0.25 / 0.38 = 0.66 of the mass.
    assert kept(distribution(KNOWN.log(), top_p=0.65, temperature=0.5)) == {0}


@pytest.mark.parametrize("cut", [{"top_k": 2}, {"top_p": 0.5}])
def test_of_equal_pieces_the_lower_id_stays(cut):
    assert kept(distribution(torch.zeros(4), **cut)) == {0, 1}


def test_top_p_of_one_and_top_k_beyond_the_vocabulary_cut_nothing():
    logits = torch.cat([torch.randn(500), torch.tensor([-80.0])])  # p about 1e-35
    for same in ({"top_p": 1.0}, {"top_k": 9999}, {"top_k": 501, "top_p": 1}):
        p = distribution(logits, **same)
        assert (p > 0).all()
        assert_close(p, torch.softmax(logits, -1))


def test_as_temperature_falls_only_the_best_piece_stays_and_as_it_rises_all_are_equal():
    logits = torch.tensor([[3.0, 2.9, -math.inf, 1e4], [5.0, -5e3, 4.999, 0.0]])
    cold = distribution(logits, temperature=1e-6)
    assert_close(cold, F.one_hot(logits.argmax(-1), 4).float())
    hot = distribution(logits, temperature=1e30)
    assert_close(hot, torch.tensor([[1 / 3, 1 / 3, 0, 1 / 3], [0.25] * 4]))


def test_what_is_ruled_out_stays_ruled_out():
    log_p = torch.tensor([0.5, 0.0, 0.5, 0.0]).log()
    for options in ({}, {"top_k": 3}, {"top_p": 0.99}, {"temperature": 1e6}):
        assert kept(distribution(log_p, **options)) == {0, 2}


def test_rows_are_apart_and_the_input_stays_as_it_is():
    logits = torch.randn(2, 3, 7)
    before = logits.clone()
    p = distribution(logits, temperature=0.7, top_k=5, top_p=0.9)
    assert torch.equal(logits, before)
    assert_close(p.sum(-1), torch.ones(2, 3))
    for i in range(2):
        for j in range(3):
            row = distribution(logits[i, j], temperature=0.7, top_k=5, top_p=0.9)
            assert_close(p[i, j], row)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_a_distribution_has_at_least_single_precision(dtype):
    p = distribution(torch.randn(6000).to(dtype), top_p=0.999, top_k=5000)
    assert p.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert float(p.sum()) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "temperature=0.0 must be at least .*search greedily"),
        ({"temperature": -1.0}, "temperature=-1.0 must be at least .*greedily"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"temperature": math.inf}, "temperature=inf .*finite"),
        ({"top_k": 0}, "top_k=0 must be at least 1"),
        ({"top_k": -3}, "top_k=-3"),
        ({"top_k": 2.5}, "top_k=2.5 must be a whole number"),
        ({"top_p": 0.0}, "top_p=0.0 must be above 0"),
        ({"top_p": 1.01}, "top_p=1.01 must be at most 1"),
        ({"top_p": math.nan}, "top_p=nan"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message, bigram):
    with pytest.raises(ValueError, match=message):
        distribution(KNOWN, **options)
    with pytest.raises(ValueError, match=message):
        decode.sample(bigram(), torch.tensor([[5, 2]]), **options)


@pytest.mark.parametrize("bad", [math.nan, math.inf, None])
def test_logits_that_are_no_numbers_or_leave_no_piece_are_refused(bad):
    rows = torch.zeros(3, 4)
    rows[1] = -math.inf if bad is None else torch.tensor([0, bad, 0, 0])
    for options in ({}, {"top_k": 2}, {"top_p": 0.5}):
        with pytest.raises(ValueError, match="no next piece can be drawn.*NaN"):
            distribution(rows, **options)


# --- drawing -----------------------------------------------------------------------


def chi_square(counts: Counter, p: dict, n: int) -> tuple[float, float]:
    """Pearson's statistic, and what it exceeds once in 100,000 fair draws."""
    assert set(counts) <= {each for each, mass in p.items() if mass > 0}
    found = sum((counts[e] - n * q) ** 2 / (n * q) for e, q in p.items() if q > 0)
    df = sum(q > 0 for q in p.values()) - 1
    shrink = 2 / (9 * df)  # Wilson and Hilferty's approximation
    return found, df * (1 - shrink + 4.265 * math.sqrt(shrink)) ** 3


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.6}, {"top_k": 4}, {"top_p": 0.7}]
)
def test_pieces_are_drawn_as_often_as_they_are_probable(options, bigram):
    """First and second pieces together, so that the draws of a row are free too."""
    model, n = bigram(), 20_000
    source_ids = torch.tensor([[5, 2]]).expand(n, -1)
    drawn = Counter(map(tuple, decode.sample(model, source_ids, max_len=2, **options)))

    allowed = model.logits.detach().log_softmax(-1)
    allowed[:, [0, 1, 3]] = -math.inf
    p = distribution(allowed, **options)
    wanted = {(): float(p[1, 2])}
    for a in range(4, 8):
        wanted[(a,)] = float(p[1, a] * p[a, 2])
        wanted |= {(a, b): float(p[1, a] * p[a, b]) for b in range(4, 8)}
    assert sum(wanted.values()) == pytest.approx(1, abs=1e-5)
    found, limit = chi_square(drawn, wanted, n)
    assert found < limit

    even = {each: 1 / len(wanted) for each in wanted}  # the test can fail
    assert chi_square(Counter(drawn), even, n)[0] > 10 * limit


def test_equal_seeds_repeat_and_others_do_not(make_model, random_ids):
    model, source_ids = make_model(), random_ids([3, 7, 5, 5, 2, 6])
    before = torch.get_rng_state()
    first = decode.sample(model, source_ids, seed=5, max_len=12)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(99)  # the caller's random numbers play no part
    assert decode.sample(model, source_ids, seed=5, max_len=12) == first
    assert decode.sample(model, source_ids, seed=6, max_len=12) != first
    assert len({len(ids) for ids in first}) > 1
    assert not SPECIAL & {piece for ids in first for piece in ids}


def test_neighbours_and_padding_do_not_change_what_is_drawn(make_model, random_ids):
    model, lengths = make_model(), [3, 7, 5, 5, 2, 6]
    source_ids, seeds = random_ids(lengths), decode.row_seeds(4, 6)
    together = decode.sample(model, source_ids, seed=4, max_len=12)
    assert decode.sample(model, source_ids, seed=seeds, max_len=12) == together
    wider = F.pad(source_ids, (0, 3))
    assert decode.sample(model, wider, seed=4, max_len=12) == together
    for row, length in enumerate(lengths):
        alone = source_ids[row : row + 1, :length]
        [ids] = decode.sample(model, alone, seed=seeds[row], max_len=12)
        assert ids == together[row]
        [other] = decode.sample(model, alone, seed=[99 + row], max_len=12)
        assert other != ids


def test_rows_of_one_sentence_become_different_translations(make_model, random_ids):
    source_ids = random_ids([5]).expand(30, -1)
    drawn = {tuple(ids) for ids in decode.sample(make_model(), source_ids, max_len=8)}
    assert len(drawn) > 25


def test_seeds_share_no_row():
    """Else the second sample of seed 0 would be the first of seed 1."""
    seeds = [each for seed in range(50) for each in decode.row_seeds(seed, 100)]
    assert len({each % 2**32 for each in seeds}) == 5000  # torch takes 32 bits
    assert decode.row_seeds(7, 1) == [7]


def test_a_smaller_max_len_cuts_the_same_translation_short(make_model, random_ids):
    model, source_ids = make_model(), random_ids([4] * 12)
    long = decode.sample(model, source_ids, max_len=15)
    for max_len in (1, 6):
        short = decode.sample(model, source_ids, max_len=max_len)
        assert short == [ids[:max_len] for ids in long]
    assert decode.sample(model, source_ids, max_len=999) == long  # the model's own 16


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_cache_changes_no_sample(norm, make_model, random_ids):
    model, source_ids = make_model(norm=norm), random_ids([3, 7, 5, 2] * 3)
    options = {"temperature": 1.3, "top_p": 0.95, "max_len": 12}
    drawn = decode.sample(model, source_ids, **options)
    assert drawn == decode.sample(model, source_ids, use_cache=False, **options)


@pytest.mark.parametrize(
    "options", [{"temperature": 1e-6}, {"top_k": 1}, {"top_p": 1e-3}]
)
def test_sampling_ends_up_as_greedy_search(options, make_model, random_ids):
    model, source_ids = make_model(), random_ids([3, 7, 5, 2])
    best = decode.greedy(model, source_ids, max_len=12)
    assert decode.sample(model, source_ids, max_len=12, **options) == best
    assert decode.sample(model, source_ids, max_len=12) != best


def test_only_the_most_probable_pieces_of_each_step_are_drawn(make_model, random_ids):
    model, source_ids = make_model(), random_ids([5]).expand(40, -1)
    outside = 0
    for top_k in (2, None):
        for ids in decode.sample(model, source_ids, top_k=top_k, max_len=6):
            with torch.no_grad():
                logits = model(source_ids[:1], torch.tensor([[1, *ids]]))[0]
            logits[:, [0, 1, 3]] = -math.inf
            said = zip([*ids, 2][:6], logits.topk(2).indices.tolist(), strict=False)
            inside = [piece in best for piece, best in said]
            assert all(inside) or top_k is None
            outside += not all(inside)
    assert outside > 10  # without top-k there were others


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.5, 1 - 2**-53])
def test_the_ends_of_the_random_numbers_draw_a_possible_piece(chance):
    from tformer.decode.choosing import draw

    p = torch.tensor([[0.0, 0.25, 0.0, 0.25, 0.5, 0.0]])
    [piece] = draw(p, torch.tensor([chance], dtype=torch.float64)).tolist()
    assert piece == {0.0: 1, 0.25: 3, 0.5: 4}.get(chance, 4)
    thirds = torch.full((1, 3), 1 / 3)  # they do not quite sum to 1
    assert draw(thirds, torch.tensor([1 - 2**-53], dtype=torch.float64)).item() == 2


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ([5], TypeError, "must return an int64 tensor of pieces, got list"),
        (torch.tensor([5.0]), TypeError, "got torch.float32"),
        (torch.tensor([5, 5]), ValueError, r"one piece for each of 1 rows.*\(2,\)"),
        (torch.tensor([0]), ValueError, "piece 0, which has probability 0: pad, bos"),
    ],
)
def test_a_choice_that_is_no_piece_is_refused(chosen, error, message, bigram):
    with pytest.raises(error, match=message):
        decode.grow(bigram(), torch.tensor([[5, 2]]), lambda *_: chosen)


def test_each_row_needs_a_seed(bigram):
    with pytest.raises(ValueError, match="2 seeds for 3 rows: give one for each"):
        decode.sample(bigram(), torch.tensor([[5, 2]] * 3), seed=[1, 2])


def test_a_broken_model_draws_nothing(make_model, random_ids):
    model = make_model().train()
    with torch.no_grad():
        model.output_embedding.weight.fill_(math.nan)
    with pytest.raises(ValueError, match="are NaN.*weights.*Load an earlier"):
        decode.sample(model, random_ids([3]))
    assert model.training


# --- any model, any precision, any choice ------------------------------------------


def test_any_model_with_the_methods_can_be_decoded(bigram):
    """Where a piece depends on the last one alone, the best path is easy to follow."""
    model, source_ids = bigram(seed=3), torch.tensor([[5, 2, 0], [6, 7, 2]])
    logits = model.logits.detach().log_softmax(-1)
    logits[:, [0, 1, 3]] = -math.inf
    best, piece = [], 1
    while (piece := int(logits[piece].argmax())) != 2 and len(best) < 9:
        best.append(piece)
    assert best
    assert decode.greedy(model, source_ids, max_len=9) == [best, best]
    assert decode.beam_search(model, source_ids, beam_size=1, max_len=9)[0] == best
    for use_cache in (True, False):
        found = decode.n_best(model, source_ids, max_len=9, use_cache=use_cache)
        drawn = decode.sample(model, source_ids, max_len=9, use_cache=use_cache)
        assert len(found[0]) == 4 and len(drawn) == 2
    [scored, _] = decode.score(model, source_ids, [best, []])
    path = [1, *best, 2]
    steps = [float(logits[a, b]) for a, b in itertools.pairwise(path)]
    assert scored.log_probabilities == pytest.approx(steps, abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_decodes_nearly_the_same(dtype, make_model, random_ids):
    whole, source_ids = make_model(), random_ids([3, 7, 5, 2])
    half = make_model().to(dtype)
    ids = decode.greedy(whole, source_ids, max_len=8)
    exact = decode.score(whole, source_ids, ids)
    for ours, theirs in zip(decode.score(half, source_ids, ids), exact, strict=True):
        wanted = pytest.approx(theirs.log_probability, rel=0.1)
        assert ours.log_probability == wanted
    drawn = decode.sample(half, source_ids, top_k=1, max_len=8)
    assert drawn == decode.greedy(half, source_ids, max_len=8)
    found = decode.n_best(half, source_ids, max_len=8)
    scored = decode.score(half, source_ids, [best[0].ids for best in found])
    for best, again in zip(found, scored, strict=True):
        slack = 0.02 * len(again.log_probabilities)
        assert abs(best[0].log_probability - again.log_probability) < slack


def test_a_reader_may_choose_in_their_own_way(make_model, random_ids):
    """The second best piece, say; finished sentences are asked no more."""
    model, source_ids = make_model(), random_ids([3, 7, 5, 2])
    asked = []

    def second(log_p, rows, step):
        assert log_p.shape == (len(rows), 13)
        asked.append((step, *rows))
        return log_p.topk(2).indices[:, 1]

    out = decode.grow(model, source_ids, second, max_len=7)
    assert [each[0] for each in asked] == list(range(len(asked)))
    assert asked[0] == (0, 0, 1, 2, 3)
    for row, ids in enumerate(out):
        with torch.no_grad():
            alone = source_ids[row][source_ids[row] > 0]
            logits = model(alone[None], torch.tensor([[1, *ids]]))
        logits[..., [0, 1, 3]] = -math.inf
        wanted, said = logits[0].topk(2).indices[:, 1].tolist(), [*ids, 2][:7]
        assert said == wanted[: len(said)]
        assert sum(row in each[1:] for each in asked) == len(said)
