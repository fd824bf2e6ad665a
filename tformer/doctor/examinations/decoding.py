"""What the decoding loop writes is what the model would say, given its own words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.doctor import _anatomy
from tformer.doctor._keep import as_found
from tformer.doctor._labels import asked
from tformer.doctor._loop import FAR, ROUNDS, Loop, Stopped, Written
from tformer.doctor._patient import Patient, Skip, name_of
from tformer.doctor.report import Finding, Remark, listed

CHAPTER = "Decoding and scoring"
ARGUMENT = "decode"
STRANGE = (  # a model of which one pass is no measure
    "future-leak", "mask-off-by-one", "mask-inverted", "length-leak",
    "softmax-wrong-axis", "heads-split-wrongly", "heads-merged-wrongly",
    "norm-wrong-axis", "dropout-while-evaluating", "hidden-parameters",
    "positions-along-batch", "batch-leak", "mask-of-another-row",
    "mask-fills-weakly", "softmax-over-time", "words-in-reverse", "scaled-by-length",
    "result-thrown-away", "mask-hides-signs", "bias-after-softmax",
)  # fmt: skip


def examine(patient: Patient) -> Iterator[Finding | Remark]:
    """Let it write; force it to end; compare each step with one masked pass."""
    if patient.decode is None:
        raise Skip("decode=… was not given")
    patient.has_numbers()
    loop = Loop(patient)
    _refuse_length_first(loop)
    try:
        yield from _tried(loop)
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
            because=(
                "keys-from-wrong-side",
                "mask-on-queries",
                "weights-mix-nothing",
                "logits-for-source",
            ),
        )


def _refuse_length_first(loop: Loop) -> None:
    """Skip if the loop is sound with (length, batch), and not as it is called."""
    decode = loop.patient.decode
    assert decode is not None
    if loop.wants_reference or loop.obeys:
        return
    name = name_of(decode, "your_loop")
    for turn_source, turn_out, does in (
        (True, True, "reads and returns"),
        (False, True, "returns"),
        (True, False, "reads"),
    ):

        def turned(model: Any, source: Tensor) -> Any:
            out = decode(model, source.t() if turn_source else source)  # noqa: B023
            return _transposed(out) if turn_out else out  # noqa: B023

        try:
            obeys = Loop(loop.patient, turned).obeys
        except (Skip, TypeError):
            continue
        if obeys:
            call = f"{name}(m, {'s.t()' if turn_source else 's'})"
            raise Skip(
                f"it {does} (length, batch), and should read and return (batch, "
                f"length). Give decode=lambda m, s: {call}{'.t()' if turn_out else ''}"
            )


def _transposed(out: Any) -> list[list[int]]:
    rows = [each.tolist() if isinstance(each, Tensor) else each for each in out]
    return [list(column) for column in zip(*rows, strict=True)]


def _tried(loop: Loop) -> Iterator[Finding | Remark]:
    patient = loop.patient
    if loop.wants_reference:
        yield from _labels(loop)
    yield from _begin(loop)
    if patient.eos_id is not None:
        yield from _end(loop)
        yield from _cap(loop)
    difference = [*_without_numbers(loop)] or [*_against_one_pass(loop, loop.source)]
    yield from difference
    if difference:
        return
    if patient.pads[0] is not None and not patient.decoder_only:
        yield from _padded(loop)
    if not loop.wants_reference:
        yield from _together(loop)
    yield from _training(loop)


def _labels(loop: Loop) -> Iterator[Finding]:
    one, other = (
        loop.write(loop.source, reference=loop.patient.target(seed)).words
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
        )


def _begin(loop: Loop) -> Iterator[Finding]:
    """Does it begin with the id with which training begins?"""
    patient, usual = loop.patient, loop.patient.starts
    if loop.begin is None or not usual or loop.begin in usual:
        return
    if patient.batches is None:
        where = f"bos_id is {patient.bos_id}"
        unless = (
            f" If your targets do begin with {loop.begin}, give bos_id={loop.begin}."
        )
    else:
        where = "in your batches the decoder's input begins with "
        where += listed([patient.named(i) for i in sorted(usual)])
        unless = ""
    yield Finding(
        code="decoding-wrong-start",
        title="the decoding loop doesn't begin as training does",
        tried="looked at the first id that the loop gives the decoder.",
        seen=f"it is {patient.named(loop.begin)}; {where}.",
        means="no target begins with this id in training, so the first word is a "
        "guess, and the others build on it.",
        look=f"the tensor that the loop starts from, such as torch.full((B, 1), "
        f"bos_id).{unless}",
        because=(
            "target-without-start", "source-and-target-swapped", "labels-not-shifted",
            "labels-shifted-wrongly", "labels-in-reverse",
        ),
    )  # fmt: skip


def _end(loop: Loop) -> Iterator[Finding | Remark]:
    end = loop.patient.eos_id
    assert end is not None
    done = loop.write(loop.source, say=lambda _: (end, end))
    steps, n = len(done.scores), done.row.count(end)
    if steps <= 4 or n <= 2:
        return
    if loop.patient.decoder_only and _always_takes(loop, steps):
        yield Remark(
            f"your loop writes {steps} words, whatever they are: if it is meant to "
            "stop at the end sign, compare each word with eos_id"
        )
        return
    is_cut = _cuts_at_end(loop.patient)
    yield Finding(
        code="decoding-ignores-eos",
        title="the decoding loop goes on after the end",
        tried="made the end sign the likeliest word at every step.",
        seen=f"it took {steps} steps and wrote the end sign {n} times.",
        means="whatever comes after the end is rubbish, and it is kept.",
        look="the comparison with eos_id, for every row of the batch, and the break.",
        design="Your tokenizer's decode leaves out the end and what follows, so this "
        "costs only time; scores of ids would still count it."
        if is_cut
        else "",
    )


def _cuts_at_end(patient: Patient) -> bool:
    """Whether the tokenizer that was given decodes ids up to the end sign only."""
    one, other = patient.words(2, seed=89)[0].tolist()

    def decoded(*ids: int) -> str:
        return str(patient.tokenizers[1].decode([*ids])).strip()

    try:
        alone = decoded(one)
        cut = decoded(one, patient.eos_id, other)
        return alone == cut != decoded(one, other)
    except Exception:  # it was given for something else
        return False


def _cap(loop: Loop) -> Iterator[Finding]:
    """Does it stop before most targets of the batches are at their end?"""
    patient = loop.patient
    if patient.decoder_only or patient.batches is None:
        return
    word = int(patient.words(1, seed=87))
    rows = [(int(n), source) for batch in patient.batches for n, source in zip(
        asked(patient, batch[-1]).sum(dim=1), batch[0], strict=True)]  # fmt: skip
    usual, source = sorted(rows, key=lambda each: each[0])[len(rows) // 2]
    source = (
        source[source != patient.pads[0]] if patient.pads[0] is not None else source
    )
    steps = len(loop.write(source[None], say=lambda _: (word, word)).scores)
    if steps < usual - 1:
        yield Finding(
            code="decoding-too-short",
            title="the decoding loop stops before most sentences are at their end",
            tried="let it write a word over and over, and never the end sign.",
            seen=f"it takes {steps} steps, and half of your labels have {usual} or "
            "more.",
            means="most translations are cut short.",
            look="the largest number of steps: more than the longest target.",
        )


def _always_takes(loop: Loop, steps: int) -> bool:
    """Whether it takes this many steps, whatever the model says."""
    patient = loop.patient
    words = [*(patient.special - {patient.eos_id}), int(patient.words(1, seed=87))]
    return all(
        len(loop.write(loop.source, say=lambda _, w=word: (w, w)).scores) == steps
        for word in words
    )  # fmt: skip


def _without_numbers(loop: Loop) -> Iterator[Finding]:
    """Are there steps at which the model says NaN, though one pass has none?"""
    said = loop.write(loop.source).scores
    if bad := [i for i, each in enumerate(said) if bool(each.isnan().any())]:
        yield Finding(
            code="decoding-without-numbers",
            title="while the loop writes, the model's logits are NaN",
            tried="let it write, and looked at the logits of each step.",
            seen=f"NaN at {len(bad)} of {len(said)} steps, first at step {bad[0] + 1}; "
            f"one pass over {loop.patient.n_target} words has none.",
            means="no word is the likeliest, and the loop writes anything.",
            look="what the model computes for a single word: a standard deviation over "
            "words, a mask that hides the only one.",
            because=STRANGE,
        )


def _against_one_pass(loop: Loop, source: Tensor) -> Iterator[Finding]:
    """Make it write words of the doctor's choice, and compare what the model says."""
    patient = loop.patient
    if not patient.decoder_only and loop.start is None:
        raise Skip("it is not known what begins a target (bos_id=…)")
    written = loop.write(source, say=loop.in_turn)
    words = loop.forced(written)
    fed = [loop.given(written.heard, i, source) for i in range(len(words))]
    is_fed = len(fed) > 1 and all(
        ids and ids[-1] == word for ids, word in zip(fed[1:], words, strict=False)
    )
    passed = loop.misheard(written.words)
    found, right, apart, row = _compared(loop, source, words, written)
    if (passed or max(apart, default=0) > loop.apart) and (
        odd := _fed_otherwise(loop, source, written, fed)
    ):
        yield odd
        return
    if not is_fed:
        if passed:
            yield _wrong_row(passed, written)
            return
        words = written.words
        found, right, apart, row = _compared(loop, source, words, written)
    if not words:
        return
    wrong = [i for i, each in enumerate(apart) if each > loop.apart]
    if wrong:
        steps = _anatomy.attentions(loop.watch(source))
        yield _differs(loop, source, written, steps, found, wrong, apart, row)
        return
    if passed or len(written.words) < len(words) - 1:  # the last may be cut off
        yield _not_returned(written, words)
    by_itself = loop.write(source)
    free, heard = by_itself.words, by_itself.scores
    ids, skip = _ids(loop, source, free)
    wide = None if patient.decoder_only else source
    right = patient.logits(wide, ids)[0, skip:] if free else right[:0]
    missed = [
        i
        for i, each in enumerate(zip(right, heard, free, strict=False))
        if not any(_is_likeliest(patient, e, each[-1]) for e in each[:2])
    ]
    if missed:
        yield _wrong_row(missed, written)
    yield from _crops(loop)


