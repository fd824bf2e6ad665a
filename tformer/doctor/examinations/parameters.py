"""Every weight is used, gets a gradient, and is in the optimizer's hands."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient
from tformer.doctor._watch import NORMS, PRODUCTS, storage
from tformer.doctor.report import INITIAL, Finding, listed

CHAPTER = "The whole Transformer"
LARGE = 4  # times the usual size; after training, few are
TINY = 0.01  # of the usual size; where a matrix of width 8 has 0.02, it is 0.06
DECAYS = ("decay-in-gradient", "decay-too-strong")  # they make trained weights small
MANY = 64  # numbers, enough to have both signs
PART = 0.3  # of a matrix that makes two or three things at once
TRIES = 6  # inputs, each of which may wake other experts
READS = {"embedding", "mul"}  # what else reads weights, as a norm by hand does
EXPERTS = (
    "Which weights get one depends on the words, as where experts are chosen, and a "
    'few inputs may miss some (accept=["unused-parameters"]).'
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Send a gradient back once, and see where it arrives."""
    patient.has_numbers()
    named = dict(patient.model.named_parameters())
    ops, _ = patient.watch(patient.source(), patient.target())
    if patient.strangers:
        n = sum(each.numel() for each in patient.strangers.values())
        yield Finding(
            code="hidden-parameters",
            title="the model doesn't know of some of its weights",
            tried="compared the weights that a pass uses with model.parameters().",
            seen=f"{len(patient.strangers)} tensors with {n:,} numbers are not there.",
            means="no optimizer trains them, no state_dict stores them, and eval() "
            "doesn't reach their layers.",
            look="layers in a plain list or dict: use nn.ModuleList or nn.ModuleDict.",
        )
    tables = {id(lookup.op) for lookup in patient.lookups()}
    used, working = set(), set()
    for op in ops:
        for each in op.inputs:
            if each.is_parameter:
                used.add(storage(each.tensor))
                if op.name in PRODUCTS | NORMS or id(op) in tables:
                    working.add(storage(each.tensor))
    frozen = [
        name
        for name, each in named.items()
        if not each.requires_grad
        and storage(each) in working
        and storage(each) not in _places(ops, tables)
    ]
    if frozen:
        yield Finding(
            code="frozen-parameters",
            title="some weights are frozen",
            tried="looked at requires_grad of every weight that a pass uses.",
            seen=f"{_listed(frozen, named)} have requires_grad=False.",
            means="they stay as they were initialised or loaded. If you are "
            "fine-tuning and mean that, all is well.",
            look="requires_grad_(False), .detach(), or a table loaded with "
            "from_pretrained, which freezes by default.",
            chapter="Training",
        )
    outs = {storage(e.tensor): e.tensor.shape for op in ops if op.name in PRODUCTS
            for e in op.inputs[-1:] if e.is_parameter}  # fmt: skip
    matrices = [n for n, p in named.items() if p.dim() > 1 and storage(p) in outs]
    tables_ = [
        n
        for n, p in named.items()
        if p.dim() > 1
        and storage(p)
        in {storage(op.inputs[0].tensor) for op in ops if op.name == "embedding"}
    ]
    yield from _equal([*dict.fromkeys(matrices + tables_)], named)
    yield from _one_sided(matrices, named)
    yield from _overlapping(named)
    silent, is_routed, parts = _silent(patient, named)
    yield from _part([n for n in matrices if n not in silent], named, parts, outs, ops)
    yield from _never_wakes(patient, {*matrices} - {*silent})
    yield from _firsts(patient, ops)
    yield from _sizes(patient, ops)
    thrown = _thrown_away(patient, ops, [n for n in silent if named[n].dim() > 1])
    for code, names in (
        ("gradient-cut", [n for n in silent if storage(named[n]) in used]),
        ("unused-parameters", [n for n in silent if storage(named[n]) not in used]),
    ):
        if names:
            finding = _without_gradient(code, names, named, thrown)
            if code == "unused-parameters" and (twice := _twice(ops, names, named)):
                more = f" Used more than once: {listed(twice)}, perhaps in their place."
                finding = dataclasses.replace(finding, seen=finding.seen + more)
            design = EXPERTS if is_routed and not thrown else ""
            yield dataclasses.replace(finding, design=design)
    yield from _not_held(patient, named)


