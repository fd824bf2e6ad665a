"""What the decoding loop writes is what the model would say, given its own words."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from tformer.doctor import _anatomy
from tformer.doctor._keep import as_found
from tformer.doctor._patient import SEED, Patient, Skip
from tformer.doctor._watch import PRODUCTS, Op, Watch
from tformer.doctor.report import Finding, Remark

STEPS = 600  # more than a loop should take for a few words
FAR = 1e4
APART = 1e-4  # of the logits' spread
STRANGE = (  # a model of which one pass is no measure
    "future-leak", "mask-off-by-one", "mask-inverted", "length-leak",
    "softmax-wrong-axis", "heads-split-wrongly", "heads-merged-wrongly",
    "norm-wrong-axis", "dropout-while-evaluating", "hidden-parameters",
    "positions-along-batch", "batch-leak", "mask-of-another-row",
)  # fmt: skip


@dataclass
class Written:
    """What the loop did with one source.

    Attributes:
        row: ids as they came back.
        words: without the beginning, the prompt, the end and padding.
        scores: what the output projection said at each step, its last row.
        ops: every operation.
    """

    row: list[int]
    words: list[int]
    scores: list[Tensor]
    ops: list[Op]


class Stopped(Skip):
    """The loop ended with an error; the message is the error's first line."""


def examine(patient: Patient) -> Iterator[Finding | Remark]:
    """Let it write; force it to end; compare each step with one masked pass."""
    if patient.decode is None:
        raise Skip("no decoding function was given (decode=…)")
    try:
        yield from _tried(patient)
    except Stopped as stopped:
        yield Finding(
            code="decoding-stops",
            title="the decoding loop stops with an error",
            tried="let it write, for one source at a time.",
            seen=str(stopped)[:200],
            means="no sentence comes out.",
            look="what the loop gives the model at each step: the words so far, the "
            "masks, and the shapes of what is kept in a cache.",
            chapter="The decoder",
        )


def _tried(patient: Patient) -> Iterator[Finding | Remark]:
    patient.has_numbers()
    source = patient.words(5, seed=81) if patient.decoder_only else patient.source()
    assert source is not None
    if _places(patient) >= 3:
        yield from _labels(patient, source)
    if patient.eos_id is not None:
        yield from _end(patient, source)
    difference = list(_against_one_pass(patient, source))
    yield from difference
    if not difference and patient.pad_id is not None and not patient.decoder_only:
        yield from _padded(patient)
    if not difference:
        yield from _together(patient, source)
        yield from _training(patient, source)


def _together(patient: Patient, source: Tensor) -> Iterator[Finding]:
    """Does a sentence get the same words with others beside it?"""
    if _places(patient) >= 3:
        return
    others = [patient.words(source.size(1), seed=seed, side=0) for seed in (88, 89)]
    if patient.decoder_only:
        others = [patient.words(source.size(1), seed=seed) for seed in (88, 89)]
    sources = torch.cat([source, *others])
    try:
        rows, heard = _listen(patient, sources)
    except Exception:  # it was made for one sentence, which is nobody's fault
        return
    has_start = _has_start(patient, source)
    seen, steps = "", []
    for i, (row, single) in enumerate(zip(rows, sources.split(1), strict=True)):
        prompt = single[0].tolist() if patient.decoder_only else []
        words = _words(patient, row, prompt, has_start=has_start)
        alone = _write(patient, single)
        steps.append(min(len(words), len(alone.words)))
        if _without(words, patient.pad_id) != _without(alone.words, patient.pad_id):
            seen = f"source {i}: {alone.words[:6]} alone, {words[:6]} in the batch."
            break
    else:  # of the last one the logits were heard, too, if they went side by side
        is_batch = len(heard.scores) <= max(steps) + 1
        until = min(steps) if is_batch else 0  # a row came to its end
        both = list(zip(heard.scores, alone.scores, strict=False))[:until]
        apart = [float(_centred(a - b).abs().max() / b.std()) for a, b in both]
        if any(each > APART for each in apart):
            first = next(i for i, each in enumerate(apart) if each > APART)
            seen = f"the logits of the last source differ from step {first} on."
    if seen:
        yield Finding(
            code="decoding-mixes-rows",
            title="in a batch, the decoding loop writes something else",
            tried="let it write for three sources at once, and for each alone.",
            seen=seen,
            means="a sentence's translation depends on its neighbours.",
            look="whatever has one value for all rows: `.any()` where every row has "
            "to end by itself, a memory, mask or cache of the first row.",
            chapter="Decoding and scoring",
            because=STRANGE,
        )
    elif patient.eos_id is not None:
        yield from _all_stop(patient, sources, has_start=has_start)