def _compared(
    loop: Loop, source: Tensor, words: list[int], written: Written
) -> tuple[list[_anatomy.Attention], Tensor, list[float], str]:
    """One pass over words, and by how much each step of the loop is apart from it.

    Returns:
        The attention of the pass, its logits at each step, how far the loop's are from
        them, and which other row they are, if the first or the one before.
    """
    found, rows, skip = _one_pass(loop, source, words)
    right = rows[skip:]
    n = min(len(words), len(written.scores), len(right))
    scale = float(right.std()) or 1.0
    apart = [_gap(written.scores[i], right[i]) / scale for i in range(n)]
    wrong = [i for i, each in enumerate(apart) if each > loop.apart and skip + i]
    others = (("first", lambda _: 0), ("last but one", lambda i: skip + i - 1))
    for name, row in others:
        gaps = [_gap(written.scores[i], rows[row(i)]) / scale for i in wrong]
        if gaps and max(gaps) < loop.apart:
            return found, right, apart, name
    return found, right, apart, ""


def _one_pass(
    loop: Loop, source: Tensor, words: list[int]
) -> tuple[list[_anatomy.Attention], Tensor, int]:
    """The attention of one masked pass over these words, its raw logits, and an index.

    From that row of the logits on, row after row is what the model says at each step,
    as far as the model reads at once and no padding has been written, which one pass
    would hide.
    """
    patient = loop.patient
    ids, skip = _ids(loop, source, words)
    ops, found = patient.watch(None if patient.decoder_only else source, ids)
    last = _anatomy.unembedding(ops, patient.plain.size(-1))
    assert last is not None
    return found, last.result.reshape(-1, last.result.size(-1)), skip


