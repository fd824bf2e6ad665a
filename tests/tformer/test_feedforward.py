"""The feed-forward network: the same small perceptron at every position."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from tformer.feedforward import FeedForward


@pytest.mark.parametrize("activation", ["relu", "gelu", "swish"])
def test_it_is_equation_2_of_the_paper(randomise, activation):
    network = randomise(FeedForward(8, 32, activation))
    x = torch.randn(2, 5, 8)
    inner = x @ network.expand.weight.T + network.expand.bias
    if activation == "relu":
        inner = inner.clamp(min=0)
    elif activation == "swish":
        inner = inner / (1 + (-inner).exp())
    else:
        inner = inner * (1 + torch.erf(inner / 2**0.5)) / 2  # x Phi(x)
    assert inner.shape == (2, 5, 32)
    expected = inner @ network.contract.weight.T + network.contract.bias
    assert_close(network(x), expected)


def test_relu_is_the_default(randomise):
    x = torch.randn(2, 5, 8)
    default, relu = randomise(FeedForward(8, 32)), randomise(FeedForward(8, 32, "relu"))
    assert_close(default(x), relu(x), rtol=0, atol=0)
    assert not torch.allclose(relu(x), randomise(FeedForward(8, 32, "gelu"))(x))


def test_no_position_sees_another(randomise):
    network = randomise(FeedForward(4, 16)).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(network, x)  # (5, 4, 5, 4)
    for out in range(5):
        for into in range(5):
            assert jacobian[out, :, into].any().item() == (out == into)


def test_every_position_is_treated_alike(randomise):
    network = randomise(FeedForward(8, 32))
    x = torch.randn(2, 5, 8)
    order = torch.tensor([4, 2, 0, 1, 3])
    assert_close(network(x[:, order]), network(x)[:, order])


def test_another_activation_is_refused_and_the_known_are_named():
    with pytest.raises(ValueError, match="activation='tanh' is none of: relu, gelu"):
        FeedForward(8, 32, "tanh")
