"""The graders for layer norm, feed-forward network and encoder layer."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tformer.feedforward import FeedForward
from tformer.norm import layer_norm as right_norm
from tformer_book import check


def normal(x, *, axis=-1, correction=0, centred=True, epsilon=0.0, outside=False):
    """A layer norm without gain and bias, with mistakes to choose from."""
    mean = x.mean(axis, keepdim=True)
    variance = x.var(axis, correction=correction, keepdim=True)
    root = variance.sqrt() + epsilon if outside else (variance + epsilon).sqrt()
    return (x - mean if centred else x) / root


def mean_square(x):
    return x.square().mean(-1, keepdim=True)


def lost_axis(x, gain, bias, epsilon):
    mean = x.mean(-1)
    return gain * (x - mean) / (x.var(-1, correction=0) + epsilon).sqrt() + bias


def without_gradient(x, gain, bias, epsilon):
    return gain * normal(x.detach(), epsilon=epsilon) + bias


def in_place(x, gain, bias, epsilon):
    x -= x.mean(-1, keepdim=True)
    return gain * x / (mean_square(x) + epsilon).sqrt() + bias


def three_axes(x, gain, bias, epsilon):
    return gain * normal(x, axis=min(2, x.dim() - 1), epsilon=epsilon) + bias


NORMS = {
    "unbiased-variance": lambda x, g, b, e: g * normal(x, correction=1, epsilon=e) + b,
    "epsilon-outside-the-root": lambda x, g, b, e: (
        g * normal(x, epsilon=e, outside=True) + b
    ),
    "std-plus-epsilon": lambda x, g, b, e: (
        g * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + e) + b
    ),
    "root-forgotten": lambda x, g, b, e: (
        g * (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + e)
        + b
    ),
    "mean-not-taken-away": lambda x, g, b, e: (
        g * normal(x, centred=False, epsilon=e) + b
    ),
    "rms-norm": lambda x, g, b, e: g * x / (mean_square(x) + e).sqrt() + b,
    "variance-about-zero": lambda x, g, b, e: (
        g * (x - x.mean(-1, keepdim=True)) / (mean_square(x) + e).sqrt() + b
    ),
    "gain-and-bias-missing": lambda x, g, b, e: normal(x, epsilon=e),
    "gain-missing": lambda x, g, b, e: normal(x, epsilon=e) + b,
    "bias-missing": lambda x, g, b, e: g * normal(x, epsilon=e),
    "gain-and-bias-swapped": lambda x, g, b, e: b * normal(x, epsilon=e) + g,
    "bias-before-gain": lambda x, g, b, e: g * (normal(x, epsilon=e) + b),
    "gain-before-the-norm": lambda x, g, b, e: normal(g * x + b, epsilon=e),
    "over-the-positions": lambda x, g, b, e: g * normal(x, axis=-2, epsilon=e) + b,
    "over-the-batch": lambda x, g, b, e: g * normal(x, axis=0, epsilon=e) + b,
    "batch-norm": lambda x, g, b, e: g * normal(x, axis=(0, 1), epsilon=e) + b,
    "over-the-whole-sentence": lambda x, g, b, e: (
        g * normal(x, axis=(-2, -1), epsilon=e) + b
    ),
    "over-everything": lambda x, g, b, e: (
        g * (x - x.mean()) / (x.var(correction=0) + e).sqrt() + b
    ),
    "epsilon-forgotten": lambda x, g, b, e: g * normal(x) + b,
    "epsilon-fixed": lambda x, g, b, e: g * normal(x, epsilon=1e-5) + b,
    "keepdim-forgotten": lost_axis,
    "gradient-cut": without_gradient,
    "changes-inputs": in_place,
    "fixed-axes": three_axes,
    "axes": lambda x, g, b, e: (g * normal(x, epsilon=e) + b).flatten(1),
    "not-a-tensor": lambda x, g, b, e: x.tolist(),
    "wrong-numbers": lambda x, g, b, e: g * normal(x, epsilon=e) + 2 * b,
}


def named(function):
    """Pass epsilon by name, as the grader does."""
    return lambda x, gain, bias, epsilon: function(x, gain, bias, epsilon)


@pytest.mark.parametrize("name", NORMS)
def test_a_wrong_layer_norm_is_named(name):
    result = check.layer_norm(named(NORMS[name]))
    assert not result
    assert result.diagnosis == name


def test_batch_norm_of_pytorch_is_recognised_by_its_axes():
    def batch_norm(x, gain, bias, epsilon):
        columns = x.flatten(0, -2)
        return F.batch_norm(
            columns, None, None, gain, bias, training=True, eps=epsilon
        ).view(x.shape)

    assert check.layer_norm(batch_norm).diagnosis == "batch-norm"


def test_a_wrong_axis_is_named_with_the_spread_of_pytorch_too():
    def by_std(x, gain, bias, epsilon):
        return (
            gain * (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + epsilon)
            + bias
        )

    assert check.layer_norm(by_std).diagnosis == "over-the-positions"


def test_right_layer_norms_are_accepted():
    assert check.layer_norm(right_norm)
    assert check.layer_norm(
        lambda x, gain, bias, epsilon: F.layer_norm(x, gain.shape, gain, bias, epsilon)
    )


class Net:
    """The paper's feed-forward network, to be written wrongly."""

    @staticmethod
    def right(x, w_1, b_1, w_2, b_2):
        return (x @ w_1 + b_1).relu() @ w_2 + b_2


