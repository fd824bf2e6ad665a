"""Norms run along the features, and stand where the residual stream needs them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import nn

from tformer.doctor import _anatomy
from tformer.doctor._patient import Patient, Skip
from tformer.doctor._watch import DROPS, FACTORS, MOMENTS, PRODUCTS, VIEWS, storage
from tformer.doctor.report import Finding, listed

CHAPTER = "The encoder"
MIXED = 0.3  # of a gain's numbers are below 0; training turns few of them round
SMALL = 0.2  # size of a gain
UNEVEN = 2.5  # times as large; rows differ a little where gains do
SHIFT = 24.0  # three times the size of the numbers


def examine(patient: Patient) -> Iterator[Finding]:
    """Look at the axis of each norm, and at what follows each sublayer."""
    if patient.lengths_must_agree:
        raise Skip("source and target must have one length: fix that first")
    ops, found = patient.watch(patient.source(), patient.target())
    yield from _by_hand(patient, ops)
    outs = [each.out for each in found if each.out is not None]
    if not outs:
        raise Skip("no attention with an output projection was seen")
    d_model = outs[0].output.size(-1)
    features = {d_model, *(e.d_head for e in found)}
    lengths = {patient.n_source, patient.n_target} - features
    if (wrong := _wrong_axis(ops, lengths)) is not None:
        yield wrong
    yield from _eps(ops)
    yield from _forgotten(patient, ops, d_model)
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    networks = _anatomy.feed_forwards(ops, found)
    networks = [each for each in networks if each.second is not last]
    ends = [*outs, *(each.second for each in networks)]
    fates = [_anatomy.after(end) for end in ends]
    yield from _bare([e for e, fate in zip(ends, fates, strict=True) if not fate], ends)
    yield from _feed_forward(ops, networks, d_model)
    yield from _narrow(networks, d_model)
    yield from _half_normed(found)
    yield from _skips(ops, d_model)
    yield from _multiplied(ops, d_model)
    yield from _gains(patient, ops)
    yield from _places(patient, ops, d_model, last, fates)


def _bare(bare: list[_anatomy.Op], ends: list[_anatomy.Op]) -> Iterator[Finding]:
    """Are there sublayers, by their last products, that nothing is added to?"""
    if bare:
        later = all(map(_anatomy.joins_later, bare))
        yield Finding(
            code="no-residual",
            title="a sublayer has no residual connection",
            tried="followed the output of each attention and feed-forward network.",
            seen=f"for {len(bare)} of {len(ends)} sublayers "
            + ("what is added to it was made afterwards, and is not x" if later
               else "nothing is added to it")
            + f" ({_anatomy.places(bare)}).",
            means="whatever a layer doesn't pass on is lost, and gradients shrink from "
            "layer to layer: deep models hardly train.",
            look="x + sublayer(norm(x)), not norm(x) + …: with x as it came."
            if later
            else "x = x + sublayer(x): is x + … there, in every sublayer?",
        )  # fmt: skip


def _feed_forward(
    ops: list[_anatomy.Op], networks: list[_anatomy.FeedForward], d_model: int
) -> Iterator[Finding]:
    if late := [each for each in networks if _anatomy.bends_product(each)]:
        yield Finding(
            code="gate-bent-too-late",
            title="a gated network bends the product, and not the gate",
            tried="looked at what happens between its linear layers.",
            seen="two projections are multiplied, and the non-linearity comes after "
            f"that ({_anatomy.places(each.second for each in late)}).",
            means="there is no gate: it is one factor that opens and closes.",
            look="silu(w1(x)) * w3(x), not silu(w1(x) * w3(x)).",
            design="Such a network learns, too, though it is none of the usual ones "
            '(accept=["gate-bent-too-late"]).',
        )
    if ends := _anatomy.bent_branches(ops, d_model):
        yield Finding(
            code="sublayer-ends-bent",
            title="a sublayer ends in a non-linearity",
            tried="looked at what is added in each residual sum.",
            seen="it comes from a linear layer through a non-linearity: "
            f"{_anatomy.places(each.total for each in ends)}.",
            means="hardly anything negative can be added to the stream, which drifts "
            "to one side from layer to layer.",
            look="l2(relu(l1(x))): a linear layer is the last of each sublayer.",
        )
    straight = [each for each in networks if not each.bends]
    if straight:
        yield Finding(
            code="linear-feed-forward",
            title="a feed-forward network has no non-linearity",
            tried="looked at what happens between its two linear layers.",
            seen=f"nothing non-linear, in {len(straight)} of {len(networks)} "
            f"({_anatomy.places(each.second for each in straight)}).",
            means="two linear layers in a row can do no more than one, so the layer "
            "mixes words by attention and never computes anything about them.",
            look="relu, gelu or silu between the two: l2(relu(l1(x))).",
        )


def _narrow(networks: list[_anatomy.FeedForward], d_model: int) -> Iterator[Finding]:
    """Is every feed-forward network narrower inside than the stream?"""
    widths = [each.first.output.size(-1) for each in networks]
    if widths and max(widths) < d_model / 2:
        yield Finding(
            code="feed-forward-narrow",
            title="the feed-forward networks are narrower than the model",
            tried="looked at the width between their two matrices.",
            seen=f"it is {max(widths)}, and the stream has {d_model}.",
            means="what a network can compute passes through a bottleneck; it usually "
            "is where most of the weights are.",
            look="d_ff, four times d_model in the paper: * 4, not // 4.",
            chapter="The encoder",
        )


def _skips(ops: list[_anatomy.Op], d_model: int) -> Iterator[Finding]:
    if wrong := _anatomy.from_norm(ops, d_model):
        yield Finding(
            code="residual-from-norm",
            title="a residual connection starts from the norm's output",
            tried="followed both addends of each residual sum.",
            seen="a sublayer's result is added to what the norm returned, not to what "
            f"the norm was given: {_anatomy.places(e.total for e in wrong)}.",
            means="such a layer replaces the residual stream by its norm, so nothing "
            "that earlier layers wrote passes through unchanged.",
            look="h = norm(x), then x = x + sublayer(h): has x been overwritten by the "
            "norm, or is it h + … ?",
        )
    if added := _anatomy.norm_added(ops, d_model):
        yield Finding(
            code="norm-added-too",
            title="a sublayer adds to its result what it read, and x is added again",
            tried="followed both addends of each residual sum.",
            seen="what is added to the stream has a norm's output in it beside what a "
            f"product made: {_anatomy.places(e.total for e in added)}.",
            means="each layer adds the norm of the stream to the stream, which drowns "
            "what the sublayer has to say.",
            look="the sublayer's return: its result alone, without x + … ; the block "
            "adds it to x.",
        )
    if bent := _anatomy.bent_streams(ops, d_model):
        yield Finding(
            code="stream-bent",
            title="the residual stream itself goes through a ReLU or the like",
            tried="looked at what follows each residual sum.",
            seen="the sum is bent before more is added to it: "
            f"{_anatomy.places(e.total for e in bent)}.",
            means="what is below 0 is lost to all later layers, and with it the way on "
            "which gradients pass unchanged.",
            look="x + sublayer(x), and nothing around it; the bend belongs between the "
            "two matrices of the feed-forward network.",
        )


def _multiplied(ops: list[_anatomy.Op], d_model: int) -> Iterator[Finding]:
    if wrong := _anatomy.multiplied(ops, d_model):
        yield Finding(
            code="stream-multiplied",
            title="the residual stream is multiplied on its way",
            tried="followed both addends of each residual sum.",
            seen=f"what a sublayer's result is added to is {wrong[0][1]:.3g} times the "
            f"stream, in {_anatomy.places(e.total for e, _ in wrong)}.",
            means="the stream grows with each layer, and what later sublayers add "
            "counts for less and less.",
            look="x = x + sublayer(x), with x there once; a factor belongs before the "
            "first layer, or on what is added.",
        )


def _gains(patient: Patient, ops: list[_anatomy.Op]) -> Iterator[Finding]:
    """Do norms multiply by numbers around 0, or all of them by small ones?"""
    asleep = {storage(each) for each in patient.asleep.values()}
    gains = [(op, gain.float().flatten()) for op, gain in _anatomy.gains(ops)
             if storage(gain) not in asleep]  # fmt: skip
    mixed = [op for op, g in gains if float((g < 0).float().mean()) > MIXED]
    small = [op for op, g in gains if _anatomy.spread(g) < SMALL]
    if gains and (len(mixed) > len(gains) / 2 or len(small) == len(gains)):
        size = min(_anatomy.spread(g) for _, g in gains)
        where = _anatomy.places(mixed or small)
        yield Finding(
            code="gains-near-zero",
            title="the norms multiply by numbers near 0, and not near 1",
            tried="looked at what each norm multiplies by.",
            seen=f"in {len(mixed or small)} of {len(gains)} ({where}) "
            + ("its signs are mixed; " if mixed else "")
            + f"its size is {size:.2g} or more.",
            means="hardly anything of what was normalised gets through, and with mixed "
            "signs half of it is turned round.",
            look="the initialisation: random numbers are for matrices (p.dim() > 1), a "
            "gain starts at 1.",
        )


def _places(
    patient: Patient,
    ops: list[_anatomy.Op],
    width: int,
    last: _anatomy.Op | None,
    fates: list[str],
) -> Iterator[Finding]:
    """Is there a norm wherever a post-norm or a pre-norm model has one?"""
    into = None if last is None else _anatomy.states(last)
    ends_normed = _anatomy.norm_behind(into) is not None
    if inside := _anatomy.normed_branches(ops, width):
        yield Finding(
            code="norm-misplaced",
            title="the norm is inside the residual branch, at its end",
            tried="followed the output of each sublayer.",
            seen=f"for {len(inside)} of {len(fates)} sublayers it is "
            "x + norm(sublayer(x)), and x itself is what the sublayer reads: "
            f"{_anatomy.places(e.total for e in inside)}.",
            means="neither the stream nor what a sublayer reads is normalised, so "
            "sizes grow from layer to layer.",
            look="norm(x + sublayer(x)), as in the paper, or x + sublayer(norm(x)).",
            design="" if "sum" in fates else OLMO,
        )
    elif not ends_normed and _is_sum(into) and list(_anatomy.norms(ops)):
        yield Finding(
            code="no-final-norm",
            title="what the output projection reads is not normalised",
            tried="looked for the last norm before the logits.",
            seen="the last thing that happens is a sum of the residual stream, of size "
            f"{0.0 if into is None else _anatomy.spread(into.numbers):.2g}.",
            means="with norms before the sublayers nothing has normalised the stream, "
            "which grows with each layer; the logits grow with it.",
            look="a last norm after the stack, in a pre-norm model; in a post-norm "
            "model, the norm that is missing after the last sublayer.",
        )
    elif _has_norms(patient, ops) and any(
        each.into_key is not None and _anatomy.norm_behind(each.into_key) is None
        for each in patient.cross_attention()
    ):
        yield Finding(
            code="no-final-norm",
            title="what the encoder hands over is not normalised",
            tried="looked for the last norm before the keys of the cross-attention.",
            seen="the last thing that happens is a sum of the residual stream.",
            means="the encoder's output grows with its depth, and so do the scores.",
            look="a last norm after the encoder's stack.",
            because=("keys-from-wrong-side", "result-thrown-away"),
        )


def _has_norms(patient: Patient, ops: list[_anatomy.Op]) -> bool:
    """Whether the model has norms, used or not: ReZero does without."""
    named = (type(each).__name__.lower() for each in patient.model.modules())
    return any(_anatomy.norms(ops)) or any("norm" in each for each in named)


ROOTS = {"sqrt", "rsqrt", "std", "std_mean", "pow", "var", "var_mean"}
OLMO = (
    "That is right for a design that norms what each sublayer adds, such as OLMo 2 and "
    'Swin V2 (accept=["norm-misplaced"]).'
)


def _is_sum(read: _anatomy.Input | None) -> bool:
    """Whether it is a sum of the stream, as nothing but a residual connection makes."""
    origin = None if read is None else _anatomy._origin(read, VIEWS | DROPS | FACTORS)
    if origin is None or not origin.output.dim():
        return False
    return bool(_anatomy.residuals([origin], origin.output.size(-1)))


def _forgotten(
    patient: Patient, ops: list[_anatomy.Op], width: int
) -> Iterator[Finding]:
    """Does a residual connection start at an earlier stream than its sublayer read?"""
    passed, twice = _anatomy.stale(ops, width)
    if twice:
        yield Finding(
            code="residual-twice",
            title="a block's input is added twice",
            tried="followed both addends of each residual sum.",
            seen=f"{len(twice)} sums are added to what they already have in them: "
            f"{_anatomy.places(e.total for e in twice)}.",
            means="the stream doubles, and what each block adds counts for less.",
            look="x = x + block(x), where the block has residual connections itself.",
        )
    if passed:
        yield Finding(
            code="residual-forgets-sublayer",
            title="a residual connection starts before what its sublayer reads",
            tried="followed both addends of each residual sum.",
            seen=f"{len(passed)} sums are read by the next sublayer, whose result is "
            "then added to something older, so the stream goes on without them: "
            f"{_anatomy.places(e.total for e in passed)}.",
            means="what was in such a sum reaches later layers only through the next "
            "sublayer.",
            look="x = x + attention(…), then x = x + feed_forward(…): is the second "
            "one added to this x, or to a variable from further up?",
        )


def _half_normed(found: list[_anatomy.Attention]) -> Iterator[Finding]:
    """Are queries made from a norm's output, and keys or values from its input?"""
    wrong = [each for each in found if _anatomy.half_normed(each)]
    if wrong:
        yield Finding(
            code="half-normalised",
            title="an attention reads the stream before and after a norm",
            tried="compared what queries, keys and values are made from.",
            seen=f"in {len(wrong)} of {len(found)} attentions some are made from a "
            "norm's output, and some from what went into that norm: "
            f"{_anatomy.places(e.softmax for e in wrong)}.",
            means="the stream grows with each layer, and so do these keys, values or "
            "queries.",
            look="attention(h, h, h) with h = norm(x), not attention(h, x, x).",
        )


