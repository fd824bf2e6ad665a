"""What heads look at, and what a word is worth to a row: measured as it is defined."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
import torch

from tformer import Transformer, TransformerConfig, evaluate, masks
from tformer.analysis import trace
from tformer.data import grammar
from tformer.data.alignment import piece_links
from tformer.tokenization import Tokenizer
from tformer.translator import Translator


@pytest.fixture(scope="module")
def corpus():
    return grammar.generate(60, n_valid=6, n_test=4)


@pytest.fixture(scope="module")
def translator(corpus):
    texts = [text for pair in corpus.train for text in pair]
    tokenizer = Tokenizer.train(texts, 400, algorithm="bpe")
    torch.manual_seed(0)
    config = TransformerConfig(400, 16, 2, 32, 1, 2, norm="pre")
    return Translator(Transformer(config).eval(), tokenizer)


class Fixed:
    """A translator whose heads look where a test wants them to.

    Args:
        changes: site → what makes its weights from the maps and their pair.
    """

    def __init__(self, translator, **changes):
        self.tokenizer, self.inner = translator.tokenizer, translator
        self.changes = changes

    def attention(self, *pair):
        maps = self.inner.attention(*pair)
        new = {site: make(maps, pair) for site, make in self.changes.items()}
        return replace(maps, **new)


def test_a_head_that_always_looks_back_has_a_share_of_1(translator, corpus):
    def back(maps, _):
        size = len(maps.source_pieces)
        weights = torch.zeros(1, 2, size, size)
        weights[0, 0] = torch.eye(size).roll(-1, 1)  # row i: column i - 1
        weights[0, 1] = torch.eye(size).roll(1, 1)  # row i: column i + 1
        return weights

    found = evaluate.head_shares(Fixed(translator, encoder=back), corpus.valid)
    shares = found["encoder"]
    assert shares["previous"].tolist() == [[1.0, 0.0]]
    assert shares["next"].tolist() == [[0.0, 1.0]]
    assert shares["same"].tolist() == [[0.0, 0.0]]


def test_shares_of_an_even_head_are_one_over_the_length(translator, corpus):
    pair = corpus.valid[0]
    maps = translator.attention(*pair)
    size = len(maps.source_pieces)
    weights = torch.full((1, 1, size, size), 1 / size)
    even = Fixed(translator, encoder=lambda maps, _: weights)
    found = evaluate.head_shares(even, [pair])["encoder"]
    for kind in ("previous", "same", "next"):
        assert found[kind].item() == pytest.approx(1 / size)
    marks = [p for p in maps.source_pieces if p == "</s>" or not p.strip("▁").isalnum()]
    assert found["separator"].item() == pytest.approx(len(marks) / size)


def test_every_row_counts_the_same_however_long_its_sentence(translator, corpus):
    pairs = corpus.valid[:3]
    together = evaluate.head_shares(translator, pairs)["encoder"]["previous"]
    apart = [evaluate.head_shares(translator, [pair])["encoder"] for pair in pairs]
    rows = [len(translator.attention(*pair).source_pieces) - 1 for pair in pairs]
    sums = sum(n * each["previous"] for n, each in zip(rows, apart, strict=True))
    torch.testing.assert_close(together, sums / sum(rows))


def test_a_head_that_follows_the_true_links_is_seen_in_its_row(translator, corpus):
    pairs, gold = corpus.valid, corpus.alignments["valid"]
    known = dict(zip(pairs, gold, strict=True))

    def true(maps, pair):
        cross = torch.zeros(1, 2, *maps.cross.shape[-2:])
        for source, target in piece_links(pair, known[pair], translator.tokenizer)[0]:
            cross[0, 0, target, source] = 1  # the row that predicts it
            cross[0, 1, target + 1, source] = 1  # the row that reads it
        return cross / cross.sum(-1, keepdim=True).clamp(min=1)

    fixed = Fixed(translator, cross=true)
    shares = evaluate.head_shares(fixed, pairs, gold)["cross"]
    assert shares["about to say"][0, 0] == pytest.approx(1)
    assert shares["just read"][0, 1] == pytest.approx(1)
    assert shares["about to say"][0, 1] < 0.9 > shares["just read"][0, 0]


def test_the_decoder_s_first_row_has_no_choice_and_no_vote(translator, corpus):
    def only_first(maps, _):
        size = len(maps.target_pieces)
        weights = torch.zeros(1, 1, size, size)
        weights[..., 1:, 0] = 1  # all look at <s>
        weights[..., 0, 0] = 1  # it has to look at itself
        return weights

    fixed = Fixed(translator, decoder=only_first)
    shares = evaluate.head_shares(fixed, corpus.valid)["decoder"]
    assert shares["same"].item() == 0 and shares["separator"].item() == 1
    assert "next" not in shares


def test_pairs_and_alignments_must_fit(translator, corpus):
    with pytest.raises(ValueError, match="6 pairs and 1 true"):
        evaluate.head_shares(translator, corpus.valid, corpus.alignments["valid"][:1])
    with pytest.raises(ValueError, match="0 pairs"):
        evaluate.head_shares(translator, [])


def test_hiding_a_piece_equals_a_pass_with_this_one_weight_gone(translator, corpus):
    """The cache of the search, against one forward pass for each edge."""
    english, german = corpus.valid[0]
    found = evaluate.hide_pieces(translator, english, german)
    model, config = translator.model, translator.model.config
    target = translator.encode(german)
    source_ids = torch.tensor([translator.encode(english)])
    target_ids = torch.tensor([[config.bos_id, *target[:-1]]])
    mask = masks.source_mask(source_ids, config.pad_id)
    length, width = found.lost.shape
    assert (length, width) == (target_ids.size(1), source_ids.size(1))

    def log_p():
        with torch.no_grad():
            memory = model.encode(source_ids)
            hidden = model.decode(target_ids, memory, mask)
            return model.unembed(hidden)[0].log_softmax(-1)

    whole = log_p()
    assert found.best.tolist() == whole.argmax(-1).tolist()
    for row in range(length):
        for key in range(width):
            gains = torch.ones(length, width)
            gains[row, key] = 0
            gone = functools.partial(trace.weight_gains, model, gains=gains)
            with gone(("cross", 0)), gone(("cross", 1)):
                without = log_p()
            lost = whole[row, target[row]] - without[row, target[row]]
            assert found.lost[row, key] == pytest.approx(lost.item(), abs=1e-5)
            assert found.becomes[row, key] == without[row].argmax()
    assert found.lost.abs().max() > 1e-3  # there was something to lose


def test_the_weights_are_the_mean_of_all_heads(translator, corpus):
    found = evaluate.hide_pieces(translator, *corpus.valid[1])
    cross = translator.attention(*corpus.valid[1]).cross
    torch.testing.assert_close(found.weights, cross.mean(dim=(0, 1)))
