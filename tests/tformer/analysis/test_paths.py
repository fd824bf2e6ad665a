"""Path lengths, against the derivatives of real layers."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tformer.analysis.paths import (
    KINDS,
    longest_path,
    multiplications,
    path_length,
    sequential_operations,
)
from tformer.masks import causal_mask


class Convolution(nn.Module):
    """Sees itself and kernel - 1 places to the left, `dilation` apart."""

    def __init__(self, kernel, dilation):
        super().__init__()
        self.left = (kernel - 1) * dilation
        self.inner = nn.Conv1d(2, 2, kernel, dilation=dilation)

    def forward(self, x):
        return self.inner(F.pad(x.mT, (self.left, 0))).mT


class Attention(nn.Module):
    """Self-attention to the last `kernel` tokens, or to all before."""

    def __init__(self, kernel=None):
        super().__init__()
        self.kernel = kernel

    def forward(self, x):
        may = causal_mask(x.size(1))
        if self.kernel:
            may = may.triu(1 - self.kernel)
        scores = (x @ x.mT).masked_fill(~may, float("-inf"))
        return scores.softmax(-1) @ x


def layers(kind, kernel):
    """Endless layers of one kind."""
    number = 0
    while True:
        yield {
            "convolution": lambda: Convolution(kernel, 1),
            "dilated convolution": lambda n=number: Convolution(kernel, kernel**n),
            "self-attention": Attention,
            "restricted attention": lambda: Attention(kernel),
        }[kind]()
        number += 1


def layers_until_it_arrives(kind, distance, kernel):
    """How many layers it takes until the derivative is not exactly 0."""
    torch.manual_seed(0)
    x = torch.randn(1, 14, 2, dtype=torch.float64, requires_grad=True)
    out = x
    for count, layer in enumerate(layers(kind, kernel), start=1):
        out = layer.double()(out)
        (gradient,) = torch.autograd.grad(out[0, 13].sum(), x, retain_graph=True)
        if gradient[0, 13 - distance].abs().sum() > 0:
            return count
    raise AssertionError


@pytest.mark.parametrize("kernel", [2, 3, 5])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_path_is_as_long_as_the_stack_in_which_a_signal_first_arrives(kind, kernel):
    for distance in range(13):
        wanted = layers_until_it_arrives(kind, distance, kernel)
        assert path_length(kind, distance, kernel) == wanted, distance


@pytest.mark.parametrize("distance", [0, 1, 6])
def test_a_recurrent_path_passes_one_state_for_each_place(distance):
    """As many applications of the cell as lie between the token and the last state."""
    cell = nn.RNNCell(2, 2).double()
    torch.manual_seed(0)
    tokens = torch.randn(7, 1, 2, dtype=torch.float64).requires_grad_()
    passed = 0
    state = torch.zeros(1, 2, dtype=torch.float64)
    for token in tokens:
        state = cell(token, state)
        (gradient,) = torch.autograd.grad(state.sum(), tokens, retain_graph=True)
        passed += bool(gradient[6 - distance].any())
    assert path_length("recurrent", distance) == passed


def test_the_longest_path_is_that_between_the_ends():
    for kind in KINDS:
        paths = [path_length(kind, d, 3) for d in range(20)]
        assert longest_path(kind, 20, 3) == max(paths)


def test_only_recurrence_must_wait_for_itself():
    waits = {kind: sequential_operations(kind, 40) for kind in KINDS}
    assert waits.pop("recurrent") == 40
    assert set(waits.values()) == {1}


def test_multiplications_are_those_of_the_matrix_products():
    n, d, k = 7, 5, 3
    state_to_state = n * d * d
    scores = n * n * d
    assert multiplications("recurrent", n, d) == state_to_state
    assert multiplications("self-attention", n, d) == scores
    for kind in ("convolution", "dilated convolution"):
        assert multiplications(kind, n, d, k) == n * nn.Conv1d(d, d, k).weight.numel()
    assert multiplications("restricted attention", n, d, k) == n * k * d


def test_attention_is_the_cheaper_one_until_the_sentence_is_longer_than_wide():
    for n, cheaper in ((63, True), (65, False)):
        attention = multiplications("self-attention", n, 64)
        assert (attention < multiplications("recurrent", n, 64)) is cheaper


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: path_length("pooling", 3), "kind='pooling' is none of recurrent"),
        (lambda: path_length("recurrent", -1), "distance=-1 must be at least 0"),
        (lambda: path_length("convolution", 3, 1), "kernel=1 must be at least 2"),
        (lambda: multiplications("convolution", 3, 4, 1), "kernel=1"),
        (lambda: sequential_operations("pooling", 3), "kind='pooling'"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