def _eps(ops: list[_anatomy.Op]) -> Iterator[Finding]:
    """Is what keeps a norm from dividing by 0 larger than what it divides by?"""
    eps_of = _anatomy.norm_eps(ops)
    large = [(op, e) for op, e, mean in eps_of if e > max(mean / 5, 1e-2)]
    if large:
        eps = large[0][1]
        yield Finding(
            code="norm-eps-too-large",
            title="the eps of a norm is large beside what it normalises",
            tried="compared eps with the mean square of what each norm reads.",
            seen=f"eps is {eps:.3g} in {len(large)} norms "
            f"({_anatomy.places(op for op, _ in large)}).",
            means="the norm divides by the root of both, so it hardly normalises, and "
            "may leave next to nothing of its input.",
            look="the sign of the exponent: eps=1e-5, not 1e5.",
        )


def _by_hand(patient: Patient, ops: list[_anatomy.Op]) -> Iterator[Finding]:
    """Does each module that is a norm give back one size, whatever it is given?"""
    modules = dict(patient.model.named_modules())
    mixed = [f"{op.place}." for op in ops if op.name in PRODUCTS]
    divided = {op.place for op in ops if op.name in ROOTS}
    divided |= {op.place for op, _ in _anatomy.gains(ops)}
    places = {op.place: op.inputs[0].tensor.size(-1) for op in ops
              if op.name in MOMENTS | {"sum"} and op.place in divided - {""}
              and op.output.size()[-1:] == (1,)
              and not any(e.startswith(f"{op.place}.") for e in mixed)}  # fmt: skip
    grows, uneven, other, lost, bare = {}, {}, {}, [], False
    for place, width in places.items():
        made = _made(modules[place], width)
        if made is None:
            continue
        if _is_line(made[0]):
            lost.append(place)
            continue
        own = [p for p in modules[place].parameters() if p.shape == (width,)]
        gain = _anatomy.spread(own[0].detach()) if own else 1.0
        rows = made.pow(2).mean(dim=-1).sqrt() / gain
        one, four, far = rows.pow(2).mean(dim=-1).sqrt().tolist()
        span = float(rows[0].max() / rows[0].min())
        if abs(math.log(four / one)) > 0.1:
            grows[place] = four / one
        elif max(span, far / one, one / far) > UNEVEN:
            uneven[place] = max(span, far / one, one / far)
        elif abs(math.log(one * width**0.5)) < 0.05 and gain <= width**0.5 / 2:
            other[place] = one
            bare |= not own or width < max(places.values())
    if lost:
        yield _drops_input(lost, len(places))
    for ratio, found in ((True, grows), (False, uneven)):
        if found:
            yield _not_one_size(found, len(places), grows=ratio)
    if other:
        yield Finding(
            code="norm-sums",
            title="a norm makes vectors of length 1, not numbers of size 1",
            tried="gave each norm random numbers.",
            seen=f"what came out, without its gain, has the size "
            f"{next(iter(other.values())):.3g}, which is 1/√D, in {listed(other)}.",
            means="every sublayer reads numbers that are √D times too small.",
            look="x.pow(2).mean(-1), not .sum(-1).",
            design="That is right where vectors on the unit sphere are meant "
            '(accept=["norm-sums"]).'
            if bare
            else "",
        )


