"""Subword regularisation: other pieces each epoch, and always the same sentence."""

from __future__ import annotations

import math
from array import array
from collections import Counter

import pytest
from torch.testing import assert_close

from tformer import data
from tformer.data import PieceSampler
from tformer.tokenization import Tokenizer


@pytest.fixture(scope="module")
def sentences():
    return [side for pair in data.load("grammar").train[:2000] for side in pair]


@pytest.fixture(scope="module")
def tokenizer(sentences):
    return Tokenizer.train(sentences, 600, algorithm="unigram")


@pytest.fixture(scope="module")
def best(sentences, tokenizer):
    ids = tokenizer.encode_all(sentences)
    return {each: array("H", i) for each, i in zip(sentences, ids, strict=True)}


def drawn(tokenizer, best, *, exponent=0.2, longest=1000, seed="0"):
    sampler = PieceSampler(tokenizer, exponent)
    return sampler.encode_all(best, best, longest=longest, seed=seed)


def test_the_pieces_change_and_the_text_does_not(tokenizer, best):
    ids = drawn(tokenizer, best)
    changed = [each for each in best if ids[each] != best[each]]
    assert len(changed) > len(best) / 3
    for each in best:
        assert tokenizer.decode(ids[each]) == tokenizer.normalize(each)


def test_equal_seeds_draw_equal_pieces_and_others_do_not(tokenizer, best):
    assert drawn(tokenizer, best, seed="a") == drawn(tokenizer, best, seed="a")
    assert drawn(tokenizer, best, seed="a") != drawn(tokenizer, best, seed="b")


def test_each_way_is_drawn_as_often_as_its_probability_to_the_power_says(tokenizer):
    word, n, exponent = "house", 20_000, 0.3
    ways = tokenizer.n_best(word, 16)
    weights = [math.exp(exponent * score) for _, score in ways]
    sampler = PieceSampler(tokenizer, exponent)
    usual = {word: array("H", tokenizer.encode(word))}
    seen = Counter(
        tuple(sampler.encode_all([word], usual, longest=99, seed=f"{i}")[word])
        for i in range(n)
    )
    assert len(ways) > 3
    assert len(seen) > 3
    for (ids, _), weight in zip(ways, weights, strict=True):
        p = weight / sum(weights)
        spread = math.sqrt(p * (1 - p) / n)
        assert abs(seen[tuple(ids)] / n - p) < 5 * spread + 1e-9


def test_the_smaller_the_exponent_the_more_pieces(tokenizer, best):
    def n_pieces(exponent):
        return sum(map(len, drawn(tokenizer, best, exponent=exponent).values()))

    assert n_pieces(0.0) > n_pieces(0.2) > n_pieces(1.0)


def test_more_pieces_than_the_longest_are_not_drawn(tokenizer, best):
    for longest in (0, 8):
        ids = drawn(tokenizer, best, exponent=0.0, longest=longest)
        assert all(len(ids[each]) <= max(longest, len(best[each])) for each in best)
    assert drawn(tokenizer, best, exponent=0.0, longest=0) == best


def test_a_word_that_its_sentence_writes_differently_is_left_alone(tokenizer):
    sentence = "the house"
    odd = {sentence: array("H", [7, 8, 9])}
    assert drawn(tokenizer, odd)[sentence] == odd[sentence]


def test_empty_text_has_no_pieces_to_draw(tokenizer):
    empty = {text: array("H") for text in ("", "  ")}
    assert drawn(tokenizer, empty) == empty


def test_the_best_of_the_n_best_is_what_encode_says(tokenizer, sentences):
    for sentence in sentences[:50]:
        ways = tokenizer.n_best(sentence, 4)
        scores = [score for _, score in ways]
        assert ways[0][0] == tokenizer.encode(sentence)
        assert scores == sorted(scores, reverse=True)
    ids, score = ways[0]
    assert_close(score, sum(tokenizer._processor.GetScore(i) for i in ids))


def test_byte_pairs_have_no_probabilities_to_draw_by(sentences):
    pairs = Tokenizer.train(sentences, 600, algorithm="bpe")
    with pytest.raises(ValueError, match=r"sample_pieces=0.2 needs a unigram"):
        PieceSampler(pairs, 0.2)
    with pytest.raises(ValueError, match="n_best needs the probabilities"):
        pairs.n_best("house", 4)
