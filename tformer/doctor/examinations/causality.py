"""The future cannot change the past, and the past can change the future."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from tformer.doctor import _anatomy
from tformer.doctor._labels import writes
from tformer.doctor._patient import Patient, Skip
from tformer.doctor.examinations.finite import TRUE
from tformer.doctor.report import INITIAL, Finding

CHAPTER = "Masks"
FLOATS = (
    "the mask: here one of 0 and 1 was added to the scores, which hides nothing. Make "
    "it boolean, or of 0 and −inf."
)
BOTH_WAYS = (
    "That is right for an encoder that guesses hidden words, such as BERT "
    "(bidirectional=True), and wrong for a model that writes (bidirectional=False)."
)
PREFIX = (
    "That is right for a prefix model, which reads its first words in both directions "
    '(accept=["future-leak"]).'
)
LEAKS = (
    "the model can read the word that it has to predict: the loss will fall towards 0, "
    "and on its own the model will write nonsense."
)
SPOILED = (
    "heads-split-wrongly", "heads-merged-wrongly", "softmax-wrong-axis",
    "softmax-twice",
    "weights-transposed", "softmax-over-time", "norm-wrong-axis",
    "dropout-while-evaluating", "state-between-calls", "positions-along-batch",
    "mask-after-softmax", "keys-from-wrong-side",
)  # fmt: skip


def examine(patient: Patient) -> Iterator[Finding]:
    """Change each target word in turn, and see which logits move."""
    influence = _influence(patient)
    n = len(influence)
    moves = influence > patient.tolerance
    ahead = [(p, t) for p in range(n) for t in range(p) if moves[p, t]]
    back = [(p, t) for p in range(n) for t in range(p + 1, n) if moves[p, t]]
    itself = [p for p in range(1, n) if moves[p, p]]
    is_to_write = writes(patient)
    if is_to_write is False:
        if back and not ahead:
            yield _masked_word_model_is_causal(n)
        return
    if (hidden := _hides_all(patient)) is not None:
        yield hidden
        return
    if (start := _hides_start(patient)) is not None:
        yield start
        return
    if _hides_itself(patient):
        yield _blind(
            n,
            "in the first self-attention no word attends to itself, and each one to "
            "words before it.",
        )
        return
    turned = [(p, t) for p in range(n) for t in range(n - 1 - p, n)]
    if ahead and turned == [(p, t) for p in range(n) for t in range(n) if moves[p, t]]:
        yield _turned(n)
    elif ahead and (not back or _is_upside_down(patient)):
        yield _inverted(influence, n)
    elif ahead:
        leak = _leak(patient, influence, ahead, n)
        if is_to_write is None and len(ahead) == len(back) == n * (n - 1) / 2:
            leak = dataclasses.replace(leak, design=BOTH_WAYS)
        elif _is_prefix(patient):
            leak = dataclasses.replace(leak, design=PREFIX)
        yield leak
    if not ahead:
        if not itself and back:
            yield _blind(
                n,
                "the logits at the changed word stayed as they were; only later ones "
                "moved.",
            )
        yield from _length(patient)


def _hides_all(patient: Patient) -> Finding | None:
    """Does the target's self-attention hide every word, though none is padding?"""
    layers = [] if patient.lengths_must_agree else patient.self_attention(1)
    wrong = [each for each in layers if bool(_anatomy.blind(each).all())]
    if not wrong:
        return None
    return Finding(
        code="mask-inverted",
        title="a mask hides every word, though none is padding",
        tried="ran one target without padding, and looked at the weights.",
        seen=f"in {len(wrong)} of {len(layers)} self-attentions no position sees any, "
        f"not even its own word ({_places(wrong)}).",
        means="the model reads the padding instead of the sentence, or nothing at all.",
        look=f"the padding mask that is joined with the causal one: {TRUE}",
    )


