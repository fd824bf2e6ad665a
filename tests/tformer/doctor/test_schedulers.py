"""The rate that an optimizer really has, whatever moves it."""

from __future__ import annotations

import pytest
from test_designs import examined, loss, made
from torch import optim

STEPS = 400


def warm(step):
    return min(step / 40, max(0.02, (STEPS - step) / (STEPS - 40)))


def noam(step, power=-0.5):
    step = max(step, 1)
    return 64**power * min(step**-0.5, step * 40**-1.5)


def by_lambda(*factors):
    return lambda o: optim.lr_scheduler.LambdaLR(o, [*factors] * len(o.param_groups))


def in_sequence(o):
    s = optim.lr_scheduler
    parts = [s.LinearLR(o, 0.01, total_iters=40), s.CosineAnnealingLR(o, STEPS - 40)]
    return s.SequentialLR(o, parts, [40])


def cycle(o):
    return optim.lr_scheduler.OneCycleLR(o, 1e-3, total_steps=STEPS)


def by_groups(parameters, lr):
    parameters = [*parameters]
    rates = [(parameters[:3], lr), (parameters[3:], lr / 16)]
    return optim.AdamW([{"params": each, "lr": rate} for each, rate in rates])


def trained(make, rate, scheduler, *, n=1, early=False, inside=True, schedule=None,
            model=None, **more):  # fmt: skip
    """What is said of a model that this optimizer trains with this scheduler."""
    model = made() if model is None else model
    optimizer = make(model.parameters(), lr=rate)
    moved = scheduler(optimizer)

    def step(model, batch):
        model.train()
        optimizer.zero_grad()
        loss(model(batch[0]), batch[1]).backward()
        for _ in range(n if early else 0):
            moved.step()
        optimizer.step()
        for _ in range(n if inside and not early else 0):
            moved.step()

    given = {"optimizer": optimizer, "train_step": step, **more}
    if schedule is not None:
        given |= {"schedule": schedule, "steps": STEPS}
    before = moved.state_dict(), [dict(e, params=0) for e in optimizer.param_groups]
    report = examined(model, given=given)
    after = moved.state_dict(), [dict(e, params=0) for e in optimizer.param_groups]
    assert after == before  # as it was found
    return report


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    ("make", "rate", "scheduler", "schedule"),
    [
        (optim.AdamW, 1e-3, by_lambda(warm), warm),
        (optim.AdamW, 1e-3, by_lambda(warm), None),
        (optim.AdamW, 1e-3, by_lambda(warm), lambda step: 1e-3 * warm(step)),
        (optim.Adam, 1.0, by_lambda(noam), noam),
        (optim.Adam, 1.0, by_lambda(noam), None),
        (optim.Adam, 2.0, by_lambda(noam), noam),
        (optim.SGD, 1.0, by_lambda(warm), warm),
        (optim.SGD, 0.1, by_lambda(lambda step: warm(step) / 2), lambda s: warm(s) / 2),
        (optim.AdamW, 1e-3, in_sequence, None),
        (optim.AdamW, 1e-3, cycle, None),
        (by_groups, 1e-3, by_lambda(warm), warm),
        (by_groups, 1e-3, by_lambda(lambda step: warm(step) / 8), None),
    ],
)  # fmt: skip
def test_a_sound_schedule_is_left_alone(make, rate, scheduler, schedule, inside):
    report = trained(make, rate, scheduler, schedule=schedule, inside=inside)
    assert report and not report.to_confirm, str(report)
    assert "training" in report.sound


def of_rate(step):
    return 1e-3 * warm(step)


