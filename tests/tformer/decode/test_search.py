"""Decoding: the cache, greedy and beam search, against searching everything."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from tformer import Transformer, TransformerConfig, decode
from tformer.decode.stepping import largest
from tformer.loss import cross_entropy

SPECIAL = {0, 1, 2, 3}  # pad, bos, eos, unk


SIZES = TransformerConfig(20, 16, 2, 32, 1, 2, max_len=32, dropout=0.0)


def tiny(seed: int = 0, *, kind=Transformer, noise=0.35, **changes) -> Transformer:
    """An untrained model with large weights, so that it is sure of what it says."""
    torch.manual_seed(seed)
    model = kind(replace(SIZES, **changes))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += noise * torch.randn_like(parameter)
    return model.eval()


def sources(vocab_size: int = 20, lengths=(3, 7, 1, 5, 6), seed: int = 1):
    """(B, S) sentences of pieces + eos of several lengths, padded on the right."""
    generator = torch.Generator().manual_seed(seed)
    rows = [torch.randint(4, vocab_size, (n,), generator=generator) for n in lengths]
    return pad_sequence([F.pad(row, (0, 1), value=2) for row in rows], batch_first=True)


@functools.cache
def learner(norm: str = "post", kind: type[Transformer] = Transformer) -> Transformer:
    """A model that has half learned to repeat its source.

    Unlike an untrained one it ends its sentences at many lengths, is unsure between a
    few pieces, and says something else for each source.
    """
    model = tiny(kind=kind, norm=norm, n_decoder_layers=1, noise=0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(150):
        lengths = torch.randint(1, 9, (16,), generator=torch.manual_seed(step)).tolist()
        labels = sources(lengths=lengths, seed=step)
        target_ids = F.pad(labels, (1, 0), value=1)[:, :-1]
        loss = cross_entropy(model(labels, target_ids), labels, pad_id=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


BEAM = functools.partial(decode.beam_search, beam_size=3)
SEARCHES = [pytest.param(decode.greedy, id="greedy"), pytest.param(BEAM, id="beam")]
WAYS = [*SEARCHES, pytest.param(decode.sample, id="sample")]


class NeverEnds(Transformer):
    """Would rather choose any piece than eos."""

    def unembed(self, hidden):
        logits = super().unembed(hidden).clone()
        logits[..., self.config.eos_id] = -1e4
        return logits


class LovesSpecialPieces(Transformer):
    """Would choose pad, bos and unk, if it were allowed to."""

    def unembed(self, hidden):
        logits = super().unembed(hidden).clone()
        logits[..., [0, 1, 3]] += 30
        return logits


MANY = sources(lengths=[1, 2, 3, 4, 5, 6, 7, 8] * 2)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("search", SEARCHES)
def test_the_sample_model_says_many_things_of_many_lengths(search, norm):
    """Else the tests below would compare little."""
    out = search(learner(norm), MANY, max_len=12)
    assert len({len(ids) for ids in out}) >= 4
    assert len({tuple(ids) for ids in out}) >= 12


@pytest.mark.parametrize("search", WAYS)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_cache_changes_no_translation(search, norm):
    cached = search(learner(norm), MANY, max_len=12)
    assert cached == search(learner(norm), MANY, max_len=12, use_cache=False)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
@pytest.mark.parametrize("max_len", [3, 12])
def test_a_beam_of_one_is_greedy_search(alpha, max_len):
    options = {"length_penalty": alpha, "max_len": max_len}
    beam = decode.beam_search(learner(), MANY, beam_size=1, **options)
    assert beam == decode.greedy(learner(), MANY, max_len=max_len)
    wide = decode.beam_search(learner(), MANY, length_penalty=alpha, max_len=12)
    assert wide != beam


def test_greedy_takes_the_best_piece_of_every_step():
    model, source_ids = learner(), MANY
    for row, ids in enumerate(decode.greedy(model, source_ids, max_len=8)):
        target_ids = torch.tensor([[1, *ids]])
        with torch.no_grad():
            logits = model(source_ids[row : row + 1], target_ids)[0]
        logits[:, [0, 1, 3]] = -math.inf
        wanted = [*ids, 2][:8]
        assert logits.argmax(-1).tolist()[: len(wanted)] == wanted


def every_sentence(model: Transformer, source_ids, max_len: int):
    """All sentences up to max_len pieces with log p, eos included: no search at all."""
    pieces = range(4, model.config.vocab_size)
    found = {}
    for length in range(max_len + 1):
        sentences = list(itertools.product(pieces, repeat=length))
        target_ids = torch.tensor([[1, *ids] for ids in sentences])
        labels = torch.tensor([[*ids, 2] for ids in sentences])
        with torch.no_grad():
            logits = model(source_ids.expand(len(sentences), -1), target_ids)
        log_p = logits.log_softmax(-1).gather(-1, labels[..., None]).sum((1, 2))
        found |= dict(zip(sentences, log_p.tolist(), strict=True))
    return found


def the_best(found, alpha):
    return max(found, key=lambda ids: found[ids] / ((6 + len(ids)) / 6) ** alpha)


@pytest.mark.parametrize("use_cache", [True, False])
def test_a_wide_beam_finds_what_searching_everything_finds(use_cache):
    """Three words, at most three of them: 40 sentences; four length penalties."""
    source_ids = sources(7, lengths=(2, 4, 1, 3))
    winners = set()
    for seed in range(20):
        model = tiny(seed, vocab_size=7)
        rows = [row[row != 0][None] for row in source_ids]
        everything = [every_sentence(model, row, 3) for row in rows]
        assert all(len(found) == 40 for found in everything)
        for alpha in (0.0, 0.6, 1.0, 3.0):
            best = [list(the_best(found, alpha)) for found in everything]
            options = {"beam_size": 64, "length_penalty": alpha, "max_len": 3}
            options |= {"use_cache": use_cache}
            assert decode.beam_search(model, source_ids, **options) == best
            winners.add((seed, str(best)))
    assert len(winners) > 30  # the length penalty did decide somewhere


def test_a_beam_finds_sentences_that_greedy_search_misses():
    better = worse = 0
    for seed in range(8):
        model, source_ids = tiny(seed, vocab_size=7), sources(7, lengths=(2,))
        found = every_sentence(model, source_ids, 3)
        [first] = decode.greedy(model, source_ids, max_len=3)
        options = {"length_penalty": 0.0, "max_len": 3}
        [best] = decode.beam_search(model, source_ids, beam_size=6, **options)
        better += found[tuple(best)] > found[tuple(first)] + 1e-6
        worse += found[tuple(best)] < found[tuple(first)] - 1e-6
    assert better > 0
    assert worse == 0


def test_the_length_penalty_is_the_papers():
    assert decode.length_penalty_of(1, 0.6) == pytest.approx(1)
    assert decode.length_penalty_of(7, 0.6) == pytest.approx(2**0.6)
    assert decode.length_penalty_of(30, 0.0) == 1


@pytest.mark.parametrize("search", SEARCHES)
def test_neighbours_and_order_in_the_batch_change_nothing(search):
    model, source_ids = learner(), sources(lengths=(3, 8, 1, 5, 6, 2))
    together = search(model, source_ids, max_len=12)
    alone = [search(model, row[row != 0][None], max_len=12)[0] for row in source_ids]
    assert together == alone
    order = [4, 2, 0, 5, 1, 3]
    assert search(model, source_ids[order], max_len=12) == [alone[i] for i in order]
    wider = F.pad(source_ids, (0, 5))
    assert search(model, wider, max_len=12) == alone


@pytest.mark.parametrize("search", WAYS)
@pytest.mark.parametrize("max_len", [1, 4, 9])
def test_no_translation_is_longer_than_max_len(search, max_len):
    out = search(tiny(kind=NeverEnds), sources(), max_len=max_len)
    assert [len(ids) for ids in out] == [max_len] * 5
    assert all(len(ids) <= max_len for ids in search(learner(), MANY, max_len=max_len))
    out = search(tiny(kind=NeverEnds, max_len=9), sources(), max_len=500)
    assert [len(ids) for ids in out] == [8] * 5  # 9 positions, bos is one of them


@pytest.mark.parametrize("search", WAYS)
@pytest.mark.parametrize("kind", [Transformer, LovesSpecialPieces])
def test_translations_hold_no_special_pieces(search, kind):
    out = search(tiny(2, kind=kind), sources(lengths=(4,) * 12), max_len=10)
    assert any(out)
    assert not SPECIAL & {piece for ids in out for piece in ids}


@pytest.mark.parametrize("search", WAYS)
@pytest.mark.parametrize("use_cache", [True, False])
def test_the_vocabulary_projection_sees_only_the_newest_position(search, use_cache):
    shapes = []

    class Watched(NeverEnds):
        def unembed(self, hidden):
            shapes.append(tuple(hidden.shape))
            return super().unembed(hidden)

    search(tiny(kind=Watched), sources(), max_len=6, use_cache=use_cache)
    assert len(shapes) >= 6
    assert all(math.prod(shape[:-1]) <= 5 * 3 for shape in shapes)  # sentences x beam


@pytest.mark.parametrize("search", WAYS)
def test_sentences_that_are_done_leave_the_batch(search):
    rows = []

    class Watched(Transformer):
        def unembed(self, hidden):
            rows.append(len(hidden))
            return super().unembed(hidden)

    search(learner(kind=Watched), MANY, max_len=12)
    rows.clear()
    search(learner(kind=Watched), MANY, max_len=12)
    assert rows[-1] < max(rows)


@pytest.mark.parametrize("search", WAYS)
def test_dropout_is_off_while_decoding_and_the_models_mode_comes_back(search):
    model, source_ids = tiny(dropout=0.5), sources()
    calm = search(model, source_ids, max_len=10)
    model.train()
    assert search(model, source_ids, max_len=10) == calm
    assert model.training
    assert all(module.training for module in model.modules())
    with pytest.raises(ValueError, match="no visible token"):
        search(model, torch.zeros(2, 3, dtype=torch.int64), max_len=10)
    assert model.training


@pytest.mark.parametrize("search", WAYS)
def test_decoding_leaves_its_input_and_the_gradients_alone(search):
    model, source_ids = tiny(), sources()
    before = source_ids.clone()
    search(model, source_ids, max_len=5)
    assert torch.equal(source_ids, before)
    model(source_ids, source_ids).sum().backward()  # no inference tensors left behind


@pytest.mark.parametrize("search", WAYS)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda s: s.float(), TypeError, "int64, got torch.float32"),
        (lambda s: s[0], ValueError, r"shape \(batch, length\)"),
        (lambda s: s[:, :0], ValueError, r"shape \(batch, length\)"),
        (lambda s: s + 20, ValueError, "outside the vocabulary 0…19"),
        (lambda s: s * 0, ValueError, "row 0 has no visible token"),
        (lambda s: s.flip(1), ValueError, "row 0 has pad_id=0 before its last token"),
        (lambda s: s.index_fill(1, torch.tensor(1), 0), ValueError, "pad on the right"),
        (lambda s: s[:, :1].repeat(1, 33), ValueError, "33 tokens.*max_len=32"),
    ],
)
def test_sources_that_cannot_be_read_are_refused(search, change, error, message):
    with pytest.raises(error, match=message):
        search(tiny(), change(sources()), max_len=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam_size=0 must be at least 1"),
        ({"beam_size": 10**9}, "beam_size=1000000000 must be at most 1024: memory"),
        ({"beam_size": 2.5}, "beam_size=2.5 must be a whole number"),
        ({"length_penalty": math.inf}, "length_penalty=inf must be a finite number"),
        ({"length_penalty": 1e300}, "length_penalty=1e.300 must be at most 10"),
        ({"length_penalty": -0.1}, "length_penalty=-0.1"),
        ({"length_penalty": math.nan}, "length_penalty=nan"),
        ({"max_len": 0}, "max_len=0 must be at least 1"),
        ({"max_len": math.nan}, "max_len=nan must be a whole number"),
        ({"max_len": math.inf}, "max_len=inf must be a whole number"),
    ],
)
def test_searches_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        decode.beam_search(tiny(), sources(), **options)


def test_a_beam_wider_than_the_vocabulary_still_works():
    model, source_ids = tiny(vocab_size=6), sources(6)
    out = decode.beam_search(model, source_ids, beam_size=50, max_len=4)
    assert len(out) == 5


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_model_whose_weights_are_not_numbers_is_refused_with_a_remedy(search, bad):
    """As after a failed training."""
    model = tiny().train()
    with torch.no_grad():
        model.output_embedding.weight.fill_(bad)
    with pytest.raises(ValueError, match=r"are NaN.*weights.*Load an earlier"):
        search(model, sources(), max_len=6)
    assert model.training


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("kind", [tiny, LovesSpecialPieces])
def test_greedy_search_finds_what_its_steps_tell(kind, use_cache):
    """One takes the best logits, the other weighs all the probabilities."""
    model = learner() if kind is tiny else kind(learner().config).eval()
    told = decode.drain(decode.greedy_steps(model, MANY, use_cache=use_cache))
    found = decode.greedy(model, MANY, use_cache=use_cache)
    assert found == [each.ids for [each] in told]


@pytest.mark.parametrize("size", [7, 16, 63, 97, 640, 6000])
@pytest.mark.parametrize("k", [1, 2, 10])
def test_the_largest_are_those_of_a_whole_sort(size, k):
    scores = torch.stack([torch.randperm(size) for _ in range(5)]).float()
    scores[2, : size // 2] = -torch.inf
    k = min(k, size // 2)
    values, places = largest(scores, k)
    expected = scores.sort(descending=True)
    assert torch.equal(values, expected.values[:, :k])
    assert torch.equal(places, expected.indices[:, :k])


def test_what_is_no_number_counts_as_the_largest():
    scores = torch.randn(3, 640)
    scores[1, 400] = torch.nan
    values, places = largest(scores, 2)
    assert values[1, 0].isnan() and places[1, 0] == 400
    assert not values[[0, 2]].isnan().any()
