"""The encoder: positions exchange what they know; order enters from outside."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tformer.encoder import Encoder, EncoderLayer
from tformer.masks import source_mask
from tformer.norm import LayerNorm

TIGHT = {"rtol": 0, "atol": 1e-12}  # float64 throughout


@pytest.fixture(params=["post", "pre"])
def encoder(request, randomise):
    """Three layers, width 8, two heads, float64."""
    return randomise(Encoder(3, 8, 2, 16, norm=request.param)).double()


@pytest.fixture
def x():
    return torch.randn(2, 5, 8, dtype=torch.float64)


def test_a_layer_is_attention_then_feed_forward_each_beside_the_stream(randomise, x):
    layer = randomise(EncoderLayer(8, 2, 16)).double()
    attended = layer.self_attention_residual.norm(x + layer.self_attention(x))
    expected = layer.feed_forward_residual.norm(attended + layer.feed_forward(attended))
    assert_close(layer(x), expected, **TIGHT)


def test_a_stack_is_its_layers_one_after_the_other(encoder, x):
    expected = x
    for layer in encoder.layers:
        expected = layer(expected)
    assert len(encoder.layers) == 3
    assert_close(encoder(x), encoder.final_norm(expected), **TIGHT)


def test_only_a_pre_norm_stack_ends_in_one_more_norm():
    """The paper's post-norm stack ends in a norm already and gets no other."""
    for norm, count in [("post", 3 * 2), ("pre", 3 * 2 + 1)]:
        encoder = Encoder(3, 8, 2, 16, norm=norm)
        norms = [each for each in encoder.modules() if isinstance(each, LayerNorm)]
        assert len(norms) == count
    assert isinstance(Encoder(1, 8, 2, 16, norm="post").final_norm, nn.Identity)


def test_layers_do_not_share_their_weights():
    encoder = Encoder(3, 8, 2, 16)
    parameters = list(encoder.parameters())
    assert len({parameter.data_ptr() for parameter in parameters}) == 3 * 16


def test_without_positions_order_means_nothing(encoder, x):
    order = torch.tensor([3, 0, 4, 1, 2])
    assert_close(encoder(x[:, order]), encoder(x)[:, order], **TIGHT)
    assert not torch.allclose(encoder(x[:, order]), encoder(x))


def test_every_position_reaches_every_other(encoder, x):
    jacobian = torch.autograd.functional.jacobian(encoder, x[:1])[0, :, :, 0]
    assert (jacobian.abs().amax(dim=(1, 3)) > 0).all()  # (5, 8, 5, 8) -> (5, 5)


def test_a_hidden_position_reaches_no_visible_one(encoder, x):
    ids = torch.tensor([[4, 5, 6, 0, 0]])
    mask = source_mask(ids, 0)
    jacobian = torch.autograd.functional.jacobian(lambda x: encoder(x, mask), x[:1])
    reaches = jacobian[0, :, :, 0].abs().amax(dim=(1, 3)) > 0  # (out, in)
    assert reaches[:3, :3].all()
    assert not reaches[:3, 3:].any()


def test_the_layers_settings_reach_its_parts():
    layer = EncoderLayer(8, 2, 16, dropout=0.25, norm="pre", activation="gelu")
    drops = [each.p for each in layer.modules() if isinstance(each, nn.Dropout)]
    assert drops == [0.25, 0.25]
    assert layer.self_attention_residual.is_pre
    assert layer.feed_forward_residual.is_pre
    assert layer.feed_forward.activation is nn.functional.gelu
    assert layer.self_attention.n_heads == 2
    assert layer.feed_forward.expand.out_features == 16