def _fed_otherwise(
    loop: Loop, source: Tensor, written: Written, fed: list[list[int]]
) -> Finding | None:
    """Whether a step gets other ids than the words so far, or than the newest."""
    if odd := _prompt(loop, source, fed):
        return odd
    prompt = source[0].tolist() if loop.patient.decoder_only else fed[:1] and fed[0]
    words, longest = loop.forced(written), loop.patient.longest
    whole = [[*(prompt or []), *words[:i]] for i in range(len(fed))]
    pairs = [(a, b) for a, b in zip(fed, whole, strict=True)
             if a and (longest is None or len(b) <= longest)]  # fmt: skip
    if (order := _source_order(loop, source, written)) is not None:
        code, title = "decoding-reads-source-otherwise", "the loop reads another source"
        look = "what the loop gives the encoder: flipped, sorted, or without a sign?"
        pairs = [order]
    elif len(pairs) < 3 or pairs[0][0] != pairs[0][1][-len(pairs[0][0]) :]:
        return None
    elif all(ids == pairs[0][0] for ids, _ in pairs):
        code, title, look = NEVER
    elif all(sorted(ids) == sorted(right) for ids, right in pairs):
        pairs = [each for each in pairs if each[0] != each[1]]
        code, title = "decoding-wrong-place", "new words are put in the wrong place"
        look = "torch.cat([ids, word], dim=1): what has been written, then the word."
    else:
        is_cached = pairs[0][0] == pairs[0][1] and all(
            len(a) == 1 for a, _ in pairs[1:]
        )
        pairs = [(a, b) for a, b in pairs if len(a) < len(b) and set(a) <= set(b)]
        if is_cached or len(pairs) < 2:
            return None
        code, title = "decoding-forgets-past", "the decoding loop leaves out words"
        look = "ids = torch.cat([ids, word], dim=1), and all of ids in the call."
    if not pairs:
        return None
    given, right = pairs[-1]
    return Finding(
        code=code,
        title=title,
        tried="looked at the ids that the loop looks up at each step.",
        seen=f"{given[:12]}, where {right[:12]} was expected.",
        means="words are chosen as if others, or none, had been written.",
        look=look,
        because=("decoding-wrong-start",),
    )


