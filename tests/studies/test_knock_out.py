"""The tool that knocks out heads: what it keeps, and how it scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from studies.knock_out import Cuts, Scored
from tformer import Transformer, TransformerConfig
from tformer.data import grammar
from tformer.tokenization import Tokenizer
from tformer.translator import Translator


@pytest.fixture(scope="module")
def pairs():
    return grammar.generate(60, n_valid=8, n_test=2).valid


@pytest.fixture(scope="module")
def translator(pairs):
    texts = [text for pair in pairs for text in pair] * 20
    tokenizer = Tokenizer.train(texts, 330, algorithm="bpe")
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(330, 16, 2, 32, 1, 1))
    return Translator(model.eval(), tokenizer)


def test_a_cut_is_made_once_and_read_again_after_that(translator, pairs, tmp_path):
    cuts = Cuts(translator, pairs, tmp_path)
    whole, cut = cuts([]), cuts([("cross", 0, 1)])
    assert whole[1] != cut[1] and whole[2] == cut[2]
    assert not translator.model.decoder.layers[0].cross_attention.heads.is_watched
    translator.translate = None  # from here on it must not be asked
    try:
        assert cuts([("cross", 0, 1)]) == cut
        assert cuts.odd([("cross", 0, 1)]) == cut[0][1::2]
    finally:
        del translator.translate


def test_a_sample_of_each_sentence_once_has_the_score_of_the_corpus(pairs):
    german = [g for _, g in pairs]
    said = [g.replace("die", "der") for g in german]
    scored = Scored(german)
    scored.samples = np.ones((1, len(german)), dtype=int)
    assert scored.on_samples(said)[0] == pytest.approx(scored.bleu(said))
    assert scored.bleu(said) < scored.bleu(german) == pytest.approx(100)


def test_a_sample_draws_as_many_sentences_as_there_are(pairs):
    scored = Scored([g for _, g in pairs])
    assert (scored.samples.sum(axis=1) == len(pairs)).all()
    assert (scored.samples > 1).any()
