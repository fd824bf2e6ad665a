"""While evaluating, chance plays no part."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tformer.doctor._patient import Patient
from tformer.doctor.report import Finding


def examine(patient: Patient) -> Iterator[Finding]:
    """Run the same input three times in eval mode, with other seeds."""
    patient.has_numbers()
    runs = []
    for seed in range(3):
        patient.model.eval()
        torch.manual_seed(seed)
        with torch.no_grad():
            runs.append(patient.run(patient.source(), patient.target()).double().cpu())
    moved = max(float(patient.moved(runs[0], run).max()) for run in runs[1:])
    if moved > patient.tolerance:
        yield Finding(
            code="dropout-while-evaluating",
            title="the model gives another answer each time, even in eval mode",
            tried="called model.eval(), then ran one input three times.",
            seen=f"the logits moved by up to {moved:.2g}.",
            means="dropout is still on, so every translation and every score is "
            "computed by a damaged model.",
            look="F.dropout without training=self.training, nn.Dropout in a plain list "
            "(use nn.ModuleList), a train() in forward, or noise that is added always.",
            chapter="The encoder",
            because=("hidden-parameters",),
        )