def _all_stop(
    patient: Patient, sources: Tensor, *, has_start: bool
) -> Iterator[Finding]:
    """Does a row go on writing when the others have come to their end?"""
    words = patient.words(5, seed=83)[0].tolist()
    prompt = sources[-1].tolist() if patient.decoder_only else []

    def length(elsewhere: int) -> int:
        try:
            rows, _ = _listen(patient, sources, forced=[*words[:4], elsewhere])
        except Skip:  # it never stops
            return STEPS
        return len(_words(patient, rows[-1], prompt, has_start=has_start))

    assert patient.eos_id is not None
    short, long = length(patient.eos_id), length(words[-1])
    if short < long:
        yield Finding(
            code="decoding-stops-all",
            title="one finished sentence ends the whole batch",
            tried="let it write for three sources, and let two of them end at once.",
            seen=f"the third got {short} words; where the others don't end, it gets "
            f"{long}.",
            means="sentences are cut off where their neighbours happen to end.",
            look="what ends the loop: `.all()` of the rows that are done, not "
            "`.any()`; a done row gets padding.",
            chapter="Decoding and scoring",
        )


def _without(words: list[int], pad_id: int | None) -> list[int]:
    """Words without the padding at their end."""
    end = len(words)
    while end and words[end - 1] == pad_id:
        end -= 1
    return words[:end]


def _places(patient: Patient) -> int:
    assert patient.decode is not None
    try:
        places = inspect.signature(patient.decode).parameters.values()
    except (TypeError, ValueError):
        return 2
    return sum(
        p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
        for p in places
    )


class _Listener(Watch):
    """Notes what the output projection says, and may put words into its mouth."""

    def __init__(
        self, model: nn.Module, weight: int, forced: int | list[int] | None
    ) -> None:
        super().__init__(model)
        self.scores: list[Tensor] = []
        self._weight, self._forced = weight, forced

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        before = len(self.ops)
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if len(self.ops) > before and self.ops[-1].name in PRODUCTS:
            op = self.ops[-1]
            if any(_memory(e.tensor) == self._weight for e in op.inputs):
                self.scores.append(op.result.reshape(-1, op.result.size(-1))[-1])
                if isinstance(self._forced, int):
                    result[..., self._forced] = FAR
                elif self._forced:  # one word at the last position, another elsewhere
                    step = len(self.scores) - 1
                    rows = result.view(-1, result.size(-1))
                    rows[:, self._forced[-1]] = FAR
                    rows[-1, self._forced[-1]] = -FAR
                    rows[-1, self._forced[step % (len(self._forced) - 1)]] = FAR
                if len(self.scores) > STEPS:
                    raise Skip(f"it was still writing after {STEPS} steps")
        return result


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _write(
    patient: Patient,
    source: Tensor,
    *,
    forced: int | list[int] | None = None,
    reference: Any = None,
    training: bool = False,
) -> Written:
    [row], listener = _listen(
        patient, source, forced=forced, reference=reference, training=training
    )
    prompt = source[0].tolist() if patient.decoder_only else []
    has_start = _has_start(patient, source)
    rest = _after(row, prompt)
    if rest[:1] == [patient.eos_id] and len(rest) == len(listener.scores) + 1:
        rest, has_start = rest[1:], False  # the loop began with it
    words = _words(patient, rest, [], has_start=has_start)
    return Written(row, words, listener.scores, listener.ops)


