"""Examine a model: every examination in turn, and a report of them all."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import compress
from operator import not_
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from tformer.doctor import _anatomy, examinations
from tformer.doctor._keep import CannotExamine, as_found, check, in_float32, is_half
from tformer.doctor._patient import (
    NO_ID,
    OutOfTime,
    Patient,
    Skip,
    check_loss,
    first_batches,
)
from tformer.doctor.report import Finding, NotTried, Remark, Report

PARTNERS = (  # an argument, what it is of no use without, and the examination of both
    ("steps", "schedule", "schedule"),
    ("test_pairs", "pairs", "data"),
)


def examine(
    model: nn.Module,
    *,
    forward: Callable[..., Any] | None = None,
    vocab_size: int | tuple[int, int] | None = None,
    pad_id: Any = NO_ID,
    bos_id: Any = NO_ID,
    eos_id: Any = NO_ID,
    ignore_index: int | None = None,
    bidirectional: bool | None = None,
    scale: float | None = None,
    shared: bool | None = None,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    batches: Iterable[Sequence[Tensor]] | None = None,
    gradients: Callable[[nn.Module, list[Any]], object] | None = None,
    decode: Callable[..., Any] | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    schedule: Callable[[int], float] | None = None,
    steps: int | None = None,
    tied: bool | None = None,
    tokenizer: Any = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    test_pairs: Sequence[tuple[str, str]] | None = None,
    test_batches: Iterable[Sequence[Tensor]] | None = None,
    train_step: Callable[..., Any] | None = None,
    accept: Sequence[str] = (),
    seconds: float | None = 30.0,
) -> Report:
    """Try a Transformer of any make, and report what a sound one would not do.

    The model comes back exactly as it was: weights, buffers, gradients, modes, and the
    state of every random number generator. The report says what was not examined:
    below its first line if you gave something that could not be used, and at its end
    if you gave nothing.

    Args:
        model: an encoder–decoder, a decoder-only language model, or an encoder that
            guesses hidden words.
        forward: ``(model, source, target) -> logits``, or ``(model, ids) -> logits``
            for a decoder-only model. Ids are (B, S) and (B, T), logits (B, T, V). This
            is the place for masks, lengths, transposes. Without it the model is called
            with the ids alone, or as its signature says (``input_ids=…`` with a mask).
            Of a tuple, a dictionary or an object the logits are taken.
        vocab_size: number of ids, or (source ids, target ids); without it, as many as
            there are logits.
        pad_id: id of padding, None if there is none, or (the source's, the target's).
            Without it: what the model's ``config`` or tables say, else 0.
        bos_id: id that begins a target, or None. Without it: the config's, else 1.
        eos_id: id that ends a sequence, or None. Without it: the config's, else 2.
        ignore_index: what labels have where nothing is asked, such as -100. Without
            it: the negative number in your batches' labels, else `pad_id`.
        bidirectional: whether each word may see those after it, as in an encoder that
            guesses hidden words.
        scale: what your design multiplies the scores by; without it, 1/√d_head.
        shared: whether layers share their weights on purpose.
        loss: ``(logits, labels) -> scalar``, as your training uses it, after the
            model has run. If yours runs the model itself, give the part that follows.
        batches: ``(source, target, labels)``, or ``(ids, labels)`` for a decoder-only
            model, as your training reads them, but always batch first. The first three
            are used.
        gradients: ``(model, batches) -> None``: accumulates the gradients of several
            small batches in ``.grad``, as your training does before it steps.
        decode: ``(model, source) -> ids``: greedy decoding, batch first: one row or
            list of ids for each source, with or without `bos_id` and `eos_id`. For a
            decoder-only model the second argument is the prompt, and the prompt may
            come back with it. If it takes a third argument, it is given the reference.
            It is tried with one source and with three of equal length at once.
        optimizer: the one that trains the model.
        schedule: step, from 1, to learning rate or factor. Which of the two it is, the
            optimizer's rates tell, once a scheduler or your step has set them.
        steps: how many steps you are going to train; for `schedule`.
        tied: whether the table of the target words is meant to be the output
            projection as well; None if either is fine.
        tokenizer: has ``encode(text) -> ids`` and ``decode(ids) -> text``. If each
            language has a vocabulary of its own: both, (the source's, the target's).
        pairs: (source, target) sentences to train on.
        test_pairs: those to test on.
        test_batches: batches to test on; their rows must be new to `batches`.
        train_step: ``(model, batch) -> None``: one whole step of your training, with
            `optimizer`, which is put back like the model, and so are other optimizers
            and schedulers of torch that it moves. It is called with the first batch,
            a few times, and more often if no optimizer steps, or at a rate of 0.
        accept: codes of findings that are meant, such as ``["layers-shared"]``.
        seconds: of computing that it may take, or None; the report says what was not
            reached. A busy machine costs nothing; one pass is never interrupted.

    Returns:
        The findings; the report is true if there are none. What some sound design
        does, too, is among its remarks, with that design's name and how to say so.

    Raises:
        TypeError: `model` isn't an ``nn.Module``.
        ValueError: an id is none of the model's, or `accept` has something that is no
            code of a finding.
        CannotExamine: the model does not run as it is called, or returns something
            other than logits. The message says what to adapt.
    """
    if not isinstance(model, nn.Module):
        made = "; call it first" if isinstance(model, type) else ""
        raise TypeError(
            f"model must be an nn.Module, and this is a {type(model).__name__}{made}"
        )
    check_loss(loss)
    _check_codes(accept)
    began = time.perf_counter()
    check(model)
    given = {name: each for name, each in locals().items() if name in _GIVEN}
    until = time.process_time() + (float("inf") if seconds is None else seconds)
    with as_found(model):
        found, remarks, sound, not_tried, saw = _examined(model, given, batches, until)
    accepted = {finding.code for finding in found} & {*accept}
    accepted |= {each.code for each in remarks} & {*accept}
    found = [each for each in found if each.code not in accepted]
    codes = {finding.code for finding in found}
    follows = [_follows(found, i) for i in range(len(found))]
    return Report(
        model=type(model).__name__,
        findings=tuple(compress(found, map(not_, follows))),
        consequences=tuple(compress(found, follows)),
        sound=tuple(sound),
        not_tried=tuple(not_tried),
        seconds=time.perf_counter() - began,
        remarks=tuple(
            each
            for each in remarks
            if each.code not in accepted | codes and not codes & {*each.because}
        ),
        accepted=tuple(sorted(accepted)),
        saw_attention=saw,
    )


def _follows(found: list[Finding], i: int) -> bool:
    """Whether others explain a finding, or an earlier one of the same code."""
    return any(
        other.code in found[i].because and (other.code != found[i].code or k < i)
        for k, other in enumerate(found)
    )


def _check_codes(accept: Sequence[str]) -> None:
    """Refuse what no examination says: texts in the form of a code are its codes."""
    known: set[str] = set()
    stack: list[Any] = [m.__loader__.get_code(m.__name__) for _, m in _all()]  # type: ignore[union-attr]
    while stack:
        each = stack.pop()
        if isinstance(each, str) and re.fullmatch("[a-z]+(-[a-z]+)+|overflow", each):
            known.add(each)
        stack += each if isinstance(each, tuple) else getattr(each, "co_consts", ())
    for code in accept:
        if code not in known:
            close = difflib.get_close_matches(code, known, n=1)
            meant = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"accept: {code!r} is no code of a finding{meant}")


_GIVEN = {each.name for each in dataclasses.fields(Patient)} - {"model"}
Said = tuple[list[Finding], list[Remark], list[str], list[NotTried], bool]


def _examined(
    model: nn.Module, given: dict[str, Any], batches: Any, until: float
) -> Said:
    """Everything, in float32 if the weights are coarser and the model allows that."""
    stored = {id(each): each.dtype for each in model.parameters() if is_half(each)}
    for width in (in_float32, None) if stored else (None,):
        try:
            with contextlib.nullcontext() if width is None else width(model):
                patient = Patient(model, **given, stored=stored)
                patient.admit()
                patient.wake()
                patient.deadline = until
                patient.batches = None
                if batches is not None:
                    patient.batches, patient.all_batches = first_batches(
                        batches, patient
                    )
                return (*_round(patient), _saw_attention(patient))
        except CannotExamine:
            if width is None:
                raise
    raise AssertionError("one of the two has returned or raised")


def _saw_attention(patient: Patient) -> bool:
    """Whether there is attention of any kind in a pass."""
    try:
        ops, found = patient.watch(patient.source(), patient.target())
    except Exception:  # no time left, or a model that stops now and then
        return True
    lengths = {patient.n_source, patient.n_target}
    return bool(found or _anatomy.unnormalised(ops, lengths) or _anatomy.summed_up(ops))


def _round(
    patient: Patient,
) -> tuple[list[Finding], list[Remark], list[str], list[NotTried]]:
    """Every examination once."""
    found: list[Finding] = []
    remarks: list[Remark] = []
    sound, not_tried = [], []
    for name, module in _all():
        argument = getattr(module, "ARGUMENT", "")
        given = argument if getattr(patient, argument, None) is not None else ""
        here: list[Finding] = []
        try:
            for said in module.examine(patient):
                if isinstance(said, Remark):
                    remarks.append(dataclasses.replace(said, examination=name))
                elif said.design:
                    remarks.append(said.as_remark(name))
                else:
                    chapter = said.chapter or module.CHAPTER
                    here.append(dataclasses.replace(said, chapter=chapter))
        except (Skip, CannotExamine) as reason:
            if not here or isinstance(reason, OutOfTime):
                not_tried.append(NotTried(name, str(reason), given))
        except Exception as problem:
            reason_ = (str(problem).strip().splitlines() or ["no message"])[0]
            stopped = f"it stopped with {type(problem).__name__}: {reason_}"
            not_tried.append(NotTried(name, stopped, given))
        else:
            if not here:
                sound.append(name)
        found += here
    for argument, other, name in PARTNERS:
        if getattr(patient, argument) is not None and getattr(patient, other) is None:
            not_tried.append(NotTried(name, f"{other}=… was not given", argument))
    return found, remarks, sound, not_tried


def _all() -> Iterator[tuple[str, ModuleType]]:
    """Every examination by name: the modules that are there."""
    for module in sorted(iter_modules(examinations.__path__), key=lambda m: m.name):
        if not module.name.startswith("_"):
            home = import_module(f"{examinations.__name__}.{module.name}")
            yield module.name.replace("_", " "), home
