"""Layer normalisation: each vector alone, to mean 0 and variance 1."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from tformer.norm import LayerNorm, layer_norm

TIGHT = {"rtol": 0, "atol": 1e-10}


def unit(d_model, dtype=torch.float64):
    """Gain 1, bias 0."""
    return torch.ones(d_model, dtype=dtype), torch.zeros(d_model, dtype=dtype)


def test_a_vector_worked_by_hand():
    """Mean 3, variance (4 + 0 + 4 + 0) / 4 = 2; then gain 2 and bias 1."""
    x = torch.tensor([1.0, 3.0, 5.0, 3.0], dtype=torch.float64)
    gain, bias = torch.full_like(x, 2), torch.ones_like(x)
    root = 2**0.5
    expected = torch.tensor([1 - 4 / root, 1, 1 + 4 / root, 1], dtype=torch.float64)
    assert_close(layer_norm(x, gain, bias, epsilon=0.0), expected, **TIGHT)


@given(st.floats(-100, 100), st.floats(1, 100), st.integers(0, 10**6))
def test_shift_and_scale_of_the_input_vanish(shift, scale, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(3, 8, generator=generator, dtype=torch.float64)
    gain, bias = unit(8)
    normal = layer_norm(x, gain, bias, epsilon=0.0)
    assert_close(normal.mean(-1), torch.zeros(3).double(), rtol=0, atol=1e-9)
    variance = normal.var(-1, unbiased=False)
    assert_close(variance, torch.ones(3).double(), rtol=0, atol=1e-9)
    moved = layer_norm(x * scale + shift, gain, bias, epsilon=0.0)
    assert_close(moved, normal, rtol=0, atol=1e-8)


def test_each_vector_is_normalised_alone():
    x = torch.randn(2, 5, 8)
    norm = LayerNorm(8)
    before = norm(x)
    x[0, 3] = 100 * torch.randn(8)
    changed = (norm(x) != before).any(-1)
    assert changed.nonzero().tolist() == [[0, 3]]


@pytest.mark.parametrize("epsilon", [1e-5, 1e-3, 1.0])
def test_epsilon_stands_under_the_root(epsilon):
    """A vector of variance v comes out with variance v / (v + epsilon)."""
    x = torch.randn(8, dtype=torch.float64) * epsilon**0.5
    variance = x.var(unbiased=False)
    normed = layer_norm(x, *unit(8), epsilon), LayerNorm(8, epsilon).double()(x)
    for out in (each.var(unbiased=False) for each in normed):
        assert_close(out, variance / (variance + epsilon), rtol=1e-9, atol=0)


def test_the_usual_epsilon_is_1e_5():
    x = torch.randn(8, dtype=torch.float64) * 1e-3
    expected = layer_norm(x, *unit(8), 1e-5)
    assert_close(layer_norm(x, *unit(8)), expected, rtol=0, atol=0)
    assert_close(LayerNorm(8).double()(x), expected, **TIGHT)
    assert not torch.allclose(layer_norm(x, *unit(8), 1e-6), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1.0, 0.01])
def test_the_kernel_is_the_formula_outputs_and_gradients(randomise, dtype, size):
    """At size 0.01 the variance, 1e-4, is near epsilon: a wrong one shows."""
    norm = randomise(LayerNorm(8)).to(dtype)
    x = (size * torch.randn(4, 8, dtype=dtype)).requires_grad_()
    parameters = [x, norm.gain, norm.bias]
    probe = size * torch.randn(4, 8, dtype=dtype)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    kernel = norm(x)
    formula = layer_norm(x, norm.gain, norm.bias)
    assert_close(kernel, formula, rtol=0, atol=tolerance)
    kernel_grads = torch.autograd.grad((kernel * probe).sum(), parameters)
    formula_grads = torch.autograd.grad((formula * probe).sum(), parameters)
    assert_close(kernel_grads, formula_grads, rtol=0, atol=tolerance)
    assert all(gradient.abs().max() > 1e-3 for gradient in kernel_grads)


def test_a_constant_vector_has_a_finite_gradient():
    """Outside the root, epsilon would leave the gradient of sqrt(0): NaN."""
    for norm in (LayerNorm(8), lambda x: layer_norm(x, *unit(8, torch.float32))):
        x = torch.full((8,), 3.0, requires_grad=True)
        (norm(x) * torch.arange(8.0)).sum().backward()
        assert torch.isfinite(x.grad).all()


def test_a_fresh_norm_has_gain_one_and_bias_zero():
    norm = LayerNorm(8)
    assert_close(norm.gain.data, torch.ones(8))
    assert_close(norm.bias.data, torch.zeros(8))
