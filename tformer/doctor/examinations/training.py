"""A step of training reads the batch, empties the gradients, and goes downhill."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._keep import as_found
from tformer.doctor._loop import Loop
from tformer.doctor._patient import Patient, Skip
from tformer.doctor._rates import multiplies, own_rate, pairs_of, rate_of
from tformer.doctor._step import FRESH, Step, gradients_of, held, make_step
from tformer.doctor.examinations.accumulation import NoDropout
from tformer.doctor.examinations.schedule import (
    HIGH,
    highest,
    known_rate,
    without_schedule,
)
from tformer.doctor.report import Finding, Remark

CHAPTER = "Training"
ARGUMENT = "train_step"
APART = 0.5  # of the gradient: noise of dropout stays below
UPHILL = 0.3  # cosine of what a step changes and of the gradient's signs
SAME = 0.999  # of one batch without dropout
UNLIKE = 0.95  # of two gradients that are not of one loss
NOTHING = 1e-7  # beside Adam's eps
FAR_OFF = 20  # times as long
SURE = 0.9  # cosine of two gradients that are one but for details of the loss
CALLS = 16  # of a step: more than accumulate their gradients
IN_A_ROW = 3  # steps
FEW = 2000  # of a schedule's steps
SOME = 1e-3  # a rate to try a step with that has none
MISUSED = (TypeError, KeyError, AttributeError)  # the step wants other arguments


def examine(patient: Patient) -> Iterator[Finding | Remark]:
    """Make one step twice from the same weights, the second with old gradients."""
    if patient.train_step is None or patient.batches is None:
        missing = "train_step=…" if patient.train_step is None else "batches=…"
        raise Skip(f"{missing} was not given")
    parameters = held(patient)
    patient.model.zero_grad(set_to_none=True)
    try:
        step = make_step(patient, parameters)
        if step.arrived[0] and not step.n_steps:
            several = make_step(patient, parameters, CALLS)
            if several.n_steps:  # it accumulates gradients over several calls
                yield from _rates(patient, several)
                if several.empties:
                    yield _emptied(max(several.times.values()))
                return
        if step.rates and not any(step.rates):  # a warm-up may begin at 0
            step = make_step(
                patient, parameters, CALLS, rate=_until_scheduled(patient, step)
            )
    except MISUSED:
        raise
    except Exception as problem:
        yield _stops(patient, problem)
        return
    yield from _rates(patient, step)
    yield from _scheduled(patient, step)
    yield from _stuck(patient, parameters, step)
    if not any(bool(each.any()) for each in step.moves):
        yield _still(step)
    else:
        yield from _moved(patient, step)
    left = step.left
    if not any(each is not None and bool(each.any()) for each in left):
        return  # emptied after the step, which is as good
    size = float(_flat(left).norm())
    with torch.random.fork_rng():
        torch.manual_seed(7)
        noise = [torch.randn_like(each) for each in parameters]
    scale = 1e3 * size / float(_flat(noise).norm())
    for each, other in zip(parameters, noise, strict=True):
        each.grad = other * scale
    again = make_step(patient, parameters).left
    alike = float(torch.cosine_similarity(_flat(left), _flat(again), dim=0))
    for each in parameters:
        each.grad = None
    if alike < APART:
        yield _finding(
            "gradients-never-zeroed",
            "the gradients are never set to zero",
            "made one step, put other numbers in .grad, and made it once more.",
            "the gradients of the second step still have the old numbers in them "
            f"(their direction agrees by {alike:.0%}).",
            "every step goes on in the direction of all earlier ones.",
            "optimizer.zero_grad(), once for each step, before backward().",
        )


def _finding(code: str, title: str, tried: str, seen: str, means: str, look: str,
             **more: Any) -> Finding:  # fmt: skip
    because = ["not-in-optimizer", "ids-out-of-range", "keys-from-wrong-side"]
    if code == "step-moves-nothing":
        because += ["rate-is-zero", "schedule-of-another-optimizer"]
    return Finding(code, title, tried, seen, means, look, because=(*because,), **more)


def _stops(patient: Patient, problem: Exception) -> Finding:
    """The step ended with an error: is it the model that can't take the batch?"""
    reason = f"{type(problem).__name__}: {problem}".splitlines()[0][:200]
    *sources, read, _ = patient.batches[0]  # type: ignore[index]
    look = "the line of your step that the error names."
    try:
        patient.logits(sources[0] if sources else None, read)
    except Exception:
        reason += (
            f". The model alone stops at this batch, too, of length {read.size(1)}"
        )
        if patient.longest is not None:
            reason += f"; it takes up to {patient.longest} words"
        look = "ids that no table has, and positions: a table too short, or begun at 1."
    return _finding(
        "train-step-stops",
        "a step of training stops with an error",
        "made one step with your first batch.",
        f"{reason}.",
        "no training with such batches.",
        look,
    )


