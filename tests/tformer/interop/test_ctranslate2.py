"""What CTranslate2 makes of an exported model, beside what it says here."""

from __future__ import annotations

import ctranslate2
import pytest
import sentencepiece

from tformer import decode, interop

CONFIGS = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre", "activation": "gelu"},
    "learned": {"norm": "post", "positions": "learned", "activation": "swish"},
    "tables": {"norm": "pre", "tie_embeddings": False, "output_bias": True},
}


def opened(folder):
    options = {"compute_type": "float32", "intra_threads": 1, "inter_threads": 1}
    pieces = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
    return ctranslate2.Translator(str(folder), **options), pieces


@pytest.mark.parametrize("fields", CONFIGS.values(), ids=CONFIGS)
def test_every_piece_is_as_probable_as_here(fields, translator_of, texts, tmp_path):
    translator = translator_of(**fields)
    interop.export(translator, "ctranslate2", tmp_path / "ct2")
    theirs, pieces = opened(tmp_path / "ct2")
    sources = [texts[i] for i in (0, 1, 5)]  # of different lengths
    targets = [texts[i] for i in (1, 5, 0)]
    scored = theirs.score_batch(
        [pieces.EncodeAsPieces(each) for each in sources],
        [pieces.EncodeAsPieces(each) for each in targets],
    )
    for given, found in zip(translator.score(sources, targets), scored, strict=True):
        assert found.log_probs == pytest.approx(given.log_probabilities, abs=1e-4)


def test_it_translates_as_the_released_model_does(released, sentences, tmp_path):
    interop.export(released, "ctranslate2", tmp_path / "ct2")
    theirs, pieces = opened(tmp_path / "ct2")
    batch = [pieces.EncodeAsPieces(each) for each in sentences]
    options = {"disable_unk": True, "suppress_sequences": [["<pad>"], ["<s>"]]}
    options |= {"max_decoding_length": 128}
    greedy = theirs.translate_batch(batch, beam_size=1, **options)
    ours = released.translate(sentences, beam_size=1)
    texts = [pieces.DecodePieces(each.hypotheses[0]) for each in greedy]
    same = sum(a == b for a, b in zip(texts, ours, strict=True))
    assert same >= len(sentences) - 1  # one may flip on another machine: a near tie

    # Without a length penalty both searches rank by log p alone. They end differently:
    # ours goes on while a live hypothesis could still win.
    options |= {"length_penalty": 0, "patience": 4}
    beam = theirs.translate_batch(batch, beam_size=4, **options)
    ours = released.n_best(sentences, 1, beam_size=4, length_penalty=0)
    texts = [pieces.DecodePieces(each.hypotheses[0]) for each in beam]
    same = sum(a == b[0].text for a, b in zip(texts, ours, strict=True))
    assert same >= len(sentences) * 0.95


def test_it_needs_no_training_to_agree_piece_by_piece(translator_of, tmp_path):
    translator = translator_of()
    interop.export(translator, "ctranslate2", tmp_path / "ct2")
    theirs, pieces = opened(tmp_path / "ct2")
    batch = [pieces.EncodeAsPieces("horse")]
    options = {"max_decoding_length": 20, "disable_unk": True}
    [found] = theirs.translate_batch(batch, beam_size=1, **options)
    source_ids = translator._pad([translator.encode("horse")])
    [ids] = decode.greedy(translator.model, source_ids, max_len=20)
    assert [pieces.PieceToId(each) for each in found.hypotheses[0]] == ids
