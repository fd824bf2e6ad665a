"""The settings of a search: declared once, described, and checked where they enter."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from tformer import decode
from tformer.common.search import SEARCHES, USUAL, SearchSettings
from tformer.common.values import whole

NUMBERS = [each for each in fields(SearchSettings) if each.name != "search"]
WHOLE = ["beam_size", "n_best", "top_k", "seed", "max_len"]


def test_each_search_has_its_generator():
    assert set(decode.STEPS) == set(SEARCHES)
    with pytest.raises(ValueError, match="search='best' must be 'beam', 'greedy' or"):
        SearchSettings(search="best")


def test_each_setting_says_what_it_is_for_and_keeps_its_own_bounds():
    for each in NUMBERS:
        about = each.metadata
        assert f"\n        {each.name}: " in SearchSettings.__doc__  # what --help says
        assert about["of"] in ("", *SEARCHES), each.name
        bounds = about["bounds"]
        outside = [bounds[each] - 1 for each in ("least", "above") if each in bounds]
        outside += [2 * bounds[each] for each in ("most",) if each in bounds]
        assert outside or each.name == "seed"
        for value in outside:
            message = rf"^{each.name}=.* must be (at|above)"
            with pytest.raises(ValueError, match=message):
                replace(USUAL, **{each.name: value})


@pytest.mark.parametrize("name", ["greedy", "beam_search", "n_best", "sample", "grow"])
def test_every_function_has_the_usual_values(name):
    parameters = inspect.signature(getattr(decode, name)).parameters
    for setting, parameter in parameters.items():
        if setting in vars(USUAL):
            assert parameter.default == getattr(USUAL, setting), setting


@pytest.mark.parametrize("name", [each.name for each in NUMBERS])
@pytest.mark.parametrize("value", [True, "4", b"4", [4], object()])
def test_what_is_no_number_is_a_type_error(name, value):
    with pytest.raises(TypeError, match=rf"^{name}=.* must be a"):
        replace(USUAL, **{name: value})


@pytest.mark.parametrize("name", [each.name for each in NUMBERS])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"^{name}={value} must be "):
        replace(USUAL, **{name: value})


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("kind", [np.int64, np.uint8, torch.tensor])
def test_any_kind_of_whole_number_will_do(name, kind):
    settings = replace(USUAL, **{name: kind(3), "beam_size": 3})
    assert type(getattr(settings, name)) is int
    assert getattr(settings, name) == 3


def test_a_float_of_numpy_is_a_number():
    settings = replace(USUAL, temperature=np.float32(0.5), length_penalty=1)
    assert type(settings.temperature) is type(settings.length_penalty) is float
    assert (settings.temperature, settings.length_penalty) == (0.5, 1.0)


def test_the_remedy_ends_the_message():
    with pytest.raises(ValueError, match="^x=7 must be at most 3: take fewer$"):
        whole("x", 7, most=3, remedy="take fewer")
