"""The learning rate warms up, falls again, and is never far too large."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from tformer.doctor._patient import Patient, Skip
from tformer.doctor._rates import is_adam, multiplies, own_rate, pairs_of, rate_of
from tformer.doctor.report import Finding, listed

CHAPTER = "Training"
ARGUMENT = "schedule"
HIGH = 0.05  # Adam moves each weight by up to about the rate
LOW = 1e-7  # so many steps move a weight by nothing
SMALL = 5e-6  # a rate with which nothing is learned from the beginning
SLOW = 1e-4  # one that is unusual from the beginning
LARGE_EPS = 1e-2  # beside the size of gradients
NOTHING = 1e-5  # of the highest rate: a step that moves nothing
LITTLE = 0.05  # of the highest rate
IDLE = 0.1  # of the steps: more than the end of any decay
COUPLED = ("Adam", "Adamax", "NAdam", "RAdam")  # their decay is in the gradient
STRONG = 0.05  # a decay that is usual with AdamW only
NO_WARMUP = (
    "That is right for a pre-norm model, for plain gradient descent, and for a small "
    "rate; a post-norm model may not recover from large first steps "
    '(accept=["never-warms"]).'
)
CONSTANT = (
    "That is right for a short training, or one whose weights are averaged "
    '(accept=["never-falls"]).'
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Ask the schedule for every step of the training."""
    yield from _decay(patient)
    yield from _rounded(patient)
    if patient.schedule is None and patient.train_step is None:
        yield from without_schedule(patient)
    if patient.schedule is None or not patient.steps:
        missing = "schedule=…" if patient.schedule is None else "steps=…"
        raise Skip(f"{missing} was not given")
    at, rates = _rates(patient)
    tried = f"asked for the learning rate of {len(at)} of {patient.steps} steps."
    bad = [s for s, r in zip(at, rates, strict=True) if not math.isfinite(r) or r < 0]
    if bad:
        yield Finding(
            code="bad-learning-rate",
            title="the learning rate isn't a sensible number",
            tried=tried,
            seen=f"at step {bad[0]} it is {patient.schedule(bad[0])}.",
            means="one such step ruins the model.",
            look="the formula at its ends: step 0, the last step.",
        )
        return
    top = max(rates)
    yield from _too_high(patient, top)
    n_zero = next((i for i, rate in enumerate(rates) if rate), len(rates))
    idle = [s for s, r in zip(at[n_zero:], rates[n_zero:], strict=True)
            if r <= NOTHING * top]  # fmt: skip
    if n_zero > 1:
        yield Finding(
            code="rate-is-zero",
            title="the first steps have a learning rate of 0",
            tried=tried,
            seen=f"it is 0 up to step {at[n_zero - 1]}.",
            means="nothing is learned there, and then the rate jumps: that is no "
            "warm-up.",
            look="step / warmup, not step // warmup, and the unit: is the schedule "
            "asked in epochs?",
        )
    elif len(idle) > IDLE * len(at):
        yield Finding(
            code="rate-is-zero",
            title="a large part of the training has a learning rate of 0",
            tried=tried,
            seen=f"at {len(idle)} of them, from step {idle[0]} on, it is 0, or less "
            f"than {NOTHING:.0e} of its maximum.",
            means="nothing is learned there.",
            look="the number of steps for which the decay is made, and its unit: is it "
            "a decay for each epoch that is asked for each step?",
        )
    elif (cliff := _cliff(patient, at, rates)) is not None:
        yield _falls(tried, *cliff, sum(r < LITTLE * top for r in rates) / len(at))
    elif (valley := _rises_again(rates)) is not None:
        yield _restarts(tried, at, rates, *valley)
    elif rates[0] >= 0.9 * top:
        yield _never_warms(at, rates, tried)
    elif rates[-1] >= 0.95 * top:
        yield _never_falls(at, rates, tried)


