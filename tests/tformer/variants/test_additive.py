"""Additive attention: its formula, its masks, its errors."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from tformer import masks
from tformer.analysis import trace
from tformer.variants.additive import AdditiveAttention

B, TQ, TK = 2, 3, 4


@pytest.fixture
def layer(randomise) -> AdditiveAttention:
    return randomise(AdditiveAttention(5, 6, 7)).double()


@pytest.fixture
def inputs():
    shapes = [(B, TQ, 5), (B, TK, 6), (B, TK, 2)]
    return [torch.randn(shape, dtype=torch.float64) for shape in shapes]


def weights_of(layer, *args, **kwargs):
    with trace.watch(layer, "weights") as seen:
        layer(*args, **kwargs)
    return seen["weights"][0]


def test_every_weight_is_the_papers_formula(layer, inputs):
    """v^T tanh(W_q q + W_k k), one pair at a time, in plain Python."""
    query, key, value = inputs
    weights = weights_of(layer, query, key, value)
    w_query, w_key = layer.to_query.weight.tolist(), layer.to_key.weight.tolist()
    [v] = layer.to_score.weight.tolist()

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    for b in range(B):
        for i in range(TQ):
            q = query[b, i].tolist()
            powers = []
            for k in key[b].tolist():
                rows = zip(w_query, w_key, strict=True)
                hidden = [math.tanh(dot(mine, q) + dot(its, k)) for mine, its in rows]
                powers.append(math.exp(dot(v, hidden)))
            expected = torch.tensor([p / sum(powers) for p in powers])
            assert_close(weights[b, 0, i], expected.double(), rtol=1e-5, atol=1e-6)


def test_the_output_is_the_weighted_mean_of_the_values(layer, inputs):
    query, key, value = inputs
    weights = weights_of(layer, query, key, value)
    assert weights.shape == (B, 1, TQ, TK)
    assert_close(weights.sum(-1), torch.ones(B, 1, TQ).double())
    assert_close(layer(query, key, value), weights[:, 0] @ value)
    assert_close(layer(query, key), weights[:, 0] @ key)


def test_what_is_masked_gets_weight_zero_and_changes_nothing(layer, inputs):
    query, key, value = inputs
    mask = masks.padding_mask(torch.tensor([[5, 5, 5, 5], [5, 5, 0, 0]]), pad_id=0)
    before = layer(query, key, value, mask=mask)
    weights = weights_of(layer, query, key, value, mask=mask)
    assert (weights[1, :, :, 2:] == 0).all() and (weights[0] > 0).all()
    key[1, 2:] = value[1, 2:] = 1e3
    assert_close(layer(query, key, value, mask=mask), before, rtol=0, atol=0)
    assert not torch.allclose(layer(query, key, value), before)  # it can fail


def test_a_causal_mask_serves_here_too(layer, randomise):
    layer = randomise(AdditiveAttention(5, 5, 7))
    x = torch.randn(B, TQ, 5)
    weights = weights_of(layer, x, x, mask=masks.causal_mask(TQ))
    assert (weights.triu(1) == 0).all()
    assert_close(weights.sum(-1), torch.ones(B, 1, TQ))


def test_without_a_batch_axis_it_does_the_same(layer, inputs):
    query, key, value = inputs
    assert_close(layer(query[1], key[1], value[1]), layer(query, key, value)[1])


def test_keys_projected_before_give_the_same(layer, inputs):
    query, key, value = inputs
    given = layer.attend(query, layer.to_key(key), value)
    assert_close(given, layer(query, key, value))


def test_a_hook_may_change_the_weights(layer, inputs):
    query, key, value = inputs
    handle = layer.weights.register_forward_hook(
        lambda module, args, output: torch.full_like(output, 1 / TK)
    )
    mean = value.mean(dim=1, keepdim=True).expand(-1, TQ, -1)
    assert_close(layer(query, key, value), mean)
    handle.remove()


def test_a_mask_that_is_not_bool_is_refused(layer, inputs):
    with pytest.raises(TypeError, match=r"must be bool.*float32.*mask\.bool\(\)"):
        layer(*inputs, mask=torch.ones(TQ, TK))


@pytest.mark.parametrize(
    "shape", [(B, TQ, TK), (TK, TQ), (B, 2, TQ, TK), (3, 1, 1, TK), (1, B, 1, TQ, TK)]
)
def test_a_mask_of_another_shape_is_refused_and_never_broadcast(shape, layer, inputs):
    with pytest.raises(ValueError, match="does not broadcast"):
        layer(*inputs, mask=torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(B, TQ, 5), (B, TK, 6), (B, TK + 1, 2)], "4 keys and 5 values"),
        ([(B, TQ, 5), (1, TK, 6), (1, TK, 2)], "same batch size"),
        ([(B, TQ, 5), (TK, 6), (TK, 2)], "same axes"),
        ([(5,), (6,), (2,)], "same axes"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, message, layer):
    with pytest.raises(ValueError, match=message):
        layer(*(torch.randn(shape, dtype=torch.float64) for shape in shapes))


@pytest.mark.parametrize("name", ["d_query", "d_key", "d_hidden"])
def test_a_width_of_nothing_is_refused(name):
    widths = {"d_query": 2, "d_key": 2, "d_hidden": 2, name: 0}
    with pytest.raises(ValueError, match=f"{name}=0 must be at least 1"):
        AdditiveAttention(**widths)
