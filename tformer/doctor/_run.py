"""Examine a model: every examination in turn, and a report of them all."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from tformer.doctor import examinations
from tformer.doctor._keep import as_found
from tformer.doctor._patient import (
    CannotExamine,
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
    pad_id: int | None = 0,
    bos_id: int | None = 1,
    eos_id: int | None = 2,
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
) -> Report:
    """Try a Transformer of any make, and report what a sound one would not do.

    The model comes back exactly as it was: weights, buffers, gradients, modes, and the
    state of every random number generator. The report says what was not examined:
    below its first line if you gave something that could not be used, and at its end
    if you gave nothing.

    Args:
        model: an encoder–decoder or a decoder-only language model.
        forward: ``(model, source, target) -> logits``, or ``(model, ids) -> logits``
            for a decoder-only model. Ids are (B, S) and (B, T), logits (B, T, V). This
            is the place for masks, lengths, transposes. Without it the model is called
            with the ids alone.
        vocab_size: number of ids, or (source ids, target ids); without it, as many as
            there are logits.
        pad_id: id of padding, or None if there is none.
        bos_id: id that begins a target, or None.
        eos_id: id that ends a sequence, or None.
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
        schedule: step, from 1, to learning rate or factor; it is examined by itself,
            not multiplied by the optimizer's own rate.
        steps: how many steps you are going to train; for `schedule`.
        tied: whether the table of the target words is meant to be the output
            projection as well; None if either is fine.
        tokenizer: has ``encode(text) -> ids`` and ``decode(ids) -> text``.
        pairs: (source, target) sentences to train on.
        test_pairs: those to test on.

    Returns:
        The findings; the report is true if there are none.

    Raises:
        TypeError: `model` isn't an ``nn.Module``.
        CannotExamine: the model does not run as it is called, or returns something
            other than logits. The message says what to adapt.
    """
    if not isinstance(model, nn.Module):
        made = "; call it first" if isinstance(model, type) else ""
        raise TypeError(
            f"model must be an nn.Module, and this is a {type(model).__name__}{made}"
        )
    check_loss(loss)
    began = time.perf_counter()
    with as_found(model):
        patient = Patient(
            model,
            forward=forward,
            vocab_size=vocab_size,
            pad_id=pad_id,
            bos_id=bos_id,
            eos_id=eos_id,
            loss=loss,
            gradients=gradients,
            decode=decode,
            optimizer=optimizer,
            schedule=schedule,
            steps=steps,
            tied=tied,
            tokenizer=tokenizer,
            pairs=pairs,
            test_pairs=test_pairs,
        )
        patient.admit()
        patient.batches = first_batches(batches, patient)
        found, remarks, sound, not_tried = _round(patient)
    codes = {finding.code for finding in found}
    return Report(
        model=type(model).__name__,
        findings=tuple(f for f in found if not codes & set(f.because)),
        consequences=tuple(f for f in found if codes & set(f.because)),
        sound=tuple(sound),
        not_tried=tuple(not_tried),
        seconds=time.perf_counter() - began,
        remarks=tuple(remarks),
    )


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
                else:
                    here.append(said)
        except (Skip, CannotExamine) as reason:
            if not here:
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