def _listen(
    patient: Patient,
    source: Tensor,
    *,
    forced: int | list[int] | None = None,
    reference: Any = None,
    training: bool = False,
) -> tuple[list[list[int]], _Listener]:
    """The rows that come back, one for each source, and what was heard."""
    assert patient.decode is not None
    ops, _ = patient.watch(patient.source(), patient.target())
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    weights = [] if last is None else [e for e in last.inputs if e.is_parameter]
    weights = [e for e in weights if e.tensor.dim() > 1]
    if not weights:
        raise Skip("no output projection was seen")
    patient.model.train(training)
    torch.manual_seed(SEED)
    listener = _Listener(patient.model, _memory(weights[-1].tensor), forced)
    given = [source.clone().to(patient.device)]
    if _places(patient) >= 3:
        given.append(patient.target(84) if reference is None else reference)
    try:
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), listener:
            out = patient.decode(patient.model, *given)
    except (Skip, TypeError):  # a TypeError: it may be called in another way
        raise
    except Exception as problem:
        raise Stopped(f"{type(problem).__name__}: {problem}".splitlines()[0]) from None
    return _rows(out, len(source)), listener


def _has_start(patient: Patient, source: Tensor) -> bool:
    """Whether rows come back with the sign that began them.

    Tried with another word in the model's mouth: it might say that sign itself.
    """
    if patient.returns_start is None:
        words = patient.words(5, seed=83)[0].tolist()
        prompt = source[0].tolist() if patient.decoder_only else []
        try:
            [row], _ = _listen(patient, source, forced=words)
        except Skip:  # it never stops
            return True
        patient.returns_start = _after(row, prompt)[:1] == [_start(patient)]
    return patient.returns_start


def _after(row: list[int], prompt: list[int]) -> list[int]:
    """A row without the prompt, which may have come back with it."""
    return row[len(prompt) :] if prompt and row[: len(prompt)] == prompt else row


def _rows(out: Any, n: int) -> list[list[int]]:
    """What a loop returned, as n rows of ids; frames around them are taken away."""
    if isinstance(out, Tensor):
        out = out.tolist()
    while n > 1 and isinstance(out, tuple | list) and len(out) != n and _nested(out):
        out = out[0].tolist() if isinstance(out[0], Tensor) else out[0]
    rows = [out] if n == 1 else out
    if not isinstance(rows, tuple | list) or len(rows) != n:
        raise Skip(f"decode doesn't return a row for each of {n} sources")
    return [_ids(row) for row in rows]


def _nested(out: Any) -> bool:
    return bool(out) and isinstance(out[0], tuple | list | Tensor)


def _ids(row: Any) -> list[int]:
    if isinstance(row, Tensor):
        row = row.tolist()
    while isinstance(row, tuple | list) and row and isinstance(row[0], tuple | list):
        row = row[0]
    if isinstance(row, tuple | list) and row and isinstance(row[0], Tensor):
        row = row[0].flatten().tolist() if row[0].dim() else [int(e) for e in row]
    if not isinstance(row, tuple | list) or not all(isinstance(e, int) for e in row):
        raise Skip(f"decode returned a {type(row).__name__}, not rows of ids")
    return list(row)


def _words(
    patient: Patient, row: list[int], prompt: list[int], *, has_start: bool
) -> list[int]:
    row = _after(row, prompt)
    if has_start and row and row[0] == _start(patient):
        row = row[1:]
    if patient.eos_id is not None and patient.eos_id in row:
        row = row[: row.index(patient.eos_id)]
    return row


def _start(patient: Patient) -> int | None:
    return patient.bos_id if patient.bos_id is not None else patient.pad_id


def _labels(patient: Patient, source: Tensor) -> Iterator[Finding]:
    one, other = (
        _write(patient, source, reference=patient.target(seed)).words
        for seed in (85, 86)
    )
    if one != other:
        yield Finding(
            code="decoding-feeds-labels",
            title="the decoding loop reads the reference",
            tried="let it translate one source twice, with different references.",
            seen=f"{one[:6]} with the one, {other[:6]} with the other.",
            means="the scores are those of teacher forcing, which no translation "
            "will reach.",
            look="what the loop appends: the word just chosen, never the label.",
            chapter="Decoding and scoring",
        )