def _rates(patient: Patient, step: Step) -> Iterator[Finding]:
    """Without a schedule, is the rate at which it steps one that the model bears?"""
    if patient.schedule is None and step.rates:
        yield from without_schedule(patient, step.rates)


def _until_scheduled(patient: Patient, step: Step) -> float | None:
    """A rate for an optimizer whose scheduler is moved on elsewhere, and begins at 0.

    None if there is no such thing.
    """
    waits = patient.optimizer is not None and not step.schedulers and any(step.pairs)
    return SOME if waits and all(made > now == 0 for made, now in step.pairs) else None


def _scheduled(patient: Patient, step: Step) -> Iterator[Finding | Remark]:
    """Do the schedulers that a step moves on do what they should?"""
    if patient.optimizer is not None and patient.schedule is not None:
        before = multiplies(patient, pairs_of(patient.optimizer))
        after = multiplies(patient, step.pairs)
        if before is None is not after and (top := highest(patient)):
            yield from known_rate(patient, top, is_factor=after)
    tried = "watched the schedulers of torch.optim in one step."
    for each in step.schedulers.values():
        name = type(each.scheduler).__name__
        own = each.scheduler.optimizer.param_groups
        if step.n_steps and not any(e.param_groups is own for e in step.steppers):
            yield _finding(
                "schedule-of-another-optimizer",
                "a scheduler changes the rate of an optimizer that doesn't step",
                tried,
                f"a {name} was moved on, and what stepped is another optimizer than "
                "the one it was made with.",
                "the rate that training uses stays as it is.",
                "the order: the optimizer, once, then the scheduler of that optimizer.",
            )
        elif each.n > step.n_steps > 0:
            yield _finding(
                "schedule-steps-twice",
                "a scheduler moves on twice in one step",
                tried,
                f"a {name} was moved on {each.n} times, and optimizers {step.n_steps}.",
                "the warm-up and the decay are over in half the time.",
                "scheduler.step(), in the loop and once more in a helper.",
                design="That is right if the schedule counts so "
                '(accept=["schedule-steps-twice"]).',
            )
        elif each.n_early and step.n_steps:
            yield Remark(
                f"a {name} is moved on before the optimizer steps: the first rate of "
                "the schedule is never used. Usual is optimizer.step(), then "
                "scheduler.step()."
            )


