"""The residual stream, and where the norm and the dropout stand beside it."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from tformer.residual import Residual


def double_and_one(x):
    return 2 * x + 1


@pytest.fixture
def x():
    return torch.randn(2, 5, 8)


def test_post_norm_normalises_the_sum(randomise, x):
    residual = randomise(Residual(8, 0.0, "post"))
    assert_close(residual(x, double_and_one), residual.norm(x + (2 * x + 1)))


def test_pre_norm_normalises_what_the_sublayer_reads(randomise, x):
    """And leaves the stream."""
    residual = randomise(Residual(8, 0.0, "pre"))
    assert_close(residual(x, double_and_one), x + 2 * residual.norm(x) + 1)


def test_the_papers_place_is_the_default(randomise, x):
    default, post = randomise(Residual(8, 0.0)), randomise(Residual(8, 0.0, "post"))
    assert_close(default(x, double_and_one), post(x, double_and_one), rtol=0, atol=0)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_silent_sublayer_leaves_the_stream(randomise, norm, x):
    residual = randomise(Residual(8, 0.0, norm))
    expected = x if norm == "pre" else residual.norm(x)
    assert_close(residual(x, torch.zeros_like), expected, rtol=0, atol=0)


def test_dropout_falls_on_the_sublayers_output_and_never_on_the_stream():
    residual = Residual(1000, 0.25, "pre").train()
    x = torch.randn(1, 3, 1000)
    ones = residual(x, torch.ones_like) - x  # what is left of the sub-layer's ones
    kept = ones > 0.5
    assert_close(ones[kept], torch.full_like(ones[kept], 1 / 0.75), rtol=1e-4, atol=0)
    assert ones[~kept].abs().max() < 1e-6
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.05)


def test_dropout_comes_before_the_norm_of_the_sum(x):
    """With (nearly) everything dropped, only the norm of the stream is left."""
    residual = Residual(8, 0.999999, "post").train()
    assert_close(residual(x, double_and_one), residual.norm(x))


def test_in_eval_mode_nothing_is_dropped(x):
    residual = Residual(8, 0.9, "pre").eval()
    assert_close(residual(x, torch.ones_like), x + 1, rtol=0, atol=0)


@pytest.mark.parametrize("norm", ["Post", "none", None, ""])
def test_another_place_is_refused(norm):
    with pytest.raises(ValueError, match=rf"norm={norm!r} is neither 'post' nor 'pre'"):
        Residual(8, 0.0, norm)
