"""Sinusoids: each pair of columns is a hand of a clock."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from tformer.positions import LearnedPositions, SinusoidalPositions, sinusoids

# The table is rounded to float32 once, at the end: half a unit in the last place of 1.
ROUNDING = 2**-24


def test_worked_values():
    table = sinusoids(2, 4)
    assert_close(table[0], torch.tensor([0.0, 1.0, 0.0, 1.0]))
    by_hand = [math.sin(1), math.cos(1), math.sin(1 / 100), math.cos(1 / 100)]
    assert_close(table[1], torch.tensor(by_hand), rtol=0, atol=ROUNDING)
    rounded = [f"{value:.3f}" for value in table[1].tolist()]
    assert rounded == ["0.841", "0.540", "0.010", "1.000"]


@given(
    st.integers(0, 9_999),
    st.sampled_from([2, 4, 6, 192, 512]),
    st.sampled_from([10_000.0, 100.0]),
)
def test_every_entry_is_the_papers_formula_to_the_last_bit(position, d_model, base):
    row = sinusoids(position + 1, d_model, base=base)[-1].double()
    for pair in range(d_model // 2):
        angle = position / base ** (2 * pair / d_model)
        assert abs(row[2 * pair].item() - math.sin(angle)) <= ROUNDING
        assert abs(row[2 * pair + 1].item() - math.cos(angle)) <= ROUNDING


def rotation(shift, d_model):
    """The matrix that turns pair i by shift / base^(2i/D); it knows no position."""
    blocks = []
    for pair in range(d_model // 2):
        angle = shift / 10_000 ** (2 * pair / d_model)
        cos, sin = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64))
    return torch.block_diag(*blocks)


@given(st.integers(0, 200), st.integers(-200, 200), st.sampled_from([2, 8, 64]))
def test_a_shift_is_one_rotation_wherever_it_starts(position, shift, d_model):
    if position + shift < 0:
        shift = -shift
    table = sinusoids(401, d_model).double()
    turned = rotation(shift, d_model) @ table[position]
    assert_close(turned, table[position + shift], rtol=0, atol=4 * ROUNDING)


@given(st.integers(0, 150), st.sampled_from([2, 8, 64]))
def test_similarity_depends_on_the_distance_only(distance, d_model):
    table = sinusoids(301, d_model).double()
    products = (table[:150] * table[distance : distance + 150]).sum(-1)
    tolerance = 4 * ROUNDING * d_model
    assert_close(products, products[:1].expand(150), rtol=0, atol=tolerance)
    if distance == 0:
        expected = torch.full((150,), d_model / 2, dtype=torch.float64)
        assert_close(products, expected, rtol=0, atol=tolerance)


def test_every_row_has_the_same_length_and_no_two_rows_are_equal():
    table = sinusoids(1000, 64)
    assert_close(table.norm(dim=-1), torch.full((1000,), 32**0.5))
    distances = torch.cdist(table, table) + torch.eye(1000) * 1e3
    assert distances.min() > 0.5


def test_wavelengths_grow_from_two_pi_to_just_under_base_times_two_pi():
    """Pair i comes round after 2 pi base^(2i/D): the exponent stays under 1."""
    table = sinusoids(7, 512).double()
    angles = torch.atan2(table[1, 0::2], table[1, 1::2])  # radians per position
    wavelengths = 2 * math.pi / angles
    assert wavelengths[0].item() == pytest.approx(2 * math.pi, rel=1e-6)
    ratio = 10_000 ** (2 / 512)
    ratios = wavelengths[1:] / wavelengths[:-1]
    assert_close(ratios, torch.full_like(ratios, ratio), rtol=1e-3, atol=0)
    longest = wavelengths[-1].item()
    assert longest == pytest.approx(10_000 * 2 * math.pi / ratio, rel=2e-3)


def test_the_table_is_float32():
    assert sinusoids(3, 4).dtype == torch.float32
    assert sinusoids(3, 4).shape == (3, 4)


@pytest.mark.parametrize(
    ("length", "d_model", "base", "message"),
    [
        (3, 5, 10_000.0, "d_model=5 must be even"),
        (3, 0, 10_000.0, "d_model=0 must be even"),
        (0, 4, 10_000.0, "length=0 must be at least 1"),
        (3, 4, 1.0, "base=1.0 must be greater than 1"),
        (3, 4, math.nan, "base=nan must be greater than 1"),
    ],
)
def test_a_table_that_cannot_be_made_is_refused(length, d_model, base, message):
    with pytest.raises(ValueError, match=message):
        sinusoids(length, d_model, base=base)


# ------------------------------------------------------------------------ the layer


def test_each_position_gets_its_own_row_added():
    x = torch.randn(2, 5, 8)
    assert_close(SinusoidalPositions(8, 16)(x), x + sinusoids(16, 8)[:5])
    learned = LearnedPositions(8, 16)
    assert_close(learned(x), x + learned.table[:5])


BOTH = pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])


@BOTH
def test_an_offset_goes_on_where_the_sequence_stopped(kind):
    positions = kind(8, 16)
    x = torch.randn(2, 6, 8)
    whole = positions(x)
    for start in range(1, 6):
        tail = positions(x[:, start:], start)
        assert_close(tail, whole[:, start:], rtol=0, atol=0)
    assert not torch.allclose(positions(x[:, 1:]), whole[:, 1:])


@BOTH
@pytest.mark.parametrize(("length", "offset"), [(17, 0), (1, 16), (5, 12)])
def test_beyond_max_len_there_is_an_error_with_the_remedy(length, offset, kind):
    message = rf"{length + offset} tokens is longer than max_len=16: split the text"
    with pytest.raises(ValueError, match=message):
        kind(8, 16)(torch.zeros(1, length, 8), offset)


@BOTH
def test_max_len_itself_still_fits(kind):
    positions = kind(8, 16)
    assert positions(torch.zeros(1, 16, 8)).shape == (1, 16, 8)
    assert positions(torch.zeros(1, 1, 8), 15).shape == (1, 1, 8)


def test_nothing_is_learned_and_nothing_is_stored():
    positions = SinusoidalPositions(8, 16)
    assert list(positions.parameters()) == []
    assert positions.state_dict() == {}


@BOTH
def test_the_inputs_precision_is_kept(kind):
    x = torch.zeros(1, 3, 8, dtype=torch.bfloat16)
    assert kind(8, 16)(x).dtype == torch.bfloat16


# ------------------------------------------------------------------------ learned


def test_a_learned_row_moves_only_where_a_sentence_has_been():
    positions = LearnedPositions(8, 16)
    assert [name for name, _ in positions.named_parameters()] == ["table"]
    positions(torch.randn(3, 5, 8)).square().sum().backward()
    gradient = positions.table.grad
    assert gradient[:5].abs().min() > 0
    assert (gradient[5:] == 0).all()


def test_learned_rows_start_different_and_as_large_as_sinusoids():
    table = LearnedPositions(64, 200).table
    ours, theirs = (each.norm(dim=1).mean() for each in (table, sinusoids(200, 64)))
    assert_close(ours, theirs, rtol=0.05, atol=0)
    assert torch.pdist(table).min() > 1


@pytest.mark.parametrize(("d_model", "max_len"), [(0, 16), (8, 0), (-1, -1)])
def test_a_learned_table_without_rows_or_width_is_refused(d_model, max_len):
    with pytest.raises(
        ValueError, match=f"d_model={d_model} and max_len={max_len} must"
    ):
        LearnedPositions(d_model, max_len)
