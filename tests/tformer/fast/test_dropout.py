"""Dropout: zeros as often as asked, the mean kept, nothing else touched."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from tformer.fast.dropout import Dropout, random_steps

MANY = 400_000


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_as_many_entries_are_zeroed_as_asked_and_the_mean_stays(p):
    y = Dropout(p)(torch.ones(MANY))
    share = (y == 0).double().mean().item()
    assert abs(share - p) < 5 * (p * (1 - p) / MANY) ** 0.5
    assert_close(y[y != 0].unique(), torch.tensor([1 / (1 - p)]))


def test_the_four_that_share_a_random_number_are_decided_apart():
    kept = (Dropout(0.5)(torch.ones(MANY // 4, 4)) != 0).double()
    correlation = torch.corrcoef(kept.T)
    assert (correlation - torch.eye(4)).abs().max() < 5 / (MANY / 4) ** 0.5


def test_the_gradient_passes_where_the_value_passed():
    x = torch.randn(50, 7, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    assert_close(x.grad, y.detach() / x.detach())


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_outside_training_nothing_is_dropped(p):
    x = torch.randn(9)
    assert Dropout(p).eval()(x) is x


def test_the_ends_are_exact():
    x = torch.randn(9)
    assert torch.equal(Dropout(0.0)(x), x)
    assert not Dropout(1.0)(x).any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 3, 7)])
def test_any_shape_and_precision_keeps_its_own(shape, dtype):
    y = Dropout(0.5)(torch.ones(shape, dtype=dtype))
    assert y.shape == shape and y.dtype == dtype
    assert y.unique().tolist() in ([0.0], [2.0], [0.0, 2.0])


def test_equal_seeds_drop_the_same_and_others_do_not():
    def dropped(seed):
        torch.manual_seed(seed)
        return Dropout(0.5)(torch.ones(64)) == 0

    assert torch.equal(dropped(1), dropped(1))
    assert not torch.equal(dropped(1), dropped(2))


def test_all_sixteen_bits_are_random():
    drawn = random_steps(torch.Size([MANY])).int() & 0xFFFF
    ones = torch.stack([(drawn >> bit & 1).double().mean() for bit in range(16)])
    assert (ones - 0.5).abs().max() < 5 * 0.5 / MANY**0.5


def test_a_probability_is_between_0_and_1():
    with pytest.raises(ValueError, match="between 0 and 1"):
        Dropout(1.5)


def test_a_compiled_model_drops_in_one_graph_at_any_length():
    drop = torch.compile(Dropout(0.5), fullgraph=True, dynamic=True, backend="eager")
    for n in (MANY, MANY // 2 + 1):
        assert abs((drop(torch.ones(n)) == 0).double().mean().item() - 0.5) < 0.01
