"""The flat form of a model: the numbers and the pieces of the plain one."""

from __future__ import annotations

import itertools
import threading
from unittest import mock

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tformer import decode
from tformer.decode import stepping
from tformer.fast.cache import ROOM
from tformer.fast.compiled import flat_form
from tformer.fast.flat import stacked
from tformer.fast.products import packed, plain
from tformer.masks import source_mask

LONG = 3 * ROOM + 2  # the memory for keys and values is made wider three times
KINDS = {
    "the paper's": {},
    "pre-norm": {"norm": "pre"},
    "rms": {"norm_kind": "rms"},
    "rms, pre-norm": {"norm_kind": "rms", "norm": "pre"},
    "swiglu": {"feed_forward": "swiglu"},
    "gelu": {"activation": "gelu"},
    "swish": {"activation": "swish"},
    "one group": {"attention": "grouped", "n_heads": 4},
    "two groups": {"attention": "grouped", "n_heads": 4, "n_groups": 2},
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none"},
    "three tables": {"tie_embeddings": False},
    "output bias": {"tie_embeddings": False, "output_bias": True},
    "uneven stacks": {"n_encoder_layers": 1, "n_decoder_layers": 3},
}


def plainly():
    """Inside, models decode as they are."""
    return mock.patch.object(stepping, "flat_form", return_value=None)


def steps(model, source_ids, pieces, rows=None):
    """Logits of the newest position after each column of pieces, by the flat form.

    Args:
        rows: for each step which rows go on after it, as in a beam.
    """
    flat = flat_form(model, "float32")
    memory, mask = flat.encode(source_ids), source_mask(source_ids, 0)
    cache = flat.new_cache()
    for t, column in enumerate(pieces):
        yield flat.unembed(flat.decode(column[:, None], memory, mask, cache)[:, -1])
        if rows is not None:
            kept = torch.tensor(rows[t])
            cache.select(kept)
            memory, mask = memory[kept], mask[kept]


@torch.no_grad()
@pytest.mark.parametrize("fields", KINDS.values(), ids=KINDS)
def test_logits_are_the_plain_models_beyond_the_first_room(
    make_model, random_ids, fields
):
    model = make_model(max_len=64, **fields)
    source_ids = random_ids([5, 2, 7])
    columns = [torch.full((3,), 1), *torch.randint(4, 13, (LONG, 3))]
    whole = model(source_ids, torch.stack(columns, dim=1))
    for t, logits in enumerate(steps(model, source_ids, columns)):
        assert_close(logits, whole[:, t], rtol=0, atol=1e-4)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["the paper's", "two groups"])
def test_rows_may_multiply_change_places_and_leave(make_model, random_ids, kind):
    model = make_model(max_len=64, **KINDS[kind])
    sources, prefix = random_ids([5, 2]), torch.empty(2, 0, dtype=torch.int64)
    rows = [[0, 0, 0, 1, 1, 1], [2, 0, 1, 5, 5, 3], [4, 3, 5], [0, 0, 2], [1]]
    columns = [torch.randint(4, 13, (n,)) for n in (2, 6, 6, 3, 3)]
    found = steps(model, sources, columns, rows)
    for column, kept, logits in zip(columns, rows, found, strict=True):
        prefix = torch.cat([prefix, column[:, None]], dim=1)
        expected = model(sources, prefix)[:, -1]
        assert_close(logits, expected, rtol=0, atol=1e-4)
        prefix, sources = prefix[kept], sources[kept]


def searches(model, source_ids, **ways):
    """What greedy search, a beam and sampling find."""
    yield decode.greedy(model, source_ids, max_len=30, **ways)
    yield decode.beam_search(model, source_ids, beam_size=3, max_len=30, **ways)
    yield decode.sample(model, source_ids, seed=3, max_len=30, **ways)


@pytest.mark.parametrize("kind", ["the paper's", "pre-norm", "two groups"])
def test_every_search_finds_the_same_pieces(make_model, random_ids, kind):
    model = make_model(max_len=32, **KINDS[kind])
    source_ids = random_ids([5, 2, 7, 9, 1, 4])
    with mock.patch.object(type(model), "decode", side_effect=AssertionError):
        found = list(searches(model, source_ids))  # by the flat form alone
    with plainly():
        assert found == list(searches(model, source_ids))
    assert len({len(ids) for ids in itertools.chain(*found)}) > 2  # rows leave early


def test_captions_are_translated_into_the_same_words(corpus_of):
    """Of 200 captions; `benchmarks/fast_decoding.py` compares 1,000."""
    from tformer import load_pretrained

    translator = load_pretrained()
    captions = [english for english, _ in corpus_of("multi30k").valid[:200]]
    found = translator.translate(captions)
    with plainly():
        assert found == translator.translate(captions)
    assert flat_form_of(translator) is not None


def flat_form_of(translator):
    with torch.inference_mode():
        return flat_form(translator.model, "float32")


def test_threads_change_nothing(make_model, random_ids):
    model, source_ids = make_model(max_len=32), random_ids([5, 2, 7, 9])
    expected = list(searches(model, source_ids))
    found = []
    workers = [
        threading.Thread(target=lambda: found.append([*searches(model, source_ids)]))
        for _ in range(4)
    ]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert found == [expected] * 4
    torch.set_num_threads(2)
    try:
        assert list(searches(model, source_ids)) == expected
    finally:
        torch.set_num_threads(1)


def test_a_source_that_is_too_long_is_refused_as_by_the_model(make_model, random_ids):
    model = make_model()
    with pytest.raises(ValueError, match="17 tokens are more than max_len=16"):
        decode.greedy(model, random_ids([17]))


@torch.inference_mode()
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("prepare", [packed, plain])
def test_stacked_maps_give_their_results_side_by_side(prepare, bias):
    maps = [nn.Linear(16, n, bias=bias) for n in (24, 8, 8)]
    x = torch.randn(5, 16)
    expected = torch.cat([each(x) for each in maps], dim=1)
    found = stacked(prepare, *maps)(x)
    assert_close(found, expected, rtol=0, atol=1e-5)
