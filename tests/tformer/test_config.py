"""The configuration: validated once, with errors that name the value and the rule."""

from __future__ import annotations

import dataclasses
import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tformer.config import TransformerConfig
from tformer.parts import POSITIONS

SIZES = [
    *("vocab_size", "d_model", "n_heads", "d_ff"),
    *("n_encoder_layers", "n_decoder_layers", "max_len", "n_groups"),
]
KNOWN_POSITIONS = ", ".join(map(repr, [*POSITIONS][:-1]))
SPECIAL = ["pad_id", "bos_id", "eos_id", "unk_id"]


def test_the_defaults_are_the_released_models_size():
    config = TransformerConfig()
    assert (config.vocab_size, config.d_model, config.n_heads) == (6000, 192, 6)
    assert (config.d_ff, config.max_len, config.dropout) == (768, 256, 0.1)
    assert (config.n_encoder_layers, config.n_decoder_layers) == (3, 3)
    assert (config.norm, config.activation) == ("post", "relu")  # the paper's
    assert (config.positions, config.norm_kind) == ("sinusoidal", "layer")
    assert (config.attention, config.feed_forward) == ("multi-head", "plain")
    assert config.tie_embeddings and not config.output_bias
    special = (config.pad_id, config.bos_id, config.eos_id, config.unk_id)
    assert special == (0, 1, 2, 3)


def test_every_field_has_a_test_here():
    others = {"dropout", "positions", "norm", "norm_kind", "activation", "attention"}
    others |= {"feed_forward", "tie_embeddings", "output_bias"}
    tested = {*SIZES, *SPECIAL, *others}
    assert tested == {field.name for field in dataclasses.fields(TransformerConfig)}


@pytest.mark.parametrize("field", SIZES + SPECIAL)
@pytest.mark.parametrize("value", [8.0, "8", None, True])
def test_a_size_or_id_that_is_no_int_is_refused(field, value):
    with pytest.raises(TypeError, match=rf"^{field}={value!r} must be an int$"):
        TransformerConfig(**{field: value})


@pytest.mark.parametrize("field", SIZES)
@pytest.mark.parametrize("value", [0, -2])
def test_a_size_must_be_positive(field, value):
    with pytest.raises(ValueError, match=rf"^{field}={value} must be at least 1$"):
        TransformerConfig(**{field: value})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"d_model": 9, "n_heads": 3}, r"d_model=9 must be even"),
        ({"d_ff": 2**63}, rf"d_ff={2**63} must be less than 2\*\*63"),
        ({"d_model": 20, "n_heads": 6}, r"d_model=20 must be a multiple of n_heads=6"),
        ({"dropout": 1.0}, r"dropout=1.0 must be in \[0, 1\)"),
        ({"dropout": -0.1}, r"dropout=-0.1 must be in \[0, 1\)"),
        ({"dropout": float("nan")}, r"dropout=nan must be in \[0, 1\)"),
        ({"positions": "no"}, f"positions='no' must be {KNOWN_POSITIONS} or "),
        ({"norm_kind": "batch"}, r"norm_kind='batch' must be 'layer' or 'rms'"),
        ({"attention": "no"}, r"attention='no' must be 'multi-head' or 'grouped'"),
        ({"feed_forward": "no"}, r"feed_forward='no' must be 'plain' or 'swiglu'"),
        ({"n_groups": 4}, r"n_groups=4 must be a divisor of n_heads=6"),
        ({"positions": "rotary", "d_model": 30}, r"d_model / n_heads=5 must be even"),
        ({"norm": "middle"}, r"norm='middle' must be 'post' or 'pre'"),
        ({"activation": "tanh"}, r"activation='tanh' must be 'relu', 'gelu' or 'swish"),
    ],
)
def test_a_value_that_breaks_a_rule_is_named_with_the_rule(fields, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        TransformerConfig(**fields)


@pytest.mark.parametrize("value", ["0.1", None, True])
def test_dropout_must_be_a_number(value):
    with pytest.raises(TypeError, match=f"^dropout={value!r} must be a number$"):
        TransformerConfig(dropout=value)


@pytest.mark.parametrize("field", ["tie_embeddings", "output_bias"])
@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_what_is_there_or_not_is_a_bool(field, value):
    with pytest.raises(TypeError, match=f"^{field}={value!r} must be a bool$"):
        TransformerConfig(**{field: value})


@pytest.mark.parametrize("field", SPECIAL)
@pytest.mark.parametrize("value", [-1, 6000])
def test_a_special_id_outside_the_vocabulary_is_named(field, value):
    message = rf"{value}.* must be four different ids below vocab_size=6000$"
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**{field: value})


@pytest.mark.parametrize(("first", "second"), [*combinations(SPECIAL, 2)])
def test_special_ids_that_are_equal_are_named(first, second):
    ids = dict(zip(SPECIAL, range(10, 14), strict=True))
    TransformerConfig(**ids)
    ids[second] = ids[first]
    with pytest.raises(ValueError, match=rf"{ids[first]}.*must be four different ids"):
        TransformerConfig(**ids)


def test_a_vocabulary_of_special_ids_only_is_the_smallest():
    assert TransformerConfig(vocab_size=4).vocab_size == 4
    with pytest.raises(ValueError, match="vocab_size=3"):
        TransformerConfig(vocab_size=3)


def test_a_configuration_cannot_be_changed_only_replaced():
    config = TransformerConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.d_model = 8
    with pytest.raises(ValueError, match="d_model=100 must be a multiple"):
        dataclasses.replace(config, d_model=100)  # and is validated again


@given(
    st.builds(
        TransformerConfig,
        vocab_size=st.integers(4, 50_000),
        d_model=st.sampled_from([6, 12, 192]),
        dropout=st.floats(0, 1, exclude_max=True),
        positions=st.sampled_from(["sinusoidal", "learned"]),
        norm=st.sampled_from(["post", "pre"]),
        tie_embeddings=st.booleans(),
    )
)
def test_through_json_and_back_nothing_changes(config):
    fields = json.loads(json.dumps(config.to_dict()))
    assert TransformerConfig.from_dict(fields) == config


def test_fields_left_out_of_a_dictionary_get_their_defaults():
    assert TransformerConfig.from_dict({"d_ff": 5}) == TransformerConfig(d_ff=5)
    saved = TransformerConfig().to_dict()
    del saved["positions"]  # a model that was saved before there was a choice
    del saved["output_bias"]
    assert TransformerConfig.from_dict(saved).positions == "sinusoidal"
    assert TransformerConfig.from_dict(saved).output_bias is False


def test_unknown_fields_are_all_named():
    with pytest.raises(ValueError, match="unknown configuration fields: dmodel, heads"):
        TransformerConfig.from_dict({"heads": 2, "dmodel": 8, "d_ff": 16})


def test_a_file_names_newer_parts_only_where_they_are_not_the_papers():
    """So programs of before, which know nothing of them, open what they can run."""
    newer = {"norm_kind", "attention", "n_groups", "feed_forward"}
    assert newer.isdisjoint(TransformerConfig().stored())
    stored = TransformerConfig().stored().keys()
    assert TransformerConfig().to_dict().keys() - newer == stored
    other = TransformerConfig(attention="grouped", n_groups=3, norm_kind="rms")
    assert other.stored().keys() & newer == {"attention", "n_groups", "norm_kind"}
    assert TransformerConfig.from_dict(other.stored()) == other
