"""The decoder: back at the target, across to the source, never ahead."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tformer.decoder import Cache, Decoder, DecoderLayer
from tformer.masks import causal_mask, source_mask
from tformer.norm import LayerNorm
from tformer.residual import Residual

TIGHT = {"rtol": 0, "atol": 1e-12}  # float64 throughout
T, S = 6, 9


@pytest.fixture(params=["post", "pre"])
def decoder(request, randomise):
    """Three layers, width 8, two heads, float64."""
    return randomise(Decoder(3, 8, 2, 16, norm=request.param)).double()


@pytest.fixture
def x():
    return torch.randn(2, T, 8, dtype=torch.float64)


@pytest.fixture
def memory():
    return torch.randn(2, S, 8, dtype=torch.float64)


def reach(function, at):
    """(out, in): whether output row `out` depends on input row `in` at all."""
    jacobian = torch.autograd.functional.jacobian(function, at)  # (1, T, D, 1, S, D)
    return jacobian[0, :, :, 0].abs().amax(dim=(1, 3)) > 0


def test_a_layer_looks_back_then_across_then_thinks(randomise, x, memory):
    layer = randomise(DecoderLayer(8, 2, 16)).double()
    mask = causal_mask(T)
    h = layer.self_attention_residual.norm(x + layer.self_attention(x, mask=mask))
    h = layer.cross_attention_residual.norm(h + layer.cross_attention(h, memory))
    expected = layer.feed_forward_residual.norm(h + layer.feed_forward(h))
    assert_close(layer(x, memory, mask), expected, **TIGHT)


def test_through_all_blocks_the_past_is_exactly_free_of_the_future(decoder, x, memory):
    """The Jacobian of row t by row u is 0 for u > t, and not 0 for u <= t."""
    reaches = reach(lambda x: decoder(x, memory[:1], causal_mask(T)), x[:1])
    assert reaches.tolist() == causal_mask(T).tolist()


def test_without_the_mask_the_future_leaks(decoder, x, memory):
    assert reach(lambda x: decoder(x, memory[:1]), x[:1]).all()


def test_the_source_reaches_every_target_row_but_its_padding_none(decoder, x, memory):
    ids = torch.tensor([[4, 5, 6, 7, 8, 0, 0, 0, 0]])

    def run(memory):
        return decoder(x[:1], memory, causal_mask(T), source_mask(ids, 0))

    reaches = reach(run, memory[:1])
    assert reaches.shape == (T, S)
    assert reaches[:, :5].all()
    assert not reaches[:, 5:].any()


def test_output_rows_follow_the_target(decoder, x, memory):
    assert decoder(x, memory, causal_mask(T)).shape == (2, T, 8)
    assert decoder(x[:, :1], memory).shape == (2, 1, 8)


def test_the_order_of_the_memory_means_nothing(decoder, x, memory):
    """Order is in what the encoder wrote, not in where it stands."""
    order = torch.randperm(S)
    out = decoder(x, memory, causal_mask(T))
    assert_close(decoder(x, memory[:, order], causal_mask(T)), out, **TIGHT)


def test_one_masked_pass_is_as_many_passes_as_there_are_prefixes(decoder, x, memory):
    together = decoder(x, memory, causal_mask(T))
    for length in range(1, T + 1):
        prefix = decoder(x[:, :length], memory, causal_mask(length))
        assert_close(prefix[:, -1], together[:, length - 1], **TIGHT)


def test_with_a_cache_each_step_gives_the_row_of_the_whole_pass(decoder, x, memory):
    ids = torch.tensor([[4, 5, 6, 7, 8, 0, 0, 0, 0], [4] * 9])
    mask = source_mask(ids, 0)
    whole = decoder(x, memory, causal_mask(T), mask)
    cache = Cache(3)
    for step in range(T):
        assert cache.length == step
        row = decoder(x[:, step : step + 1], memory, None, mask, cache)
        assert_close(row[:, 0], whole[:, step], **TIGHT)


def test_the_cache_projects_the_memory_once(decoder, x, memory):
    cache = Cache(3)
    decoder(x[:, :1], memory, cache=cache)
    kept = [layer.memory[0] for layer in cache.layers]
    decoder(x[:, 1:2], memory, cache=cache)
    for layer, keys in zip(cache.layers, kept, strict=True):
        assert layer.memory[0] is keys
    own = [keys.flatten().tolist() for keys in kept]
    assert own[0] != own[1] != own[2]  # each layer projects for itself


def test_a_cache_follows_its_rows_when_they_are_reordered(decoder, x, memory):
    cache = Cache(3)
    decoder(x[:, :1], memory, cache=cache)
    decoder(x[:, 1:2], memory, cache=cache)
    rows = torch.tensor([1, 1, 0])
    cache.select(rows)
    row = decoder(x[rows, 2:3], memory[rows], cache=cache)
    expected = decoder(x[rows, :3], memory[rows], causal_mask(3))[:, -1]
    assert_close(row[:, 0], expected, **TIGHT)


def test_rows_of_one_source_may_swap_histories_and_keep_it(decoder, x, memory):
    same = memory[:1].expand(2, -1, -1)
    cache = Cache(3)
    decoder(x[:, :1], same, cache=cache)
    rows = torch.tensor([1, 0])
    kept = cache.layers[0].memory[0]
    cache.select(rows, same_sources=True)
    assert cache.layers[0].memory[0] is kept
    row = decoder(x[rows, 1:2], same, cache=cache)
    expected = decoder(x[rows, :2], same, causal_mask(2))[:, -1]
    assert_close(row[:, 0], expected, **TIGHT)


def test_only_a_pre_norm_stack_ends_in_one_more_norm():
    for norm, count in [("post", 3 * 3), ("pre", 3 * 3 + 1)]:
        decoder = Decoder(3, 8, 2, 16, norm=norm)
        norms = [each for each in decoder.modules() if isinstance(each, LayerNorm)]
        assert len(norms) == count
    assert isinstance(Decoder(1, 8, 2, 16, norm="post").final_norm, nn.Identity)


def test_layers_do_not_share_their_weights():
    parameters = list(Decoder(3, 8, 2, 16).parameters())
    assert len({parameter.data_ptr() for parameter in parameters}) == 3 * 26


def test_the_layers_settings_reach_its_parts():
    layer = DecoderLayer(8, 2, 16, dropout=0.25, norm="pre", activation="gelu")
    drops = [each.p for each in layer.modules() if isinstance(each, nn.Dropout)]
    assert drops == [0.25] * 3
    residuals = [each for each in layer.modules() if isinstance(each, Residual)]
    assert [each.is_pre for each in residuals] == [True] * 3
    assert layer.feed_forward.activation is nn.functional.gelu
    assert layer.self_attention.n_heads == layer.cross_attention.n_heads == 2
