"""What transformers makes of an exported model, beside what it says here."""

from __future__ import annotations

import pytest
import torch
import transformers  # its models are imported by those who use them

from tformer import decode, interop
from tformer.config import TransformerConfig
from tformer.interop import layout
from tformer.model import Transformer

CONFIGS = {
    "post": {"norm": "post"},
    "pre": {"norm": "pre"},
    "learned": {"norm": "pre", "positions": "learned"},
    "bias": {"norm": "post", "activation": "swish", "output_bias": True},
    "gelu": {"norm": "post", "activation": "gelu"},
    "three tables": {"norm": "post", "tie_embeddings": False, "output_bias": True},
}


def opened(folder):
    """The model and the tokenizer, and that no weight was missing or left over."""
    load = transformers.AutoModelForSeq2SeqLM.from_pretrained
    model, told = load(folder, output_loading_info=True)
    unknown = {name: told[name] for name in ("missing_keys", "unexpected_keys")}
    assert not any(unknown.values()), unknown
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder)


def logits_of(model, source_ids, target_ids, pad_id):
    with torch.inference_mode():
        return model(
            input_ids=source_ids,
            attention_mask=(source_ids != pad_id).long(),
            decoder_input_ids=target_ids,
            decoder_attention_mask=(target_ids != pad_id).long(),
        ).logits


@pytest.mark.parametrize("fields", CONFIGS.values(), ids=CONFIGS)
def test_every_logit_is_ours(fields, translator_of, random_batch, tmp_path):
    translator = translator_of(**fields)
    interop.export(translator, "hf", tmp_path / "hf")
    model, _ = opened(tmp_path / "hf")
    config = translator.model.config
    for seed in range(5):
        source_ids, target_ids = random_batch(config, seed=seed)
        with torch.inference_mode():
            ours = translator.model(source_ids, target_ids)
        theirs = logits_of(model, source_ids, target_ids, config.pad_id)
        real = target_ids != config.pad_id
        torch.testing.assert_close(theirs[real], ours[real], rtol=0, atol=1e-4)


def test_it_translates_as_the_released_model_does(released, sentences, tmp_path):
    interop.export(released, "hf", tmp_path / "hf")
    model, tokenizer = opened(tmp_path / "hf")
    batch = tokenizer(sentences, return_tensors="pt", padding=True)
    config = released.model.config
    rows = [released.encode(each) for each in sentences]
    theirs = batch.input_ids.tolist(), batch.attention_mask.tolist()
    for row, ids, mask in zip(rows, *theirs, strict=True):
        assert ids == row + [config.pad_id] * (len(ids) - len(row))
        assert sum(mask) == len(row)
    found = model.generate(**batch, num_beams=1).tolist()
    ours = decode.greedy(released.model, batch.input_ids)
    special = (config.pad_id, config.bos_id, config.eos_id)
    theirs = [[i for i in row if i not in special] for row in found]
    same = sum(a == b for a, b in zip(theirs, ours, strict=True))
    assert same >= len(sentences) - 1  # one may flip on another machine: a near tie
    texts = tokenizer.batch_decode(theirs)
    assert texts == [released.tokenizer.decode(each) for each in theirs]


def test_generate_never_says_what_our_search_never_says(translator_of, tmp_path):
    translator = translator_of(norm="post", output_bias=True)
    config = translator.model.config
    never = [config.pad_id, config.bos_id, config.unk_id]
    with torch.no_grad():
        translator.model.output_embedding.output_bias[never] += 50
    interop.export(translator, "hf", tmp_path / "hf")
    model, tokenizer = opened(tmp_path / "hf")
    batch = tokenizer(["A man is riding a horse."], return_tensors="pt")
    [found] = model.generate(**batch, num_beams=1, max_new_tokens=9).tolist()
    [ours] = decode.greedy(translator.model, batch.input_ids, max_len=9)
    assert found[0] == config.bos_id  # it begins with it, and says it never again
    assert [each for each in found[1:] if each != config.eos_id] == ours


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_their_tokenizer_is_ours(algorithm, translator_of, texts, tmp_path):
    translator = translator_of(algorithm=algorithm)
    interop.export(translator, "hf", tmp_path / "hf")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    for text in texts:
        ids = translator.encode(text)
        assert theirs(text).input_ids == ids
        back = theirs.decode(ids, skip_special_tokens=True)
        assert back == translator.tokenizer.decode(ids)


def test_a_stream_in_halves_is_put_back_into_pairs(randomise):
    config = TransformerConfig(vocab_size=13, d_model=12, n_heads=2, d_ff=8)
    model = randomise(Transformer(config))
    moved = 0
    for name, weight in model.named_parameters():
        halves = layout.in_halves(name, weight)
        moved += not torch.equal(halves, weight)
        assert torch.equal(layout.in_pairs(name, halves), weight)
    n_inside = 6 * 4 + 3 * 3  # biases of q, k, v and of the widened feed-forward
    assert moved == len(list(model.parameters())) - n_inside


def test_what_they_cannot_hold_is_refused_and_nothing_written(translator_of, tmp_path):
    learned = translator_of(positions="learned")
    with pytest.raises(ValueError, match="positions='learned' with norm='post'"):
        interop.export(learned, "hf", tmp_path / "deep" / "hf")
    with pytest.raises(ValueError, match="one table only"):
        interop.export(translator_of(norm="pre", tie_embeddings=False), "hf", tmp_path)
    assert list(tmp_path.iterdir()) == []