def _hides_start(patient: Patient) -> Finding | None:
    """Is the first word hidden from all positions, its own among them?"""
    layers = [] if patient.lengths_must_agree else patient.self_attention(1)
    if not layers or patient.bos_id is None:
        return None
    only_first = [False] * patient.n_target
    only_first[0] = True
    for each in layers:
        sees_it = bool(each.weights[:, 1:, 0].any())
        if sees_it or _anatomy.blind(each).tolist() != only_first:
            return None
    if float(layers[0].weights[:, 1:].diagonal(1, -2, -1).min()) == 0:
        return None  # no position sees its own word
    return Finding(
        code="mask-hides-signs",
        title="the mask hides the start sign, so the first position sees nothing",
        tried="ran one target without padding, and looked at the weights.",
        seen=f"in {len(layers)} of {len(layers)} self-attentions no position sees "
        f"{patient.named(patient.bos_id)}, the first word, not even its own.",
        means="the first position attends to every word alike, also to those that it "
        "has to predict, and no other one sees how the text begins.",
        look="what is hidden as padding: target == pad_id, and no other id.",
    )


def _is_upside_down(patient: Patient) -> bool:
    """Whether each position sees all later words and no other, or has none to see."""
    layers = [] if patient.lengths_must_agree else patient.self_attention(1)
    if not layers:
        return False
    sees = torch.stack([(e.weights.amax(dim=0) > 0) & ~_anatomy.blind(e)[:, None]
                        for e in layers])  # fmt: skip
    return bool((sees == torch.ones_like(sees[0]).triu(1)).all())


def _is_prefix(patient: Patient) -> bool:
    """Whether the words that see ahead are the first few, among themselves."""
    layers = [] if patient.lengths_must_agree else patient.self_attention(1)
    if not layers:
        return False
    sees = torch.stack([e.weights.amax(dim=0).nan_to_num() for e in layers]).amax(0) > 0
    k = 1 + int(sees[0].nonzero().max())
    wanted = torch.ones_like(sees).tril()
    wanted[:k, :k] = True
    return 2 < k < len(sees) and bool((sees == wanted).all())


def _masked_word_model_is_causal(n: int) -> Finding:
    return Finding(
        code="encoder-is-causal",
        title="a model that guesses hidden words sees only those to their left",
        tried=f"changed each of the {n} words in turn.",
        seen="a change moves the logits at its own place and after it, never before.",
        means="a hidden word is guessed without what follows it.",
        look="a causal mask in a bidirectional encoder: there it hides only padding.",
    )


def _hides_itself(patient: Patient) -> bool:
    """Whether the first self-attention shows earlier words, but not the current one."""
    if patient.lengths_must_agree or not (found := patient.self_attention(1)):
        return False
    weights = found[0].weights.amax(dim=0).nan_to_num(0.0)
    diagonal = weights.diagonal()[2:]
    return float(diagonal.max()) == 0 < float(weights[2:, 0].min())


def _influence(patient: Patient) -> Tensor:
    """How far a change at p moves the logits at t: (T, T)."""
    source, target = patient.source(), patient.target()
    plain = patient.plain
    rows = [
        patient.moved(plain, patient.logits(source, patient.other(target, place)))[0]
        for place in range(target.size(1))
    ]
    table = torch.stack(rows)
    if not torch.isfinite(plain).any():
        raise Skip("the logits are not finite: fix that first")
    return table.nan_to_num(0.0)