def _prompt(loop: Loop, source: Tensor, fed: list[list[int]]) -> Finding | None:
    """Whether the first step gets another prompt than the loop was given."""
    prompt = source[0].tolist()
    if not loop.patient.decoder_only or not fed or not fed[0] or fed[0] == prompt:
        return None
    at_first = torch.equal(source, loop.source) and loop.given(loop._told[1], 0)
    if at_first == prompt:
        return Finding(
            code="decoding-cache-not-reset",
            title="something of one call is kept for the next",
            tried="let it write twice for one prompt, and looked at the ids that the "
            "first step looks up.",
            seen=f"in the first call they are {prompt}, in a later one {fed[0]}.",
            means="a second text is written as if the first stood before it.",
            look="a cache outside the call: a default argument such as cache={}, an "
            "attribute, a global. A new, empty one for each call of the loop.",
        )
    n = len(fed[0])
    if n == 1:  # with a cache, each later step gets one word, too
        keys = [e.shape[1] for e in _anatomy.attentions(loop.watch(source))]
        is_window = max(keys, default=1) == 1
    else:
        is_window = len(fed) > 1 and len(fed[1]) == n
    if set(fed[0]) <= set(prompt) and n < len(prompt) and not is_window:
        return Finding(
            code="decoding-cuts-prompt",
            title="the decoding loop leaves out a part of its prompt",
            tried="looked at the ids that the loop looks up at its first step.",
            seen=f"{fed[0]}, where the prompt is {prompt}.",
            means="the model never reads these words, the start sign perhaps.",
            look="what the loop cuts from the prompt before its first step: [:, 1:], "
            "[:, -1:].",
        )
    return None


NEVER = (
    "decoding-never-extends",
    "the decoding loop gives the model the same words at each step",
    "ids = torch.cat([ids, word], dim=1) inside the loop, and ids in the call.",
)


def _source_order(
    loop: Loop, source: Tensor, written: Written
) -> tuple[list[int], list[int]] | None:
    """The order in which the loop reads the source, and training's, if they differ."""
    patient = loop.patient
    if patient.decoder_only:
        return None
    wanted = sorted(source.flatten().tolist())
    ops, _ = patient.watch(source, patient.target())
    usual = [op.inputs[1].tensor.flatten().tolist() for op in ops
             if op.name == "embedding"]  # fmt: skip
    usual = [ids for ids in usual if sorted(ids) == wanted]
    read = [ids for _, ids in written.heard.read[0]
            if sorted(ids) == wanted or _is_cut(ids, usual)]  # fmt: skip
    return (read[0], usual[0]) if read and usual and read[0] not in usual else None


