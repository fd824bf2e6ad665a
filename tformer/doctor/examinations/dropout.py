"""Dropout is off while evaluating, spares the logits, and leaves most numbers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor._watch import Op
from tformer.doctor.report import Finding

CHAPTER = "The encoder"
MOST = 0.5  # of the stream's sums
STRONG = 0.6  # more is struck out than is left


def examine(patient: Patient) -> Iterator[Finding]:
    """Run three times in eval mode, with other seeds; then watch it in train mode."""
    patient.has_numbers()
    runs = []
    for seed in (0, 0, 1, 2):
        patient.model.eval()
        torch.manual_seed(seed)
        with torch.no_grad():
            runs.append(patient.run(patient.source(), patient.target()).double().cpu())
    moves = [float(patient.moved(runs[0], run).max()) for run in runs[1:]]
    moved = max(moves)
    moves[0] = max(moves[0], _remembered(patient))
    if moves[0] > patient.tolerance:
        yield Finding(
            code="state-between-calls",
            title="the model remembers something from one call to the next",
            tried="called model.eval(), and ran one input twice, with one seed, and a "
            "single word after one text and after another.",
            seen=f"the logits moved by up to {moves[0]:.2g}, and that isn't chance.",
            means="what comes out depends on what was run before: on the batches, on "
            "their order.",
            look="whatever forward stores in self and reads again: a cache that isn't "
            "emptied, a counter, a buffer that is changed in place.",
            chapter="The whole Transformer",
        )
        return
    if moved > patient.tolerance:
        yield Finding(
            code="dropout-while-evaluating",
            title="the model gives a different answer each time, even in eval mode",
            tried="called model.eval(), then ran one input three times.",
            seen=f"the logits moved by up to {moved:.2g}.",
            means="dropout is still on, so every translation and every score comes "
            "from a model with parts switched off.",
            look="F.dropout without training=self.training, nn.Dropout in a plain list "
            "(use nn.ModuleList), a train() in forward, or noise that is always added.",
            because=("hidden-parameters",),
        )
        return
    ops = patient.watch_training()
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    struck = None if last is None else _anatomy.dropped_afterwards(ops, last)
    if struck is not None:
        share = float((struck.output == 0).double().mean())
        yield Finding(
            code="dropout-on-logits",
            title="dropout is applied to the logits",
            tried="called model.train(), and followed the logits to the end.",
            seen=f"{share:.0%} of them became exactly 0 after the output projection.",
            means="such a logit is 0 whatever the model computed, so the loss asks for "
            "something that no weight can do. In eval mode you see nothing of it.",
            look="the last line of forward: dropout goes on the states before the "
            "output projection, never on what it returns.",
        )
    yield from _on_stream(patient, ops)
    yield from _on_scores(ops)
    rates = [(op, rate) for op in ops if (rate := _anatomy.dropout_rate(op))]
    strong = [(op, rate) for op, rate in rates if rate >= STRONG]
    if strong:
        yield Finding(
            code="dropout-too-strong",
            title="dropout sets most of the numbers to 0",
            tried="called model.train(), and looked at the rate of each dropout.",
            seen=f"it is {strong[0][1]:.2g} in {len(strong)} of {len(rates)} places "
            f"({_anatomy.places(op for op, _ in strong)}).",
            means="hardly anything gets through a layer while training.",
            look="p is the share that is set to 0. Is yours the share that is kept? "
            "0.1 is the paper's, 0.3 is much.",
        )


def _remembered(patient: Patient) -> float:
    """How far a single word's logits move if another, longer input was run before."""
    one, after = patient.target(n=1), []
    try:
        for seed in (2, 3):
            patient.logits(patient.source(), patient.target(seed))
            after.append(patient.logits(patient.source(), one))
    except (Skip, RuntimeError, IndexError, ValueError):
        return 0.0
    return float(patient.moved(*after).nan_to_num().max())


def _on_scores(ops: list[Op]) -> Iterator[Finding]:
    """Does dropout come before the softmax?"""
    struck, n = _anatomy.struck_before(ops)
    if struck:
        yield Finding(
            code="dropout-before-softmax",
            title="dropout is applied to the attention scores, before the softmax",
            tried="called model.train(), and followed the scores to each softmax.",
            seen=f"in {len(struck)} of {n} attentions ({_anatomy.places(struck)}) some "
            "scores become 0 on the way.",
            means="a score of 0 still gets a share of the weight, and a place that the "
            "mask hid may become visible. In eval mode you see nothing of it.",
            look="dropout(softmax(scores)), not softmax(dropout(scores)).",
        )


def _on_stream(patient: Patient, ops: list[Op]) -> Iterator[Finding]:
    """Is the stream itself struck out, and not what a sublayer adds to it?"""
    _, found = patient.watch(patient.source(), patient.target())
    outs = [each.out for each in found if each.out is not None]
    if not outs:
        return
    every = _anatomy.residuals(ops, outs[0].output.size(-1))
    sums = [each for each in every if _anatomy.comes_from_product(each.branch)]
    drops = {
        e: [op for op in e.total.used_by if _anatomy.strikes_out(op)] for e in sums
    }
    branches = [each.branch.made_by for each in every]
    skips = [each.skip.made_by for each in every]
    struck = [e for e in sums if drops[e] and not _becomes(drops[e], branches)]
    inner = [e for e in struck if _becomes(drops[e], skips)]
    sums = [e for e in sums if e in struck or len(e.total.used_by) > 1]  # no experts'
    if len(struck) > MOST * len(sums) or len(inner) > 1:
        yield Finding(
            code="dropout-on-stream",
            title="dropout is applied to the residual stream",
            tried="called model.train(), and looked at what follows each sum.",
            seen=f"{len(struck)} of {len(sums)} sums of stream and sublayer go through "
            "dropout.",
            means="a number that is set to 0 there is lost to every later layer, and "
            "each layer loses more.",
            look="x + dropout(sublayer(x)): dropout goes on what is added, not on the "
            "sum.",
        )


def _becomes(drops: list[Op], operands: list[Op | None]) -> bool:
    """Whether a result of dropout is one of these operands of sums."""
    return any(each in operands for op in drops for each in (op, *op.used_by))
