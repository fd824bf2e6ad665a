"""About a sound model the doctor says nothing, and leaves it as it was."""

from __future__ import annotations

import contextlib
import copy
import random

import numpy as np
import pytest
import torch
from cases import NAMES, admitted, broken, examined

from tformer import Transformer, TransformerConfig, doctor

SIZES = [(0, 32, 2), (1, 32, 2), (2, 64, 1), (3, 16, 3)]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "width", "layers"), SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_found_in_a_sound_model(name, seed, width, layers):
    model, given = admitted(name, seed=seed, width=width, layers=layers)
    report = doctor.examine(model, **given)
    assert report, str(report)
    assert not report.consequences
    assert not [each for each in report.not_tried if "stopped with" in each.reason]
    assert len(report.sound) >= 15


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_nothing_is_found_in_the_books_own_model(norm):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(20, 32, 4, 64, 1, 1, norm=norm))
    report = doctor.examine(model)
    assert report, str(report)


@pytest.mark.parametrize("returns", ["ys", "ys[:, 1:]"])
def test_a_model_that_says_the_start_sign_itself_is_heard_to_the_end(returns):
    text = broken("annotated", "    return ys\n", f"    return {returns}\n")
    model, given = admitted("annotated", text)
    with torch.no_grad():
        model.generator.proj.bias[1] += 2.0  # as an untrained tied model does
    report = doctor.examine(model, **given)
    assert report, str(report)


NORMALISED = (  # needs no root of the width
    "        q, k = turned(q, old), turned(k, old)\n",
    "        q, k = 4 * F.normalize(q, dim=-1), 4 * F.normalize(k, dim=-1)\n"
    "        q, k = turned(q, old), turned(k, old)\n",
)
SOFTMAX_BY_HAND = (
    '        weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)\n',
    "        powers = (scores - scores.amax(dim=-1, keepdim=True)).exp() * seen\n"
    "        weights = powers / powers.sum(dim=-1, keepdim=True)\n",
)


@pytest.mark.parametrize("change", [NORMALISED, SOFTMAX_BY_HAND])
def test_another_way_to_the_weights_is_as_good(change):
    report = examined("cached", change)
    assert report, str(report)


def test_a_residual_is_not_taken_for_positions():
    model, given = admitted("cached")
    with torch.no_grad():
        model.blocks[0].back.weight *= 100
    report = doctor.examine(model, **given)
    assert "embeddings-without-scale" not in report.codes


def state_of(model):
    return {
        "weights": {n: p.detach().clone() for n, p in model.named_parameters()},
        "buffers": {n: b.clone() for n, b in model.named_buffers()},
        "grads": {n: None if p.grad is None else p.grad.clone()
                  for n, p in model.named_parameters()},
        "identities": [id(p.grad) for p in model.parameters()],
        "trains": [p.requires_grad for p in model.parameters()],
        "modes": [m.training for m in model.modules()],
        "chance": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].copy(),  # noqa: NPY002
        "fused": torch.backends.mha.get_fastpath_enabled(),
        "threads": torch.get_num_threads(),
    }  # fmt: skip


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    else:
        assert (
            np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other
        )


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_the_model_is_given_back_exactly_as_it_was(ends, two_threads):
    model, given = admitted("gpt")
    model.train()
    model.h[0].eval()
    model.wpe.weight.requires_grad_(False)
    next(model.parameters()).grad = torch.ones_like(next(model.parameters()))

    def forward(model, ids):
        model.h[0].attn.bias.mul_(1.0)
        model.h[1].attn.bias = model.h[1].attn.bias.clone()
        random.random()
        np.random.rand()  # noqa: NPY002
        assert torch.get_num_threads() == 1
        with torch.no_grad():
            model.ln_f.weight.add_(0.01)
        if ends == "badly":
            raise RuntimeError("no")
        return model(ids)

    before = copy.deepcopy(state_of(model))
    failure = pytest.raises(doctor.CannotExamine)
    with failure if ends == "badly" else contextlib.nullcontext():
        doctor.examine(model, **{**given, "forward": forward})
    assert_same(state_of(model), before)