def _is_cut(ids: list[int], whole: list[list[int]]) -> bool:
    """Whether ids are words of a source, but for some at its ends."""
    n = len(ids)
    return n > 1 and any(
        ids == each[i : i + n] for each in whole for i in range(len(each) - n + 1)
    )


def _not_returned(written: Written, words: list[int]) -> Finding:
    return Finding(
        code="decoding-loses-words",
        title="the decoding loop doesn't return the words that it has written",
        tried="made the model say words of the doctor's choice, and compared.",
        seen=f"it wrote {words[:8]}, and returned {written.words[:8]}.",
        means="what is scored and shown isn't what the model said.",
        look="the tensor that is returned, and what is cut off at its ends.",
    )


def _ids(loop: Loop, source: Tensor, words: list[int]) -> tuple[Tensor, int]:
    """The prompt and these words, and how many come before the first answer."""
    patient = loop.patient
    prompt = source[0].tolist() if patient.decoder_only else [loop.start]
    if patient.pad_id in words:
        words = words[: words.index(patient.pad_id)]
    given = [*prompt, *words][: patient.longest]
    return torch.tensor([given]), len(prompt) - 1


def _gap(one: Tensor, other: Tensor) -> float:
    return float(_centred(one - other).abs().max())


def _crops(loop: Loop) -> Iterator[Finding]:
    """Of a prompt that is too long, does it keep the end?"""
    patient = loop.patient
    n = patient.longest
    if not patient.decoder_only or n is None:
        return
    prompt = patient.words(n + 3, seed=90)
    try:
        said = loop.write(prompt).scores[0]
    except Skip:  # it has a limit, which is nobody's fault
        return

    def last_of(part: Tensor) -> Tensor:
        return _one_pass(loop, part, [])[1][-1]

    end, start = last_of(prompt[:, -n:]), last_of(prompt[:, :n])
    if _gap(said, start) < 10 * loop.apart * float(start.std()) < _gap(said, end):
        yield Finding(
            code="decoding-crops-wrong-end",
            title="of a long text the decoding loop reads the beginning",
            tried=f"gave it a prompt of {n + 3} words, and the model reads {n}.",
            seen=f"its first step says what the model says after the first {n}.",
            means="as soon as the text is longer than that, every step reads the same "
            "words.",
            look=f"ids[:, -{n}:], the latest words, and not ids[:, :{n}].",
        )


def _wrong_row(passed: list[int], written: Written) -> Finding:
    axis = written.heard.odd_axis
    return Finding(
        code="decoding-disagrees" if axis is None else "decoding-softmax-axis",
        title="the decoding loop doesn't take the likeliest word"
        if axis is None
        else "the decoding loop's softmax doesn't run over the vocabulary",
        tried="made a word of its choice the likeliest at the last position, step by "
        "step, and compared these words with what the loop wrote.",
        seen=f"{len(passed)} words differ, the first at step {passed[0] + 1}."
        + (f" A softmax of logits runs along axis {axis}." if axis is not None else ""),
        means="it reads the wrong row of the logits, or chooses in some other way.",
        look="logits[:, -1], the last position that was written, and argmax over "
        "the vocabulary. (Give a greedy loop, without sampling.)"
        if axis is None
        else "dim=…: -1, the vocabulary; along the batch, each sentence depends on "
        "its neighbours, and a lone one has 1 everywhere.",
        because=("softmax-over-time",),
    )


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
    loop: Loop,
    source: Tensor,
    written: Written,
    steps: list[_anatomy.Attention],
    found: list[_anatomy.Attention],
    wrong: list[int],
    apart: list[float],
    row: str,
) -> Finding:
    """Why the loop's logits are not those of one pass, as its attention tells."""
    code, title, means, look = (
        "decoding-disagrees",
        "the decoding loop runs a different model from the one that was trained",
        "the model never sees in training what it sees here.",
        "the masks, eval(), and whatever else differs between the loop and the "
        "forward pass.",
    )
    seen = (
        f"the logits of {len(wrong)} of {len(apart)} steps differ, first at step "
        f"{wrong[0] + 1}, by up to {max(apart):.2g} standard deviations."
    )
    at = source.size(1) if loop.patient.decoder_only else 1
    odd = _odd_cache(loop, source, steps, at)
    if odd:
        code, title, look = odd
        means = "each word attends to keys that one pass doesn't have."
    elif written.heard.in_training:
        code, title = "decoding-in-training-mode", "the decoding loop runs in train()"
        means = "dropout is on, so each sentence comes from a model with parts off."
        look = "model.eval() before the loop (and no train() inside it)."
    elif row:
        code, title = (
            "decoding-wrong-row",
            f"the decoding loop reads the {row} position",
        )
        seen += f" They are those of the {row} position."
        means = "it writes what follows other words than the newest."
        look = "logits[:, -1] or out[:, -1]: the last position, along the right axis."
    elif all(_gap(e, written.scores[0]) == 0 for e in written.scores[: len(apart)]):
        code, title, look = NEVER
        means = "every word is chosen as if none had been written."
    else:
        across = 0 if loop.patient.decoder_only else source.size(1)
        told = _by_attention(steps, found, wrong[0], at, across)
        if told is not None:
            code, title, more, means, look = told
            seen += more
    return Finding(
        code=code,
        title=title,
        tried="let it write, and compared each step's logits with one masked pass.",
        seen=seen,
        means=means,
        look=look,
        because=STRANGE,
    )


