"""Every mistake that chapter 04's graders of steps know is made here on purpose."""

import math

import pytest
import torch

from tformer.positions import sinusoids
from tformer_book import check


def speeds(d):
    return 10_000 ** -(torch.arange(0, d, 2) / d)


def offset(a, b, *, low=-1_000, hands=None, width=None, sines=True, give=None):
    """The step that fits best, with one thing exchanged."""
    steps = torch.arange(low, 1_001)
    sin_a, cos_a, sin_b, cos_b = a[0::2], a[1::2], b[0::2], b[1::2]
    cos, sin = cos_a * cos_b + sin_a * sin_b, sin_b * cos_a - cos_b * sin_a
    turn = steps[:, None] * (speeds(len(a)) if width is None else speeds(width))
    fits = turn.cos() * cos + sines * turn.sin() * sin
    best = fits[:, :hands].sum(-1).argmax()
    return give(best, steps[best]) if give else int(steps[best])


def first_angle(a, b):
    return round(math.atan2(b[0] * a[1] - b[1] * a[0], a[0] * b[0] + a[1] * b[1]))


def hard_coded(a, b):
    return offset(a, b, width=64) if len(a) == 64 else 7


OFFSETS = {
    "swapped": [lambda a, b: offset(b, a)],
    "no-direction": [
        lambda a, b: abs(offset(a, b)),
        lambda a, b: offset(a, b, sines=False),
    ],
    "only-forwards": [lambda a, b: offset(a, b, low=0)],
    "one-hand": [lambda a, b: offset(a, b, hands=1), first_angle],
    "off-by-one": [lambda a, b: offset(a, b) + 1, lambda a, b: offset(a, b) - 1],
    "index-returned": [lambda a, b: offset(a, b, give=lambda i, k: int(i))],
    "not-a-whole-number": [lambda a, b: [offset(a, b)], lambda a, b: 0.5],
    "one-width-only": [hard_coded],
    "wrong-offset": [lambda a, b: 3],
    "stops-with-an-error": [lambda a, b: offset(a, b, width=32)],
    "returns-nothing": [lambda a, b: None],
}


def walk(x, k, *, base=10_000.0, factor=1, back=1, exponent=1, weave=True, swap=False):
    """Every pair turned, with one thing exchanged."""
    turn = back * k / base ** (exponent * torch.arange(0, x.size(1), 2) / x.size(1))
    turn = turn * factor
    sin, cos = x[:, 0::2], x[:, 1::2]
    moved = [sin * turn.cos() + cos * turn.sin(), cos * turn.cos() - sin * turn.sin()]
    moved = moved[::-1] if swap else moved
    return torch.stack(moved, -1).flatten(-2) if weave else torch.cat(moved, -1)


def signs_of_rotate(x, k):
    turn = k * speeds(x.size(1))
    even, odd = x[:, 0::2], x[:, 1::2]
    turned = [
        even * turn.cos() - odd * turn.sin(),
        even * turn.sin() + odd * turn.cos(),
    ]
    return torch.stack(turned, -1).flatten(-2)


def row_numbers(x):
    return torch.arange(len(x))[:, None]


def from_halves(x, k, weave):
    d = x.size(1)
    halves = torch.stack([x[:, : d // 2], x[:, d // 2 :]], -1).flatten(-2)
    return walk(halves, k, weave=weave)


WALKS = {
    "turned-back": [lambda x, k: walk(x, k, back=-1), signs_of_rotate],
    "not-turned": [lambda x, k: x],
    "one-speed": [lambda x, k: walk(x, k, base=1.0)],
    "doubled-exponent": [lambda x, k: walk(x, k, exponent=2)],
    "turned-by-the-row": [
        lambda x, k: walk(x, k, factor=row_numbers(x)),
        lambda x, k: walk(x, 1, factor=row_numbers(x)),
        lambda x, k: signs_of_rotate(x, 1 * row_numbers(x)),
    ],
    "not-interleaved": [lambda x, k: walk(x, k, weave=False)],
    "cosine-first": [lambda x, k: walk(x, k, swap=True)],
    "pairs-from-halves": [
        lambda x, k: from_halves(x, k, True),
        lambda x, k: from_halves(x, k, False),
    ],
    "wrong-numbers": [lambda x, k: walk(x, k) + 1],
    "shape": [lambda x, k: walk(x, k)[:, ::2]],
    "not-a-tensor": [lambda x, k: walk(x, k).tolist()],
    "returns-nothing": [lambda x, k: None],
}
GRADERS = {
    "offset_between": (check.offset_between, OFFSETS),
    "step_by_rotation": (check.step_by_rotation, WALKS),
}
NAMED = [
    (part, name, i)
    for part, (_, mistakes) in GRADERS.items()
    for name, wrong in mistakes.items()
    for i in range(len(wrong))
]


@pytest.mark.parametrize(("part", "name", "i"), NAMED)
def test_the_mistake_is_called_by_its_name(part, name, i):
    grader, mistakes = GRADERS[part]
    result = grader(mistakes[name][i])
    assert not result
    assert result.diagnosis == name, result.message


def by_matrix(x, k):
    blocks = [
        torch.tensor([[math.cos(b), math.sin(b)], [-math.sin(b), math.cos(b)]])
        for b in (k * speeds(x.size(1))).tolist()
    ]
    return x @ torch.block_diag(*blocks).T


def test_right_ways_are_accepted():
    assert check.offset_between(offset)
    assert check.offset_between(lambda a, b: torch.tensor(offset(a, b)))
    assert check.offset_between(lambda a, b: float(offset(a, b)))
    assert check.step_by_rotation(walk)
    assert check.step_by_rotation(lambda x, k: walk(x.double(), k))
    assert check.step_by_rotation(by_matrix)


def test_one_step_moves_each_row_to_the_next():
    table = sinusoids(9, 8)
    torch.testing.assert_close(walk(table[:-1], 1), table[1:])


@pytest.mark.parametrize("part", GRADERS)
def test_a_stub_is_told_that_it_is_one(part):
    def stub(*arguments):
        raise NotImplementedError

    assert GRADERS[part][0](stub).diagnosis == "stub"
