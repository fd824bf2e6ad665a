"""A Marian checkpoint, made by transformers, says here what it says there."""

from __future__ import annotations

import functools
import io
import json
import shutil

import pytest
import sentencepiece
import torch
import transformers  # its models are imported by those who use them
from safetensors.torch import load_file, save_file

from tformer import decode, interop
from tformer.interop import marian
from tformer.interop.marian import load_marian

ENGLISH = [
    "A man is riding a horse.",
    "Two dogs play in the snow.",
    "A woman reads an old newspaper on the bench.",
    "Children are singing and dancing, aren't they?",
]
GERMAN = [
    "Ein Mann reitet auf einem Pferd.",
    "Zwei Hunde spielen im Schnee.",
    "Eine Frau liest auf der Bank eine alte Zeitung.",
    "Kinder singen und tanzen, nicht wahr?",
]


def pieces_of(sentences, path) -> list[str]:
    written = io.BytesIO()
    options = {"vocab_size": 60, "hard_vocab_limit": False, "model_type": "unigram"}
    options |= {"minloglevel": 3, "bos_id": -1, "eos_id": -1, "unk_id": 0}
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences * 5), model_writer=written, **options
    )
    path.write_bytes(written.getvalue())
    model = sentencepiece.SentencePieceProcessor(str(path))
    return [model.IdToPiece(i) for i in range(1, model.GetPieceSize())]