def _by_attention(
    steps: list[_anatomy.Attention],
    found: list[_anatomy.Attention],
    first: int,
    at: int,
    across: int,
) -> tuple[str, str, str, str, str] | None:
    """A cache, or what each step sees: code, title, more that was seen, means, look."""
    size = max((e.shape[0] for e in found), default=0)
    one_pass = [e for e in found if e.shape == (size, size)]
    whole = [e for e in steps if e.shape == (at + 1, at + 1)]
    cached = [e for e in steps if e.shape == (1, at + 1)]
    prompts = [e for e in steps if e.shape == (at, at)] if first == 0 else cached
    if not whole and cached:
        code, title = (
            "decoding-disagrees",
            "with a cache, the model says something else",
        )
        seen = " Each later step gets one word, and the rest from a cache."
        if prompts and one_pass and prompts[0].key.shape[0] == one_pass[0].key.shape[0]:
            part = _first_difference(prompts[0], one_pass[0])
            if part is not None:
                code, title, what = CACHES[part]
                seen += f" In the first layer, {what} differ."
        means = "what the cache gives back is not what one pass computes."
        look = (
            "the position of the new word; what is stored as k and as v; the mask "
            "over past keys (a single new query may see all of them; the words of a "
            "prompt, read at once, may not)."
        )
        ahead = [
            e for e in steps if e.shape == (at, at) and bool(e.weights.triu(1).any())
        ]
        is_causal = not any(bool(e.weights.triu(1).any()) for e in one_pass)
        if first == 0 and at > 1 and ahead and one_pass and is_causal:
            code, title = (
                "decoding-disagrees",
                "the prompt is read without the causal mask",
            )
            seen = f" While the loop reads the {at} words of the prompt, {len(ahead)} "
            seen += "attentions look ahead; in one pass none does."
            look = "the mask at the step that fills the cache: causal, as in training."
        return code, title, seen, means, look
    if first >= 1 and not whole and steps:
        own = [e for e in steps if e.shape[0] == 1 and e.shape[1] != across]
        few = max((e.shape[1] for e in own), default=1)
        sees = "nothing but its own word" if few == 1 else f"the last {few} words alone"
        return (
            "decoding-forgets-past",
            f"each step sees {sees}",
            "",
            "every word is written without those before it.",
            "is the cache returned, kept and passed on, with all its words? Or give "
            "the model all words so far.",
        )
    return None


CACHES = {  # what differs first: the finding's code, its title, and how to say it
    "position": ("decoding-cache-positions", "with the cache, the positions are wrong",
                 "the newest keys, and so the position of each new word,"),
    "keys": ("decoding-cache-keys", "the cache gives back other keys",
             "the keys that were stored"),
    "mask": ("decoding-cache-mask", "with the cache, the mask over past keys is wrong",
             "the weights, and so the mask over past keys,"),
    "order": ("decoding-cache-order",
              "the cache joins keys, or values, in the wrong order",
              "the same keys, or values, stand in another order than before, and so"),
    "values": ("decoding-cache-values", "the cache gives back other values",
               "the values that were stored"),
}  # fmt: skip