def _end(patient: Patient, source: Tensor) -> Iterator[Finding | Remark]:
    done = _write(patient, source, forced=patient.eos_id)
    n = done.row.count(patient.eos_id)  # type: ignore[arg-type]
    if patient.decoder_only and _never_stops(patient, source, len(done.scores)):
        if len(done.scores) > 4 and n > 2:
            yield Remark(
                f"your loop writes {len(done.scores)} words, whatever they are: if it "
                "is meant to stop, compare each with eos_id"
            )
    elif len(done.scores) > 4 and n > 2:
        yield Finding(
            code="decoding-ignores-eos",
            title="the decoding loop goes on after the end",
            tried="made the end sign the likeliest word at every step.",
            seen=f"it took {len(done.scores)} steps and wrote the end sign {n} times.",
            means="whatever comes after the end is rubbish, and it is kept.",
            look="the comparison with eos_id, for every row of the batch, and the "
            "break.",
            chapter="Decoding and scoring",
        )


def _never_stops(patient: Patient, source: Tensor, n: int) -> bool:
    """Whether it takes this many steps, whatever it is made to say."""
    words = [*(patient.special - {patient.eos_id}), int(patient.words(1, seed=87))]
    return all(len(_write(patient, source, forced=word).scores) == n for word in words)


def _training(patient: Patient, source: Tensor) -> Iterator[Remark]:
    """Does the loop switch dropout off, if the model comes in training mode?"""
    quiet = _write(patient, source).scores
    with as_found(patient.model):
        loud = _write(patient, source, training=True).scores
    if any(
        float(_centred(a - b).abs().max()) > APART * (float(b.std()) or 1.0)
        for a, b in zip(loud[:2], quiet[:2], strict=False)
    ):
        yield Remark(
            "your loop doesn't switch dropout off itself (the doctor did that for "
            "it): call model.eval() before it, or inside, and model.train() before "
            "training goes on"
        )


def _against_one_pass(patient: Patient, source: Tensor) -> Iterator[Finding]:
    written = _write(patient, source)
    begin = _start(patient)
    if patient.decoder_only:
        given = [*source[0].tolist(), *written.words]
        skip = source.size(1) - 1
    elif begin is None:
        raise Skip("it is not known what begins a target (bos_id=…)")
    else:
        given, skip = [begin, *written.words], 0
    if not written.words:
        return
    wide = None if patient.decoder_only else source
    ops, found = patient.watch(wide, torch.tensor([given]))
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    assert last is not None
    right = last.result.reshape(-1, last.result.size(-1))[skip:]
    scale = float(right.std()) or 1.0
    if passed := _misheard(patient, source):
        yield _wrong_row(passed)
        return
    n = min(len(written.words), len(written.scores), len(right))
    if patient.pad_id in written.words:  # what comes after it, one pass sees masked
        n = min(n, written.words.index(patient.pad_id) + 1)
    apart = [
        float(_centred(written.scores[i] - right[i]).abs().max()) / scale
        for i in range(n)
    ]
    wrong = [i for i, each in enumerate(apart) if each > APART]
    if wrong:
        yield _differs(patient, written, given, found, wrong, apart, n)
        return
    logits = patient.logits(wide, torch.tensor([given]))[0][skip:]
    passed = [
        i for i in range(n) if not _is_likeliest(patient, logits[i], written.words[i])
    ]
    if passed:
        yield _wrong_row(passed)


def _wrong_row(passed: list[int]) -> Finding:
    return Finding(
        code="decoding-disagrees",
        title="the decoding loop doesn't take the likeliest word",
        tried="let it write, put words into the mouth of the last position, and "
        "compared what it wrote.",
        seen=f"at {len(passed)} steps the last position says a different word, "
        f"first at step {passed[0]}.",
        means="it reads the wrong row of the logits, or chooses in some other way.",
        look="logits[:, -1], the last position that was written, and argmax over "
        "the vocabulary. (Give a greedy loop, without sampling.)",
        chapter="Decoding and scoring",
    )


def _misheard(patient: Patient, source: Tensor) -> list[int]:
    """Steps at which the loop writes another word than the last position says."""
    words = patient.words(5, seed=83)[0].tolist()
    said = _write(patient, source, forced=words).words
    wanted = [words[i % 4] for i in range(len(said))]
    return [i for i, word in enumerate(said) if word != wanted[i]]


