"""The learning rate warms up, and falls again."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding


def examine(patient: Patient) -> Iterator[Finding]:
    """Ask the schedule for every step of the training."""
    if patient.schedule is None or not patient.steps:
        missing = "schedule=…" if patient.schedule is None else "steps=…"
        raise Skip(f"it was not given ({missing})")
    stride = max(1, patient.steps // 2000)
    at = sorted({*range(1, patient.steps + 1, stride), patient.steps})
    rates = [float(patient.schedule(step)) for step in at]
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
            chapter="Training",
        )
        return
    top = max(rates)
    if rates[0] >= 0.9 * top:
        yield Finding(
            code="never-warms",
            title="the learning rate has no warm-up",
            tried=tried,
            seen=f"it begins at {rates[0]:.3g}, and its maximum is {top:.3g}.",
            means="Adam's averages are still noise in the first steps, and a "
            "post-norm Transformer may never recover from large ones.",
            look="the warm-up steps, the unit (steps or epochs), and whether "
            "schedule.step() is called for each update.",
            chapter="Training",
        )
    if rates[-1] >= 0.95 * top:
        yield Finding(
            code="never-falls",
            title="the learning rate never falls",
            tried=tried,
            seen=f"it ends at {rates[-1]:.3g}, and its maximum is {top:.3g}.",
            means="the weights go on jumping about instead of settling; perhaps the "
            "warm-up is longer than the training.",
            look="the decay, the unit (steps or epochs), the number of steps.",
            chapter="Training",
        )