def _drops_input(lost: list[str], n: int) -> Finding:
    return Finding(
        code="norm-drops-input",
        title="a norm returns its gain, and nothing of what it was given",
        tried="gave each norm random vectors, and compared what came out.",
        seen=f"it always points the same way, in {len(lost)} of {n} ({listed(lost)}).",
        means="what a sublayer reads is the same for every word, but for one number.",
        look="x in the last line of its forward, such as x * rsqrt(…) * gain.",
    )


def _not_one_size(found: dict[str, float], n: int, *, grows: bool) -> Finding:
    """The sizes of what comes out differ: for larger numbers, or from row to row."""
    most = f"{max(found.values(), key=_far):.3g}"
    return Finding(
        code="norm-not-normalising",
        title="the size of a norm's output depends on "
        + ("the size of its input" if grows else "which numbers it is given"),
        tried="gave each norm numbers of one size, then of four times that."
        if grows
        else "gave each norm vectors of one size, then shifted ones.",
        seen=f"what came out was {'' if grows else 'up to '}{most} times as large, in "
        f"{len(found)} of {n} ({listed(found)}).",
        means="from layer to layer, numbers grow or shrink without end.",
        look="x * rsqrt(mean of squares): divide by the root, not by the variance, "
        "and don't multiply."
        if grows
        else "the mean of the squares, x.pow(2).mean(-1), not the square of the mean; "
        "with std or var, x minus its mean.",
    )