def _stuck(patient: Patient, parameters: list[Tensor], step: Step) -> Iterator[Finding]:
    """Do several steps set one rate, though the schedule moves on there?"""
    optimizer, schedule = patient.optimizer, patient.schedule
    if optimizer is None or schedule is None or not patient.steps or step.schedulers:
        return
    if not step.rates:
        return
    now = max(map(rate_of, optimizer.param_groups))
    other = 1.1 * now or SOME  # seen again if the rate is left to others
    rates = make_step(patient, parameters, IN_A_ROW, rate=other, least=IN_A_ROW).rates
    if len(rates) < IN_A_ROW or {*rates} != {rates[0]} or rates[0] == other:
        return

    own = own_rate(optimizer)

    def is_rate(step: int) -> bool:
        value = float(schedule(step))
        return any(math.isclose(rates[0], value * by, rel_tol=1e-6) for by in (1, own))

    at = {each for each in range(1, min(patient.steps, FEW) + 1) if is_rate(each)}
    if at and not any({*range(each, each + IN_A_ROW)} <= at for each in at):
        first = min(at)
        yield Finding(
            code="rate-stays",
            title="each step of training sets the same rate",
            tried=f"made {IN_A_ROW} steps, one after the other, and watched the rate.",
            seen=f"it is {rates[0]:.3g} at each of them, which the schedule has at "
            f"step {first}; at step {first + 1} it has {schedule(first + 1):.3g}.",
            means="the rate never follows the schedule.",
            look="what counts the steps: += 1 in each of them, kept from call to call.",
            design="That is right if your loop counts the steps, and hands train_step "
            "their number.",
        )


def _still(step: Step) -> Finding:
    """Why a step left every weight as it was."""
    before, after = step.arrived
    used = any(each is not None and bool(each.any()) for each in step.used)
    if not before and not after:
        why = "No gradient arrived at any weight."
        look = (
            "loss.backward(), and detach(), .data, no_grad() on its way to the loss; "
            "torch.tensor(loss, requires_grad=True) makes a new number of it."
        )
    elif not step.n_steps:
        why = "Gradients arrived, and no optimizer stepped."
        look = "optimizer.step(), after backward()."
    elif not before:
        why = "The optimizer stepped before any gradient had arrived."
        look = "the order: zero_grad(), loss.backward(), optimizer.step()."
    elif not used:
        why = "Gradients arrived, and were gone when the optimizer stepped."
        look = "zero_grad() between backward() and step(): it goes before backward()."
    elif not any(step.rates):
        why = f"An optimizer stepped, {step.n_steps} times, with a rate of 0."
        look = "the schedule: step / warmup, not step // warmup; is it moved on at all?"
    else:
        why = "An optimizer stepped."
        look = "another model's optimizer, a rate that is next to nothing."
    return _finding(
        "step-moves-nothing",
        "a step of training doesn't change the weights",
        "made one step and compared the weights.",
        f"each is what it was. {why}",
        "nothing is learned.",
        look,
    )


def _stranger(patient: Patient, step: Step, tried: str) -> Iterator[Finding]:
    """Is what stepped another optimizer than the one that was given?"""
    own = patient.optimizer
    if (
        own is not None
        and step.n_steps
        and not any(each.param_groups is own.param_groups for each in step.steppers)
    ):
        yield _finding(
            "step-uses-another-optimizer",
            "a step of training uses another optimizer than yours",
            tried,
            f"what stepped is another {type(step.steppers[0]).__name__} than the one "
            "that was given as optimizer=….",
            "if it is made anew in each step, it forgets its averages of gradients, "
            "and a schedule moves a rate that nobody uses.",
            "the line that makes the optimizer: once, before the loop.",
        )


