"""Every mistake that chapter 05's second grader knows is made here on purpose."""

import math

import pytest
import torch

from tformer_book import check


def streamed(
    query,
    keys,
    values,
    *,
    root=True,
    total_factor=lambda rescale: rescale,
    mix_factor=lambda rescale: rescale,
    power=lambda score, new: math.exp(score - new),
    weigh=lambda power, value: power * value,
    keep=True,
    divide=True,
):
    """The right way, with one step exchanged."""
    largest, total, mix = -math.inf, 0.0, torch.zeros_like(values[0])
    for key, value in zip(keys, values, strict=True):
        score = float(query @ key) / (math.sqrt(len(query)) if root else 1)
        new = max(largest, score)
        rescale = math.exp(largest - new)
        p = power(score, new)
        total = total * total_factor(rescale) + p
        mix = mix * mix_factor(rescale) + weigh(p, value)
        largest = new if keep else largest
    return mix / total if divide else mix


def with_(**changes):
    return lambda query, keys, values: streamed(query, keys, values, **changes)


def upside_down(rescale):
    return 1 / rescale if rescale else 1.0


def two_passes_without_a_maximum(query, keys, values):
    total, mix = 0.0, torch.zeros_like(values[0])
    for key, value in zip(keys, values, strict=True):
        power = math.exp(float(query @ key) / math.sqrt(len(query)))
        total, mix = total + power, mix + power * value
    return mix / total


def the_same_in_torch(query, keys, values):
    powers = (keys @ query / math.sqrt(len(query))).exp()
    return (powers[:, None] * values).sum(0) / powers.sum()


def in_place(query, keys, values):
    query *= 2
    return streamed(query, keys, values)


MISTAKES = {
    "not-rescaled": [with_(total_factor=lambda r: 1, mix_factor=lambda r: 1)],
    "total-not-rescaled": [with_(total_factor=lambda r: 1)],
    "mix-not-rescaled": [with_(mix_factor=lambda r: 1)],
    "rescaled-the-wrong-way": [with_(total_factor=upside_down, mix_factor=upside_down)],
    "power-not-shifted": [with_(power=lambda score, new: math.exp(score))],
    "not-scaled": [with_(root=False)],
    "not-divided": [with_(divide=False)],
    "largest-not-kept": [with_(keep=False)],
    "values-forgotten": [with_(weigh=lambda power, value: power)],
    "nan": [with_(mix_factor=lambda r: 1 / r if r else math.inf)],
    "overflow": [two_passes_without_a_maximum, the_same_in_torch],
    "wrong-numbers": [lambda q, k, v: v.mean(0)],
    "shape": [lambda q, k, v: streamed(q, k, v)[None]],
    "not-a-tensor": [lambda q, k, v: streamed(q, k, v).tolist()],
    "changes-inputs": [in_place],
    "stops-with-an-error": [lambda q, k, v: q.no_such_thing()],
    "returns-nothing": [lambda q, k, v: None],
}
NAMED = [(name, i) for name, wrong in MISTAKES.items() for i in range(len(wrong))]


@pytest.mark.parametrize(("name", "i"), NAMED)
def test_the_mistake_is_called_by_its_name(name, i):
    result = check.one_at_a_time(MISTAKES[name][i])
    assert not result
    assert result.diagnosis == name, result.message


def starts_with_the_first_key(query, keys, values):
    largest, total, mix = float(query @ keys[0]) / math.sqrt(len(query)), 1.0, values[0]
    for key, value in zip(keys[1:], values[1:], strict=True):
        score = float(query @ key) / math.sqrt(len(query))
        if score > largest:
            rescale = math.exp(largest - score)
            total, mix, largest = total * rescale, mix * rescale, score
        power = math.exp(score - largest)
        total, mix = total + power, mix + power * value
    return mix / total


def test_right_ways_are_accepted():
    assert check.one_at_a_time(streamed)
    assert check.one_at_a_time(starts_with_the_first_key)
    assert check.one_at_a_time(lambda q, k, v: streamed(q, k, v).float())


def test_a_stub_is_told_that_it_is_one():
    def stub(query, keys, values):
        raise NotImplementedError

    assert check.one_at_a_time(stub).diagnosis == "stub"