@pytest.mark.parametrize(
    ("make", "rate", "factor", "code"),
    [
        (optim.AdamW, 1e-3, of_rate, "rate-multiplied-twice"),
        (optim.AdamW, 1e-3, lambda step: of_rate(step + 1), "rate-multiplied-twice"),
        (by_groups, 1e-3, of_rate, "rate-multiplied-twice"),
        (optim.SGD, 0.1, lambda step: 0.1 * warm(step), "rate-multiplied-twice"),
        (optim.AdamW, 1e-3, noam, "rate-multiplied-twice"),
        (optim.Adam, 1.0, lambda step: noam(step, 0.5), "rate-too-high"),
        (optim.Adam, 1.0, warm, "rate-too-high"),
        (by_groups, 1.0, warm, "rate-too-high"),
        (optim.AdamW, 1e-3, lambda step: warm(step) / 1e4, "rate-multiplied-twice"),
        (optim.Adam, 1e-3, lambda step: max(step, 1) // 40, "rate-is-zero"),
    ],
)
def test_the_rate_is_the_product_of_the_optimizers_and_the_schedules(
    make, rate, factor, code
):
    report = trained(make, rate, by_lambda(factor), schedule=factor)
    assert code in report.codes + report.to_confirm
    assert set(report.codes) <= {code, "never-falls"}, str(report)


def test_a_peak_that_a_cycle_keeps_for_later_is_seen_without_a_schedule():
    def steep(o):
        return optim.lr_scheduler.OneCycleLR(o, 1.0, total_steps=STEPS)

    assert "rate-too-high" in trained(optim.AdamW, 1e-3, steep).codes


def set_in_the_step(rate_at, *, lr, **more):
    """What is said where each step writes the rate itself, as fairseq's does."""
    model = made()
    optimizer = optim.Adam(model.parameters(), lr=lr)
    calls = 0

    def step(model, batch):
        nonlocal calls
        calls += 1
        for group in optimizer.param_groups:
            group["lr"] = rate_at(calls)
        optimizer.zero_grad()
        loss(model(batch[0]), batch[1]).backward()
        optimizer.step()

    return examined(model, given={"optimizer": optimizer, "train_step": step, **more})


@pytest.mark.parametrize("lr", [1.0, 1e-9, 1e-3])
def test_the_rate_that_counts_is_the_one_with_which_a_step_is_made(lr):
    report = set_in_the_step(noam, lr=lr)
    assert report, str(report)
    assert set_in_the_step(lambda _: 0.7, lr=lr).codes == ("rate-too-high",)
    without = set_in_the_step(noam, lr=lr, batches=None)
    assert without, str(without)


@pytest.mark.parametrize("begun", [True, False])
def test_a_rate_that_never_follows_its_schedule_is_to_be_confirmed(begun):
    given = {"schedule": noam, "steps": STEPS, "lr": noam(1) if begun else 1.0}
    report = set_in_the_step(lambda calls: noam(1), **given)
    assert report and report.to_confirm == ("rate-stays",), str(report)
    report = set_in_the_step(noam, **given)
    assert report and not report.to_confirm, str(report)
    flat = {**given, "schedule": lambda step: 1e-3 * warm(step // 40 * 40 + 40)}
    report = set_in_the_step(lambda calls: flat["schedule"](calls), **flat)
    assert "rate-stays" not in report.to_confirm


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler")
def test_a_scheduler_is_watched_in_a_step():
    report = trained(optim.AdamW, 1e-3, by_lambda(warm), n=2)
    assert report and report.to_confirm == ("schedule-steps-twice",), str(report)
    report = trained(optim.AdamW, 1e-3, by_lambda(warm), early=True)
    assert report and "before the optimizer steps" in str(report).replace(
        "\n     ", " "
    )

    model = made()
    old = optim.AdamW(model.parameters())
    report = trained(optim.AdamW, 1e-3, lambda _: by_lambda(warm)(old), model=model)
    assert report.codes == ("schedule-of-another-optimizer",), str(report)


@pytest.mark.parametrize("all_", [True, False])
def test_weights_may_be_shared_out_among_optimizers(all_):
    model = made()
    flat = [each for each in model.parameters() if each.dim() < 2]
    deep = [each for each in model.parameters() if each.dim() > 1]
    both = [optim.AdamW(deep, lr=1e-3), optim.SGD(flat, lr=1e-2, momentum=0.9)]
    moved = [by_lambda(warm)(each) for each in both]
    used = both if all_ else both[:1]

    def step(model, batch):
        for each in used:
            each.zero_grad()
        loss(model(batch[0]), batch[1]).backward()
        for each in (*used, *moved):
            each.step()

    report = examined(model, given={"optimizer": both[0], "train_step": step})
    assert ("not-in-optimizer" in report.codes) != all_ == bool(report), str(report)
    assert not any(each.state or each.param_groups[0]["lr"] for each in both)
    assert [each.last_epoch for each in moved] == [0, 0]