def _leak(
    patient: Patient, influence: Tensor, ahead: list[tuple[int, int]], n: int
) -> Finding:
    place, seen_by = max(ahead, key=lambda each: influence[each])
    reach = max(p - t for p, t in ahead)
    attention = patient.self_attention(1)
    layers = len(attention) or 1
    tried = f"changed each of the {n} target words in turn."
    seen = (
        f"{len(ahead)} times the logits of an earlier position moved; word {place} "
        f"moved those of position {seen_by} by {influence[place, seen_by]:.2g}."
    )
    code, title, look = (
        "future-leak",
        "the decoder sees words that it has yet to write",
        "the causal mask: is it made, passed to every decoder layer, and joined with "
        "the padding mask rather than replaced by it?",
    )
    open_ = [e for e in attention if float(e.weights.triu(1).abs().max()) > 0]
    is_outside = bool(attention) and not open_
    fills = [f for e in open_ if (f := _anatomy.weak_fill(e)) is not None]
    if 1 in fills:
        look = FLOATS
    elif fills:
        code, title = "mask-fills-weakly", "the mask's filling doesn't hide a score"
        seen += f" Where the mask hides, scores become {fills[0]:.3g}."
        look = 'the value in masked_fill: float("-inf"), before the softmax and after '
        look += "a soft cap."
    elif open_ and _is_causal_in_training(patient):
        code, title = (
            "mask-only-in-training",
            "the causal mask is there only in train()",
        )
        seen += " In training mode no attention looks ahead."
        look = "an `if self.training`, or is_causal=self.training, around the mask."
    elif 0 < len(open_) < layers:
        seen += f" Only some attentions look ahead: {_places(open_)}."
    elif open_ and (told := _hides_padding(patient)) is not None:
        seen += f" {told[0]}"
        look = told[1]
    elif is_outside:
        seen += " No weight of an attention looks ahead."
        look = (
            "whatever mixes words outside the masked attention: a norm, convolution or "
            "mean over the length, a view that cuts across words."
        )
        if (told := _mixer(patient)) is not None:
            seen += f" {told[0]}"
            look = told[1]
    next_only = open_ and not any(bool(e.weights.triu(2).any()) for e in open_)
    if (
        code == "future-leak"
        and not is_outside
        and (next_only or reach <= layers < n - 1)
    ):
        code, title, look = (
            "mask-off-by-one",
            "each position sees the next word, which it has to predict",
            "the diagonal of the causal mask: torch.tril(ones, diagonal=1) or "
            "triu(…, diagonal=2) shows one word too many.",
        )
        seen += (
            " Each attention looks ahead by one word."
            if next_only
            else f" No change reached further back than {reach}, with {layers} layers "
            "of self-attention."
        )
    return Finding(
        code=code, title=title, tried=tried, seen=seen, means=LEAKS, look=look,
        chapter="Masks", because=SPOILED,
    )  # fmt: skip


def _mixer(patient: Patient) -> tuple[str, str] | None:
    """The first part that hands the last word to earlier places, and where to look."""
    n, target = patient.n_target, patient.target()
    calls: list[list[tuple[nn.Module, Tensor, Tensor]]] = []

    def note(module: nn.Module, given: Any, out: Any) -> None:
        if given and isinstance(given[0], Tensor) and isinstance(out, Tensor):
            calls[-1].append((module, given[0].clone(), out.clone()))

    leaves = {m: name for name, m in patient.model.named_modules()
              if not any(m.children())}  # fmt: skip
    hooks = [each.register_forward_hook(note) for each in leaves]
    try:
        for ids in (target, patient.other(target, n - 1)):
            calls.append([])
            patient.logits(patient.source(), ids)
    finally:
        for hook in hooks:
            hook.remove()

    def moves(one: Tensor, other: Tensor) -> bool | None:
        """Whether two differ at any place before the last; None if that isn't known."""
        axes = [i for i, size in enumerate(one.shape) if size == n]
        if one.shape != other.shape or len(axes) != 1 or not one.is_floating_point():
            return None
        apart = (one - other).narrow(axes[0], 0, n - 1).abs().max()
        return float(apart) > 1e-4 * float(one.abs().max())

    for (module, *before), (again, *after) in zip(*calls, strict=False):
        if module is not again:
            return None
        if moves(before[0], after[0]) is False and moves(before[1], after[1]):
            kind = type(module).__name__
            seen = f"The first part whose earlier places move is {leaves[module]}, a "
            seen += f"{kind}, and those that it reads stay as they were."
            look = f"{leaves[module]}: a {kind} outside the masked attention."
            if isinstance(module, nn.Conv1d):
                look = f"{leaves[module]}: its padding lets a word reach those before "
                look += f"it. Pad {module.kernel_size[0] - 1} places, on the left "
                look += "alone: F.pad(x, (k - 1, 0)), with padding=0."
            return seen, look
    return None