def reshaped(x, w_1, b_1, w_2, b_2):
    turned = x.transpose(0, 1).reshape(x.shape)
    return Net.right(turned, w_1, b_1, w_2, b_2)


def averaged(x, w_1, b_1, w_2, b_2):
    return Net.right(x + x.mean(1, keepdim=True), w_1, b_1, w_2, b_2)


def sentences_mixed(x, w_1, b_1, w_2, b_2):
    # only between sentences: a position of the first one moves none of its own
    other = torch.zeros_like(x)
    other[0] = x[1].mean(0)
    return Net.right(x + other, w_1, b_1, w_2, b_2)


def as_linear(x, w_1, b_1, w_2, b_2):
    return F.linear(F.linear(x, w_1, b_1).relu(), w_2, b_2)


def dropped(x, w_1, b_1, w_2, b_2):
    return F.dropout(Net.right(x, w_1, b_1, w_2, b_2), 0.5)


NETS = {
    "relu-missing": lambda x, w, b, v, c: (x @ w + b) @ v + c,
    "relu-after-the-second-layer": lambda x, w, b, v, c: ((x @ w + b) @ v + c).relu(),
    "relu-twice": lambda x, w, b, v, c: Net.right(x, w, b, v, c).relu(),
    "relu-before-the-bias": lambda x, w, b, v, c: ((x @ w).relu() + b) @ v + c,
    "relu-on-the-input": lambda x, w, b, v, c: (x.relu() @ w + b) @ v + c,
    "other-activation": lambda x, w, b, v, c: F.gelu(x @ w + b) @ v + c,
    "absolute-value": lambda x, w, b, v, c: (x @ w + b).abs() @ v + c,
    "first-bias-missing": lambda x, w, b, v, c: (x @ w).relu() @ v + c,
    "second-bias-missing": lambda x, w, b, v, c: (x @ w + b).relu() @ v,
    "biases-missing": lambda x, w, b, v, c: (x @ w).relu() @ v,
    "residual-inside": lambda x, w, b, v, c: x + Net.right(x, w, b, v, c),
    "mixes-positions": averaged,
    "mixes-sentences": sentences_mixed,
    "weights-transposed": as_linear,
    "random": dropped,
    "shape": lambda x, w, b, v, c: (x @ w + b).relu(),
    "wrong-numbers": lambda x, w, b, v, c: Net.right(x, w, b, v, 2 * c),
    "gradient-cut": lambda x, w, b, v, c: Net.right(x, w, b, v.detach(), c),
    "stops-with-an-error": lambda x, w, b, v, c: x @ v,
}


@pytest.mark.parametrize("name", NETS)
def test_a_wrong_feed_forward_network_is_named(name):
    def mine(x, w_1, b_1, w_2, b_2):
        return NETS[name](x, w_1, b_1, w_2, b_2)

    result = check.feed_forward(mine)
    assert not result
    assert result.diagnosis == name


def test_positions_that_change_places_are_mixed():
    assert check.feed_forward(reshaped).diagnosis == "mixes-positions"


def test_right_feed_forward_networks_are_accepted():
    def by_the_package(x, w_1, b_1, w_2, b_2):
        net = FeedForward(*w_1.shape).double()
        weights = {
            "expand.weight": w_1.T,
            "expand.bias": b_1,
            "contract.weight": w_2.T,
            "contract.bias": b_2,
        }
        return torch.func.functional_call(net, weights, (x,))

    assert check.feed_forward(Net.right)
    assert check.feed_forward(by_the_package)


def right_layer(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + self_attention(x, mask=source_mask))
    return norm_2(x + feed_forward(x))


