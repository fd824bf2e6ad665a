"""The loss asks about real words only, once, and from logits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from tformer.doctor._labels import asked, ignored
from tformer.doctor._patient import Patient, Skip, seeded
from tformer.doctor.report import Finding, listed

CHAPTER = "Training"
ARGUMENT = "loss"
MANY = 64  # labels that are tried
SURE = 30.0  # a logit that leaves no doubt
EVEN = 0.01  # of what a wrong answer costs: a second softmax leaves more
TRIED = "looked at the loss where the label is padding, then added columns of padding."


def examine(patient: Patient) -> Iterator[Finding]:
    """Move logits where there is padding, widen the batch, and be sure or wrong."""
    if patient.loss is None:
        raise Skip("loss=… was not given")
    patient.has_numbers()
    if (stops := _stops(patient)) is not None:
        yield stops
        return
    yield from _left_out(patient)
    yield from _softmaxes(patient)
    if (size := not_averaged(patient)) is not None:
        yield summed(*size)
    yield from _places(patient)
    yield from _padding(patient)


def _stops(patient: Patient) -> Finding | None:
    """Does the loss take a label where nothing is asked?"""
    nothing = ignored(patient)
    if nothing is None:
        return None
    scores = torch.zeros(2, 6, patient.plain.size(-1))
    labels = patient.words(6, seed=62, rows=2)
    _ask(patient, scores, labels)  # what stops here is no matter of labels
    labels[0, 3:] = nothing
    try:
        _ask(patient, scores, labels)
    except (IndexError, RuntimeError) as problem:
        reason = f"{type(problem).__name__}: {problem}".splitlines()[0].rstrip(".")
    else:
        return None
    from_batches = patient.ignore_index is None
    where = "your batches have" if from_batches else "ignore_index says"
    return Finding(
        code="loss-stops",
        title="the loss stops at the label that stands where nothing is asked",
        tried=f"gave it labels with {nothing}, as {where}.",
        seen=f"{reason}.",
        means="the loss leaves out another label than this one.",
        look=f"ignore_index={nothing} in the loss, or give ignore_index=… as the loss "
        "has it.",
    )


def _left_out(patient: Patient) -> Iterator[Finding]:
    """Does the loss leave out a label that is a word?"""
    batches = patient.batches or ()
    words = {int(i) for batch in batches for i in batch[-1][asked(patient, batch[-1])]}
    words -= {*patient.pads}
    few = [*sorted(words, key=lambda i: (i not in patient.special, i))[:MANY]]
    labels = torch.tensor(few, dtype=torch.long)[:, None].expand(-1, 3)
    n = patient.plain.size(-1)
    if len(few) < 2 or not bool((labels < n).all()):
        return
    pulled = _gradients(patient, torch.zeros(len(few), 3, n), labels).amax(dim=1)
    lost = [i for i, each in zip(few, pulled.tolist(), strict=True) if not each]
    if 0 < len(lost) < len(few) / 2:
        names = listed(map(patient.named, lost))
        yield Finding(
            code="loss-leaves-out-words",
            title="the loss leaves out a label that is a word",
            tried=f"looked at the gradient of the loss for {len(few)} labels of yours.",
            seen=f"there is none where the label is {names}.",
            means="the model never learns to say it.",
            look="ignore_index in the loss, which is for padding alone, and masks such "
            "as labels > 0.",
        )


def _ask(patient: Patient, scores: Tensor, labels: Tensor) -> Tensor:
    """The loss of raw scores, passed on in the form in which the model returns them."""
    assert patient.loss is not None
    value = patient.loss(_as_the_model(patient)(scores), labels.clone())
    return value[0] if isinstance(value, tuple) else value


def not_averaged(patient: Patient) -> tuple[float, float] | None:
    """How much twice the rows, and twice the length, multiply the loss, if they do."""
    if patient.loss is None:
        return None
    n = patient.plain.size(-1)
    one, rows, length = (
        float(_ask(patient, torch.zeros(*shape, n), patient.words(
            shape[1], seed=64, rows=shape[0]
        )))
        for shape in ((2, 6), (4, 6), (2, 12))
    )  # fmt: skip
    both = (rows / one, length / one) if one else (0.0, 0.0)
    return both if max(both) > 1.5 and min(both) > 0.8 else None


def summed(rows: float, length: float) -> Finding:
    """What is said of a loss that is a sum, from how twice the rows or length act."""
    per = "sentences" if rows < 1.5 else "nothing"
    return Finding(
        code="loss-not-averaged",
        title="the loss is a sum over words, not a mean",
        tried="asked for the loss of twice as many rows, and of rows twice as long.",
        seen=f"it is {rows:.2g} and {length:.2g} times as large: divided by {per}.",
        means="large batches make large steps, and no two losses can be compared.",
        look='reduction="mean", or divide by the number of real labels.',
        design="That is right if your training divides it by the number of words "
        'afterwards (accept=["loss-not-averaged"]).',
    )


def _form(patient: Patient) -> str:
    sums = patient.plain.sum(dim=-1)
    if float(patient.plain.min()) >= 0 and float((sums - 1).abs().max()) < 1e-3:
        return "probabilities"
    if float((patient.plain.exp().sum(dim=-1) - 1).abs().max()) < 1e-3:
        return "log-probabilities"
    return "logits"


def _as_the_model(patient: Patient):  # type: ignore[no-untyped-def]
    return {
        "logits": lambda x: x,
        "log-probabilities": lambda x: x.log_softmax(dim=-1),
        "probabilities": lambda x: x.softmax(dim=-1),
    }[_form(patient)]


def _softmaxes(patient: Patient) -> Iterator[Finding]:
    n = patient.plain.size(-1)
    labels = patient.words(1, seed=61).expand(2, 4)  # one word: shifts don't matter
    right = torch.zeros(2, 4, n).scatter(2, labels[..., None], SURE)
    wrong = right.roll(1, dims=-1)
    good, bad = (float(_ask(patient, each, labels)) for each in (right, wrong))
    form = _form(patient)
    even = float(_ask(patient, torch.zeros(2, 4, n), labels))
    if abs(even - n) < 1e-2 * n:
        yield _perplexity(even, n)
    if form == "logits":
        moved = float(_ask(patient, right + 5, labels)) - good
        if abs(moved) > 1e-2:
            yield _no_softmax(moved)
            return
        one = right.clone()
        one[0, 1] += 5
        moved = float(_ask(patient, one, labels)) - good
        if abs(moved) > 1e-2:
            yield _wrong_axis(moved)
            return
    # Where a logarithm is taken, to be twice as sure and wrong costs twice as much.
    grows = abs(float(_ask(patient, 2 * wrong, labels))) > 1.5 * abs(bad)
    if good < -1e-3 and not grows:
        yield _no_log(form, good, bad)
    elif min(good, bad) < -1e-3:
        yield Finding(
            code="loss-below-zero",
            title="the loss falls below 0",
            tried="gave the right word all the probability, then a wrong one.",
            seen=f"the loss is {good:.2f}, then {bad:.2f}.",
            means="a cross-entropy is never negative: some part of yours is added with "
            "the wrong sign, and training makes that part worse on purpose.",
            look="the signs: minus the log-probability of the label, and minus the "
            "mean log-probability for the smoothing.",
        )
    elif grows and good > 0.4 * bad:
        yield Finding(
            code="smoothing-too-strong",
            title="label smoothing gives more to the other words than to the label",
            tried="gave the right word nearly all the probability, then a wrong one.",
            seen=f"the loss is {good:.2f} when right and {bad:.2f} when wrong; so the "
            f"label has about {max(1 - good / bad, 0):.0%} of the weight.",
            means="to be right is hardly better than to be wrong, so the model learns "
            "to spread its probability over all words.",
            look="1 - smoothing for the label, smoothing for the others: have they "
            "been exchanged? 0.1 is usual.",
        )
    elif bad - good < 5 and not grows and good < EVEN * bad:
        yield _bounded(good, bad)
    elif bad - good < 5 and not grows:
        yield Finding(
            code="double-softmax",
            title="the softmax is applied twice",
            tried="compared the loss of confident answers, right and wrong.",
            seen=f"{good:.2f} when right, {bad:.2f} when wrong: no answer costs much "
            f"more than another (the model returns {form}).",
            means="probabilities go through a softmax again, which makes them nearly "
            "even: the loss stays high, and gradients are tiny.",
            look="cross_entropy takes logits: no softmax in the model, none before "
            "the loss.",
        )


def _bounded(good: float, bad: float) -> Finding:
    return Finding(
        code="loss-is-bounded",
        title="the loss is no cross-entropy: a word that is ruled out costs little",
        tried="gave the right word all the probability, then a wrong one.",
        seen=f"the loss is {good:.2f} when right, and no more than {bad:.2g} when "
        "wrong, however sure.",
        means="where the model is sure and wrong the gradient vanishes, so it hardly "
        "learns from its worst mistakes.",
        look="a squared error, or a distance, of probabilities: cross_entropy on "
        "logits, which takes their logarithm.",
    )


def _no_softmax(moved: float) -> Finding:
    return Finding(
        code="no-softmax",
        title="the loss takes logits for log-probabilities",
        tried="added 5 to every logit, which changes no probability.",
        seen=f"the loss moved by {moved:+.2f}.",
        means="larger logits make nll_loss as small as you like, so nothing has to be "
        "learned.",
        look="cross_entropy instead of nll_loss, or log_softmax at the end of the "
        "model.",
        because=("softmax-over-time",),
    )


def _perplexity(even: float, n: int) -> Finding:
    return Finding(
        code="loss-is-perplexity",
        title="the loss is the perplexity, and not its logarithm",
        tried="gave all words one probability.",
        seen=f"the loss is {even:.4g}, and there are {n} words; ln {n} = "
        f"{math.log(n):.3g}.",
        means="batches that the model finds hard outweigh all others by far.",
        look="exp: the perplexity is for reading, and the loss is its logarithm.",
    )


def _wrong_axis(moved: float) -> Finding:
    return Finding(
        code="loss-wrong-axis",
        title="the loss's softmax runs along the wrong axis",
        tried="added 5 to every logit of one position, which changes no probability.",
        seen=f"the loss moved by {moved:+.2f}.",
        means="positions, or rows of the batch, compete with each other for a word, "
        "instead of words for a position.",
        look="dim=… of the log_softmax in the loss: it has to be -1, the vocabulary. "
        "cross_entropy wants it as the second axis: bring the logits to (B T, V), or "
        "transpose(1, 2); view(B, V, T) has the shape, and mixes words.",
    )


def _no_log(form: str, good: float, bad: float) -> Finding:
    return Finding(
        code="no-log",
        title="the loss takes probabilities for log-probabilities",
        tried="gave the right word all the probability, then a wrong one.",
        seen=f"the loss is {good:.2f}, then {bad:.2f} (the model returns {form}). "
        "Minus a logarithm of a probability is never below 0.",
        means="without the logarithm the loss never grows large: a word that the "
        "model rules out costs little more than one of which it is unsure.",
        look="log_softmax instead of softmax before the loss, or cross_entropy on "
        "logits.",
    )


def _places(patient: Patient) -> Iterator[Finding]:
    """Does each position answer for a label, and for its own?"""
    labels = patient.words(12, seed=63, rows=1).view(2, 6)
    gradient = _gradient(patient, torch.zeros(2, 6, patient.plain.size(-1)), labels)
    asked = gradient.abs().amax(dim=-1) > 0
    if int(asked.sum()) < labels.numel() / 2:
        yield Finding(
            code="loss-skips-positions",
            title="most positions don't count in the loss",
            tried="looked at the gradient of the loss at each position.",
            seen=f"{int(asked.sum())} of {labels.numel()} positions get any.",
            means="each sentence teaches the model a few words instead of all.",
            look="logits[:, -1] in the loss: the last position is for writing, and "
            "training asks all of them at once.",
        )
        return
    wanted = gradient.argmin(dim=-1)  # the word that each position is pulled towards
    own = max(
        float((wanted[:, :-1] == shifted).double().mean())
        for shifted in (labels[:, :-1], labels[:, 1:])
    )
    if own < 0.5 and bool(torch.isin(wanted, labels).all()):
        yield Finding(
            code="loss-misaligned",
            title="the loss gives positions the labels of others",
            tried="looked at the gradient of the loss at each position.",
            seen=f"it pushes {own:.0%} of the positions towards their own label, and "
            "the others towards another position's.",
            means="logits and labels were flattened in different orders, so the "
            "model learns only which words are frequent.",
            look="transpose, view and reshape before the loss: both (B, T), or both "
            "(T, B).",
        )


def _padding(patient: Patient) -> Iterator[Finding]:
    n, nothing = patient.plain.size(-1), ignored(patient)
    if nothing is None:
        return
    labels = patient.words(6, seed=62, rows=2)
    labels[0, 3:] = nothing
    blank = labels == nothing
    even = _gradients(patient, torch.zeros(2, 6, n), labels)
    with seeded():
        scores = torch.randn(2, 6, n)
    uneven = _gradients(patient, scores, labels)
    on_blank, on_words = float(even[blank].max()), float(even[~blank].max())
    whole = float(_ask(patient, scores, labels))
    wider = torch.full((2, 5), nothing)
    wide = float(
        _ask(
            patient,
            torch.cat([scores, torch.zeros(2, 5, n)], dim=1),
            torch.cat([labels, wider], dim=1),
        )
    )
    if on_blank > 0.3 * on_words:
        seen = (
            f"the gradient there is {on_blank:.2g}, and {on_words:.2g} at real words. "
            f"Five more columns of padding change the loss from {whole:.3f} to "
            f"{wide:.3f}."
        )
        yield Finding(
            code="loss-over-padding",
            title="padding counts in the loss",
            tried=TRIED,
            seen=seen,
            means="padding is easy to predict, so the loss looks better than it is, "
            "and long sentences weigh less.",
            look="ignore_index=pad_id in the loss; a mean over real labels only.",
            chapter="Data",
            because=("loss-misaligned", "loss-wrong-axis"),
            design=_ignores_another(patient, scores, labels, blank),
        )
    elif float(uneven[blank].max()) > 1e-3 * float(uneven[~blank].max()):
        yield Finding(
            code="smoothing-on-padding",
            title="label smoothing counts padding",
            tried="looked at the gradient of the loss where the label is padding.",
            seen=f"it is {float(uneven[blank].max()):.2g}, against "
            f"{float(uneven[~blank].max()):.2g} at real words: the label's own part is "
            "hidden, and the smoothing's part isn't.",
            means="the model is taught to be unsure after the end, and the loss "
            "depends on how much padding a batch has.",
            look="hide padding after both parts of the loss have been added, the "
            "label's and the smoothing's.",
            because=("loss-wrong-axis",),
        )
    elif abs(wide - whole) > 1e-3 * abs(whole):
        yield Finding(
            code="loss-over-padding",
            title="the loss is divided by a number that counts padding",
            tried=TRIED,
            seen=f"five more columns of padding change the loss from {whole:.3f} to "
            f"{wide:.3f}, though it has no gradient there.",
            means="the more padding a batch has, the smaller its loss and gradient, so "
            "words beside a long sentence count less.",
            look="divide by the number of real labels: .sum() / words.sum(), not "
            ".mean() over all places.",
            chapter="Data",
            because=("loss-misaligned", "loss-wrong-axis"),
        )


def _ignores_another(
    patient: Patient, scores: Tensor, labels: Tensor, blank: Tensor
) -> str:
    """What to give if the loss leaves out another label, and no batch says which."""
    if patient.batches is not None or patient.ignore_index is not None:
        return ""
    for other in (-100, -1):
        try:
            at = _gradients(patient, scores, labels.masked_fill(blank, other))
        except Exception:
            continue
        if not bool(at[blank].any()) and bool(at[~blank].any()):
            return (
                f"That is right if your labels have {other} where there is padding, "
                f"since the loss leaves that out (ignore_index={other}, or batches=…)."
            )
    return ""


def _gradient(patient: Patient, scores: Tensor, labels: Tensor) -> Tensor:
    """The gradient of the loss with respect to raw scores (B, T, V)."""
    with torch.enable_grad():
        scores = scores.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(_ask(patient, scores, labels), scores)
    return gradient


def _gradients(patient: Patient, scores: Tensor, labels: Tensor) -> Tensor:
    """The largest gradient of the loss at each position: (B, T)."""
    return _gradient(patient, scores, labels).abs().amax(dim=-1)
