"""What the optimizer's rate really is: the schedule's value, or its own times that."""

from __future__ import annotations

import contextlib
import copy
import math
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch.optim.lr_scheduler import LRScheduler

from tformer.doctor._patient import Patient

FIRST = range(4)  # steps at whose rate an optimizer may stand that hardly began


def is_adam(optimizer: Any) -> bool:
    """Whether an optimizer moves each weight by about its rate."""
    return "adam" in type(optimizer).__name__.lower()


def rate_of(group: dict[str, Any], *names: str) -> float:
    """The first of these that a group of parameters has, else its rate now."""
    given = (group.get(name) for name in (*names, "lr"))
    return float(next((each for each in given if each is not None), 1.0))


def own_rate(optimizer: Any, *names: str) -> float:
    """The highest rate of an optimizer: as it was made, before any scheduler."""
    return max(rate_of(each, *names, "initial_lr") for each in optimizer.param_groups)


def pairs_of(optimizer: Any) -> list[tuple[float, float]]:
    """The rate that each group was made with, and the one that it has now."""
    return [(rate_of(e, "initial_lr"), rate_of(e)) for e in optimizer.param_groups]


def multiplies(patient: Patient, pairs: list[tuple[float, float]]) -> bool | None:
    """Whether the schedule is a factor of the optimizer's own rate, or the rate itself.

    Args:
        patient: with a schedule.
        pairs: rates before and after, as of `pairs_of`.

    Returns:
        None if the rates say neither.
    """
    assert patient.schedule is not None
    values = []
    for step in FIRST:
        with contextlib.suppress(ArithmeticError, ValueError):  # some begin at 1
            values.append(float(patient.schedule(step)))

    def agree(itself: bool) -> bool:
        return any(
            math.isclose(now, value * (1 if itself else made), rel_tol=1e-6)
            for made, now in pairs
            for value in values
            if now > 0
        )

    return True if agree(False) else False if agree(True) else None


@dataclass
class Moved:
    """A scheduler that a step of training moves on.

    Attributes:
        scheduler: one of ``torch.optim.lr_scheduler``.
        state: what it was before.
        rates: those of its optimizer before.
        n_early: how often it did so before any optimizer stepped.
        n: how often it did so.
    """

    scheduler: LRScheduler
    state: dict[str, Any]
    rates: list[Any]
    n_early: int = 0
    n: int = 0


class Schedulers(dict[int, Moved]):
    """The schedulers that stepped, by their ids."""

    def hear(self, frame: FrameType, n_steps: int) -> None:
        """Take note of a call of some function named ``step``."""
        each = frame.f_locals.get("self")
        if not isinstance(each, LRScheduler):
            return
        caller = frame.f_back
        if caller is not None and caller.f_locals.get("self") is each:
            return  # it calls that of the class that it was made from
        if id(each) not in self:
            rates = [group["lr"] for group in each.optimizer.param_groups]
            state = copy.deepcopy(each.state_dict())
            self[id(each)] = Moved(each, state, copy.deepcopy(rates))
        self[id(each)].n += 1
        self[id(each)].n_early += not n_steps

    def put_back(self) -> None:
        """Give each the state that it had before its first step, and its rates."""
        for moved in self.values():
            moved.scheduler.load_state_dict(moved.state)
            groups = moved.scheduler.optimizer.param_groups
            for group, rate in zip(groups, moved.rates, strict=True):
                group["lr"] = rate
