"""The learning rate: the paper's equation 3."""

from __future__ import annotations

import itertools

import pytest
import torch

from tformer.schedule import inverse_square_root, straight_line


@pytest.mark.parametrize("step", [1, 17, 3999, 4000, 4001, 100_000])
def test_it_is_equation_3_of_the_paper(step):
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    rate = inverse_square_root(step, d_model=512, warmup_steps=4000)
    assert rate == pytest.approx(expected, rel=1e-12)


def test_it_peaks_where_the_warm_up_ends_and_nowhere_else():
    settings = {"d_model": 64, "warmup_steps": 50}
    rates = [inverse_square_root(step, **settings) for step in range(1, 301)]
    assert max(range(300), key=rates.__getitem__) + 1 == 50
    assert all(a < b for a, b in itertools.pairwise(rates[:50]))
    assert all(a > b for a, b in itertools.pairwise(rates[49:]))


def test_the_papers_base_model_peaks_at_7e_4():
    peak = inverse_square_root(4000, d_model=512, warmup_steps=4000)
    assert peak == pytest.approx(1 / (512 * 4000) ** 0.5)
    assert 6.9e-4 < peak < 7.0e-4


def test_it_climbs_in_a_straight_line_and_falls_with_the_root():
    def at(step):
        return inverse_square_root(step, d_model=128, warmup_steps=100)

    assert at(40) == pytest.approx(4 * at(10))
    assert at(400) == pytest.approx(at(100) / 2)
    wide = inverse_square_root(10, d_model=512, warmup_steps=100)
    assert wide == pytest.approx(at(10) / 2)  # four times as wide, half the step


def test_scale_multiplies_the_whole_curve():
    for step in (1, 100, 5000):
        one = inverse_square_root(step, d_model=128, warmup_steps=100)
        three = inverse_square_root(step, d_model=128, warmup_steps=100, scale=3.0)
        assert three == pytest.approx(3 * one)


def test_pytorchs_own_scheduler_follows_the_same_curve():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: 64**-0.5 * min((done + 1) ** -0.5, (done + 1) / 8**1.5)
    )
    for step in range(1, 30):
        rate = inverse_square_root(step, d_model=64, warmup_steps=8)
        assert scheduler.get_last_lr()[0] == pytest.approx(rate, rel=1e-12)
        optimizer.step()
        scheduler.step()


@pytest.mark.parametrize(("step", "warmup_steps"), [(0, 10), (-1, 10), (1, 0)])
def test_steps_count_from_one(step, warmup_steps):
    with pytest.raises(ValueError, match=f"step={step} and warmup_steps="):
        inverse_square_root(step, d_model=64, warmup_steps=warmup_steps)


def test_a_straight_line_climbs_like_the_papers_and_reaches_zero_after_the_last_step():
    settings = {"d_model": 64, "warmup_steps": 50, "scale": 2.0}
    rates = [straight_line(step, last_step=300, **settings) for step in range(1, 301)]
    climb = [inverse_square_root(step, **settings) for step in range(1, 51)]
    assert rates[:50] == pytest.approx(climb)
    falls = [a - b for a, b in itertools.pairwise([*rates[49:], 0.0])]
    assert falls == pytest.approx([rates[49] / 251] * 251)


@pytest.mark.parametrize(
    ("step", "warmup", "last"), [(0, 5, 9), (10, 5, 9), (3, 9, 9), (3, 0, 9)]
)
def test_a_straight_line_has_no_rate_outside_its_steps(step, warmup, last):
    with pytest.raises(ValueError, match=f"step={step}|warmup_steps={warmup}"):
        straight_line(step, d_model=64, warmup_steps=warmup, last_step=last)
