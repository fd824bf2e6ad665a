"""One call of a step of training: what happens in it, and what it leaves is undone."""

from __future__ import annotations

import contextlib
import copy
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from tformer.doctor._keep import as_found
from tformer.doctor._patient import Patient
from tformer.doctor._rates import Schedulers, pairs_of, rate_of
from tformer.doctor._watch import name_of_op

CLIPPING = ("clip_grad_norm_", "clip_grad_value_")
FRESH = ("Adam", "AdamW", "SGD")  # they begin without a state


def held(patient: Patient) -> list[Tensor]:
    """The weights that the optimizer holds; all of them if that isn't known."""
    own: list[Tensor] = list(patient.model.parameters())
    if patient.optimizer is None:
        return own
    held = {id(p) for group in patient.optimizer.param_groups for p in group["params"]}
    return [each for each in own if id(each) in held] or own


@dataclass
class Step(TorchDispatchMode):
    """What happened in one call of ``train_step``.

    Attributes:
        model: the model.
        parameters: the weights that are watched.
        own: the reader's optimizer, if that was given.
        read: ids that were looked up, in order.
        modes: whether modules were in training mode, at any look-up.
        clips: for each time that gradients are clipped, whether one had arrived that
            was not used yet.
        late: the same, whether they had been used.
        unscales_late: whether they were clipped first, and then divided by the factor
            by which a scaler had multiplied the loss.
        empties: whether gradients that had arrived were emptied, and not yet used.
        drops: whether dropout struck anything out.
        n_steps: how often an optimizer stepped.
        n_in_vain: how often it did so once more with the gradients it had used before.
        arrived: whether a gradient arrived at a weight: before a step, after the last.
        times: how often one arrived at each weight before the first step.
        full: the gradients that the first step found, or clipping before it.
        used: the gradients that the first step found.
        steppers: the optimizers that stepped.
        others: those that are not the reader's, and their states before they stepped.
        rates: the highest rate at each step, the reader's if that is known.
        pairs: the rates of the reader's optimizer, as of `pairs_of`, after the last.
        schedulers: those that the call moved on.
        left: those that the call left.
        moves: by how much each weight changed.
        ends_off: whether the model was left in evaluation mode.
    """

    model: nn.Module
    parameters: list[Tensor]
    own: Any = None
    modes: set[bool] = field(default_factory=set)
    read: list[Tensor] = field(default_factory=list)
    clips: list[bool] = field(default_factory=list)
    late: list[bool] = field(default_factory=list)
    unscales_late: bool = False
    empties: bool = False
    drops: bool = False
    n_steps: int = 0
    n_in_vain: int = 0
    arrived: list[bool] = field(default_factory=lambda: [False, False])
    times: Counter[int] = field(default_factory=Counter)
    full: list[Tensor | None] = field(default_factory=list)
    used: list[Tensor | None] = field(default_factory=list)
    steppers: list[Any] = field(default_factory=list)
    others: dict[Any, Any] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)
    pairs: list[tuple[float, float]] = field(default_factory=list)
    schedulers: Schedulers = field(default_factory=Schedulers)
    left: list[Tensor | None] = field(default_factory=list)
    moves: list[Tensor] = field(default_factory=list)
    ends_off: bool = False
    _stepped: set[int] = field(default_factory=set)
    _is_new: bool = False

    def __post_init__(self) -> None:
        super().__init__()
        self._before = self._versions()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = name_of_op(func)
        if name == "embedding":
            self.read.append(args[1].detach().cpu().clone())
            self.modes.add(any(each.training for each in self.model.modules()))
        self.drops |= name in ("native_dropout", "bernoulli_")
        return func(*args, **(kwargs or {}))

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watches gradients arrive, and optimizers step."""
        hooks = [register_optimizer_step_pre_hook(self._steps)]
        hooks += [each.register_post_accumulate_grad_hook(self._arrives)
                  for each in self.parameters if each.requires_grad]  # fmt: skip
        profiler = sys.getprofile()
        sys.setprofile(self._calls)
        try:
            with self:
                yield
        finally:
            sys.setprofile(profiler)
            for hook in hooks:
                hook.remove()

    def _calls(self, frame: Any, event: str, _: Any) -> None:
        """Hears of each call, by whatever name clipping was imported."""
        if event != "call":
            return
        name, waits = frame.f_code.co_name, self.arrived[0] and not self.n_steps
        if name == "step":
            self.schedulers.hear(frame, self.n_steps)
        elif name == "zero_grad" and waits:
            self.empties |= self._versions() == self._before
        elif name == "unscale_" and waits and any(self.clips):
            self.unscales_late |= frame.f_locals["self"].get_scale() != 1
        elif name in CLIPPING:
            self.clips.append(self._is_new)
            self.late.append(self.n_steps > 0 and not self._is_new)
            if self.arrived[0]:
                self.full = self.full or gradients_of(self.parameters)

    def _versions(self) -> list[int]:
        """How often each weight was changed in place."""
        return [each._version for each in self.parameters]

    def _arrives(self, parameter: Tensor) -> None:
        if parameter.grad is not None and bool(parameter.grad.any()):
            self.arrived[self.n_steps > 0] = True
            self.times[id(parameter)] += not self.n_steps
            self._stepped.clear()
            self._is_new = True

    def _steps(self, optimizer: Any, *_: Any) -> None:
        if not self.n_steps:
            self.used = gradients_of(self.parameters)
            self.full = self.full or self.used
        self.n_steps += 1
        self.n_in_vain += id(optimizer) in self._stepped
        self.steppers.append(optimizer)
        if self.own is None or optimizer.param_groups is self.own.param_groups:
            self.rates.append(max(map(rate_of, optimizer.param_groups)))
        if optimizer not in self.others and optimizer is not self.own:
            self.others[optimizer] = copy.deepcopy(optimizer.state_dict())
        self._stepped.add(id(optimizer))
        self._is_new = False


def gradients_of(parameters: list[Tensor]) -> list[Tensor | None]:
    return [None if e.grad is None else e.grad.clone() for e in parameters]


def make_step(
    patient: Patient, parameters: list[Tensor], n: int = 1, *, mode: bool = True,
    rate: float | None = None, least: int = 1,
) -> Step:  # fmt: skip
    """Up to n calls, until optimizers have stepped at least so often, with a rate.

    Weights, its state and that of schedulers are put back.
    """
    assert patient.train_step is not None and patient.batches is not None
    optimizer: Any = patient.optimizer
    state = None if optimizer is None else copy.deepcopy(optimizer.state_dict())
    before = [each.detach().clone() for each in parameters]
    given = [each.grad for each in parameters]
    step = Step(patient.model, parameters, optimizer)
    if rate is not None:
        for group in optimizer.param_groups:
            group["lr"] = rate
    if type(optimizer).__name__ in FRESH:  # so that its step is this batch's alone
        optimizer.state.clear()
    try:
        with as_found(patient.model):
            for each, grad in zip(parameters, given, strict=True):
                each.grad = grad
            patient.model.train(mode)
            torch.manual_seed(3)
            with torch.enable_grad(), step.watching():
                while n and sum(map(bool, step.rates)) < least:
                    batch = tuple(each.clone() for each in patient.batches[0])
                    patient.train_step(patient.model, batch)
                    n -= 1
            step.ends_off = not any(each.training for each in patient.model.modules())
            step.left = gradients_of(parameters)
            step.moves = [
                each.detach() - old
                for each, old in zip(parameters, before, strict=True)
            ]
    finally:
        if optimizer is not None:
            step.pairs = pairs_of(optimizer)
        step.schedulers.put_back()
        for each, its in [*step.others.items(), (optimizer, state)]:
            if each is not None:
                each.load_state_dict(its)
    return step
