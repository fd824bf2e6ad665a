"""Activation patching: what is put in is what the layers above go on from."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import torch
from torch.testing import assert_close

from tformer import Transformer, TransformerConfig, decode, masks
from tformer.analysis.patching import encoder_states, patched

OWN = torch.tensor([[5, 6, 7, 8, 2]])
OTHER = torch.tensor([[9, 4, 10, 11, 2]])
DEPTH = 3


@pytest.fixture(params=["post", "pre"])
def model(request, randomise) -> Transformer:
    torch.manual_seed(0)
    config = TransformerConfig(
        12, 16, 4, 32, DEPTH, 2, max_len=16, norm=request.param, dropout=0.3
    )
    return randomise(Transformer(config)).eval()


def test_states_are_those_that_the_layers_pass_on(model):
    states = encoder_states(model, OWN)
    assert states.shape == (DEPTH + 1, 1, OWN.size(1), 16)
    mask = masks.source_mask(OWN, 0)
    for layer, before, after in zip(
        model.encoder.layers, states[:-1], states[1:], strict=True
    ):
        assert_close(layer(before, mask), after, rtol=0, atol=1e-6)
    memory = model.encoder.final_norm(states[-1])
    assert_close(memory, model.encode(OWN), rtol=0, atol=1e-6)


@pytest.mark.parametrize("depth", range(DEPTH + 1))
def test_ones_own_state_changes_nothing(model, depth):
    states = encoder_states(model, OWN)
    with patched(model, depth, 2, states[depth, 0, 2]):
        memory = model.encode(OWN)
    assert_close(memory, model.encode(OWN), rtol=0, atol=1e-6)


@pytest.mark.parametrize("depth", range(DEPTH + 1))
def test_with_all_states_of_another_sentence_it_is_read_as_that_one(model, depth):
    states = encoder_states(model, OTHER)
    with ExitStack() as patches:
        for position, state in enumerate(states[depth, 0]):
            patches.enter_context(patched(model, depth, position, state))
        memory = model.encode(OWN)
    assert_close(memory, model.encode(OTHER), rtol=0, atol=1e-6)


def test_only_what_comes_above_depends_on_it(model):
    state = torch.ones(16)
    before = encoder_states(model, OWN)
    with patched(model, 1, 2, state):
        after = encoder_states(model, OWN)
    assert_close(after[0], before[0], rtol=0, atol=0)
    # (What enters the module is seen before it is replaced: its neighbours stay.)
    assert_close(after[1][:, [0, 1, 3, 4]], before[1][:, [0, 1, 3, 4]], rtol=0, atol=0)
    assert bool(((after[2:] - before[2:]).abs().amax(-1) > 1e-4).all())


def test_decoding_uses_it_and_afterwards_all_is_as_before(model):
    def found(source_ids):
        (scored,) = decode.score(model, source_ids, [[7, 5]])
        return scored.log_probability, decode.greedy(model, source_ids)

    plain, other = found(OWN), found(OTHER)
    states = encoder_states(model, OTHER)
    with ExitStack() as patches:
        for position, state in enumerate(states[0, 0]):
            patches.enter_context(patched(model, 0, position, state))
        log_p, ids = found(OWN)
    assert (pytest.approx(log_p, abs=1e-5), ids) == other
    assert abs(log_p - plain[0]) > 1e-3
    assert found(OWN) == plain
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_another_thread_sees_nothing_of_it(model):
    plain = model.encode(OWN)
    with patched(model, 1, 0, torch.ones(16)), ThreadPoolExecutor(1) as other:
        found = other.submit(model.encode, OWN).result()
        assert not torch.allclose(model.encode(OWN), plain, atol=1e-3)
    assert_close(found, plain, rtol=0, atol=1e-6)


def test_states_are_read_without_dropout_and_in_training_it_stays_in_training(model):
    model.train()
    assert_close(encoder_states(model, OWN), encoder_states(model, OWN))
    assert model.training


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ((4, 0, torch.ones(16)), ValueError, "depth=4 is not in 0 to 3"),
        ((-1, 0, torch.ones(16)), ValueError, "depth=-1"),
        ((1, 0, torch.ones(15)), ValueError, r"must be \(16,\), got \(15,\)"),
        ((1, 5, torch.ones(16)), IndexError, "no position 5 in a source of 5"),
        ((1, -1, torch.ones(16)), IndexError, "no position -1"),
    ],
)
def test_a_place_that_is_not_there_is_named(model, given, error, said):
    with pytest.raises(error, match=said), patched(model, *given):
        model.encode(OWN)
    assert not any(module._forward_pre_hooks for module in model.modules())
