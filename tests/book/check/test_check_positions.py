"""Every mistake that the grader of chapter 04 knows is made here on purpose."""

import math

import numpy as np
import pytest
import torch

from tformer.positions import sinusoids
from tformer_book import check


def angles(length, d, exponent=None, start=0):
    """(length, d/2) in radians; `exponent` replaces 2i/d."""
    exponents = torch.arange(0, d, 2) / d if exponent is None else exponent
    return (torch.arange(length)[:, None] + start) / 10_000.0**exponents


def woven(angle):
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def loop(length, d, divisor):
    """As many tutorials write it: element by element, i the sine's column."""
    table = torch.zeros(length, d)
    for p in range(length):
        for i in range(0, d, 2):
            table[p, i] = math.sin(p / divisor(i, d))
            table[p, i + 1] = math.cos(p / divisor(i + 1, d))
    return table


def mean_of_both(length, d):
    return (sinusoids(length, d) + torch.ones(length, d)) / 2


def only_even_columns(length, d):
    table = torch.zeros(length, d)
    table[:, 0::2] = angles(length, d).sin()
    return table


def roles_changed(length, d):
    table = torch.zeros(length, d)
    for p in range(length):
        for c in range(d):
            angle = c / 10_000 ** (p // 2 * 2 / d)
            table[p, c] = math.cos(angle) if p % 2 else math.sin(angle)
    return table


def in_whole_numbers(length, d):
    return torch.zeros(length, d, dtype=torch.int64) + sinusoids(length, d).long()


def divided_by_zero(length, d):
    return woven(torch.arange(length)[:, None] / (10_000.0 * torch.arange(0, d, 2) / d))


def own_angles(length, d):
    column = torch.arange(d)
    angle = torch.arange(length)[:, None] / 10_000.0 ** (column / d)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


def stacked_in_front(length, d):
    angle = angles(length, d)
    return torch.stack([angle.sin(), angle.cos()]).reshape(length, d)


def cosine_first(length, d):
    angle = angles(length, d)
    return torch.stack([angle.cos(), angle.sin()], -1).flatten(-2)


def halves(length, d):
    angle = angles(length, d)
    return torch.cat([angle.sin(), angle.cos()], -1)


def only_sines(length, d):
    return angles(length, d).repeat_interleave(2, dim=1).sin()


WRONG = {
    "doubled-exponent": lambda n, d: loop(n, d, lambda i, d: 10_000 ** (2 * i / d)),
    "an-angle-for-each-column": own_angles,
    "half-exponent": lambda n, d: woven(angles(n, d, torch.arange(d // 2) / d)),
    "exponent-without-d": lambda n, d: woven(angles(n, d, torch.arange(0, d, 2))),
    "no-base": lambda n, d: woven(angles(n, d, torch.zeros(d // 2))),
    "another-base": lambda n, d: sinusoids(n, d, base=1_000),
    "reaches-the-base": lambda n, d: woven(
        angles(n, d, torch.arange(0, d, 2) / max(d - 2, 1))
    ),
    "pairs-from-one": lambda n, d: woven(angles(n, d, torch.arange(2, d + 2, 2) / d)),
    "multiplied": lambda n, d: woven(
        angles(n, d, -torch.arange(0, d, 2, dtype=torch.float64) / d)
    ),
    "positions-from-one": lambda n, d: woven(angles(n, d, start=1)),
    "positions-divided-by-the-length": lambda n, d: woven(angles(n, d) / n),
    "degrees": lambda n, d: woven(torch.deg2rad(angles(n, d))),
    "times-two-pi": lambda n, d: woven(angles(n, d).double() * 2 * math.pi),
    "halves": halves,
    "cosine-first": cosine_first,
    "stacked-on-the-wrong-axis": stacked_in_front,
    "cosines-missing": only_even_columns,
    "only-sines": only_sines,
    "positions-on-the-wrong-axis": lambda n, d: sinusoids(n, d).T,
    "extra-axis": lambda n, d: sinusoids(n, d)[None],
    "not-flattened": lambda n, d: sinusoids(n, d).view(n, d // 2, 2),
    "half-the-columns": lambda n, d: angles(n, d).sin(),
    "twice-the-columns": lambda n, d: sinusoids(n, 2 * d),
    "shape": lambda n, d: sinusoids(9, 4),
    "not-a-tensor": lambda n, d: np.zeros((n, d)),
    "not-floats": in_whole_numbers,
    "not-finite": divided_by_zero,
    "imprecise": lambda n, d: woven(angles(n, d).half()),
    "wrong-numbers": mean_of_both,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_named(name):
    result = check.sinusoids(WRONG[name])
    assert not result
    assert result.diagnosis == name


@pytest.mark.parametrize(
    ("name", "mine"),
    [
        (
            "doubled-exponent",
            lambda n, d: woven(angles(n, d, torch.arange(0, d, 2) * 2 / d)),
        ),
        ("exponent-without-d", lambda n, d: loop(n, d, lambda i, d: 10_000.0**i)),
        ("positions-on-the-wrong-axis", roles_changed),
        ("halves", lambda n, d: halves(n, d).roll(d // 2, dims=1)),
        (
            "positions-divided-by-the-length",
            lambda n, d: woven(angles(n, d) / max(n - 1, 1)),
        ),
    ],
)
def test_another_way_to_make_the_same_mistake_has_the_same_name(name, mine):
    assert check.sinusoids(mine).diagnosis == name


def test_of_two_slips_both_are_told():
    result = check.sinusoids(lambda n, d: halves(n + 1, d)[1:])
    assert result.diagnosis == "positions-from-one"
    assert "row 0" in result.message
    assert "all sines, then all cosines" in result.message


def test_a_wrong_value_is_named_with_its_formula():
    def slip(length, d):
        table = sinusoids(length, d)
        table[-1, 3] += 0.1
        return table

    assert "column 3 should be cos(6 / 10000^(2/4))" in check.sinusoids(slip).message


@pytest.mark.parametrize(
    "mine",
    [
        sinusoids,
        lambda length, d_model: sinusoids(length, d_model).double(),
        lambda n, d: loop(n, d, lambda i, d: 10_000 ** (i // 2 * 2 / d)),
        lambda n, d: woven(
            torch.arange(n).float()[:, None]
            * torch.exp(torch.arange(0, d, 2).float() * (-math.log(10_000.0) / d))
        ),
    ],
)
def test_a_right_table_is_accepted_however_it_is_written(mine):
    assert check.sinusoids(mine)


def test_a_stub_is_not_graded():
    def my_sinusoids(length, d_model):
        raise NotImplementedError

    assert check.sinusoids(my_sinusoids).diagnosis == "stub"
    assert check.sinusoids(lambda length, d_model: None).diagnosis == "returns-nothing"


def test_a_table_itself_is_no_function():
    assert check.sinusoids(sinusoids(3, 4)).diagnosis == "not-a-function"