def _twice(
    ops: list[_anatomy.Op], names: list[str], named: Mapping[str, Tensor]
) -> list[str]:
    """Weights that are used more than once, and have the shape of unused ones."""
    places = [storage(e.tensor) for op in ops if op.name in PRODUCTS | NORMS | READS
              for e in op.inputs if e.is_parameter]  # fmt: skip
    shapes = {named[name].shape for name in names}
    return [name for name, each in named.items() if each.shape in shapes
            and places.count(storage(each)) > 1]  # fmt: skip


def _not_held(patient: Patient, named: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Does the optimizer hold every weight?"""
    if patient.optimizer is not None:
        held = {id(p) for each in _optimizers(patient) for group in each.param_groups
                for p in group["params"]}  # fmt: skip
        left = [n for n, p in named.items() if p.requires_grad and id(p) not in held]
        if left:
            yield Finding(
                code="not-in-optimizer",
                title="the optimizer doesn't hold every weight",
                tried="compared the optimizer's parameters with the model's.",
                seen=f"{_listed(left, named)} are not among them.",
                means="their gradients are computed and never used.",
                look="whether the optimizer was made from this model's parameters(), "
                "after its last change, and whether layers are kept in a plain list.",
                chapter="Training",
            )


def _optimizers(patient: Patient) -> list[Any]:
    """The reader's optimizer, and others that the step of training speaks of."""
    step, found = patient.train_step, [patient.optimizer]
    if inspect.isfunction(step) or inspect.ismethod(step):
        names = inspect.getclosurevars(step)
        spoken = [*names.nonlocals.values(), *names.globals.values()]
        spoken += vars(getattr(step, "__self__", SimpleNamespace())).values()
        for each in spoken:
            found += each if isinstance(each, list | tuple) else [each]
    return [each for each in found if isinstance(each, torch.optim.Optimizer)]


def _places(ops: list[_anatomy.Op], tables: set[int]) -> set[int]:
    """Tables that are looked up, and not with the ids: those of positions, fixed."""
    return {
        storage(op.inputs[0].tensor)
        for op in ops
        if op.name == "embedding" and id(op) not in tables
    }


def _silent(
    patient: Patient, named: Mapping[str, Tensor]
) -> tuple[list[str], bool, dict[str, Tensor]]:
    """The weights that no gradient reaches, whether that depends on the words, and all.

    The last are the sums of the absolute gradients.
    """
    silent = {n for n, each in named.items() if each.requires_grad}
    sets = []
    sums = {n: torch.zeros_like(p) for n, p in named.items()}
    for seed in range(TRIES):
        grads = _gradients(patient, seed)
        for name, grad in grads.items():
            if grad is not None:
                sums[name] += grad.abs()
        here = {
            name
            for name in grads
            if (grad := grads[name]) is None
            or (named[name].dim() > 1 and not bool(grad.any()))
        }
        sets.append(here)
        silent &= here
        if not silent:
            break
    is_routed = any(each != sets[0] for each in sets)
    return [name for name in named if name in silent], is_routed, sums


def _equal(matrices: list[str], named: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Are all rows of a matrix, or all columns, the same?"""
    flat = [n for n in matrices if named[n].dim() == 2 and min(named[n].shape) > 1]
    flat = [n for n in flat if named[n].requires_grad or bool(named[n].any())]
    same = [n for n in flat if any(bool((each == each[:1]).all())
                                   for each in (named[n], named[n].T))]  # fmt: skip
    if same:
        yield Finding(
            code="weights-all-equal",
            title="all rows of a matrix, or all its columns, are the same",
            tried="looked at each matrix and at each table.",
            seen=f"so it is in {listed(same)}, which begins with "
            f"{float(named[same[0]].flatten()[0].detach()):.3g}.",
            means="all its units compute one thing, get one gradient, and stay alike.",
            look="the initialisation: constants are for biases and gains only.",
        )


def _one_sided(matrices: list[str], named: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Do the numbers of a matrix lie to one side of 0?"""
    with torch.no_grad():
        means = {n: float(named[n].float().mean() / named[n].float().std())
                 for n in matrices if named[n].numel() >= MANY}  # fmt: skip
    found = [n for n, mean in means.items() if 1 < abs(mean) < float("inf")]
    if found:
        lowest, highest = named[found[0]].detach().aminmax()
        yield Finding(
            code="weights-one-sided",
            title="the numbers of a matrix are not around 0",
            tried="compared the mean of each matrix with its standard deviation.",
            seen=f"in {len(found)} of {len(means)} the mean is larger: "
            f"{listed(found)}; the first goes from {float(lowest):.2g} to "
            f"{float(highest):.2g}.",
            means="all its units compute nearly the same thing, and sums grow with the "
            "width.",
            look="the initialisation: nn.init.uniform_(w) and torch.rand draw from 0 "
            "to 1, normal_(w, 0.02) sets the mean. xavier_uniform_, or "
            "normal_(w, std=0.02).",
            because=("weights-all-equal",),
        )


def _overlapping(named: Mapping[str, Tensor]) -> Iterator[Finding]:
    """Do two parameters show one memory?"""
    places: dict[tuple[int, int], list[str]] = {}
    for name, each in named.items():
        if each.data_ptr():
            places.setdefault((each.data_ptr(), each.numel()), []).append(name)
    twins = [names for names in places.values() if len(names) > 1]
    if twins:
        yield Finding(
            code="parameters-overlap",
            title="two parameters share their memory, and are not one",
            tried="compared the memory of all parameters.",
            seen=f"{listed(twins[0])} are two Parameters over one block of numbers.",
            means="each gets a part of the gradient, and each step moves both.",
            look="out.weight = embedding.weight, not nn.Parameter(embedding.weight).",
            chapter="Embeddings",
        )


def _part(
    matrices: list[str],
    named: Mapping[str, Tensor],
    sums: Mapping[str, Tensor],
    outs: Mapping[int, torch.Size],
    ops: list[_anatomy.Op],
) -> Iterator[Finding]:
    """Does a block of what a wide matrix makes get no gradient?

    ``outs`` has the shapes in which they multiply, (in, out).
    """
    for name in matrices:
        size = named[name].shape
        axis = int(outs[storage(named[name])] == size)
        if len(size) != 2 or size[axis] < 2 * size[1 - axis]:
            continue
        alive = (sums[name] > 0).any(dim=1 - axis)
        if not bool(alive.any()):
            continue  # it is frozen
        run = longest = end = 0
        for i, each in enumerate(alive.tolist()):
            run = 0 if each else run + 1
            if run > longest:
                longest, end = run, i + 1
        if longest > PART * len(alive):
            makers = [
                op
                for op in ops
                if op.name in PRODUCTS
                and any(
                    e.is_parameter and storage(e.tensor) == storage(named[name])
                    for e in op.inputs
                )
            ]
            attends = any(_anatomy._feeds_attention(op) for op in makers)
            yield Finding(
                code="unused-parameters",
                title="a part of a matrix is never used",
                tried="sent a gradient back from every logit.",
                seen=f"none arrived at {'columns' if axis else 'rows'} {end - longest} "
                f"to {end - 1} of {name}, {longest / len(alive):.0%} of it.",
                means="the queries, keys or values that it makes are not used, or have "
                "no gradient."
                if attends
                else "what it makes of its input is not used.",
                look="what the parts go into: q @ k.transpose(-2, -1), weights @ v, no "
                "detach()."
                if attends
                else "what the parts go into; in a gated network, act(gate) * x: both "
                "halves, each once.",
                chapter="Attention" if attends else "The encoder",
                because=(
                    "result-thrown-away", "keys-from-wrong-side", "mask-inverted",
                    "values-are-keys", *INITIAL,
                ),
            )  # fmt: skip
            return


def _firsts(patient: Patient, ops: list[_anatomy.Op]) -> Iterator[Finding]:
    """Does the first of two matrices start at zero, and the second not?"""
    asleep = {storage(p): n for n, p in patient.asleep.items()}
    found = _anatomy.attentions(ops)
    values = [(op, each.out) for op in ops if op.name in PRODUCTS for each in found
              if any(e is each.into_value for e in op.inputs)]  # fmt: skip
    pairs = [(e.first, e.second) for e in _anatomy.feed_forwards(ops, found)] + values
    zero = [
        asleep[first]
        for first, second in map(_weights, pairs)
        if first in asleep and second not in asleep
    ]
    if zero:
        yield Finding(
            code="weights-start-at-zero",
            title="the first matrix of a sublayer starts at zero",
            tried="looked at each matrix that starts at zero, and at the one after it.",
            seen=f"{listed(zero)} are all zeros, and what follows is not.",
            means="its units are all alike, the next matrix gets no gradient, and "
            "after a ReLU nothing ever changes that.",
            look="the initialisation: the last matrix of a branch may start at zero, "
            "and the others at small random numbers.",
            because=("weights-stay-zero", "output-constant"),
        )


def _weights(pair: tuple[_anatomy.Op, _anatomy.Op | None]) -> list[int | None]:
    """Where the weights of two products are in memory."""
    return [
        next((storage(e.tensor) for e in op.inputs[-2:] if e.is_parameter), None)
        if op is not None
        else None
        for op in pair
    ]


def _decayed(patient: Patient) -> float:
    """The weight decay with which the weights have been trained; 0 if they weren't."""
    optimizer = patient.optimizer
    if optimizer is None or not optimizer.state:
        return 0.0
    return max(float(e.get("weight_decay", 0)) for e in optimizer.param_groups)


def _sizes(patient: Patient, ops: list[_anatomy.Op]) -> Iterator[Finding]:
    """Do most matrices multiply the size of what they read, or leave hardly any?"""
    times: dict[int, float] = {}
    for op in ops:
        read = _anatomy.states(op) if op.name in PRODUCTS else None
        if read is not None:
            [weight] = [e for e in op.inputs[-2:] if e is not read]
            size = _anatomy.spread(weight.tensor) * read.tensor.size(-1) ** 0.5
            times[storage(weight.tensor)] = size
    half = sorted(times.values())[len(times) // 2] if len(times) > 2 else 1.0
    if half > LARGE or half < TINY:
        is_large = half > LARGE
        decay = 0.0 if is_large else _decayed(patient)
        yield Finding(
            code="weights-too-large" if is_large else "weights-too-small",
            title=f"the matrices are far too {'large' if is_large else 'small'}",
            tried="compared each matrix with 1/√n, n being how many numbers it reads.",
            seen=f"half of {len(times)} are {half:.2g} times as large or "
            f"{'more' if is_large else 'less'}.",
            means="sizes grow in each sublayer, each softmax is sharp from the start, "
            "and rounding is amplified."
            if is_large
            else "sublayers add nothing, attention is even, and the gradients are as "
            "small.",
            look="the standard deviation of the initialisation: 0.02 or 1/√n. "
            "normal_(w, 0.02) sets the mean."
            if not decay
            else f"this model has been trained, with a weight_decay of {decay:.3g}: is "
            "that too much for its rate? If not, the initialisation.",
            because=(
                "norm-not-normalising",
                "weights-all-equal",
                "weights-one-sided",
                *(DECAYS if decay else ()),
            ),
        )


def _never_wakes(patient: Patient, matrices: set[str]) -> Iterator[Finding]:
    """Would matrices of zeros ever get a gradient, or does each wait for another?"""
    asleep = {n: p for n, p in patient.asleep.items() if n in matrices}
    if not asleep:
        return
    numbers = {n: p.detach().clone() for n, p in patient.asleep.items()}
    dead = {n: torch.ones_like(p, dtype=torch.bool) for n, p in asleep.items()}
    with torch.no_grad():
        for each in asleep.values():
            each.zero_()
    wakes = True
    while wakes:
        wakes = False
        found = [_gradients(patient, seed) for seed in (0, 1)]
        for name, each in asleep.items():
            grads = [grad for grads in found if (grad := grads[name]) is not None]
            alive = sum(grad.abs() for grad in grads) > 0  # type: ignore[operator]
            wakes |= bool((dead[name] & alive).any())
            dead[name] &= ~alive
            with torch.no_grad():
                each.copy_(numbers[name].masked_fill(dead[name], 0))
    with torch.no_grad():
        for name, each in patient.asleep.items():
            each.copy_(numbers[name])
    waiting = {n: at for n, at in dead.items()
               if float(at.flatten(1).all(dim=1).double().mean()) > PART}  # fmt: skip
    if waiting:
        yield Finding(
            code="weights-stay-zero",
            title="matrices that start at zero will stay there",
            tried="followed the gradient, and let whatever it reaches start to learn.",
            seen=f"none ever arrives at {listed(waiting)}"
            + (
                ", or at rows of them."
                if not all(e.all() for e in waiting.values())
                else "."
            ),
            means="each waits for another that is zero, too, such as queries for keys.",
            look="the initialisation: the last matrix of a branch may start at zero.",
            because=("output-constant",),
        )


def _gradients(patient: Patient, seed: int) -> dict[str, Tensor | None]:
    """The gradient of a plain cross-entropy for each parameter; the rest untouched."""
    model = patient.model.eval()
    for each in model.parameters():
        each.grad = None
    source = patient.source(1 + seed, rows=3)
    target = patient.target(2 + seed, rows=3)
    with torch.enable_grad():
        logits = patient.run(source, target)
        labels = patient.words(patient.n_target, seed=51, rows=3).to(logits.device)
        if logits.requires_grad:
            F.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
    found = {n: p.grad for n, p in model.named_parameters()}
    for each in model.parameters():
        each.grad = None
    return found


def _thrown_away(
    patient: Patient, ops: list[_anatomy.Op], silent: list[str]
) -> list[str]:
    """Modules that run, and whose result no logit is made of, the outermost first."""
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    if last is None or not silent:
        return []
    kept = {op.place for op in _anatomy.current_line(last)}
    made = {storage(e.tensor): op.place for op in ops for e in op.inputs
            if e.is_parameter}  # fmt: skip
    named = dict(patient.model.named_parameters())
    places = {made[storage(named[n])] for n in silent if storage(named[n]) in made}
    lost = set()
    for place in places - kept:
        parts = place.split(".")
        for i in range(1, len(parts) + 1):
            outer = ".".join(parts[:i])
            if not any(k == outer or k.startswith(f"{outer}.") for k in kept):
                lost.add(outer)
                break
    return sorted(lost)


def _without_gradient(
    code: str, names: list[str], named: Mapping[str, Tensor], thrown: list[str]
) -> Finding:
    if thrown and code == "gradient-cut":
        return Finding(
            code="result-thrown-away",
            title="what a part computes is thrown away",
            tried="followed the logits back to everything that they are made of.",
            seen=f"{listed(thrown)} runs, and nothing of what it returns gets there; "
            f"no gradient arrives at {_listed(names, named)}.",
            means="a part that you built is not part of the model.",
            look="what reads its result: x = layer(x) in a loop over layers, the "
            "encoder's output (not its embeddings) as the decoder's memory.",
            because=("keys-from-wrong-side", "no-positions", "norm-wrong-axis"),
        )
    if code == "unused-parameters":
        return Finding(
            code=code,
            title="some weights are never used",
            tried="sent a gradient back from every logit.",
            seen=f"no gradient arrived at {_listed(names, named)}, and no operation of "
            "the forward pass reads them.",
            means="a part that you built is not part of the model.",
            look="forward: is the layer called, and is its result kept?",
            because=(
                "keys-from-wrong-side", "no-positions", "no-final-norm",
                "norm-wrong-axis", "result-thrown-away", "positions-are-words",
                "target-in-source-table",
            ),
        )  # fmt: skip
    return Finding(
        code=code,
        title="the gradient doesn't reach some weights",
        tried="sent a gradient back from every logit.",
        seen=f"no gradient arrived at {_listed(names, named)}, though the forward pass "
        "uses them.",
        means="they will never learn.",
        look="detach(), .data, torch.no_grad(), argmax, .item() or a new tensor made "
        "of old numbers on the way.",
        chapter="Training",
        because=(
            "ignores-source", "keys-from-wrong-side", "mask-inverted", "no-positions",
            "no-final-norm", "weights-mix-nothing", "scores-all-equal", *INITIAL,
        ),
    )  # fmt: skip


def _listed(names: list[str], named: Mapping[str, Tensor]) -> str:
    n = sum(named[name].numel() for name in names)
    return f"{listed(names)} ({n:,} numbers)"
