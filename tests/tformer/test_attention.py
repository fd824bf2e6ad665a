"""Attention: a soft look-up, and several side by side."""

from __future__ import annotations

import math
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from tformer.attention import MultiHeadAttention, attention
from tformer.masks import causal_mask

EXACT = {"rtol": 0, "atol": 0}
TIGHT = {"rtol": 0, "atol": 1e-12}  # float64 throughout, unless a test says otherwise


def random_qkv(n_queries=5, n_keys=5, width=4, *, batch=(2, 3), seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(length):
        shape = (*batch, length, width)
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    return draw(n_queries), draw(n_keys), draw(n_keys)


def random_mask(shape, seed=0):
    """A mask in which every query sees at least one key."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(shape, generator=generator) < 0.5
    keep = torch.randint(shape[-1], shape[:-1], generator=generator)
    return mask.scatter(-1, keep[..., None], True)


@pytest.fixture
def layer(randomise):
    """Eight dimensions, two heads, random weights and biases, float64."""
    return randomise(MultiHeadAttention(8, 2)).double()


# ------------------------------------------------------------------ one attention


def test_a_small_case_worked_by_hand():
    """Two keys, Dh = 4: scores 2 ln 3 and 0, halved to ln 3 and 0: weights 3/4, 1/4."""
    query = torch.tensor([[2 * math.log(3), 0.0, 0.0, 0.0]])
    key = torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    value = torch.tensor([[8.0, 0.0], [0.0, 4.0]])
    output, weights = attention(query, key, value)
    assert_close(weights, torch.tensor([[0.75, 0.25]]))
    assert_close(output, torch.tensor([[6.0, 1.0]]))


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_rows_of_weights_sum_to_one_and_masked_ones_are_zero(n_queries, n_keys, seed):
    query, key, value = random_qkv(n_queries, n_keys, seed=seed)
    mask = random_mask((2, 1, n_queries, n_keys), seed)
    output, weights = attention(query * 10, key, value, mask=mask)
    assert weights.shape == (2, 3, n_queries, n_keys)
    assert_close(weights.sum(-1), torch.ones(2, 3, n_queries).double(), **TIGHT)
    assert (weights[~mask.expand_as(weights)] == 0).all()
    assert (weights[mask.expand_as(weights)] > 0).all()
    assert_close(output, weights @ value, **TIGHT)


def test_masking_a_key_is_the_same_as_taking_it_away():
    query, key, value = random_qkv()
    mask = torch.tensor([True, False, True, True, False])
    output, weights = attention(query, key, value, mask=mask)
    fewer, shorter = attention(query, key[..., mask, :], value[..., mask, :])
    assert_close(output, fewer, **TIGHT)
    assert_close(weights[..., mask], shorter, **TIGHT)
    everything, _ = attention(query, key, value)
    assert not torch.allclose(output, everything)


def test_the_future_cannot_change_the_past():
    query, key, value = random_qkv()
    before, _ = attention(query, key, value, mask=causal_mask(5))
    key[..., -1, :] = value[..., -1, :] = 1e3  # rewrite only the last position
    after, _ = attention(query, key, value, mask=causal_mask(5))
    assert_close(after[..., :-1, :], before[..., :-1, :], **EXACT)
    assert not torch.allclose(after[..., -1, :], before[..., -1, :])


def test_the_order_of_keys_does_not_matter_and_that_of_queries_carries_over():
    query, key, value = random_qkv()
    order = torch.tensor([3, 0, 4, 1, 2])
    output, weights = attention(query, key, value)
    shuffled, columns = attention(query, key[..., order, :], value[..., order, :])
    assert_close(shuffled, output, **TIGHT)
    assert_close(columns, weights[..., order], **TIGHT)
    rows, _ = attention(query[..., order, :], key, value)
    assert_close(rows, output[..., order, :], **TIGHT)
    assert not torch.allclose(rows, output)


def test_the_scale_keeps_the_spread_of_scores_at_one_however_wide():
    """Unit normal queries and keys: without the root the spread grows as sqrt(Dh)."""
    for width in (4, 64, 1024):
        query, key, value = random_qkv(64, 64, width)
        _, weights = attention(query, key, value)
        log_weights = weights.log()
        spread = (log_weights - log_weights.mean(-1, keepdim=True)).std().item()
        assert spread == pytest.approx(1, abs=0.05)


def test_without_a_mask_everything_is_seen():
    query, key, value = random_qkv()
    everything = attention(query, key, value, mask=torch.ones(5, 5, dtype=torch.bool))
    assert_close(attention(query, key, value), everything, **EXACT)


def test_a_mask_broadcasts_from_every_rank():
    query, key, value = random_qkv(5, 4)
    mask = torch.tensor([True, False, True, True])
    expected, _ = attention(query, key, value, mask=mask.expand(2, 3, 5, 4))
    for shape in [(4,), (1, 4), (5, 4), (1, 1, 4), (2, 1, 1, 4), (2, 3, 5, 4)]:
        output, _ = attention(query, key, value, mask=mask.expand(shape))
        assert_close(output, expected, **EXACT)


# ------------------------------------------------------------- bad input, one error


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_that_is_not_bool_is_refused_for_its_polarity(layer, dtype):
    query, key, value = random_qkv()
    mask = torch.ones(5, 5, dtype=dtype)
    message = rf"bool with True = may attend, got {dtype}.*mask.bool\(\).*mask == 0"
    with pytest.raises(TypeError, match=message):
        attention(query, key, value, mask=mask)
    with pytest.raises(TypeError, match=message):
        layer(torch.randn(2, 5, 8).double(), mask=mask)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(4,), (5, 4), (5, 4)], r"two axes \(length, width\), got \(4,\)"),
        ([(5, 4), (5, 3), (5, 3)], "same width for a dot product, got 4 and 3"),
        ([(5, 4), (5, 4), (6, 4)], "every key needs one value, got 5 keys and 6"),
        ([(2, 5, 4), (3, 5, 4), (3, 5, 4)], r"same batch size.*\(2, 5, 4\), \(3,"),
        ([(2, 5, 4), (2, 5, 4), (3, 5, 4)], r"same batch size.*\(2, 5, 4\), \(3,"),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes, message):
    with pytest.raises(ValueError, match=message):
        attention(*(torch.ones(shape) for shape in shapes))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (5, 5), (4, 5), (3, 1, 1, 4)])
def test_a_mask_that_does_not_broadcast_is_named(shape):
    query, key, value = random_qkv(5, 4)  # batch (2, 3)
    mask = torch.ones(shape, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"mask \(.*\) does not broadcast.*5, 4\)"):
        attention(query, key, value, mask=mask)


@pytest.mark.parametrize(("d_model", "n_heads"), [(8, 3), (0, 1), (8, 0), (4, 8)])
def test_heads_must_divide_the_width(d_model, n_heads):
    message = rf"d_model={d_model} .*multiple of n_heads={n_heads}"
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(d_model, n_heads)


# ------------------------------------------------------------------ several heads


@pytest.mark.parametrize("n_heads", [1, 2, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_heads_at_once_are_a_loop_over_heads(randomise, n_heads, masked):
    """Head i owns rows i Dh … (i+1) Dh of each projection matrix."""
    layer = randomise(MultiHeadAttention(8, n_heads)).double()
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    memory = torch.randn(3, 6, 8, dtype=torch.float64)
    mask = random_mask((3, 5, 6)) if masked else None
    width = 8 // n_heads
    heads = []
    for number in range(n_heads):
        rows = slice(number * width, (number + 1) * width)

        def project(linear, tensor, rows=rows):
            return tensor @ linear.weight[rows].T + linear.bias[rows]

        key, value = project(layer.to_key, memory), project(layer.to_value, memory)
        head, _ = attention(project(layer.to_query, x), key, value, mask=mask)
        heads.append(head)
    expected = layer.to_output(torch.cat(heads, dim=-1))
    batched = layer(x, memory, mask=None if mask is None else mask[:, None])
    assert_close(batched, expected, **TIGHT)


def test_a_batch_is_a_loop_over_its_rows(layer):
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    memory = torch.randn(3, 7, 8, dtype=torch.float64)
    mask = random_mask((3, 1, 5, 7))
    together = layer(x, memory, mask=mask)
    for row in range(3):
        alone = layer(x[row : row + 1], memory[row : row + 1], mask=mask[row : row + 1])
        assert_close(together[row : row + 1], alone, **TIGHT)


@pytest.mark.parametrize("bias", [True, False])
def test_a_few_rows_are_projected_as_many_are(randomise, bias):
    layer = randomise(MultiHeadAttention(8, 2, bias=bias)).double()
    x = torch.randn(1, 40, 8, dtype=torch.float64)  # one product; below, three
    at_once, few = layer.project(x), layer.project(x[:, :3])
    for together, alone in zip(at_once, few, strict=True):
        assert_close(together[:, :, :3], alone, **TIGHT)
    both = zip(layer.project_memory(x), layer.project_memory(x[:, :3]), strict=True)
    for together, alone in both:
        assert_close(together[:, :, :3], alone, **TIGHT)


def test_splitting_and_merging_heads_are_inverse(layer):
    x = torch.randn(3, 5, 8)
    heads = layer.split_heads(x)
    assert heads.shape == (3, 2, 5, 4)
    assert_close(layer.merge_heads(heads), x, **EXACT)
    # Head 1 of position 2 is the second half of position 2, of no other position.
    assert_close(heads[:, 1, 2], x[:, 2, 4:], **EXACT)


def test_output_rows_follow_the_queries(layer):
    """Target 6, memory 9: the output has 6 rows, and row t depends on query t alone."""
    memory = torch.randn(2, 9, 8, dtype=torch.float64)
    target = torch.randn(2, 6, 8, dtype=torch.float64)
    output = layer(target, memory)
    assert output.shape == (2, 6, 8)
    other = target.clone()
    other[:, 3] += 1
    changed = (layer(other, memory) != output).any(dim=-1)
    assert changed[:, 3].all()
    assert changed.sum() == 2  # once per row of the batch


def test_left_out_keys_are_the_query_and_left_out_values_the_key(layer):
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    memory = torch.randn(2, 7, 8, dtype=torch.float64)
    values = torch.randn(2, 7, 8, dtype=torch.float64)
    assert_close(layer(x), layer(x, x.clone(), x.clone()), **TIGHT)
    assert_close(layer(x, memory), layer(x, memory, memory.clone()), **TIGHT)
    assert not torch.allclose(layer(x, memory), layer(x, memory, values))
    own_values = layer(x, value=values[:, :5])
    assert_close(own_values, layer(x, x.clone(), values[:, :5]), **TIGHT)


def test_without_bias_there_is_no_bias(randomise):
    layer = randomise(MultiHeadAttention(8, 2, bias=False))
    names = {f"to_{name}.weight" for name in ("key", "output", "query", "value")}
    assert dict(layer.named_parameters()).keys() == names
    assert_close(layer(torch.zeros(1, 3, 8)), torch.zeros(1, 3, 8), **EXACT)
    x, memory = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    assert layer(x, memory).shape == (2, 5, 8)


# ------------------------------------------------- fused when nobody watches: equal


def run_with_gradients(layer, inputs, mask):
    """Output, and the gradients of inputs and of every parameter."""
    inputs = [each.clone().requires_grad_() for each in inputs]
    layer.zero_grad()
    output = layer(*inputs, mask=mask)
    torch.manual_seed(1)
    probe = torch.randn(output.shape, dtype=output.dtype)
    (output * probe).sum().backward()
    gradients = [each.grad for each in inputs]
    gradients += [parameter.grad.clone() for parameter in layer.parameters()]
    return output.detach(), gradients


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("mask_shape", [None, (2, 1, 1, 7), (2, 1, 5, 7), (2, 2, 5, 7)])
def test_watched_or_not_outputs_and_gradients_are_equal(randomise, dtype, mask_shape):
    layer = randomise(MultiHeadAttention(8, 2)).to(dtype)
    inputs = [torch.randn(2, length, 8, dtype=dtype) for length in (5, 7)]
    mask = None if mask_shape is None else random_mask(mask_shape)
    fused = run_with_gradients(layer, inputs, mask)
    seen = []
    handle = layer.weights.register_forward_hook(lambda *call: seen.append(call[-1]))
    explicit = run_with_gradients(layer, inputs, mask)
    handle.remove()
    assert [weights.shape for weights in seen] == [(2, 2, 5, 7)]
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    assert_close(explicit, fused, rtol=0, atol=tolerance)
    assert min(gradient.abs().max() for gradient in fused[1][:2]) > 1e-3


def test_only_a_watched_layer_computes_its_weights(layer, monkeypatch):
    spy = mock.Mock(wraps=attention)
    monkeypatch.setattr("tformer.attention.attention", spy)
    x = torch.randn(1, 3, 8, dtype=torch.float64)
    layer(x)
    assert spy.call_count == 0
    handle = layer.weights.register_forward_hook(lambda *call: None)
    layer(x)
    assert spy.call_count == 1
    handle.remove()
    layer(x)
    assert spy.call_count == 1


def test_what_is_watched_is_what_the_output_is_made_of(layer):
    """A hook may change the weights, and the output follows."""
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    first = torch.zeros(5, 5, dtype=torch.float64)
    first[:, 0] = 1  # everyone looks at position 0
    layer.weights.register_forward_hook(
        lambda module, inputs, weights: first.expand_as(weights)
    )
    expected = layer.to_output(layer.to_value(x[:, :1])).expand(2, 5, 8)
    assert_close(layer(x), expected, **TIGHT)


@pytest.mark.parametrize("watch_weights", [False, True])
def test_switching_a_head_off_equals_zeroing_its_columns(layer, watch_weights):
    """Those of the output matrix."""
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    before = layer(x)
    if watch_weights:
        layer.weights.register_forward_hook(lambda *call: None)

    def switch_off_head_1(module, inputs, heads):
        assert heads.shape == (2, 2, 5, 4)
        return heads * torch.tensor([1.0, 0.0]).double()[:, None, None]

    handle = layer.heads.register_forward_hook(switch_off_head_1)
    without = layer(x)
    handle.remove()
    assert not torch.allclose(without, before, atol=1e-3)
    assert_close(layer(x), before, **TIGHT)  # and back
    with torch.no_grad():
        layer.to_output.weight[:, 4:] = 0  # the columns that read head 1
    assert_close(without, layer(x), **TIGHT)


def test_probes_have_no_weights_and_change_nothing(layer):
    names = {name for name, _ in layer.named_parameters()}
    assert not any("weights" in name or "heads" in name for name in names)
    x = torch.randn(3)
    assert layer.weights(x) is x
    assert layer.heads(x) is x
