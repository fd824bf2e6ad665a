"""Embedding: one table, read on the way in (scaled) and on the way out (not)."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from tformer.embedding import ScaledEmbedding


@pytest.mark.parametrize("d_model", [2, 8, 64])
def test_a_row_comes_out_times_the_root_of_the_width(d_model):
    embedding = ScaledEmbedding(13, d_model)
    ids = torch.tensor([[4, 0, 12], [4, 4, 1]])
    expected = embedding.weight[ids] * d_model**0.5
    assert_close(embedding(ids), expected)
    assert embedding(ids).shape == (2, 3, d_model)


def test_the_way_out_is_not_scaled():
    embedding = ScaledEmbedding(13, 8)
    hidden = torch.randn(2, 3, 8)
    assert_close(embedding.unembed(hidden), hidden @ embedding.weight.T)


def test_a_piece_scores_highest_for_its_own_direction():
    embedding = ScaledEmbedding(13, 64)
    with torch.no_grad():
        rows = torch.nn.functional.normalize(embedding.weight, dim=-1)
        embedding.table.weight.copy_(rows)
    ids = torch.arange(13)[None]
    assert (embedding.unembed(embedding(ids)).argmax(-1) == ids).all()


def test_inputs_start_at_the_size_of_positions_and_logits_near_variance_one():
    embedding = ScaledEmbedding(2000, 64)
    inputs = embedding(torch.arange(2000)[None])
    assert inputs.std().item() == pytest.approx(1, abs=0.02)
    logits = embedding.unembed(torch.randn(50, 64))
    assert logits.std().item() == pytest.approx(1, abs=0.1)


def test_one_table_learns_from_both_ends():
    embedding = ScaledEmbedding(5, 4)
    ids = torch.tensor([[1, 3]])
    embedding(ids).sum().backward()
    read_in = embedding.weight.grad.clone()
    assert read_in.abs().sum(-1).nonzero().flatten().tolist() == [1, 3]
    assert_close(read_in[1], torch.full((4,), 2.0))  # sqrt(4)
    embedding.zero_grad()
    embedding.unembed(torch.ones(1, 4))[0, 2].backward()
    assert embedding.weight.grad.abs().sum(-1).nonzero().flatten().tolist() == [2]
    assert [name for name, _ in embedding.named_parameters()] == ["table.weight"]
