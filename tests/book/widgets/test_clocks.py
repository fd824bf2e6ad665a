"""The clocks' numbers, in Node, against the package's sinusoids."""

import pytest
import torch

from tformer.positions import sinusoids
from tformer_book.widgets import Clocks

RUN = (
    "import { dials } from './clocks/clocks.js';"
    "console.log(JSON.stringify(given.map(([d, p]) => dials(d, p))));"
)


def test_the_tips_of_the_hands_are_the_packages_numbers(node):
    given = [(d, p) for d in (2, 4, 8, 12) for p in (0, 1, 7, 44, 63)]
    for (d, p), hands in zip(given, node(RUN, given), strict=True):
        found = [float(x) for hand in hands for x in (hand["sin"], hand["cos"])]
        torch.testing.assert_close(torch.tensor(found), sinusoids(64, d)[p])


def test_a_turn_takes_what_its_name_says(node):
    for i, hand in enumerate(node(RUN, [(8, 0)])[0]):
        assert hand["turn"] == pytest.approx(2 * torch.pi * 10_000 ** (2 * i / 8))


def test_a_later_cell_reads_the_vector_that_is_on_the_screen():
    shown = Clocks(position=1)
    torch.testing.assert_close(shown.vector, sinusoids(2, 8)[1])
    shown.position = 44
    torch.testing.assert_close(shown.vector, sinusoids(64, 8)[44])
    assert repr(shown).startswith("Position 44: (0.018, 1.000, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d_model": 7}, "even, 2 to 12"),
        ({"d_model": 14}, "even, 2 to 12"),
        ({"position": 64}, "0 to 63"),
        ({"position": -1}, "0 to 63"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Clocks(**arguments)
