"""Masks: True = may attend; no row is ever empty."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tformer.masks import (
    causal_mask,
    check_ids,
    padding_mask,
    source_mask,
    target_mask,
)

PAD = 0
lengths = st.lists(st.integers(1, 7), min_size=1, max_size=4)


@given(st.integers(1, 12))
def test_a_position_sees_itself_and_its_past_and_nothing_else(length):
    mask = causal_mask(length)
    assert mask.dtype == torch.bool
    for query in range(length):
        for key in range(length):
            assert mask[query, key].item() == (key <= query)


@given(lengths)
def test_padding_hides_keys_and_never_queries(random_ids, lengths):
    ids = random_ids(lengths)
    mask = padding_mask(ids, PAD)
    assert mask.shape == (len(lengths), 1, 1, max(lengths))
    assert mask.dtype == torch.bool
    assert mask.sum(dim=-1).flatten().tolist() == lengths
    for row, length in enumerate(lengths):
        assert mask[row, 0, 0, :length].all()
        assert not mask[row, 0, 0, length:].any()


def test_the_padding_id_is_the_one_given():
    ids = torch.tensor([[5, 0, 7, 7]])
    assert padding_mask(ids, 7).flatten().tolist() == [True, True, False, False]


def test_the_source_is_hidden_where_it_is_padded_and_nowhere_else(random_ids):
    ids = random_ids([3, 5])
    assert source_mask(ids, PAD)[:, 0, 0].tolist() == (ids != PAD).tolist()


@given(lengths)
def test_a_target_row_sees_exactly_its_real_past(random_ids, lengths):
    mask = target_mask(random_ids(lengths), PAD)
    assert mask.shape == (len(lengths), 1, max(lengths), max(lengths))
    for row, length in enumerate(lengths):
        for query in range(max(lengths)):
            seen = mask[row, 0, query].nonzero().flatten().tolist()
            assert seen == list(range(min(query + 1, length)))


@given(lengths)
def test_no_row_of_a_mask_is_empty(random_ids, lengths):
    ids = random_ids(lengths)
    assert source_mask(ids, PAD).any(dim=-1).all()
    assert target_mask(ids, PAD).any(dim=-1).all()


@pytest.mark.parametrize("length", [0, -1])
def test_a_causal_mask_of_no_positions_is_refused(length):
    with pytest.raises(ValueError, match=rf"length >= 1, got {length}"):
        causal_mask(length)


@pytest.mark.parametrize("make", [padding_mask, source_mask, target_mask])
class TestBadIds:
    @pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.bool])
    def test_ids_of_another_type_are_refused_with_the_remedy(self, make, dtype):
        with pytest.raises(TypeError, match=rf"int64, got {dtype}: use ids.long\(\)"):
            make(torch.ones(2, 3).to(dtype), PAD)

    def test_a_list_is_no_tensor(self, make):
        with pytest.raises(TypeError, match="as a tensor, got list"):
            make([[4, 5]], PAD)

    @pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (2, 0), (0, 2), ()])
    def test_ids_of_another_shape_are_refused_with_the_remedy(self, make, shape):
        message = r"\(batch, length\).*got \(.*\): pad sentences to the same length"
        with pytest.raises(ValueError, match=message):
            make(torch.ones(shape, dtype=torch.int64), PAD)

    def test_a_row_of_padding_only_is_named(self, make):
        ids = torch.tensor([[4, 5], [PAD, PAD], [6, PAD]])
        message = r"row 1 has no visible token.*pad_id=0.*remove the row"
        with pytest.raises(ValueError, match=message):
            make(ids, PAD)


def test_a_target_padded_on_the_left_is_refused():
    """Its first position would see nothing: NaN later, an error here."""
    ids = torch.tensor([[4, 5, 6], [PAD, 4, 5]])
    assert source_mask(ids, PAD).any(dim=-1).all()  # a source may be
    with pytest.raises(ValueError, match=r"row 1 .*pad_id=0.*pad on the right"):
        target_mask(ids, PAD)


@pytest.mark.parametrize("wrong", [-1, 13, 10**9])
def test_an_id_outside_the_vocabulary_is_named(wrong):
    ids = torch.tensor([[4, wrong, 5]])
    with pytest.raises(ValueError, match=rf"token id {wrong} .*0…12.*tokenizer\?"):
        check_ids(ids, vocab_size=13, pad_id=PAD)


def test_the_first_and_the_last_id_are_inside():
    check_ids(torch.tensor([[0, 12]]), vocab_size=13, pad_id=PAD)


def test_checked_ids_have_a_visible_token_in_each_row():
    with pytest.raises(ValueError, match="row 0 has no visible token"):
        check_ids(torch.tensor([[PAD, PAD]]), vocab_size=13, pad_id=PAD)