def _rates(patient: Patient) -> tuple[list[int], list[float]]:
    """Steps of the training, up to some 2000 of them, and their rates."""
    assert patient.schedule is not None and patient.steps
    stride = max(1, patient.steps // 2000)
    at = sorted({*range(1, patient.steps + 1, stride), patient.steps})
    return at, [float(patient.schedule(step)) for step in at]


def highest(patient: Patient) -> float:
    """The highest rate of the schedule, as far as the training is known."""
    return max(_rates(patient)[1]) if patient.schedule and patient.steps else 0.0


def _cliff(
    patient: Patient, at: list[int], rates: list[float]
) -> tuple[int, float, float] | None:
    """From one step to the next, a fall from a high rate to what is next to none.

    Only where most of the training lies after it, and none of that is high again.
    """
    assert patient.schedule is not None
    top = max(rates)
    low = next((i for i in range(1, len(at)) if all(r < LITTLE * top for r in rates[i:])
                ), len(at))  # fmt: skip
    if len(at) - low <= len(at) / 2:
        return None
    steps = range(at[low - 1], at[low] + 1)
    near = [float(patient.schedule(step)) for step in steps]
    for step, (before, after) in zip(steps, pairwise(near), strict=False):
        if before > top / 2 and after < LITTLE * top:
            return step, before, after
    return None


def _falls(tried: str, step: int, before: float, after: float, n: float) -> Finding:
    return Finding(
        code="rate-falls-at-once",
        title="the learning rate falls to next to nothing in a single step",
        tried=tried,
        seen=f"it is {before:.3g} at step {step}, {after:.3g} at the next, and for "
        f"{n:.0%} of the training less than {LITTLE:.0%} of its maximum.",
        means="hardly anything is learned after that step.",
        look="/ and not // in what the decay is made of; the unit of its length.",
    )


def _rises_again(rates: list[float]) -> tuple[int, int] | None:
    """Where a rate was down to next to nothing, and where it then was high again.

    Not if it ends high, nor if it leaps back, as in warm restarts.
    """
    top = max(rates)
    first = next(i for i, rate in enumerate(rates) if rate >= 0.9 * top)
    down = next((i for i in range(first, len(rates)) if rates[i] < 0.05 * top), None)
    if down is None or rates[-1] > top / 2:
        return None
    up = next((i for i in range(down, len(rates)) if rates[i] > top / 2), None)
    slow = 0.02 * len(rates)
    return (
        (down, up)
        if up is not None
        and max(b - a for a, b in pairwise(rates[down : up + 1])) < top / max(slow, 2)
        else None
    )


def _restarts(
    tried: str, at: list[int], rates: list[float], down: int, up: int
) -> Finding:
    return Finding(
        code="rate-rises-again",
        title="the learning rate falls to nothing, and rises again",
        tried=tried,
        seen=f"it is {rates[down]:.3g} at step {at[down]} and {rates[up]:.3g} again at "
        f"step {at[up]}.",
        means="what had settled is shaken up once more, perhaps shortly before the "
        "end.",
        look="the cosine's length: cos(π step / steps), with the steps of the whole "
        "training, and none after them.",
    )


def _never_warms(at: list[int], rates: list[float], tried: str) -> Finding:
    """Nothing that a pre-norm model minds, unless the curve is the wrong way round."""
    low = min(range(len(at)), key=lambda i: rates[i])
    n = next((i for i, rate in enumerate(rates) if rate < rates[0] / 10), len(at))
    seen = f"it begins at {rates[0]:.3g}, and its maximum is {max(rates):.3g}."
    title, turned = "the learning rate has no warm-up", True
    if rates[-1] > max(rates) / 2 > rates[low]:
        title = "the learning rate falls first, and rises to the end"
        seen = f"it begins at {rates[0]:.3g}, is {rates[low]:.3g} at step {at[low]}, "
        seen += f"and ends at {rates[-1]:.3g}: a valley in place of a peak."
    elif n < len(at) / 5:
        title = "the learning rate has its warm-up upside down"
        seen += f" At step {at[n]} it is a tenth of that."
    else:
        turned = False
    return Finding(
        code="never-warms",
        title=title,
        tried=tried,
        seen=seen,
        means="the first steps, whose gradients are still noise, are the largest.",
        look="step / warmup, not warmup / step; min of the two branches, not max; the "
        "sign of the exponents."
        if turned
        else "the warm-up steps, the unit (steps or epochs), and whether "
        "schedule.step() is called for each update.",
        design="" if turned else NO_WARMUP,
    )


def _never_falls(at: list[int], rates: list[float], tried: str) -> Finding:
    top = max(rates)
    first = next(i for i, rate in enumerate(rates) if rate >= 0.95 * top)
    low = min(range(first, len(rates)), key=lambda i: rates[i])
    rises = rates[low] < top / 2
    seen = f"it ends at {rates[-1]:.3g}, and its maximum is {top:.3g}."
    seen += f" In between, at step {at[low]}, it is {rates[low]:.3g}." if rises else ""
    return Finding(
        code="never-falls",
        title="the learning rate falls at once, and rises to the end"
        if rises
        else "the learning rate never falls",
        tried=tried,
        seen=seen,
        means="the weights go on jumping about instead of settling; perhaps the "
        "warm-up is longer than the training.",
        look="a decay that is upside down: 0.5 * (1 + cos(π progress)), plus and not "
        "minus; progress that counts backwards."
        if rises
        else "the decay, the unit (steps or epochs), the number of steps.",
        design="" if rises or first > len(at) / 2 else CONSTANT,
    )


def _decay(patient: Patient) -> Iterator[Finding]:
    """Is the weight decay too strong, or is it none, but a part of the gradient?"""
    optimizer = patient.optimizer
    if optimizer is None or not is_adam(optimizer):
        return
    strongest = max(
        optimizer.param_groups, key=lambda group: float(group.get("weight_decay", 0))
    )
    decay = float(strongest.get("weight_decay", 0))
    slow = min(0.01, rate_of(strongest, "max_lr", "initial_lr"))
    if decay >= 1 and slow * decay > 2e-3:
        yield Finding(
            code="decay-too-strong",
            title="the weight decay is far too strong",
            tried="looked at the optimizer's weight_decay and at its rate.",
            seen=f"it is {decay:.3g}: each step takes {slow * decay:.1%} off the "
            "weights.",
            means="weights shrink to nothing, whatever they had learned.",
            look="weight_decay: 0.01 to 0.1 is usual with AdamW.",
        )
    elif (
        decay > 1e-4
        and type(optimizer).__name__ in COUPLED
        and not strongest.get("decoupled_weight_decay")
    ):
        yield Finding(
            code="decay-in-gradient",
            title="the weight decay is added to the gradient, which Adam rescales",
            tried="looked at the optimizer and its weight_decay.",
            seen=f"{type(optimizer).__name__} has weight_decay={decay:.3g}.",
            means="a weight with small gradients is pulled to 0 at the full rate.",
            look=f"AdamW, with this decay, or {type(optimizer).__name__} with at most "
            "1e-4.",
            design=""
            if decay >= STRONG
            else 'Small ones do little harm (accept=["decay-in-gradient"]).',
        )


def _rounded(patient: Patient) -> Iterator[Finding]:
    """Does Adam train weights of 16 bits, and are most of its steps lost in these?"""
    optimizer = patient.optimizer
    if not is_adam(optimizer) or not type(optimizer).__module__.startswith("torch."):
        return
    assert optimizer is not None
    rate = own_rate(optimizer)
    if patient.schedule is not None and patient.steps:
        values = sorted(_rates(patient)[1])
        is_factor = values[-1] >= 0.5 or multiplies(patient, pairs_of(optimizer))
        rate = values[len(values) // 2] * (rate if is_factor else 1)
    n = lost = 0
    types = set()
    for each in (e for group in optimizer.param_groups for e in group["params"]):
        if (kind := patient.stored.get(id(each))) is not None:
            weight = each.detach().to(kind)
            moved = [(weight.float() + by).to(kind) for by in (rate, -rate)]
            n += weight.numel()
            lost += int(((moved[0] == weight) & (moved[1] == weight)).sum())
            types.add(str(kind).removeprefix("torch."))
    if n:
        yield Finding(
            code="weights-too-coarse",
            title="the weights that are trained are kept in 16 bits",
            tried="looked at the types of the weights that the optimizer holds, and "
            "added the rate to each, which is about the length of a step of Adam.",
            seen=f"they are {listed(sorted(types))}, and with a rate of {rate:.2g}, "
            f"half-way through a training, {lost / n:.0%} of them stay as they are.",
            means="the nearest number that such a weight could become is further away "
            "than the step goes; the smaller the rate gets, the more of them.",
            look="weights in float32, and torch.autocast around the forward pass; not "
            "model.to(torch.bfloat16) or .half().",
            design=""
            if lost > n / 2
            else "That is right for a short training with large steps "
            '(accept=["weights-too-coarse"]).',
        )


def _settings(optimizer: Any, rate: float | None) -> Iterator[Finding]:
    """Are Adam's rate, if known, betas and eps such that the weights move well?"""
    said = "" if rate is None else f"the highest rate is {rate:.2g}, "
    rate = rate or 0.0
    group = optimizer.param_groups[0]
    first, second = group.get("betas", (0.0, 1.0))
    eps = float(group.get("eps", 0.0))
    stays = 0 < rate < LOW or eps > LARGE_EPS or first > second
    if stays or 0 < rate < SMALL:
        yield Finding(
            code="adam-hardly-moves" if first <= second else "adam-betas-swapped",
            title="a setting of Adam keeps the weights where they are"
            if first <= second
            else "Adam's two betas are exchanged",
            tried="looked at the optimizer's rate, betas and eps.",
            seen=f"{said}betas are {first:.3g} and {second:.3g}, eps is {eps:.2g}.",
            means="a step divides the gradient by its own size plus eps, and "
            "gradients are far smaller than that; or the rate is next to nothing."
            if first <= second
            else "the size that a step is divided by is that of one gradient, and "
            "its direction is that of hundreds.",
            look="rates from 1e-4 to 5e-3, betas (0.9, 0.98), eps 1e-9 to 1e-6 are "
            "usual.",
            design=""
            if stays
            else "That is right for fine-tuning a large model that "
            'has been trained (accept=["adam-hardly-moves"]).',
        )


def without_schedule(patient: Patient, used: Sequence[float] = ()) -> Iterator[Finding]:
    """Is the optimizer's rate too high, or one that moves nothing?

    Args:
        patient: without a schedule.
        used: the rates at which it was seen to step; where they are not its own, a step
            of training sets them, and no later one is known.
    """
    optimizer = patient.optimizer
    if optimizer is None or not is_adam(optimizer):
        return
    now = max(rate_of(each, "max_lr") for each in optimizer.param_groups)
    if used and max(used) != max(map(rate_of, optimizer.param_groups)):
        yield from _settings(optimizer, None)
        now = max(used)
    else:  # what a scheduler makes of it isn't known
        yield from _settings(optimizer, own_rate(optimizer, "max_lr"))
    yield from _far_too_high(now, None)


def _too_high(patient: Patient, top: float) -> Iterator[Finding]:
    """Is the rate too high, whether the schedule gives it or multiplies it?"""
    optimizer = patient.optimizer
    if optimizer is None:
        return
    own = own_rate(optimizer)
    is_factor = multiplies(patient, pairs_of(optimizer))
    if is_factor is not None:
        yield from known_rate(patient, top, is_factor=is_factor)
    elif is_adam(optimizer):
        itself = HIGH < top < 0.5 and top * min(1.0, own) <= HIGH
        yield from _settings(optimizer, own if top >= 0.5 else max(own, top))
        yield from _far_too_high(
            top if itself else top * min(1.0, own),
            "That is right if the schedule is a factor by which the optimizer's "
            f"own rate, {own:.2g}, is multiplied."
            if itself and own <= HIGH
            else None,
        )


def known_rate(patient: Patient, top: float, *, is_factor: bool) -> Iterator[Finding]:
    """Is the highest rate one that the optimizer bears, and that moves anything?"""
    optimizer: Any = patient.optimizer
    own = own_rate(optimizer)
    highest = top * own if is_factor else top
    same = own < 0.5 and math.isclose(top, own, rel_tol=0.01)
    small = is_adam(optimizer) and top <= HIGH and 0 < highest < SLOW
    if is_factor and (same or small):
        yield Finding(
            code="rate-multiplied-twice",
            title="the learning rate is multiplied by itself",
            tried="compared the schedule with the optimizer's rate, before and after.",
            seen=f"the optimizer was made with {own:.3g}, the schedule's highest value "
            f"is {top:.3g}, and the rate becomes their product: {highest:.2g} at most.",
            means="steps are so small that next to nothing is learned.",
            look="what the scheduler's function returns: LambdaLR multiplies, so it "
            "wants a factor whose highest value is 1. Or make the optimizer with lr=1.",
            design=""
            if same or highest < SMALL
            else "That is right if so small a rate is meant.",
        )
    elif is_adam(optimizer):
        yield from _settings(optimizer, highest)
        yield from _far_too_high(highest, None)


def _far_too_high(rate: float, design: str | None) -> Iterator[Finding]:
    if rate > HIGH:
        yield Finding(
            code="rate-too-high",
            title="the learning rate is far too high for Adam",
            tried="looked at the optimizer's rate and at the schedule's highest.",
            seen=f"each weight moves by up to about {rate:.2g} in a step, and most "
            "weights of a Transformer are smaller than that.",
            means="the loss jumps, or stays at that of a model that knows only which "
            "words are frequent.",
            look="rates from 1e-4 to 5e-3 are usual. The paper's formula, with "
            "d_model ** -0.5, is the rate itself: it goes with lr=1.0.",
            design=design or "",
        )
