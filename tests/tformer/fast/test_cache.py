"""The key/value cache: what it hands out is what was put in, wherever it lies."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from tformer.decoder import Decoder
from tformer.fast.cache import ROOM, Cache, Growing, LayerCache, needed
from tformer.masks import causal_mask, source_mask

S, D = 5, 8
TIGHT = {"rtol": 0, "atol": 1e-5}


@pytest.fixture
def decoder(randomise):
    return randomise(Decoder(2, D, 2, 16)).eval()


@pytest.fixture
def memory():
    return torch.randn(2, S, D)


@torch.no_grad()
def test_what_grows_is_what_was_appended_however_often_it_had_to_move():
    places = torch.randn(3, 2, 2 * ROOM + 5, 4)
    growing = Growing()
    for t in range(places.size(2)):
        so_far = growing.append(places[:, :, t : t + 1])
        assert torch.equal(so_far, places[:, :, : t + 1])


@torch.no_grad()
def test_rows_may_change_places_multiply_and_leave_while_they_grow():
    growing, expected = Growing(), torch.empty(2, 2, 0, 4)
    for rows in ([1, 0], [0, 0, 1], [2, 1], [0, 1, 1, 0], [3]):
        for _ in range(7):
            new = torch.randn(len(expected), 2, 1, 4)
            expected = torch.cat([expected, new], dim=2)
            assert torch.equal(growing.append(new), expected)
        expected = expected[rows]
        assert torch.equal(growing.select(torch.tensor(rows)), expected)


def follow(decoder, memory, mask, cache, choices):
    """Decode step by step; after each step these rows go on. Yields got, expected."""
    sources = torch.arange(len(memory))
    x = torch.randn(len(memory), 0, D)
    for rows in choices:
        x = torch.cat([x, torch.randn(len(x), 1, D)], dim=1)
        row = decoder(x[:, -1:], memory[sources], None, mask[sources], cache)
        whole = decoder(x, memory[sources], causal_mask(x.size(1)), mask[sources])
        yield row[:, 0], whole[:, -1]
        rows = torch.tensor(rows)
        cache.select(rows)
        x, sources = x[rows], sources[rows]


@torch.no_grad()
@pytest.mark.parametrize("padded", [True, False])
def test_rows_of_one_source_share_its_memory(decoder, memory, padded):
    """And see what they would alone."""
    ids = torch.tensor([[4, 5, 6, 0 if padded else 7, 0 if padded else 8], [4] * 5])
    cache = Cache(2)
    choices = [[0, 0, 0, 1, 1, 1], [2, 0, 1, 5, 5, 3], [4, 3, 5], [0, 0, 2], [1]]
    rows_kept = []
    for row, expected in follow(decoder, memory, source_mask(ids, 0), cache, choices):
        assert_close(row, expected, **TIGHT)
        rows_kept.append([len(layer.memory[0]) for layer in cache.layers])
    assert rows_kept == [[2, 2], [2, 2], [2, 2], [1, 1], [1, 1]]


@torch.no_grad()
def test_rows_of_unequal_groups_have_each_a_memory_of_their_own(decoder, memory):
    mask = source_mask(torch.tensor([[4, 5, 0, 0, 0], [4, 5, 6, 7, 8]]), 0)
    cache = Cache(2)
    choices = [[0, 0, 1, 1], [0, 2, 3], [2, 0, 0]]
    for row, expected in follow(decoder, memory, mask, cache, choices):
        assert_close(row, expected, **TIGHT)
    assert cache.width == 1
    assert len(cache.layers[0].memory[0]) == 3


@torch.no_grad()
def test_with_the_same_sources_the_memory_is_left_alone(decoder, memory):
    cache = Cache(2)
    decoder(torch.randn(2, 1, D), memory, cache=cache)
    kept = cache.layers[0].memory[0]
    cache.select(torch.tensor([0, 1]), same_sources=True)
    assert cache.layers[0].memory[0] is kept


def test_a_mask_that_hides_nothing_is_not_needed():
    hides = torch.tensor([[True, False]])
    assert needed(hides) is hides
    assert needed(torch.ones(2, 3, dtype=torch.bool)) is None
    assert needed(None) is None


def test_a_cache_has_no_length_before_its_first_position():
    assert Cache(2).length == 0
    assert LayerCache().target is None
