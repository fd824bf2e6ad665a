"""Attention against true word alignments: the links, their errors, and the choice."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tformer import Transformer, TransformerConfig, evaluate
from tformer.data import grammar
from tformer.data.alignment import AlignedPair, piece_links, words_of_pieces
from tformer.evaluate import AlignmentRule
from tformer.tokenization import Tokenizer
from tformer.translator import Translator


def gold(n_english: int, n_german: int, sure, possible=()) -> AlignedPair:
    sure, more = frozenset(sure), frozenset(possible)
    english = tuple(f"e{i}" for i in range(n_english))
    german = tuple(f"g{j}" for j in range(n_german))
    return AlignedPair(english, german, sure, sure | more, frozenset())


# The error rate


def test_the_error_rate_is_what_a_hand_computes():
    # S = {00, 11}, P = S + {21}; A = {00, 21, 12}: |A & S| = 1, |A & P| = 2,
    # |A| = 3, |S| = 2: 1 - 3/5.
    truth = gold(3, 3, {(0, 0), (1, 1)}, {(2, 1)})
    found = frozenset({(0, 0), (2, 1), (1, 2)})
    assert evaluate.alignment_error_rate([found], [truth]) == pytest.approx(2 / 5)


def test_sure_links_alone_are_perfect_and_a_missing_one_costs():
    truth = gold(3, 3, {(0, 0), (1, 1)}, {(2, 1), (2, 2)})
    for links, error in (
        (truth.sure, 0),
        (truth.possible, 0),
        ({(0, 0)}, 1 / 3),  # 1 - 2/3
        ({(0, 1), (1, 0)}, 1),
        ((), 1),
    ):
        found = evaluate.alignment_error_rate([frozenset(links)], [truth])
        assert found == pytest.approx(error)


def test_sentences_are_counted_together_not_averaged():
    one, ten = gold(1, 1, {(0, 0)}), gold(10, 10, {(i, i) for i in range(10)})
    found = [frozenset({(0, 0)}), frozenset()]
    # A = 1, S = 11, hits 2: 1 - 2/12; the mean of 0 and 1 would be 1/2.
    assert evaluate.alignment_error_rate(found, [one, ten]) == pytest.approx(10 / 12)


def test_links_that_cannot_be_compared_are_refused():
    truth = gold(2, 2, {(0, 0)})
    with pytest.raises(ValueError, match="2 sentences but 1 true alignments"):
        evaluate.alignment_error_rate([frozenset(), frozenset()], [truth])
    with pytest.raises(ValueError, match=r"link \(0, 2\) does not join words of 'e0"):
        evaluate.alignment_error_rate([frozenset({(0, 2)})], [truth])
    with pytest.raises(ValueError, match="there is nothing to compare"):
        evaluate.alignment_error_rate([], [])


# Links from attention

# Two English words of 2 and 1 pieces, two German ones of 1 and 2; columns: e0a e0b e1
# eos; rows: bos, g0, g1a, g1b.
ENGLISH, GERMAN = [{0}, {0}, {1}], [{0}, {1}, {1}]
WEIGHTS = torch.tensor(
    [
        [0.30, 0.30, 0.40, 0.00],  # bos, predicts g0: e0 by the sum of its pieces
        [0.00, 0.10, 0.20, 0.70],  # g0, predicts g1a: e1, whatever eos takes
        [0.40, 0.10, 0.45, 0.05],  # g1a, predicts g1b
        [0.05, 0.05, 0.90, 0.00],  # g1b, predicts eos
    ]
)


def test_weights_are_summed_over_the_pieces_of_both_words():
    # predicts: g0 from row 0: .60 > .40; g1 from rows 1 and 2: .10+.50 < .20+.45
    links = evaluate.links_from_attention(WEIGHTS, ENGLISH, GERMAN)
    assert links == {(0, 0), (1, 1)}


def test_the_row_that_reads_a_piece_is_the_one_after_its_prediction():
    # reads: g0 from row 1: .10 < .20; g1 from rows 2 and 3: .60 < 1.35
    links = evaluate.links_from_attention(WEIGHTS, ENGLISH, GERMAN, row="reads")
    assert links == {(1, 0), (1, 1)}


def test_every_german_word_has_one_link_even_if_eos_has_most_weight():
    weights = torch.zeros(4, 4)
    weights[:, 3] = 1
    links = evaluate.links_from_attention(weights, ENGLISH, GERMAN)
    assert links == {(0, 0), (0, 1)}  # ties: the first word


def test_a_piece_of_two_words_counts_for_both():
    # "g0+g1" is one piece: both words look where its row looks.
    weights = torch.tensor([[0.1, 0.1, 0.7, 0.1], [1.0, 0.0, 0.0, 0.0]])
    links = evaluate.links_from_attention(weights, ENGLISH, [{0, 1}])
    assert links == {(1, 0), (1, 1)}


def test_weights_of_another_size_and_unknown_rows_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 4\): 3 German and 3 English"):
        evaluate.links_from_attention(WEIGHTS[1:], ENGLISH, GERMAN)
    with pytest.raises(ValueError, match="row='writes' must be"):
        evaluate.links_from_attention(WEIGHTS, ENGLISH, GERMAN, row="writes")
    with pytest.raises(ValueError, match="row='writes' must be"):
        AlignmentRule(0, 0, "writes")


def test_the_diagonal_goes_from_corner_to_corner():
    assert evaluate.diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert evaluate.diagonal_links(5, 3) == {(0, 0), (2, 1), (4, 2)}
    assert evaluate.diagonal_links(2, 3) == {(0, 0), (1, 1), (1, 2)}  # half: up
    assert evaluate.diagonal_links(4, 1) == {(0, 0)}
    with pytest.raises(ValueError, match="sentences of 0 and 2 words"):
        evaluate.diagonal_links(0, 2)


# With a model


@pytest.fixture(scope="module")
def corpus():
    return grammar.generate(120, 8, 6, seed=1)


@pytest.fixture(scope="module")
def translator(corpus):
    torch.manual_seed(0)
    tokenizer = Tokenizer.train([s for pair in corpus.train for s in pair], 420)
    model = Transformer(TransformerConfig(420, 16, 2, 16, 1, 2))
    return Translator(model.eval(), tokenizer)


def test_the_best_rule_is_the_head_that_is_right(monkeypatch, translator, corpus):
    pairs, truths = corpus.valid, corpus.alignments["valid"]
    by_text = dict(zip((english for english, _ in pairs), truths, strict=True))

    real = translator.attention

    def attention(text, translation):
        maps, aligned = real(text, translation), by_text[text]
        sure, _ = piece_links((text, translation), aligned, translator.tokenizer)
        cross = torch.full_like(maps.cross, 1e-3)
        for s, t in sure:
            cross[1, 0, t + 1, s] = 1  # layer 1, head 0, the row that reads the piece
        return replace(maps, cross=cross)

    monkeypatch.setattr(translator, "attention", attention)
    errors = evaluate.alignment_rules(translator, pairs, truths)
    assert len(errors) == 2 * (2 + 1) * 2  # layers x (heads + mean) x rows
    best = next(iter(errors))
    assert best == AlignmentRule(1, 0, "reads")
    assert str(best) == "layer 1, head 0, the row that reads the word"
    assert list(errors.values()) == sorted(errors.values())
    # One link a word: where a word has several sure ones, some are missing.
    assert errors[best] < 0.12 < errors[AlignmentRule(0, 1, "predicts")]
    assert errors[AlignmentRule(1, None, "reads")] == errors[best]
    both = zip(pairs, truths, strict=True)
    links = [evaluate.word_links(translator, *each, best) for each in both]
    assert evaluate.alignment_error_rate(links, truths) == errors[best]
    for found, aligned in zip(links, truths, strict=True):
        assert sorted(j for _, j in found) == list(range(len(aligned.german)))
        content = {(i, j) for i, j in found if aligned.german[j] != ","}
        assert content <= aligned.sure


def test_the_model_reads_the_reference_and_its_own_weights_decide(translator, corpus):
    pair, aligned = corpus.valid[0], corpus.alignments["valid"][0]
    english = words_of_pieces(pair[0], aligned.english, translator.tokenizer)
    german = words_of_pieces(pair[1], aligned.german, translator.tokenizer)
    cross = translator.attention(*pair).cross
    for rule, weights in {
        AlignmentRule(1, 0): cross[1, 0],
        AlignmentRule(0, None): cross[0].mean(dim=0),
    }.items():
        expected = evaluate.links_from_attention(weights, english, german)
        assert evaluate.word_links(translator, pair, aligned, rule) == expected


def test_rules_that_the_model_does_not_have_are_refused(translator, corpus):
    pair, aligned = corpus.valid[0], corpus.alignments["valid"][0]
    for rule in (AlignmentRule(2), AlignmentRule(0, 2), AlignmentRule(-1)):
        with pytest.raises(ValueError, match="2 decoder layers of 2 heads"):
            evaluate.word_links(translator, pair, aligned, rule)
    with pytest.raises(ValueError, match="1 pairs and 0 true alignments"):
        evaluate.alignment_rules(translator, [pair], [])


# By phenomenon


def test_exact_match_is_counted_for_every_phenomenon_that_a_sentence_shows(corpus):
    aligned = corpus.alignments["random"]
    pairs = corpus.test["random"]

    class Forgetful:
        """Knows every sentence but those with an adjective."""

        def translate(self, text, **_):
            known = {
                english: "?" if "adjective" in each.phenomena else german
                for (english, german), each in zip(pairs, aligned, strict=True)
            }
            return [known[english] for english in text]

    report = evaluate.score(Forgetful(), pairs)
    shares = evaluate.exact_by_phenomenon(report, aligned)
    assert set(shares) == set().union(*(each.phenomena for each in aligned))
    assert shares["adjective"].share == 0
    for name, share in shares.items():
        shown = [each for each in aligned if name in each.phenomena]
        right = [each for each in shown if "adjective" not in each.phenomena]
        assert (share.n, share.n_right) == (len(shown), len(right))
        assert share.share == len(right) / len(shown)
    counts = [share.n for share in shares.values()]
    assert counts == sorted(counts, reverse=True)
    with pytest.raises(ValueError, match="6 sentences but 5 alignments"):
        evaluate.exact_by_phenomenon(report, aligned[1:])
    with pytest.raises(ValueError, match="in the same order"):
        evaluate.exact_by_phenomenon(report, aligned[::-1])