def _moved(patient: Patient, step: Step) -> Iterator[Finding]:
    """Faults of a step that does move the weights."""
    tried = "made one step, and watched gradients, optimizer and weights."
    if step.n_in_vain:
        yield _finding(
            "steps-twice",
            "the optimizer steps twice with one gradient",
            tried,
            f"it stepped {step.n_steps} times, and no gradient arrived in between.",
            "the second step goes on where the gradient no longer holds.",
            "optimizer.step(), in the loop and once more in a helper.",
        )
    yield from _stranger(patient, step, tried)
    yield from _clipped(step, tried)
    yield from _switched_off(patient, step, tried)
    if _reads_labels(patient, step):
        yield _finding(
            "step-reads-labels",
            "a step of training gives the model its labels to read",
            tried,
            "the labels of the batch were looked up, and what it has for the model "
            "to read was not.",
            "each position reads the word that it has to say: the loss falls to 0.",
            "what the step passes to the model: the words before, ids[:, :-1], or "
            "those in which some are hidden.",
        )
    elif n := _cut(patient, step):
        yield _finding(
            "step-cuts-source",
            "a step of training reads the beginning of the source only",
            tried,
            f"{n} columns of the first batch's source were looked up, and words follow "
            "them.",
            "the model is asked to translate words that it has not read.",
            "what the step passes to the model: a length that is the target's.",
            design="That is right if sources are cut on purpose, and short ones stay "
            "whole.",
        )
    else:
        yield from _compared(patient, step)
    if (slope := _slope(patient, step)) is not None and slope > UPHILL:
        yield _finding(
            "loss-goes-up",
            "a step of training goes uphill",
            "compared what a step changes with the gradient of the loss.",
            f"the two point the same way (cosine {slope:.2f}): the loss rises.",
            "the model learns to be as wrong as it can.",
            "the sign of the loss before backward(), and maximize=True.",
        )
    moves = torch.cat([each.flatten().abs() for each in step.moves])
    half = float(moves[moves > 0].median())
    judged = patient.schedule is None or highest(patient) > HIGH
    if half > HIGH and not judged:
        yield _finding(
            "rate-too-high",
            "a step of training moves the weights too far",
            tried,
            f"half of them moved by {half:.2g} or more; most weights are smaller.",
            "the loss jumps, or stays at that of a model that knows only which words "
            "are frequent.",
            "the optimizer's rate: does the schedule multiply it, or replace it?",
            design="That is right if your loop sets the rate from the schedule before "
            "it calls the step.",
        )


def _switched_off(patient: Patient, step: Step, tried: str) -> Iterator[Finding]:
    """Is dropout off in a step, at once or after the loop has written?"""
    stays = step.modes == {False} or not step.ends_off
    later = step if stays else make_step(patient, step.parameters, mode=False)
    is_off = later.modes == {False} and not later.drops
    if is_off and any(map(_anatomy.strikes_out, patient.watch_training())):
        where = "" if later is step else "in the second step "
        yield _finding(
            "trains-in-eval-mode",
            "a step of training runs with dropout off",
            tried,
            f"{where}nothing was struck out, though in training mode the model has "
            "dropout.",
            "the model trains without the regularisation that it was built with.",
            "model.eval() in the step, or before it without model.train() to follow.",
        )
    elif later is step and _left_off(patient, step):
        yield _finding(
            "trains-in-eval-mode",
            "after your loop has written, a step of training runs with dropout off",
            "let decode run in training mode, and then made a step.",
            "decode leaves the model in eval mode, and the step doesn't change that.",
            "the model trains without the regularisation that it was built with.",
            "model.train() at the beginning of each step, or after each decode.",
            design="That is right if your training calls model.train() itself before "
            "it goes on.",
        )


def _left_off(patient: Patient, step: Step) -> bool:
    """Whether decode leaves the model in eval mode, and a step then trains so."""
    if patient.decode is None:
        return False
    with as_found(patient.model):
        try:
            loop = Loop(patient)
            loop.listen(loop.source, training=True)
        except Exception:  # another examination tells what is wrong with the loop
            return False
        if patient.model.training:
            return False
    off = make_step(patient, step.parameters, mode=False)
    drops = any(map(_anatomy.strikes_out, patient.watch_training()))
    return off.modes == {False} and not off.drops and drops


