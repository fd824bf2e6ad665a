"""An answer changes nothing outside itself, least of all the judge."""

from __future__ import annotations

import builtins
import math
import os
import random
import sys
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from answers import load
from torch import Tensor, nn

from tformer import attention, masks
from tformer_book import check
from tformer_book.check.kit import Mistake, call

PROBLEMS = sorted(set(check.__all__) - {"Result", "hint"})
RIGHT = {a.problem: a.mine for a in reversed(load()) if a.diagnosis == "correct"}


def causal(length):
    return torch.ones(length, length, dtype=torch.bool).tril()


CHANGES = {
    "gradients": (torch.is_grad_enabled, lambda: torch.set_grad_enabled(False)),
    "dtype": (
        torch.get_default_dtype,
        lambda: torch.set_default_dtype(torch.float64),
    ),
    "device": (torch.get_default_device, lambda: torch.set_default_device("meta")),
    "threads": (
        torch.get_num_threads,
        lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    ),
    "precision": (
        torch.get_float32_matmul_precision,
        lambda: torch.set_float32_matmul_precision("medium"),
    ),
    "determinism": (
        torch.are_deterministic_algorithms_enabled,
        lambda: torch.use_deterministic_algorithms(True),
    ),
    "anomalies": (
        torch.is_anomaly_enabled,
        lambda: torch.autograd.set_detect_anomaly(True),
    ),
    "autocast": (
        lambda: torch.is_autocast_enabled("cpu"),
        lambda: torch.set_autocast_enabled("cpu", True),
    ),
    "cudnn": (
        lambda: torch.backends.cudnn.benchmark,
        lambda: setattr(torch.backends.cudnn, "benchmark", True),
    ),
    "numpy's errors": (np.geterr, lambda: np.seterr(all="raise")),
    "folder": (os.getcwd, lambda: os.chdir("/")),
    "environment": (lambda: dict(os.environ), lambda: os.environ.update(TF_X="1")),
    "path": (lambda: [*sys.path], lambda: sys.path.insert(0, "/elsewhere")),
    "recursion": (sys.getrecursionlimit, lambda: sys.setrecursionlimit(5000)),
    "output": (lambda: sys.stdout, lambda: setattr(sys, "stdout", sys.__stderr__)),
    "warnings": (
        lambda: [*warnings.filters],
        lambda: warnings.simplefilter("error"),
    ),
    "torch's dice": (
        lambda: bytes(torch.get_rng_state().numpy()),
        lambda: torch.manual_seed(7),
    ),
    "python's dice": (random.getstate, lambda: random.seed(7)),
    "numpy's dice": (
        lambda: str(np.random.get_state()),  # noqa: NPY002
        lambda: np.random.seed(7),  # noqa: NPY002
    ),
    "a function": (lambda: torch.allclose, lambda: setattr(torch, "allclose", all)),
    "a method": (lambda: Tensor.sum, lambda: setattr(Tensor, "sum", all)),
    "a built-in": (lambda: builtins.len, lambda: setattr(builtins, "len", all)),
    "the package": (
        lambda: masks.causal_mask,
        lambda: setattr(masks, "causal_mask", causal),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_an_answer_changes_is_as_before_when_it_is_judged(name, capsys):
    read, change = CHANGES[name]
    before = read()

    def mine(length):
        mask = causal(length)
        change()
        return mask

    result = check.causal_mask(mine)
    assert result, result.message
    assert read() == before
    assert capsys.readouterr().out.startswith("✓")


def test_a_way_out_of_the_program_is_a_mistake():
    def leaves(x):
        sys.exit(1)

    def raises(x):
        raise BaseException("nothing above me")

    for mine, name in ((leaves, "exits"), (raises, "stops-with-an-error")):
        with pytest.raises(Mistake) as found:
            call(mine, {"x": 1})
        assert found.value.diagnosis == name

    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # the reader's own
        call(interrupted, {"x": 1})

    class Leaves(list):
        __len__ = leaves

    assert not check.learn_merges(lambda words, n_merges: Leaves())


def yes(*given, **named):
    return True


PATCHES = [
    (torch, "allclose", yes),
    (torch, "equal", yes),
    (torch, "isclose", lambda one, other, **named: torch.ones_like(one) == 1),
    (math, "isclose", yes),
    (builtins, "all", yes),
    (builtins, "bool", yes),
]


@pytest.mark.parametrize("inside", [True, False], ids=["while it runs", "before"])
@pytest.mark.parametrize(
    ("place", "name", "other"), PATCHES, ids=[name for _, name, _ in PATCHES]
)
def test_an_answer_cannot_change_how_it_is_compared(
    place, name, other, inside, monkeypatch
):
    def mine(scores):
        if inside:
            setattr(place, name, other)
        return scores * 0

    with monkeypatch.context() as patched:
        if not inside:
            patched.setattr(place, name, other)
        result = check.softmax(mine)
        assert (getattr(place, name) is other) != inside
    assert not result


def test_an_answer_cannot_change_what_it_is_compared_with(monkeypatch):
    def wrong(scores, dim=-1, dtype=None):
        return scores * 0

    def wrong_attention(query, key, value, *, mask=None):
        weights = torch.zeros(*query.shape[:-1], key.size(-2))
        return weights @ value, weights

    monkeypatch.setattr(Tensor, "softmax", wrong)
    monkeypatch.setattr(torch, "softmax", wrong)
    monkeypatch.setattr(F, "softmax", wrong)
    monkeypatch.setattr(attention, "attention", wrong_attention)
    monkeypatch.setattr(
        attention.MultiHeadAttention, "forward", lambda self, x, *_, **__: x
    )
    assert not check.softmax(wrong)
    assert not check.attention(wrong_attention)
    assert Tensor.softmax is wrong
    assert attention.attention is wrong_attention


class Agreeable(Tensor):
    """A tensor that is equal to anything."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in {torch.allclose, torch.equal}:
            return True
        return super().__torch_function__(func, types, args, kwargs)


class Anything:
    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize("problem", PROBLEMS)
def test_nothing_is_right_because_it_says_so(problem):
    def agreeable(*given, **named):
        found = RIGHT[problem](*given, **named)
        if isinstance(found, Tensor):
            return (torch.ones_like(found) * 2).as_subclass(Agreeable)
        return Anything()

    assert not getattr(check, problem)(agreeable)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_verdict_does_not_depend_on_the_session(problem):
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.set_autocast_enabled("cpu", True)
    try:
        result = getattr(check, problem)(RIGHT[problem])
        assert torch.get_default_dtype() == torch.float64
        assert not torch.is_grad_enabled()
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.set_autocast_enabled("cpu", False)
    assert result, result.message


@pytest.mark.parametrize(
    "how", ["values", "parameter", "module", "setting", "mode", "then stops"]
)
def test_a_layer_that_was_changed_is_as_before(how):
    layer = nn.Linear(2, 2)
    weight, values = layer.weight, layer.weight.detach().clone()

    def mine(layer):
        if how in {"values", "then stops"}:
            layer.weight.data.zero_()
        elif how == "parameter":
            layer.weight = nn.Parameter(torch.zeros(2, 2))
        elif how == "module":
            layer.more = nn.Linear(2, 2)
        elif how == "setting":
            layer.out_features = 3
        layer.eval().requires_grad_(False)
        return 1 / (how != "then stops")

    if how == "mode":
        assert call(mine, {"layer": layer}) == 1
    else:
        with pytest.raises(Mistake, match="for good|ZeroDivision"):
            call(mine, {"layer": layer})
    assert layer.weight is weight
    assert torch.equal(weight, values)
    assert layer.out_features == 2
    assert weight.requires_grad
    assert [*layer.children()] == []
