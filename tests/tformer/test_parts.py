"""Other parts than the paper's enter by name, in a few lines beside the core."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from tformer import Transformer, TransformerConfig, data, decode, load_pretrained, train
from tformer.analysis import trace
from tformer.interop import export
from tformer.norm import LayerNorm
from tformer.parts import (
    ACTIVATIONS,
    ATTENTIONS,
    FEED_FORWARDS,
    NORM_PLACES,
    NORMS,
    POSITIONS,
    Parts,
)
from tformer.translator import Translator
from tformer.variants import GroupedAttention, RMSNorm, RotaryAttention, SwiGLU
from tformer_book import show

SENTENCES = [text for pair in data.load("grammar").train[:60] for text in pair]
VARIANTS = {
    "rms_norm": {"norm_kind": "rms"},
    "rotary": {"positions": "rotary"},
    "grouped": {"attention": "grouped", "n_groups": 2},
    "swiglu": {"feed_forward": "swiglu"},
}
ALL = {name: value for each in VARIANTS.values() for name, value in each.items()}


def config_of(name: str, vocab_size: int = 13, **fields) -> TransformerConfig:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "max_len": 24}
    depth = {"n_encoder_layers": 2, "n_decoder_layers": 2, "dropout": 0.0}
    named = ALL if name == "all" else VARIANTS[name]
    return TransformerConfig(vocab_size, **sizes, **depth, **named, **fields)


def model_of(name: str, **fields) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(config_of(name, **fields))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model.eval()


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_takes_at_most_thirty_lines(name):
    module = import_module(f"tformer.variants.{name}")
    code = repr(show.source(module, docstring=False)).splitlines()
    lines = [x for x in code if x.strip() and not x.startswith(("import", "from"))]
    assert len(lines) <= 30


@pytest.mark.parametrize("name", [*VARIANTS, "all"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_variant_decodes_with_a_cache_as_in_one_masked_pass(name, norm, random_ids):
    model, source_ids = model_of(name, norm=norm), random_ids([3, 7, 5, 2])
    with torch.no_grad():  # sentences end late, so that there is much to compare
        model.output_embedding.weight[model.config.eos_id] *= 0.1
    for search in (decode.greedy, decode.beam_search):
        found = search(model, source_ids, max_len=12)
        assert found == search(model, source_ids, max_len=12, use_cache=False)
        assert any(found)


@pytest.mark.parametrize("name", [*VARIANTS, "all"])
def test_a_variants_attention_can_be_watched(name, random_ids):
    model, source_ids = model_of(name), random_ids([4])
    target_ids = F.pad(source_ids, (1, 0), value=1)[:, :-1]
    for weights in trace.attention_weights(model, source_ids, target_ids):
        assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


@pytest.mark.parametrize("name", [*VARIANTS, "all"])
def test_every_parameter_of_a_variant_learns(name, random_ids):
    model, source_ids = model_of(name, norm="pre").train(), random_ids([3, 7])
    target_ids = F.pad(source_ids, (1, 0), value=1)[:, :-1]
    model(source_ids, target_ids).log_softmax(-1)[..., 5].sum().backward()
    silent = [n for n, p in model.named_parameters() if not p.grad.abs().sum() > 0]
    assert all(each.endswith("to_key.bias") for each in silent)  # softmax ignores it


def test_the_norm_goes_wherever_the_paper_has_one():
    model = model_of("rms_norm", norm="pre")
    kinds = [type(each) for each in model.modules()]
    assert kinds.count(RMSNorm) == 2 * 2 + 2 * 3 + 2
    assert LayerNorm not in kinds


def test_rotary_scores_depend_on_the_distance_alone():
    """Where a plain model's sinusoids say at which position a word stands."""
    ids, later = torch.tensor([[5, 6, 7]]), torch.tensor([[9, 9, 5, 6, 7]])
    near = torch.zeros(5, 5, dtype=torch.bool)
    near[:2, :2] = near[2:, 2:] = True  # two sentences in one row, apart
    rotary = model_of("rotary")
    embed = rotary.source_embedding
    embedded = [rotary.positions(embed(each)) for each in (ids, later)]
    alone, beside = rotary.encoder(embedded[0]), rotary.encoder(embedded[1], near)
    assert_close(beside[:, 2:], alone, rtol=0, atol=1e-5)
    other = rotary.encoder(embedded[0].flip(1)).flip(1)
    assert not torch.allclose(other, alone, atol=1e-2)  # but order matters