def _odd_cache(
    loop: Loop, source: Tensor, steps: list[_anatomy.Attention], at: int
) -> tuple[str, str, str] | None:
    """Whether the cache has more keys than words: code, title, and where to look."""
    shapes = [each.shape for each in steps]
    if not loop.patient.decoder_only:
        shapes = [shape for shape in shapes if source.size(1) not in shape]
    if len(shapes) < 2:
        return None
    first, second = shapes[:2]
    if first[0] == at and first[1] > at + (at == 1):  # a lone key shows no softmax
        return (
            "decoding-cache-not-reset",
            "the cache still has the words of the sentence before",
            "where the cache is made: a new, empty one for each call of the loop.",
        )
    if first == (at, at) and second[0] == at < second[1]:
        return (
            "decoding-cache-shared",
            "layers write into one cache",
            "one cache for each layer: [[] for _ in layers], not [[]] * n.",
        )
    n = shapes.count((at, at))
    if shapes[n:].count((1, at + 1)) == len(shapes) - n > n > 0:
        return (
            "decoding-forgets-past",
            "the cache stays as it was after the first step",
            "is the cache that each step returns the one that the next step is given?",
        )
    later = next((shape for shape in shapes if shape != first), first)
    if 1 < later[0] < later[1]:
        return (
            "decoding-cache-fed-twice",
            "words that the cache has are given to the model once more",
            "the step's input: with a cache it is the newest word alone, ids[:, -1:].",
        )
    return None


def _first_difference(
    step: _anatomy.Attention, whole: _anatomy.Attention
) -> str | None:
    """Where a step with a cache leaves one pass: its position, or what of the cache."""
    n = step.shape[1]
    keys, new = whole.key[:, :n], n - step.shape[0]
    values = whole.value[:, :n]
    if _is_shuffled(step.key, keys) or _is_shuffled(step.value, values):
        return "order"
    if _apart(step.key[:, new:], keys[:, new:]):
        return "position"
    if _apart(step.key, keys):
        return "keys"
    if _apart(step.weights[:, -1], whole.weights[:, n - 1, :n]):
        return "mask"
    if _apart(step.context[:, -1], whole.context[:, n - 1]):
        return "values"
    return None


def _is_shuffled(one: Tensor, other: Tensor) -> bool:
    """Whether two sets of vectors, (H, T, D), are the same in another order."""
    if one.shape != other.shape or not _apart(one, other):
        return False
    nearest = torch.cdist(one[0], other[0]).argmin(dim=-1)
    return len(nearest.unique()) == len(nearest) and not _apart(one, other[:, nearest])


def _apart(one: Tensor, other: Tensor) -> bool:
    return float((one - other).abs().max()) > 1e-4 * float(other.abs().max())


def _padded(loop: Loop) -> Iterator[Finding]:
    """Does it hide padding, if the model does?"""
    patient = loop.patient
    words, target = patient.words(5, seed=82, side=0), patient.target()
    wide = patient.padded(words, patient.n_source, side=0)
    exact, padded = (patient.logits(each, target) for each in (words, wide))
    if float(patient.moved(exact, padded).max()) > patient.tolerance:
        return  # a fault of the model, which the examination of padding names
    for finding in _against_one_pass(loop, wide):
        yield Finding(
            code="decoding-forgets-mask",
            title="the decoding loop forgets the padding mask",
            tried="let it write for a padded source, and compared with one pass.",
            seen=finding.seen,
            means="without padding it writes what the model says; with padding it "
            "attends to the padding as well.",
            look="the source mask in the loop: for the encoder, and for every "
            "cross-attention.",
            because=STRANGE,
        )