def _compared(patient: Patient, step: Step) -> Iterator[Finding]:
    """Is the step's gradient that of the loss, without dropout and before clipping?"""
    n = max(step.times.values(), default=0)
    if patient.loss is None:
        if step.empties and n > 1:
            yield _emptied(n)
        return
    with NoDropout():
        full = make_step(patient, step.parameters).full
        whole = _gradient(patient, step)
        alike = other = _cosine(full, whole) or 0.0
        if alike < SURE:  # is it the loss with what is read as labels?
            other = _cosine(full, _gradient(patient, step, at=-2)) or 0.0
    size = float(_flat(full).norm() / _flat(whole).norm())
    tried = "compared the step's gradient, before clipping, with that of the loss."
    if step.empties and n > 1 and alike < SAME:
        yield _emptied(n)
    elif alike > SURE and n > 1 and abs(size / n - 1) < 0.1 and not patient.gradients:
        yield _finding(
            "accumulation-not-averaged",
            "a step adds up the gradients of its parts and doesn't average them",
            tried,
            f"gradients arrive {n} times, and their sum is {size:.2f} times as long.",
            "steps change with the number of parts. Adam evens that out; plain "
            "gradient descent and clipping don't.",
            "divide each part's loss by the number of parts, before backward().",
        )
    elif alike > SURE and not 1 / FAR_OFF < size < FAR_OFF and not step.unscales_late:
        yield _finding(
            "step-scales-gradient",
            "the gradient of a step is not as long as that of the loss",
            tried,
            f"they point the same way, and the step's is {size:.3g} times as long.",
            "clipping and plain gradient descent take it for a different size.",
            "a loss that is divided twice, or summed; scaler.scale(loss) without "
            "scaler.unscale_(optimizer) and scaler.step(optimizer).",
            design="Adam evens that out, as long as nothing is clipped.",
        )
    elif other > max(SURE, alike + 0.05):
        yield _finding(
            "step-scores-its-input",
            "a step of training compares the output with what the decoder read",
            tried,
            "it is the gradient that the loss has with what it reads as labels.",
            "the model learns to say the word that it has just read, not the next.",
            "the second argument of the loss: the labels, ids[:, 1:].",
        )
    elif -SURE < alike < UNLIKE:
        yield _finding(
            "step-differs-from-loss",
            "the gradient of a step isn't that of the loss on its batch",
            tried,
            f"their directions agree by {alike:.0%} only.",
            "what is trained is not what you gave as model, loss and batch.",
            "what the step passes to the model and to the loss: the same rows, all of "
            "them, shifted once.",
            design="That is right if a step changes its batch at random, or adds "
            "something to the loss.",
        )


def _emptied(n: int) -> Finding:
    """Of the parts of a step the last one's gradients alone are used."""
    return _finding(
        "accumulation-forgets",
        "the gradients are emptied between the parts of a step",
        "made a step, and watched when gradients arrive and when they are emptied.",
        f"they arrived {n} times before the optimizer stepped, and zero_grad() was "
        "called in between.",
        "the last part alone counts; the others are computed for nothing.",
        "zero_grad() in the loop over the parts: once, before the first of them.",
    )


def _clipped(step: Step, tried: str) -> Iterator[Finding]:
    """Are gradients clipped before they arrive, after their use, or to nothing?"""
    seen = ""
    if _is_shorter(step):
        used, left = (float(_flat(each).norm()) for each in (step.used, step.left))
        seen = f"a gradient of length {used:.3g} was used; afterwards it was cut to "
        seen += f"{left:.3g}."
    elif step.late and all(step.late):
        seen = "they were clipped after the optimizer's last step only."
    elif step.unscales_late:
        yield _finding(
            "clipped-before-unscaling",
            "the gradients are clipped while they are still scaled up",
            tried,
            "they were clipped first, and then divided by the scaler's factor.",
            "what is cut is the factor's size, so each step is cut to the same tiny "
            "length. Adam evens that out in part; gradient descent stands still.",
            "scaler.unscale_(optimizer), then clip_grad_norm_, then "
            "scaler.step(optimizer).",
        )
    elif step.clips and (told := _is_nothing(step)):
        yield _finding(
            "clipped-to-nothing",
            "clipping leaves nothing of the gradients",
            tried,
            told,
            "the optimizer has nothing to go by; only weight decay moves the weights.",
            "the limit: clip_grad_norm_(parameters, 1.0) is usual.",
        )
    elif step.clips and not any(step.clips) and step.arrived[0]:
        seen = "when they were clipped, no gradient of this batch had arrived."
    if seen:
        yield _finding(
            "clipped-too-early" if seen.startswith("when") else "clipped-after-step",
            "the gradients are clipped at a moment when that has no effect",
            tried,
            seen,
            "a wild gradient goes into the weights as it is.",
            "clip_grad_norm_ between backward() and step().",
        )