def test_the_papers_parts_keep_the_names_of_the_released_weights(make_model):
    released = load_pretrained().model
    ours = Transformer(released.config, parts=Parts())
    assert ours.state_dict().keys() == released.state_dict().keys()


NAMES = {
    "positions": POSITIONS,
    "norm": NORM_PLACES,
    "norm_kind": NORMS,
    "attention": ATTENTIONS,
    "feed_forward": FEED_FORWARDS,
    "activation": ACTIVATIONS,
}


@given(
    st.fixed_dictionaries({n: st.sampled_from([*known]) for n, known in NAMES.items()}),
    st.sampled_from([1, 2, 4]),
)
def test_a_configuration_knows_the_size_of_a_model_of_any_parts(named, n_groups):
    config = TransformerConfig(13, 16, 4, 24, 1, 2, **named, n_groups=n_groups)
    assert config.n_parameters == Transformer(config).n_parameters()


def test_parts_that_meet_are_both_there():
    attention = model_of("all").encoder.layers[0].self_attention
    assert isinstance(attention, RotaryAttention)
    assert isinstance(attention, GroupedAttention)
    across = model_of("all").decoder.layers[0].cross_attention
    assert type(across) is GroupedAttention


@pytest.mark.parametrize("name", [*VARIANTS, "all"])
def test_a_model_of_named_parts_trains_and_comes_back_as_it_was(name, tmp_path):
    corpus = data.load("grammar")
    recipe = train.Recipe(max_tokens=512, warmup_steps=2, eval_every=4, average_last=1)
    config = replace(config_of(name, vocab_size=500), max_len=96)
    small = replace(corpus, train=corpus.train[:300], valid=corpus.valid[:4])
    run = train.fit(config, small, steps=4, recipe=recipe, folder=tmp_path / "run")
    run.translator.save(tmp_path / "model")
    back = load_pretrained(tmp_path / "model")
    assert back.model.config == run.translator.model.config == config
    english = [pair[0] for pair in corpus.valid[:3]]
    assert back.translate(english) == run.translator.translate(english)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in VARIANTS
        for kind in ("hf", "lab", "onnx", "ctranslate2")
        if (name, kind) != ("rotary", "lab")  # pages have it: tests/book/engine
    ],
)
def test_what_others_lack_is_not_exported(name, kind, make_translator, tmp_path):
    tokenizer = make_translator(SENTENCES).tokenizer
    model = Transformer(config_of(name, vocab_size=tokenizer.vocab_size))
    [(field, value)] = {**VARIANTS[name]}.items() - {("n_groups", 2)}
    with pytest.raises(ValueError, match=f"^{field}='{value}': the program that this"):
        export(Translator(model, tokenizer), kind, tmp_path / "out")
    assert not (tmp_path / "out").exists()


class Own(nn.Identity):
    """A norm that does nothing."""

    def __init__(self, d_model: int) -> None:
        super().__init__()


def test_a_part_of_your_own_stands_in_place_of_what_is_named():
    model = Transformer(config_of("all"), parts=Parts(norm=Own))
    assert any(isinstance(each, Own) for each in model.modules())
    assert not any(isinstance(each, RMSNorm | LayerNorm) for each in model.modules())
    assert any(isinstance(each, SwiGLU) for each in model.modules())  # still named


def test_a_model_of_parts_of_your_own_is_not_saved(make_translator, tmp_path):
    """It would come back with the paper's norm, and nothing would say so."""
    tokenizer = make_translator(SENTENCES).tokenizer
    config = TransformerConfig(tokenizer.vocab_size, 16, 4, 24)
    model = Transformer(config, parts=Parts(norm=Own))
    with pytest.raises(ValueError, match="parts of its own, which no file can name"):
        Translator(model, tokenizer).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