def _together(loop: Loop) -> Iterator[Finding | Remark]:
    """Does a sentence get the same words with others beside it?"""
    patient, n = loop.patient, loop.source.size(1)
    side = 1 if patient.decoder_only else 0
    others = [patient.words(n, seed=seed, side=side) for seed in (88, 89)]
    sources = torch.cat([loop.source, *others])
    try:
        rows, heard = loop.listen(sources)
    except Exception as problem:
        yield from _stale(loop, sources, problem)
        return
    seen, steps = "", []
    for i, (row, single) in enumerate(zip(rows, sources.split(1), strict=True)):
        words = loop.words(row, single)
        alone = loop.write(single)
        tie = _near_tie(loop, alone, words)
        steps.append(min(len(words), len(alone.words)) if tie is None else tie)
        if tie is None and _without(words, patient.pad_id) != _without(
            alone.words, patient.pad_id
        ):
            seen = f"source {i}: {alone.words[:6]} alone, {words[:6]} in the batch."
            break
    else:  # of the last one the logits were heard, too, if they went side by side
        is_batch = len(heard.scores) <= max(steps) + 1
        until = min(steps) if is_batch else 0  # a row came to its end
        both = list(zip(heard.scores, alone.scores, strict=False))[:until]
        apart = [float(_centred(a - b).abs().max() / b.std()) for a, b in both]
        if max(apart, default=0) > loop.apart:
            first = next(i for i, each in enumerate(apart) if each > loop.apart)
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
            because=STRANGE,
        )
    elif patient.eos_id is not None:
        yield from _all_stop(loop, sources)


def _near_tie(loop: Loop, alone: Written, words: list[int]) -> int | None:
    """The step at which two words were equally likely, if that is where rows part."""
    both = list(zip(alone.words, words, strict=False))
    first = next((i for i, (a, b) in enumerate(both) if a != b), None)
    if first is None or first >= len(alone.scores):
        return None
    scores, (one, other) = alone.scores[first], both[first]
    gap = abs(float(scores[one] - scores[other]))
    return first if gap <= loop.apart * float(scores.std()) else None


def _stale(
    loop: Loop, sources: Tensor, problem: Exception
) -> Iterator[Finding | Remark]:
    """Does it stop on a batch only because it wrote for one sentence before?"""
    loop.patient.empty_caches()
    try:
        loop.listen(sources)
    except Exception:  # it was made for one sentence, which is nobody's fault
        yield Remark(
            "it writes for one source at a time: with three at once it stops "
            f"({str(problem)[:100]})"
        )
        return
    yield Finding(
        code="decoding-cache-not-reset",
        title="the cache of one call is in the way of the next",
        tried="let it write for one source, then for three at once.",
        seen=f"it stops ({str(problem)[:100]}); without the first call it doesn't.",
        means="a batch of another size stops, and one of the same reads old keys.",
        look="where the cache is made: a new, empty one for each call of the loop.",
    )


def _all_stop(loop: Loop, sources: Tensor) -> Iterator[Finding | Remark]:
    """Does a row go on when the others have ended, and do those stay ended?"""
    end = loop.patient.eos_id
    assert end is not None

    def ended(step: int) -> tuple[int, int]:
        last, others = loop.in_turn(step)
        return last, end if step == 0 else others

    rows, _ = loop.listen(sources, say=ended)
    beside, heard = loop.listen(sources, say=loop.in_turn)
    short, long = (len(loop.words(each[-1], sources[-1:])) for each in (rows, beside))
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
        )
        return
    stops = end in beside[-1] and len(heard.scores) <= 4 * ROUNDS + 1
    written = loop.said(rows[0], sources[:1])
    more = [i for i in written[1:] if i not in (end, loop.patient.pad_id)]
    if stops and written[:1] == [end] and more:
        yield Remark(
            "in a batch, your loop goes on writing in rows that have ended (here "
            f"{more[:4]} after the end sign): cut each row at its first end sign "
            "before you compare or score it, or let the loop write pad_id there"
        )


def _without(words: list[int], pad_id: int | None) -> list[int]:
    """Words without the padding at their end."""
    end = len(words)
    while end and words[end - 1] == pad_id:
        end -= 1
    return words[:end]


def _training(loop: Loop) -> Iterator[Remark]:
    """Does the loop switch dropout off, if the model comes in training mode?"""
    quiet = loop.write(loop.source).scores
    with as_found(loop.patient.model):
        loud = loop.write(loop.source, training=True).scores
    if any(
        float(_centred(a - b).abs().max()) > loop.apart * (float(b.std()) or 1.0)
        for a, b in zip(loud[:2], quiet[:2], strict=False)
    ):
        yield Remark(
            "your loop doesn't call model.eval() itself, so between two steps of "
            "training it would write with dropout on (here the doctor switched it "
            "off): call model.eval() before the loop, and model.train() after it"
        )