def _hides_padding(patient: Patient) -> tuple[str, str] | None:
    """What a padded target tells of the masks, and where to look."""
    real, n = 4, patient.n_target
    if patient.pad_id is None:
        return None
    padded = patient.padded(patient.target()[:, :real], n)
    own = [e for e in patient.watch(patient.source(), padded)[1] if e.shape == (n, n)]
    before = any(bool(e.weights[:, :real, real:].any()) for e in own)
    after = any(bool(e.weights.tril(-1)[:, real:, real:].any()) for e in own)
    if not before and after:
        return (
            "Padding is hidden from the words before it, and from nothing after it.",
            "how the masks are joined. Where True shows: causal & padding, not |. "
            "Where True hides, as in torch.nn: causal | padding, not &.",
        )
    if not before:
        return (
            "Padding is hidden, and no word is.",
            "the causal mask: is it made, passed to every decoder layer, and joined "
            "with the padding mask rather than replaced by it?",
        )
    return None


def _places(found: list[_anatomy.Attention]) -> str:
    return _anatomy.places(each.softmax for each in found)


def _is_causal_in_training(patient: Patient) -> bool:
    n = patient.n_target
    found = _anatomy.attentions(patient.watch_training())
    found = [each for each in found if each.shape == (n, n)]
    return bool(found) and not any(bool(e.weights.triu(1).any()) for e in found)


def _inverted(influence: Tensor, n: int) -> Finding:
    return Finding(
        code="mask-inverted",
        title="the causal mask is the wrong way round",
        tried=f"changed each of the {n} target words in turn.",
        seen="a change moves the logits before it, by up to "
        f"{influence.max():.2g}, and no position sees a word before it.",
        means="each position sees the future but not the past.",
        look=TRUE,
    )


def _turned(n: int) -> Finding:
    return Finding(
        code="words-in-reverse",
        title="the decoder reads its words in reverse",
        tried=f"changed each of the {n} target words in turn.",
        seen="the last word moves every logit, the first one only the last.",
        means=LEAKS,
        look="flip, [::-1] or a reversed order of positions, after the embedding.",
        because=SPOILED,
    )


def _blind(n: int, seen: str) -> Finding:
    return Finding(
        code="mask-off-by-one",
        title="a position doesn't see the word that it reads",
        tried=f"changed each of the {n} target words in turn.",
        seen=seen,
        means="the mask hides one word too many, so each prediction lacks the latest "
        "word, and the first row may see nothing at all.",
        look="the diagonal of the causal mask: torch.tril(ones, diagonal=-1) and "
        "triu(…, diagonal=0) hide the diagonal.",
    )


def _length(patient: Patient) -> Iterator[Finding]:
    """Does what is written depend on how long the target is going to be?"""
    patient.has_numbers()
    if patient.lengths_must_agree:
        return
    source, target = patient.source(), patient.target()
    short = patient.logits(source, target[:, :4])
    moved = float(patient.moved(patient.plain[:, :4], short).max())
    if moved <= patient.tolerance:
        return
    ahead = [e for e in patient.self_attention(1) if bool(e.weights.triu(1).any())]
    fills = [f for e in ahead if (f := _anatomy.weak_fill(e)) is not None]
    if fills:
        yield Finding(
            code="mask-fills-weakly",
            title="the mask's filling doesn't hide a score",
            tried="cut the target off after four words.",
            seen=f"the logits of these four moved by up to {moved:.2g}. Where the mask "
            f"hides, scores become {fills[0]:.3g}, and keep some weight.",
            means=LEAKS,
            look='the value in masked_fill: float("-inf"), before the softmax.',
            because=(*SPOILED, "mask-fills-weakly"),
        )
    else:
        yield Finding(
            code="length-leak",
            title="the logits depend on how long the target is going to be",
            tried="cut the target off after four words.",
            seen=f"the logits of these four moved by up to {moved:.2g}.",
            means="the length is known only at the end, so training uses something "
            "that decoding doesn't have.",
            look="positions that are counted from the end or divided by the length, "
            "statistics over positions, a mask built for another length.",
            because=(*SPOILED, *INITIAL, "scaled-by-length"),
        )
