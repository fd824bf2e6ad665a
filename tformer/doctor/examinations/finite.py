"""Every logit is a number, with and without padding, and may be of either sign."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tformer.doctor._patient import Patient
from tformer.doctor.report import Finding


def examine(patient: Patient) -> Iterator[Finding]:
    """Run a sequence, then one with a lot of padding, and look for NaN."""
    cases = [("without padding", patient.plain)]
    if patient.pad_id is not None:
        source, target = patient.source(), patient.target()
        if source is not None:
            source = patient.padded(source[:, :2], patient.n_source)
        cases.append(
            (
                "of two words, the rest padding,",
                patient.logits(source, patient.padded(target[:, :2], patient.n_target)),
            )
        )
    for which, logits in cases:
        bad = (~torch.isfinite(logits)).any(dim=-1)
        if bad.any():
            places = bad[0].nonzero().flatten().tolist()
            yield Finding(
                code="nan-rows",
                title="some positions have no numbers",
                tried=f"ran one sequence {which} and looked at the logits.",
                seen=f"NaN or infinity at {len(places)} of {bad.size(1)} positions "
                f"({', '.join(map(str, places))}).",
                means="a query that may see no key at all gets a softmax over nothing, "
                "0/0. A single such row spoils every gradient of the batch.",
                look="the masks: is there a row in which everything is hidden? Let "
                "each query see at least itself, and hide padding as keys only.",
                chapter="Masks",
                because=("mask-off-by-one", "mask-inverted"),
            )
            return
    lowest, sums = float(patient.plain.min()), patient.plain.sum(dim=-1)
    if lowest >= 0 and float((sums - 1).abs().max()) > 1e-3:
        yield Finding(
            code="logits-never-negative",
            title="no logit is negative",
            tried="ran one sequence and looked at the logits.",
            seen=f"the smallest of {patient.plain.numel():,} is {lowest:.2g}.",
            means="whatever speaks against a word is cut off at 0, so the model can't "
            "say that a word is unlikely.",
            look="what follows the output projection: no ReLU and no sigmoid, only the "
            "loss's softmax.",
            chapter="The whole Transformer",
        )
