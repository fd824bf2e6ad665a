"""Prepared products: those of the matrix itself, or within what was rounded away."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from torch.testing import assert_close

from tformer.fast import products

EXACT = [products.packed, products.by_onednn, products.plain]
ALL = [*EXACT, products.eight_bit]


@torch.inference_mode()
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("n_rows", [1, 3, 64, 200])
@pytest.mark.parametrize("prepare", EXACT)
def test_exact_products_are_those_of_linear(prepare, n_rows, relu):
    weight, bias, x = torch.randn(24, 16), torch.randn(24), torch.randn(n_rows, 16)
    expected = x @ weight.T + bias
    if relu:
        expected = expected.clamp(min=0)
    assert_close(prepare(weight, bias, relu=relu)(x), expected, rtol=0, atol=1e-5)
    assert_close(prepare(weight, None)(x), x @ weight.T, rtol=0, atol=1e-5)


@torch.inference_mode()
@pytest.mark.parametrize("relu", [False, True])
def test_eight_bits_are_off_by_what_was_rounded(relu):
    """Each number of x by half a step at most, each of W by half of its row's."""
    weight, bias, x = torch.randn(24, 16), torch.randn(24), torch.randn(9, 16)
    weight *= torch.logspace(-2, 2, 24)[:, None]  # so each row needs its own scale
    steps = weight.abs().amax(dim=1) / 127
    step = (x.max() - x.min()) / (127 if products._sums_overflow() else 255)
    bound = step * weight.abs().sum(1) + steps / 2 * x.abs().sum(1, keepdim=True)
    expected = x @ weight.T + bias
    if relu:
        expected = expected.clamp(min=0)
    found = products.eight_bit(weight, bias, relu=relu)(x)
    assert bool(((found - expected).abs() <= bound + 1e-4).all())
    assert not torch.allclose(found, expected, rtol=0, atol=1e-5)


@torch.inference_mode()
def test_weights_that_have_eight_bits_already_lose_nothing():
    numbers = torch.randint(-127, 128, (24, 16))
    numbers[:, 0] = 127  # each row uses all of its range
    weight = numbers * torch.rand(24, 1)
    x = torch.zeros(1, 16)
    x[0, 3] = 1.0  # exact in eight bits, and picks a column
    found = products.eight_bit(weight, None)(x)
    assert_close(found, weight[None, :, 3], rtol=1e-5, atol=1e-5)


def test_where_sums_would_overflow_seven_bits_of_x_are_used():
    weight, x = torch.full((16, 64), 1.0), torch.full((1, 64), 1.0)
    with mock.patch.object(products, "_sums_overflow", return_value=True):
        seven = products.eight_bit(weight, None)
    assert_close(seven(x), torch.full((1, 16), 64.0), rtol=0.02, atol=0)
    x = torch.rand(1, 64)
    apart = (seven(x) - products.eight_bit(weight, None)(x)).abs().max()
    assert products._sums_overflow() or apart > 0


@pytest.mark.parametrize("error", [AttributeError, NotImplementedError, RuntimeError])
def test_operators_that_are_missing_or_wrong_are_found_out(error):
    assert products.works(products.plain)
    assert not products.works(mock.Mock(side_effect=error))
    assert not products.works(mock.Mock(return_value=lambda x: x[:, :8] * 2))