def no_residual(x, m, attend, think, one, two):
    return two(think(one(attend(x, mask=m))))


def no_first_residual(x, m, attend, think, one, two):
    x = one(attend(x, mask=m))
    return two(x + think(x))


def no_second_residual(x, m, attend, think, one, two):
    return two(think(one(x + attend(x, mask=m))))


def pre_norm(x, m, attend, think, one, two):
    x = x + attend(one(x), mask=m)
    return x + think(two(x))


def norm_on_the_news(x, m, attend, think, one, two):
    x = x + one(attend(x, mask=m))
    return x + two(think(x))


def norm_in_the_stream(x, m, attend, think, one, two):
    x = one(x)
    x = x + attend(x, mask=m)
    x = two(x)
    return x + think(x)


def swapped_norms(x, m, attend, think, one, two):
    return right_layer(x, m, attend, think, two, one)


def first_norm_twice(x, m, attend, think, one, two):
    return right_layer(x, m, attend, think, one, one)


def second_norm_twice(x, m, attend, think, one, two):
    return right_layer(x, m, attend, think, two, two)


def no_first_norm(x, m, attend, think, one, two):
    return right_layer(x, m, attend, think, nn.Identity(), two)


def no_second_norm(x, m, attend, think, one, two):
    return right_layer(x, m, attend, think, one, nn.Identity())


def no_norm(x, m, attend, think, one, two):
    return right_layer(x, m, attend, think, nn.Identity(), nn.Identity())


def in_parallel(x, m, attend, think, one, two):
    return two(one(x + attend(x, mask=m)) + think(x))


def from_the_start(x, m, attend, think, one, two):
    return two(x + think(one(x + attend(x, mask=m))))


def think_first(x, m, attend, think, one, two):
    x = one(x + think(x))
    return two(x + attend(x, mask=m))


def think_first_with_its_norm(x, m, attend, think, one, two):
    x = two(x + think(x))
    return one(x + attend(x, mask=m))


LAYERS = [
    ("mask-not-passed", lambda x, m, a, f, n, k: right_layer(x, None, a, f, n, k)),
    ("mask-as-key", lambda x, m, a, f, n, k: k((h := n(x + a(x, m))) + f(h))),
    ("no-residual", no_residual),
    ("attention-residual-missing", no_first_residual),
    ("feed-forward-residual-missing", no_second_residual),
    ("pre-norm", pre_norm),
    ("norm-on-the-news", norm_on_the_news),
    ("norm-in-the-stream-first", norm_in_the_stream),
    ("one-norm-for-both", first_norm_twice),
    ("one-norm-for-both", second_norm_twice),
    ("norms-swapped", swapped_norms),
    ("first-norm-missing", no_first_norm),
    ("second-norm-missing", no_second_norm),
    ("norms-missing", no_norm),
    ("in-parallel", in_parallel),
    ("residual-from-the-start", from_the_start),
    ("feed-forward-first", think_first),
    ("feed-forward-first", think_first_with_its_norm),
    ("feed-forward-missing", lambda x, m, a, f, n, k: n(x + a(x, mask=m))),
    ("attention-missing", lambda x, m, a, f, n, k: k(x + f(x))),
    ("mean-over-an-axis", lambda *g: right_layer(*g).mean(1)),
    ("wrong-numbers", lambda *g: 2 * right_layer(*g)),
    ("gradient-cut", lambda x, *g: right_layer(x.detach(), *g)),
]


@pytest.mark.parametrize(
    ("name", "mistake"), LAYERS, ids=lambda each: getattr(each, "__name__", each)
)
def test_a_wrong_encoder_layer_is_named(name, mistake):
    def mine(x, source_mask, self_attention, feed_forward, norm_1, norm_2):
        return mistake(x, source_mask, self_attention, feed_forward, norm_1, norm_2)

    result = check.encoder_layer(mine)
    assert not result
    assert result.diagnosis == name


def test_a_right_encoder_layer_is_accepted():
    assert check.encoder_layer(right_layer)


PARTS = ["layer_norm", "feed_forward", "encoder_layer"]


@pytest.mark.parametrize("part", PARTS)
def test_a_stub_is_told_that_it_is_one(part):
    def stub(*arguments, **options):
        raise NotImplementedError

    assert getattr(check, part)(stub).diagnosis == "stub"


@pytest.mark.parametrize("part", PARTS)
def test_a_result_is_no_function(part):
    assert getattr(check, part)(torch.ones(3)).diagnosis == "not-a-function"