def checkpoint(folder, **changes):
    """A checkpoint in the layout of opus-mt-en-de: sizes apart, and random weights."""
    folder.mkdir()
    known = [pieces_of(ENGLISH, folder / "source.spm")]
    known.append(pieces_of(GERMAN, folder / "target.spm"))
    pieces = ["</s>", "<unk>", *dict.fromkeys([*known[0], *known[1]]), "<pad>"]
    numbers = {piece: number for number, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(numbers), "utf-8")
    about = {"source_lang": "en", "target_lang": "de", "separate_vocabs": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    n = len(pieces)
    fields = {"vocab_size": n, "decoder_vocab_size": n, "d_model": 32}
    fields |= {"encoder_layers": 2, "decoder_layers": 3}
    fields |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4}
    fields |= {"encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
    fields |= {"max_position_embeddings": 64, "static_position_embeddings": True}
    fields |= {"activation_function": "swish", "scale_embedding": True}
    fields |= {"pad_token_id": n - 1, "decoder_start_token_id": n - 1}
    fields |= {"eos_token_id": 0, "forced_eos_token_id": 0, "normalize_before": False}
    config = transformers.MarianConfig(**fields | changes)
    model = transformers.MarianMTModel(config).eval()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        weights = dict(model.named_parameters())
        weights["final_logits_bias"] = model.final_logits_bias
        for name, each in weights.items():
            if "embed_positions" not in name:
                noise = torch.randn(each.shape, generator=generator)
                each.add_(noise * (0.25 if each.dim() > 1 else 0.2))
    model.save_pretrained(folder)
    return model


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A folder, and the model that transformers has in it."""
    folder = tmp_path_factory.mktemp("marian") / "opus"
    return folder, checkpoint(folder)


@pytest.fixture
def copy(there, tmp_path):
    return shutil.copytree(there[0], tmp_path / "copy")


def change(folder, **fields):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def logits_of(translator, model, *, seed):
    """Ours and theirs, of one random batch with padding."""
    config, generator = translator.model.config, torch.Generator().manual_seed(seed)
    source = torch.randint(2, config.pad_id, (3, 9), generator=generator)
    target = torch.randint(2, config.pad_id, (3, 6), generator=generator)
    source[1, 4:] = source[2, 1:] = config.pad_id
    source[[0, 1, 2], [8, 3, 0]] = config.eos_id
    begun = target.clone()
    begun[:, 0], target[:, 0] = config.pad_id, config.bos_id
    given = {"input_ids": source, "attention_mask": (source != config.pad_id).long()}
    with torch.inference_mode():
        theirs = model(**given, decoder_input_ids=begun).logits
        return translator.model(source, target), theirs


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"activation_function": "gelu"},
        {"share_encoder_decoder_embeddings": False},
        {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
    ],
)
def test_every_logit_is_theirs_and_bos_is_never_said(changes, tmp_path):
    model = checkpoint(tmp_path / "opus", **changes)
    translator = load_marian(tmp_path / "opus")
    for seed in range(3):
        ours, theirs = logits_of(translator, model, seed=seed)
        torch.testing.assert_close(ours[..., :-1], theirs, rtol=0, atol=1e-4)
        p = ours.softmax(-1)
        assert torch.equal(p[..., -1], torch.zeros_like(p[..., -1]))
        torch.testing.assert_close(p[..., :-1], theirs.softmax(-1))


def test_it_translates_text_as_transformers_does(there):
    folder, model = there
    translator = load_marian(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    config = translator.model.config
    batch = tokenizer(ENGLISH, return_tensors="pt", padding=True)
    for text, ids in zip(ENGLISH, batch.input_ids.tolist(), strict=True):
        row = translator.encode(text)
        assert ids == row + [config.pad_id] * (len(ids) - len(row))
    never = [config.pad_id, config.unk_id]  # neither do we say
    limits = {"max_new_tokens": 20, "forced_eos_token_id": None}
    found = model.generate(**batch, num_beams=1, suppress_tokens=never, **limits)
    special = (config.pad_id, config.eos_id)
    theirs = [[i for i in row if i not in special] for row in found.tolist()]
    assert decode.greedy(translator.model, batch.input_ids, max_len=20) == theirs
    assert len({*map(tuple, theirs)}) > 1  # it does not say the same of everything
    texts = translator.translate(ENGLISH, beam_size=1, max_len=20)
    assert texts == [translator.tokenizer.decode(ids) for ids in theirs]
    assert translator.translate(ENGLISH[0]) and translator.translate(ENGLISH)


def test_source_and_target_are_cut_by_their_own_models(there):
    folder, _ = there
    translator = load_marian(folder)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in [*ENGLISH, *GERMAN, "unheard-of: 漢字", ""]:
        ours = translator.tokenizer
        assert [*ours.encode(text), ours.eos_id] == theirs(text).input_ids
        target = theirs(text_target=text).input_ids
        assert [*ours.target.encode(text), ours.eos_id] == target
        if ours.unk_id not in target:
            assert ours.decode(target) == text
    assert ours.encode(GERMAN[0]) != ours.target.encode(GERMAN[0])
    pieces = translator.score(ENGLISH[0], GERMAN[0]).pieces
    assert pieces == [*ours.target.pieces(GERMAN[0]), "</s>"]
    assert translator.attention(ENGLISH[0], GERMAN[0]).predicted_pieces == pieces


def test_a_pickle_is_opened_only_if_it_holds_weights_alone(there, copy, capsys):
    (copy / "model.safetensors").unlink()
    weights = there[1].state_dict()  # the shared table four times, and the sinusoids
    assert {"lm_head.weight", "model.encoder.embed_positions.weight"} <= weights.keys()
    torch.save(dict(weights), copy / "pytorch_model.bin")
    ours, theirs = logits_of(load_marian(copy), there[1], seed=0)
    torch.testing.assert_close(ours[..., :-1], theirs, rtol=0, atol=1e-4)

    class Harm:
        def __reduce__(self):
            return (print, ("harm is done",))

    for harmful in ({"model.shared.weight": Harm()}, Harm()):
        torch.save(harmful, copy / "pytorch_model.bin")
        with pytest.raises(ValueError, match="would run its code.*convert it"):
            load_marian(copy)
    assert "harm" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_type": "bart"}, "model_type='bart', only 'marian'"),
        ({"normalize_before": True}, "normalize_before=True, only False"),
        ({"scale_embedding": False}, "scale_embedding=False, only True"),
        ({"activation_function": "tanh"}, "activation_function='tanh'"),
        ({"decoder_attention_heads": 2}, "differ; our model has one number"),
        ({"decoder_start_token_id": 5}, "differ; our model has one number"),
        ({"decoder_vocab_size": 5}, "two vocabularies"),
        ({"encoder_layers": 1}, "unknown weight model.encoder.layers.1"),
        ({"encoder_layers": 3}, "lacks the weight model.encoder.layers.2"),
        ({"vocab_size": 9, "decoder_vocab_size": 9}, "four different ids|must number"),
        ({"d_model": 64}, "claims a model of"),
        ({"d_model": 34, "encoder_attention_heads": 1}, "differ"),
        ({"encoder_ffn_dim": 49, "decoder_ffn_dim": 49}, "fc1.weight has shape"),
        ({"d_model": "32"}, "config.json: d_model='32' must be an int"),
        ({"vocab_size": "9", "decoder_vocab_size": "9"}, "config.json: "),
        ({"activation_function": ["relu"]}, "config.json: activation_function="),
    ],
)
def test_a_checkpoint_that_our_model_cannot_be_is_refused(fields, message, copy):
    change(copy, **fields)
    with pytest.raises(ValueError, match=message):
        load_marian(copy)


@pytest.mark.parametrize(
    "fields",
    [
        {"encoder_layers": 10**5},
        {"decoder_layers": 10**9},
        {"max_position_embeddings": 10**8},
        {"encoder_ffn_dim": 10**9, "decoder_ffn_dim": 10**9},
        {"vocab_size": 10**9, "decoder_vocab_size": 10**9},
    ],
    ids=str,
)
def test_a_claim_of_a_huge_model_is_refused_before_one_is_built(
    fields, copy, monkeypatch
):
    def build(config):
        raise AssertionError("a model was built")

    def bounded(n):
        assert n < 10**6
        return range(n)

    monkeypatch.setattr(marian, "Transformer", build)
    monkeypatch.setattr(marian, "range", bounded, raising=False)
    change(copy, **fields)
    message = r"claims (a model of [\d,]+ weights|max_len=)|vocab.json must number"
    with pytest.raises(ValueError, match=message):
        load_marian(copy)


@pytest.mark.parametrize(
    "content",
    [
        b"print('hello')\n" * 9,
        b"just some text\n" * 9,
        "Größe\n".encode() * 9,
        b"<!doctype html><title>404</title>",
        b"e\n",
        b"",
        b"\x80\x02}.",
        bytes(range(256)),
    ],
)
def test_what_is_no_pickle_of_weights_is_an_error_that_names_the_file(content, copy):
    (copy / "model.safetensors").unlink()
    (copy / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(ValueError, match=r"pytorch_model.bin"):
        load_marian(copy)


@pytest.mark.parametrize("name", ["config.json", "vocab.json"])
@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"<unk>": "one"}', "[]"], ids=["deep", "text", "list"]
)
def test_json_of_another_kind_is_an_error_that_names_the_file(name, text, copy):
    (copy / name).write_text(text)
    with pytest.raises(ValueError, match=name):
        load_marian(copy)


@pytest.mark.parametrize("dtype", ["bool", "int64", "complex64", "float8_e4m3fn"])
def test_weights_of_a_dtype_that_cannot_hold_them_are_refused(dtype, copy):
    name = "model.encoder.layers.0.fc1.bias"
    weights = load_file(copy / "model.safetensors")
    weights[name] = weights[name].to(getattr(torch, dtype))
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=f"{name} is stored as torch.{dtype}, which"):
        load_marian(copy)


FILES = ["config.json", "vocab.json", "source.spm", "target.spm", "model.safetensors"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_missing_or_damaged_is_named(name, copy):
    whole = (copy / name).read_bytes()
    (copy / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=name):
        load_marian(copy)
    (copy / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        load_marian(copy)


def test_a_table_that_should_be_shared_but_is_not_is_refused(copy):
    weights = load_file(copy / "model.safetensors")
    weights["lm_head.weight"] = weights["model.shared.weight"] + 1
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match="lm_head.weight is not what our model has"):
        load_marian(copy)


def test_it_cannot_be_saved_as_a_run_and_says_so(there, tmp_path):
    translator = load_marian(there[0])
    export = functools.partial(interop.export, translator, "hf")
    for keep in (translator.save, export):
        with pytest.raises(ValueError, match="keep the folder that it came from"):
            keep(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