def _far(ratio: float) -> float:
    return abs(math.log(ratio))


def _is_line(made: torch.Tensor) -> bool:
    """Whether all rows are one vector, times a number that may differ."""
    rows = made - made.mean(dim=0)
    first, second, *_ = torch.linalg.svdvals(rows.double()).tolist()
    return len(rows.T) > 3 and second <= 1e-4 * max(first, 1e-12)


def _made(module: nn.Module, width: int) -> torch.Tensor | None:
    """What a norm makes of random rows, of four times these, and of shifted ones.

    Without its bias, (3, 64, D), as long as anything but that is made; None if it
    can't be asked.
    """
    first = next(module.parameters(), torch.ones(1))
    x = torch.randn(1, 64, width, generator=torch.Generator().manual_seed(5)) * 8
    x = x.to(first)
    try:
        with torch.no_grad():
            plain = module(x)
            made = [(module(e) - module(-e)) / 2 for e in (x, 4 * x, x + SHIFT)]
    except Exception:  # it wants more than numbers
        return None
    if plain.shape != x.shape or not bool(plain.isfinite().all()):
        return None
    made = [plain] * 3 if not bool(made[0].any()) else made
    found = torch.cat(made).float()
    return found if bool(found.isfinite().all()) and bool(found.any()) else None


def _wrong_axis(ops: list[_anatomy.Op], lengths: set[int]) -> Finding | None:
    seen = list(_anatomy.norms(ops))
    wrong = [
        (op, axes, taken)
        for op, axes, taken in seen
        if axes != (-1,) or taken.size(-1) in lengths
    ]
    if not wrong:
        return None
    _, axes, taken = wrong[0]
    return Finding(
        code="norm-wrong-axis",
        title="a norm runs along the wrong axis",
        tried="looked at the axes of every norm.",
        seen=f"{len(wrong)} of {len(seen)} average over axis "
        f"{', '.join(map(str, axes))} of a tensor {tuple(taken.shape)} "
        f"({_anatomy.places(op for op, _, _ in wrong)}).",
        means="words (or sentences) are normalised together, so each depends on the "
        "others, on padding, and on the future.",
        look="normalise the features of one word: the last axis, alone.",
    )
