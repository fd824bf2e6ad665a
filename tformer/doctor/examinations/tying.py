"""Tables that are meant to be one are one; those that are not, are not."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.report import Finding


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare the output projection with the target's table, as they are used."""
    ops, _ = patient.watch(patient.source(), patient.target())
    looked_up = _anatomy.lookups(ops, patient.target())
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    if not looked_up or last is None:
        raise Skip("no table of words, or no output projection, was seen")
    table = looked_up[0].op.inputs[0].tensor
    weights = [e.tensor for e in last.inputs if _anatomy._from_parameter(e)]
    weights = [e for e in weights if e.dim() >= 2]
    if not weights or not all(table.numel() == each.numel() for each in weights):
        raise Skip("the output projection differs in size from the table")
    weight = weights[-1]
    if _is_one(table, weight):
        if patient.tied is False:
            yield Finding(
                code="tables-tied",
                title="the output projection is the table of words",
                tried="compared the memory of the two.",
                seen=f"one block of {table.numel():,} numbers serves both, though "
                "tied=False.",
                means="training one changes the other.",
                look="an assignment such as out.weight = embedding.weight.",
                chapter="Embeddings",
            )
        return
    alike = _alike(table, weight)
    if patient.tied or alike:
        yield Finding(
            code="untied-tables",
            title="the output projection is not the table of words",
            tried="compared the memory of the two.",
            seen=f"two blocks of {table.numel():,} numbers each"
            + (", with the same values." if alike else "."),
            means="they were meant to be one, but each is trained by itself"
            + (": the values were copied, not the parameter." if alike else "."),
            look="out.weight = embedding.weight (the Parameter); .data.copy_(…), "
            "clone(), deepcopy or a later initialisation makes two.",
            chapter="Embeddings",
        )


def _is_one(table: Tensor, weight: Tensor) -> bool:
    return table.untyped_storage().data_ptr() == weight.untyped_storage().data_ptr()


def _alike(table: Tensor, weight: Tensor) -> bool:
    flat = weight if weight.shape == table.shape else weight.transpose(-1, -2)
    return (
        flat.reshape(-1).shape == table.reshape(-1).shape
        and flat.shape[-2:] == table.shape[-2:]
        and bool(torch.equal(flat.reshape(table.shape), table))
    )