def _is_nothing(step: Step) -> str:
    """What is seen if clipping cuts gradients to less than optimizers tell from 0."""
    before, after = (float(_flat(each).abs().max()) for each in (step.full, step.used))
    if not after < min(NOTHING, before / 1000):
        return ""
    return f"the largest number of a gradient was {before:.2g}, and then {after:.2g}."


def _is_shorter(step: Step) -> bool:
    """Whether the gradients that are left are those that were used, cut down."""
    if step.arrived[1] or (_cosine(step.used, step.left) or 0.0) <= 0.999:
        return False
    used, left = (float(_flat(each).norm()) for each in (step.used, step.left))
    return 0 < left < 0.99 * used


def _reads_labels(patient: Patient, step: Step) -> bool:
    *_, read, labels = (each.cpu() for each in patient.batches[0])  # type: ignore[index]

    def was_read(ids: Tensor) -> bool:
        return any(
            each.shape in (ids.shape, ids.t().shape)
            and (torch.equal(each, ids) or torch.equal(each, ids.t()))
            for each in step.read
        )

    whole = torch.where(labels < 0, read, labels)  # of hidden words
    return not was_read(read) and (was_read(labels.clamp_min(0)) or was_read(whole))


def _cut(patient: Patient, step: Step) -> int:
    """How many columns of the source a step reads, if words follow those; else 0."""
    source, *rest = (each.cpu() for each in patient.batches[0])  # type: ignore[index]
    if len(rest) < 2:
        return 0
    for each in step.read:
        ids = each if each.dim() == 2 and len(each) == len(source) else each.t()
        n = ids.size(-1)
        if ids.dim() == 2 and 1 < n < source.size(1) and len(ids) == len(source):
            words = source[:, n:] != (
                -1 if patient.pads[0] is None else patient.pads[0]
            )
            if torch.equal(ids, source[:, :n]) and bool(words.any()):
                return n
    return 0


def _slope(patient: Patient, step: Step) -> float | None:
    """The cosine of what a step changed and of the signs of the loss's gradient.

    Signs, since Adam's step is as large where the gradient is small.
    """
    if patient.loss is None or type(patient.optimizer).__name__ not in FRESH:
        return None
    found = _gradient(patient, step)
    return _cosine(
        step.moves, [None if each is None else each.sign() for each in found]
    )


def _gradient(patient: Patient, step: Step, at: int = -1) -> list[Tensor | None]:
    """The loss's own gradient for the batch, with a part of it as labels."""
    assert patient.loss is not None and patient.batches is not None
    *sources, read, _ = (each.clone() for each in patient.batches[0])
    for each in step.parameters:
        each.grad = None
    patient.model.train()
    torch.manual_seed(3)
    with torch.enable_grad():
        logits = patient.run(sources[0] if sources else None, read)
        value = patient.loss(logits, patient.batches[0][at].clone())
        (value[0] if isinstance(value, tuple) else value).backward()
    found = gradients_of(step.parameters)
    for each in step.parameters:
        each.grad = None
    return found


def _cosine(one: list[Any], other: list[Any]) -> float | None:
    """That of two gradients, where both are known; None if that is nowhere."""
    pairs = [(a, b) for a, b in zip(one, other, strict=False)
             if a is not None and b is not None]  # fmt: skip
    if not pairs:
        return None
    first, second = (_flat([pair[i] for pair in pairs]) for i in (0, 1))
    return float(torch.cosine_similarity(first, second, dim=0))


def _flat(tensors: list[Any]) -> Tensor:
    return torch.cat([e.flatten().float() for e in tensors if e is not None])
