"""Tables that are meant to be one are one; those that are not, are not."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor._watch import VIEWS, Op, storage
from tformer.doctor.report import Finding, Remark

CHAPTER = "Embeddings"
ARGUMENT = "tied"


def examine(patient: Patient) -> Iterator[Finding | Remark]:
    """Compare the output projection with the target's table, as they are used."""
    ops, _ = patient.watch(patient.source(), patient.target())
    looked_up = patient.lookups(1)
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    if not looked_up or last is None:
        raise Skip("no table of words, or no output projection, was seen")
    table = looked_up[0].op.inputs[0].tensor
    weights = [e.tensor for e in last.inputs if _anatomy._from_parameter(e)]
    weights = [e for e in weights if e.dim() >= 2]
    if weights and patient.tied is not False:
        crossed = list(_crossed(patient, ops, table, weights[-1]))
        yield from crossed
        if crossed:
            return
    if not weights:
        yield from _loose(patient, table, last)
        return
    if not all(table.numel() == each.numel() for each in weights):
        if patient.tied is False:
            return
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
            )
        return
    alike = _alike(table, weight)
    crosses = any(_is_one(weight, e.op.inputs[0].tensor) for e in patient.lookups(0))
    if patient.tied and crosses:
        yield Finding(
            code="untied-tables",
            title="the output projection is the source's table, not the target's",
            tried="compared the memory of the three.",
            seen="the output projection and the source's table are one block of "
            f"{table.numel():,} numbers, and the target's is another.",
            means="the decoder says its words with the vectors of the source's.",
            look="out.weight = embedding.weight, with the target's embedding.",
        )
    elif patient.tied or alike:
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
            because=("weights-all-equal",),
        )


def _loose(patient: Patient, table: Tensor, last: Op) -> Iterator[Finding]:
    """Is what multiplies the last states a tensor that nobody trains?"""
    known = {storage(each) for each in patient.model.buffers()}
    loose = []
    for each in last.inputs:
        while each.made_by is not None and each.made_by.name in VIEWS:
            each = each.made_by.inputs[0]
        if each.made_by is None and storage(each.tensor) not in known:
            loose.append(each.tensor)
    loose = [each for each in loose if each.numel() == table.numel()]
    if not loose:
        if patient.tied is False:
            return
        raise Skip("no matrix that is trained was seen in the output projection")
    alike = _alike(table, loose[-1])
    if patient.tied or alike:
        yield Finding(
            code="untied-tables",
            title="the output projection is not the table of words",
            tried="compared the memory of the two.",
            seen=f"two blocks of {table.numel():,} numbers each"
            + (", with the same values" if alike else "")
            + "; the output's is a plain tensor, neither parameter nor buffer.",
            means="it keeps the numbers that it was made with: no optimizer trains it, "
            "state_dict() leaves it out, and model.to(…) doesn't move it.",
            look="the line that makes it (a clone(), detach() or .data of the table): "
            "use embedding.weight itself.",
        )


def _crossed(
    patient: Patient, ops: list[Op], table: Tensor, weight: Tensor
) -> Iterator[Finding | Remark]:
    """Is the output projection a table in which nothing is looked up, not even words?

    Then the target may have been looked up in the source's table by mistake.
    """
    tables = {
        storage(module.weight): f"{name}.weight"
        for name, module in patient.model.named_modules()
        if isinstance(module, nn.Embedding)
    }
    if (
        not any(_is_one(table, each.op.inputs[0].tensor) for each in patient.lookups(0))
        or not {storage(table), storage(weight)} <= tables.keys()
        or any(
            op.name == "embedding" and _is_one(weight, op.inputs[0].tensor)
            for op in ops
        )
    ):
        return
    own = tables[storage(weight)]
    seen = (
        f"source and target are both looked up in {tables[storage(table)]}, and the "
        f"output projection is {own}, in which nothing is looked up."
    )
    if patient.tied:
        yield Finding(
            code="target-in-source-table",
            title="the target is looked up in the source's table",
            tried="compared the tables that are looked up with the output projection.",
            seen=seen,
            means="the decoder reads its words as if they were the source's, and the "
            "two sides train one table between them.",
            look=f"the embedding that the decoder calls: it should be {own}.",
        )
    else:
        yield Remark(f"{seen} If {own} is the target's table, the decoder reads the "
                     "wrong one")  # fmt: skip


def _is_one(table: Tensor, weight: Tensor) -> bool:
    return storage(table) == storage(weight)


def _alike(table: Tensor, weight: Tensor) -> bool:
    flat = weight if weight.shape == table.shape else weight.transpose(-1, -2)
    return (
        flat.reshape(-1).shape == table.reshape(-1).shape
        and flat.shape[-2:] == table.shape[-2:]
        and bool(torch.equal(flat.reshape(table.shape), table))
    )
