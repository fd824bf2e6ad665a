"""Every mistake that the graders of chapter 01 know is made here on purpose."""

import math

import pytest
import torch
from torch.nn import functional as F

from tformer.analysis import paths
from tformer_book import check


def stub(*arguments):
    raise NotImplementedError


def step(x, state, input_weights, state_weights, bias):
    return torch.tanh(x @ input_weights.T + state @ state_weights.T + bias)


STEPS = {
    "stub": stub,
    "no-tanh": lambda x, s, wx, ws, b: x @ wx.T + s @ ws.T + b,
    "sigmoid": lambda x, s, wx, ws, b: (x @ wx.T + s @ ws.T + b).sigmoid(),
    "state-forgotten": lambda x, s, wx, ws, b: (x @ wx.T + b).tanh(),
    "input-forgotten": lambda x, s, wx, ws, b: (s @ ws.T + b).tanh(),
    "bias-forgotten": lambda x, s, wx, ws, b: (x @ wx.T + s @ ws.T).tanh(),
    "not-transposed": lambda x, s, wx, ws, b: (x @ wx.T + s @ ws + b).tanh(),
    "tanh-too-early": lambda x, s, wx, ws, b: (x @ wx.T + b).tanh() + (s @ ws.T).tanh(),
    "old-state-kept": lambda x, s, wx, ws, b: s + step(x, s, wx, ws, b),
    "mean-over-an-axis": lambda x, s, wx, ws, b: step(x, s, wx, ws, b).mean(0),
    "wrong-numbers": lambda x, s, wx, ws, b: step(x, s, wx, ws, b) + 1,
    "not-a-tensor": lambda x, s, wx, ws, b: [0.0],
    "weights-from-the-left": lambda x, s, wx, ws, b: x @ ws,
}


@pytest.mark.parametrize("name", STEPS)
def test_a_wrong_recurrent_step_is_named(name):
    result = check.recurrent_step(STEPS[name])
    assert not result
    assert result.diagnosis == name


@pytest.mark.parametrize("order", [0, 1, 2])
def test_bending_before_adding_is_seen_wherever_the_bias_is_put(order):
    def early(x, s, wx, ws, b):
        parts = [x @ wx.T, s @ ws.T, b]
        if order < 2:
            parts[order] = parts[order] + parts.pop(2)
        return sum(part.tanh() for part in parts[:2]) + sum(parts[2:])

    assert check.recurrent_step(early).diagnosis == "tanh-too-early"


def test_a_right_recurrent_step_is_accepted_however_it_is_written():
    assert check.recurrent_step(step)
    assert check.recurrent_step(
        lambda x, s, wx, ws, b: (F.linear(x, wx, b) + F.linear(s, ws)).tanh()
    )


def hidden(q, k, wq, wk):
    return (q @ wq.T).unsqueeze(-2), (k @ wk.T).unsqueeze(-3)


def scores(query, key, to_query, to_key, to_score):
    asks, answers = hidden(query, key, to_query, to_key)
    return torch.tanh(asks + answers) @ to_score


def no_tanh(q, k, wq, wk, v):
    asks, answers = hidden(q, k, wq, wk)
    return (asks + answers) @ v


def tanh_too_early(q, k, wq, wk, v):
    asks, answers = hidden(q, k, wq, wk)
    return (asks.tanh() + answers.tanh()) @ v


def multiplied(q, k, wq, wk, v):
    asks, answers = hidden(q, k, wq, wk)
    return (asks * answers).tanh() @ v


def no_score_vector(q, k, wq, wk, v):
    asks, answers = hidden(q, k, wq, wk)
    return (asks + answers).tanh().sum(-1)


SCORES = {
    "stub": stub,
    "no-tanh": no_tanh,
    "tanh-too-early": tanh_too_early,
    "multiplied": multiplied,
    "no-score-vector": no_score_vector,
    "scaled": lambda *given: scores(*given) / 6**0.5,
    "softmax-too": lambda *given: scores(*given).softmax(-1),
    "keys-in-rows": lambda *given: scores(*given).mT,
    "pairs-missing": lambda q, k, wq, wk, v: (q @ wq.T + k @ wk.T).tanh() @ v,
    "axes": lambda *given: scores(*given)[None],
    "wrong-numbers": lambda *given: 2 * scores(*given),
    "not-a-tensor": lambda *given: scores(*given).tolist(),
}


@pytest.mark.parametrize("name", SCORES)
def test_wrong_additive_scores_are_named(name):
    result = check.additive_scores(SCORES[name])
    assert not result
    assert result.diagnosis == name


def test_a_product_of_query_and_key_without_tanh_is_named_too():
    def dots(q, k, wq, wk, v):
        asks, answers = hidden(q, k, wq, wk)
        return (asks * answers) @ v

    assert check.additive_scores(dots).diagnosis == "multiplied"


def test_pairs_that_are_missing_are_seen_though_a_square_hides_them():
    def diagonal(q, k, wq, wk, v):
        inside = (q @ wq.T + k @ wk.T).tanh() @ v
        return scores(q, k, wq, wk, v) + 0 * inside[:, None]

    assert check.additive_scores(diagonal).diagnosis == "pairs-missing"


def test_right_additive_scores_are_accepted():
    assert check.additive_scores(scores)


def only(kind, rule):
    """The right function, but for one kind of layer."""

    def mine(kind_, distance, kernel):
        if kind_ == kind:
            return rule(distance, kernel)
        return paths.path_length(kind_, distance, kernel)

    def renamed(kind, distance, kernel):
        return mine(kind, distance, kernel)

    return renamed


PATHS = {
    "stub": stub,
    "counts-places": only("recurrent", lambda d, k: max(1, d)),
    "kernel-as-reach": only("convolution", lambda d, k: max(1, math.ceil(d / k))),
    "rounded-down": only("convolution", lambda d, k: max(1, d // (k - 1))),
    "looks-both-ways": only(
        "convolution", lambda d, k: max(1, math.ceil(2 * d / (k - 1)))
    ),
    "dilation-ignored": only(
        "dilated convolution", lambda d, k: max(1, math.ceil(d / (k - 1)))
    ),
    "always-doubles": only("dilated convolution", lambda d, k: max(1, d.bit_length())),
    "log-of-the-distance": only(
        "dilated convolution",
        lambda d, k: max(1, math.ceil(round(math.log(max(1, d), k), 9))),
    ),
    "attention-grows": only("self-attention", lambda d, k: d + 1),
    "not-whole": only("convolution", lambda d, k: max(1, d / (k - 1))),
    "nothing-for-itself": only("convolution", lambda d, k: math.ceil(d / (k - 1))),
    "not-a-number": only("recurrent", lambda d, k: str(d + 1)),
    "wrong-numbers": only("recurrent", lambda d, k: d + 2),
}


@pytest.mark.parametrize("name", PATHS)
def test_a_wrong_path_length_is_named(name):
    result = check.path_length(PATHS[name])
    assert not result
    assert result.diagnosis == name


def test_a_right_path_length_is_accepted_as_whole_float_too():
    assert check.path_length(paths.path_length)
    assert check.path_length(lambda *given: float(paths.path_length(*given)))
