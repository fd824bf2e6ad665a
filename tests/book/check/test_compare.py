"""The one comparison: what it calls equal, and what it sees in a difference."""

import math

import pytest
import torch

from tformer_book.check.kit import Mistake, Slip, compare, matches, recognise, slips

RIGHT = torch.tensor([[0.5, 2.0, 3.5], [4.5, 1.0, 0.25]])


def seen(found, wanted=RIGHT, known=()):
    with pytest.raises(Mistake) as mistake:
        compare(found, wanted, known, said="for this")
    return mistake.value.diagnosis, mistake.value.message


def test_equal_results_pass_whatever_holds_them():
    compare(RIGHT.double(), RIGHT, said="for this")
    assert matches([1.0, (2, RIGHT)], (1.0, [2.0, RIGHT.clone()]))
    assert matches(torch.tensor([math.nan]), torch.tensor([math.nan]))
    assert not matches(RIGHT[None], RIGHT)
    assert not matches([1, 2], [1, 2, 3])


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (-RIGHT, "sign"),
        (RIGHT.T, "axes-swapped"),
        (RIGHT.flip(1), "reversed"),
        (RIGHT.roll(1, 1), "shifted"),
        (RIGHT.exp(), "exponential"),
        (RIGHT.log(), "logarithm"),
        (RIGHT.softmax(-1), "softmax"),
        (RIGHT.sum(0), "sum-over-an-axis"),
        (RIGHT.mean(1), "mean-over-an-axis"),
        (RIGHT.flatten(), "axes"),
        (RIGHT.long(), "whole-numbers"),
        (RIGHT / 0, "not-finite"),
        (RIGHT[:, :2], "shape"),
    ],
)
def test_a_difference_of_a_known_kind_is_called_by_it(found, name):
    assert seen(found)[0] == name


def test_a_lost_axis_of_size_1_is_told_from_other_shapes():
    assert seen(RIGHT, RIGHT[None])[0] == "axis-lost"


def test_a_constant_factor_and_rows_that_are_right_are_said():
    assert "2 times what it must be" in seen(2 * RIGHT)[1]
    assert "off by the same 1" in seen(RIGHT + 1)[1]
    half = RIGHT.clone()
    half[1, 1] += 1
    assert "along axis 0 only [0]" in seen(half)[1]


def test_a_known_mistake_comes_before_what_the_numbers_look_like():
    assert seen(-RIGHT, RIGHT, [Slip("minus", "A minus too many.", -RIGHT)]) == (
        "minus",
        "A minus too many.",
    )


def test_two_slips_at_once_are_both_named():
    def build(*, factor=1.0, shift=0.0, impossible=False):
        if impossible:
            raise RuntimeError
        return factor * RIGHT + shift

    table = {
        "impossible": ({"impossible": True}, "Never."),
        "factor": ([{"factor": 2.0}, {"factor": 3.0}], "A factor."),
        "shift": ({"shift": 1.0}, "A shift."),
    }
    known = list(slips(table, lambda wrong: wrong(), build))
    with pytest.raises(Mistake, match="A factor. And there is a second slip: A shift"):
        recognise(3 * RIGHT + 1, known)
    recognise(5 * RIGHT, known)  # nobody knows this one