def _centred(scores: Tensor) -> Tensor:
    return scores - scores.mean()


def _is_likeliest(patient: Patient, logits: Tensor, word: int) -> bool:
    logits = logits.clone()
    for each in {patient.pad_id, patient.bos_id} - {None}:
        logits[each] = -FAR  # type: ignore[index]
    return float(logits.max() - logits[word]) <= patient.tolerance or word in (
        patient.pad_id,
        patient.bos_id,
    )


def _differs(
    patient: Patient,
    written: Written,
    given: list[int],
    found: list[_anatomy.Attention],
    wrong: list[int],
    apart: list[float],
    n: int,
) -> Finding:
    code, title, means, look = (
        "decoding-disagrees",
        "the decoding loop runs a different model from the one that was trained",
        "the model never sees in training what it sees here.",
        "what begins a target, the masks, eval(), and whatever else differs between "
        "the loop and the forward pass.",
    )
    seen = (
        f"{len(wrong)} of {n} steps differ, first step {wrong[0]}, by up to "
        f"{max(apart):.2g} of the logits' spread."
    )
    steps = _anatomy.attentions(written.ops)
    at = len(given) - len(written.words)  # words before the second step's
    one_pass = [e for e in found if e.shape == (len(given), len(given))]
    whole = [e for e in steps if e.shape == (at + 1, at + 1)]
    cached = [e for e in steps if e.shape == (1, at + 1)]
    if wrong[0] >= 1 and not whole:
        if cached:
            seen += " Each later step gets one word, and the rest from a cache."
            means = "what the cache gives back is not what one pass computes."
            look = (
                "the position of the new word; what is stored as k and as v; the mask "
                "over past keys (a single new query may see all of them)."
            )
            if one_pass and cached[0].key.shape[0] == one_pass[0].key.shape[0]:
                part = _first_difference(cached[0], one_pass[0], at)
                if part == "position":
                    code, title, means, look = (
                        "decoding-cache-positions",
                        "with the cache, the positions are wrong",
                        "every new word believes that it stands elsewhere in the "
                        "sentence.",
                        "the offset of the positions: a step that gets one word has to "
                        "add the number of words in the cache.",
                    )
                elif part is not None:
                    seen += f" In the first layer, {part} differ."
        elif steps:
            code, title, means, look = (
                "decoding-forgets-past",
                "each step sees nothing but its own word",
                "every word is written without those before it.",
                "is the cache returned, kept and passed on? Or give the loop all "
                "words so far.",
            )
    return Finding(
        code=code,
        title=title,
        tried="let it write, and compared each step's logits with one masked pass.",
        seen=seen,
        means=means,
        look=look,
        chapter="Decoding and scoring",
        because=STRANGE,
    )


def _first_difference(
    step: _anatomy.Attention, whole: _anatomy.Attention, at: int
) -> str | None:
    """Where a step with a cache leaves one pass: its position, or what of the cache."""
    keys, n = whole.key[:, : at + 1], at + 1
    if _apart(step.key[:, at:], keys[:, at:]):
        return "position"
    if _apart(step.key, keys):
        return "the keys that were stored"
    if _apart(step.weights[:, 0], whole.weights[:, at, :n]):
        return "the weights, and so the mask over past keys,"
    if _apart(step.context[:, 0], whole.context[:, at]):
        return "the values that were stored"
    return None


def _apart(one: Tensor, other: Tensor) -> bool:
    return float((one - other).abs().max()) > 1e-4 * float(other.abs().max())


def _padded(patient: Patient) -> Iterator[Finding]:
    wide = patient.padded(patient.words(5, seed=82, side=0), patient.n_source)
    for finding in _against_one_pass(patient, wide):
        yield Finding(
            code="decoding-forgets-mask",
            title="the decoding loop forgets the padding mask",
            tried="let it write for a padded source, and compared with one pass.",
            seen=finding.seen,
            means="without padding it writes what the model says; with padding it "
            "attends to the padding as well.",
            look="the source mask in the loop: for the encoder, and for every "
            "cross-attention.",
            chapter="Decoding and scoring",
            because=STRANGE,
        )
