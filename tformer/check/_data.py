"""The graders for chapter 11: a split, batches by tokens, inputs and labels."""

from __future__ import annotations

import builtins
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from tformer.check._grade import (
    Function,
    Mistake,
    Result,
    Stopped,
    call,
    grade,
    recognise,
)
from tformer.data import cut
from tformer.data.corpus import sentence_key

Pair = tuple[Any, Any]

# --- shift ------------------------------------------------------------------------

PAD, BOS, EOS = 0, 1, 2
_ROWS = torch.tensor(
    [
        [BOS, 7, 8, 9, 5, EOS],
        [BOS, 6, 4, EOS, PAD, PAD],
        [BOS, 9, EOS, PAD, PAD, PAD],
    ]
)


def _without(rows: Tensor, i: int, width: int) -> Tensor:
    """Each row without the id `i`, padded to a width."""
    kept = [[x for x in row if x != i][:width] for row in rows.tolist()]
    return torch.tensor([row + [PAD] * (width - len(row)) for row in kept])


def _wrong_shifts(rows: Tensor) -> Iterator[tuple[str, str, tuple[Tensor, Tensor]]]:
    """Known mistakes: short name, what to say, inputs and labels that they give."""
    head, tail = rows[:, :-1], rows[:, 1:]
    width = head.size(1)
    same = (
        "Inputs and labels are the same row: at each place the model is asked for the "
        "piece that it has just read. It learns to copy its input, the loss falls to "
        "nearly 0, and it cannot write a word. Labels run one place ahead: drop their "
        "first column."
    )
    yield "not-shifted", same, (head, head)
    yield "not-shifted", same, (tail, tail)
    yield "not-shifted", same, (rows, rows)
    backwards = (
        "The wrong way round (or you return labels first): you drop bos from the "
        "input and the last column from the labels, so each place must say what came "
        "BEFORE it. bos begins the input: "
        "target_ids[:, :-1]. The labels lack bos: target_ids[:, 1:]."
    )
    yield "wrong-way-round", backwards, (tail, head)
    yield (
        "rolled",
        "You roll the row round (torch.roll), so the last label is bos: the model is "
        "asked to say bos after the end. Cut a column off each side instead.",
        (rows, rows.roll(-1, 1)),
    )
    yield (
        "shifted-by-two",
        "Labels run two places ahead. Input place t must meet the piece at t + 1: "
        "[:, :-1] and [:, 1:].",
        (rows[:, :-2], rows[:, 2:]),
    )
    no_end = (
        "eos is missing from the labels. The model then never learns to stop: its "
        "translations run on to the limit. The input may go without eos, the labels "
        "may not."
    )
    yield "labels-without-eos", no_end, (head, tail.masked_fill(tail == EOS, PAD))
    yield (
        "labels-without-eos",
        no_end,
        (_without(rows, EOS, width), _without(tail, EOS, width)),
    )
    yield (
        "input-without-bos",
        "Your input has no bos: it begins with the first piece, which is therefore "
        "never asked for. bos is what the decoder reads before it has said anything.",
        (_without(head, BOS, width), tail),
    )
    yield (
        "labels-minus-100",
        "Your labels have −100 where padding was. That is what "
        "torch.nn.functional.cross_entropy ignores unless told otherwise; the loss of "
        "this book takes pad_id. Leave padding as it is.",
        (head, tail.masked_fill(tail == PAD, -100)),
    )
    yield (
        "last-sentence-cut",
        "You cut off a row, a whole sentence, instead of a column: the first axis is "
        "the batch. Write [:, :-1] and [:, 1:], with the colon and the comma.",
        (rows[:-1], rows[1:]),
    )


def _two_tensors(returned: Any) -> tuple[Tensor, Tensor]:
    if isinstance(returned, tuple | list) and len(returned) == 2:
        inputs, labels = returned
        if isinstance(inputs, Tensor) and isinstance(labels, Tensor):
            return inputs, labels
    raise Mistake(
        "not-two-tensors",
        "Return two tensors, inputs and labels, in this order; your function returns "
        f"{type(returned).__name__}.",
    )


def _same(found: tuple[Tensor, Tensor], wanted: tuple[Tensor, Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(found, wanted, strict=True))


def _probe_shift(mine: Function) -> None:
    for rows in (_ROWS, _ROWS[:1], _ROWS[1:2, :4]):
        try:
            inputs, labels = _two_tensors(call(mine, {"target_ids": rows}, {}))
        except Stopped as stopped:
            text = str(stopped.problem)
            if rows is _ROWS and ("shape" in text or "size" in text):
                raise Mistake(
                    "picks-by-value",
                    "Your function stops with an error about shapes. Do you pick out "
                    "padding by value? Rows have it in different numbers, so the rest "
                    "is no rectangle. Cut columns instead: [:, :-1].",
                ) from None
            raise
        wanted = rows[:, :-1], rows[:, 1:]
        tidy = wanted[0].masked_fill(wanted[0] == EOS, PAD)
        if _same((inputs, labels), wanted) or _same(
            (inputs, labels), (tidy, wanted[1])
        ):
            continue
        recognise((inputs, labels), _wrong_shifts(rows), _same)
        if inputs.shape != labels.shape:
            raise Mistake(
                "widths-differ",
                f"Your inputs are {tuple(inputs.shape)} and your labels "
                f"{tuple(labels.shape)}. Each place of the input has one label, so "
                "both lose one column: the input its last, the labels their first.",
            )
        if inputs.shape != wanted[0].shape:
            raise Mistake(
                "shape",
                f"From target_ids {tuple(rows.shape)} come inputs "
                f"{tuple(inputs.shape)}; they must be {tuple(wanted[0].shape)}: as "
                "many rows, one column less.",
            )
        name = "labels" if torch.equal(inputs, wanted[0]) else "inputs"
        mine_, right = (labels, wanted[1]) if name == "labels" else (inputs, wanted[0])
        row = int((mine_ != right).any(1).nonzero()[0])
        raise Mistake(
            "wrong-number",
            f"For the row {rows[row].tolist()} your {name} are {mine_[row].tolist()}; "
            f"they should be {right[row].tolist()}. (pad 0, bos 1, eos 2.)",
        )


def shift(mine: Function) -> Result:
    """Grade how a reader makes the decoder's input and the labels.

    Args:
        mine: a function ``mine(target_ids)`` that gets (B, T + 1) ids, bos + pieces +
            eos, padded, and returns inputs and labels, both (B, T).

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "The input lacks its last column, the labels lack bos; for one row and for "
        "many. Where eos stays in the input of a short row, its label is padding, so "
        "it does no harm."
    )
    return grade("shift", mine, [_probe_shift], praise)


# --- batches by tokens --------------------------------------------------------------

_SIZES = (
    *((9, 8), (3, 4), (12, 15), (5, 5), (4, 3), (7, 9), (3, 3), (6, 6), (14, 10)),
    *((5, 7), (4, 4), (8, 8), (3, 5), (10, 12), (5, 4), (6, 5), (4, 6), (11, 9)),
    *((3, 4), (7, 6), (13, 14), (4, 5), (5, 6), (9, 10), (2, 3), (15, 12), (6, 7)),
)
_BUDGET = 60


def _pairs() -> list[Pair]:
    """Distinct pairs of lists of ids, of these sizes, each as if with eos or bos."""
    return [
        ([100 + i] * (source - 1) + [EOS], [BOS] + [100 + i] * (target - 1))
        for i, (source, target) in enumerate(_SIZES)
    ]


def _cost(batch: list[Pair]) -> int:
    source = max(len(source) for source, _ in batch)
    return len(batch) * (source + max(len(target) for _, target in batch))


def _frozen(pair: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(pair[0]), tuple(pair[1])


def _as_batches(returned: Any) -> list[list[Pair]]:
    try:
        batches = [[(list(s), list(t)) for s, t in batch] for batch in returned]
    except (TypeError, ValueError):
        raise Mistake(
            "not-batches",
            "Return a list of batches; a batch is a list of pairs, and a pair is what "
            "it was: (source ids, target ids).",
        ) from None
    return batches


def _run_batches(mine: Function, pairs: list[Pair], budget: int) -> list[list[Pair]]:
    given = [(list(s), list(t)) for s, t in pairs]
    found = _as_batches(call(mine, {"pairs": given}, {"max_tokens": budget}))
    if given != [(list(s), list(t)) for s, t in pairs]:
        raise Mistake(
            "changes-inputs",
            "Your function changes the list that it was given: pairs.sort() works in "
            "place, and pop() removes. Whoever calls it needs the corpus again next "
            "epoch. Use sorted(pairs, key=…).",
        )
    return found


def _probe_whole(mine: Function) -> None:
    """Each pair once, and whole."""
    pairs = _pairs()
    batches = _run_batches(mine, pairs, _BUDGET)
    if any(not batch for batch in batches):
        raise Mistake(
            "empty-batch",
            "One of your batches is empty: you close a batch before anything is in it. "
            "Its maximum length does not exist, and the next line of training stops.",
        )
    wanted = Counter(map(_frozen, pairs))
    found = Counter(_frozen(pair) for batch in batches for pair in batch)
    if found == wanted:
        return
    sources = Counter(source for source, _ in found.elements())
    targets = Counter(target for _, target in found.elements())
    if (
        sources == Counter(source for source, _ in wanted.elements())
        and targets == Counter(target for _, target in wanted.elements())
        and found.total() == wanted.total()
    ):
        raise Mistake(
            "torn-apart",
            "Every source is there and every target, but not with each other: did you "
            "sort both sides by themselves? A pair must travel as one. There is no "
            "error, and the training loss falls all the same, by heart; only unseen "
            "pairs and a look at one translation tell.",
        )
    if found - wanted and not wanted - found:
        raise Mistake(
            "twice",
            "Some pairs are in two batches: they count double in this epoch. When a "
            "batch is closed, the pair that did not fit begins the next one, and is "
            "not added to the old one, too.",
        )
    lost = (wanted - found).total()
    right = cut(*_sorted_cut(pairs), _BUDGET)
    last = {len(batch) for batch in (right[-1], batches[-1] if batches else [])}
    full = all(_cost([*a, b[0]]) > _BUDGET for a, b in itertools.pairwise(batches))
    longest = max(wanted, key=lambda pair: len(pair[0]) + len(pair[1]))
    if not found - wanted and full and (lost in last or longest not in found):
        raise Mistake(
            "last-batch-lost",
            f"{lost} of {len(pairs)} pairs are in no batch: the last batch, which is "
            "not full when the pairs run out, is never appended. If pairs are sorted, "
            "these are the longest, in every epoch.",
        )
    if not found - wanted:
        raise Mistake(
            "pairs-lost",
            f"{lost} of {len(pairs)} pairs are in no batch. The pair that does not fit "
            "any more must begin the next batch.",
        )
    raise Mistake(
        "other-pairs",
        "Some pairs in your batches are not those that I gave you. Pass them on as "
        "they are; padding comes later.",
    )


def _sorted_cut(pairs: list[Pair]) -> tuple[list[int], list[tuple[int, int]]]:
    """An order by length, and the sizes."""
    sizes = [(len(source), len(target)) for source, target in pairs]
    order = sorted(range(len(pairs)), key=lambda row: sizes[row][::-1])
    return order, sizes


def _is_cut_by(side: int, batches: list[list[Pair]]) -> bool:
    """Whether each batch is as full as a budget for this side alone allows."""

    def cost(batch: list[Pair]) -> int:
        return len(batch) * max(len(pair[side]) for pair in batch)

    fits = all(cost(batch) <= _BUDGET for batch in batches)
    nexts = itertools.pairwise(batches)
    return fits and all(cost([*batch, after[0]]) > _BUDGET for batch, after in nexts)


def _probe_budget(mine: Function) -> None:
    batches = _run_batches(mine, _pairs(), _BUDGET)
    over = [batch for batch in batches if _cost(batch) > _BUDGET]
    if not over:
        return
    worst = max(over, key=_cost)
    b, s = len(worst), max(len(source) for source, _ in worst)
    t = max(len(target) for _, target in worst)
    shape = (
        f"A batch of {b} pairs, {s} wide on the source side and {t} on the target "
        f"side, costs {b}·({s} + {t}) = {b * (s + t)} tokens; max_tokens is {_BUDGET}. "
    )
    real = [sum(len(s) + len(t) for s, t in batch) for batch in over]
    if all(len(batch) > 1 and _cost(batch[:-1]) <= _BUDGET for batch in over):
        raise Mistake(
            "overfull",
            shape + "Without its last pair it would fit: you look at the budget after "
            "the pair is in. Look first, with the pair that is about to come.",
        )
    if all(cost <= _BUDGET for cost in real):
        raise Mistake(
            "counts-real-tokens",
            shape + "You add up the pairs' own lengths. But the model computes the "
            "whole rectangle, padding too: B·(longest source + longest target).",
        )
    for side, forgotten, counted in (
        (1, "sources", "target"),
        (0, "targets", "source"),
    ):
        if _is_cut_by(side, batches):
            raise Mistake(
                f"forgets-{forgotten}",
                f"{shape}You count the {counted} side only. Both rectangles cost "
                "memory.",
            )
    if len({len(batch) for batch in batches[:-1]}) == 1:
        raise Mistake(
            "counts-pairs",
            shape + "Your batches all hold as many pairs. With a budget of tokens, "
            "long sentences come in small batches and short ones in large.",
        )
    raise Mistake("overfull", shape + "Keep B·(S + T) within the budget.")


def _probe_thrift(mine: Function) -> None:
    """Few batches and little padding: sorted, and filled up."""
    pairs = _pairs()
    batches = _run_batches(mine, pairs, _BUDGET)
    best = cut(*_sorted_cut(pairs), _BUDGET)
    padded = sum(map(_cost, batches))
    real = sum(map(sum, _SIZES))
    by_rows = sum(_cost([pairs[row] for row in rows]) for rows in best)
    if len(batches) >= 0.8 * len(pairs):
        raise Mistake(
            "one-by-one",
            f"Nearly every pair has a batch of its own: {len(batches)} batches for "
            f"{len(pairs)} pairs. There is no padding, but a step for each sentence. "
            "Go on filling while the next pair fits.",
        )
    if padded - real > 1.6 * (by_rows - real):
        raise Mistake(
            "not-sorted",
            f"All pairs are there and every batch fits, but {padded - real} of "
            f"{padded} tokens are padding. Put pairs of like length together: sort by "
            "length before you cut.",
        )
    if len(batches) > 1.25 * len(best) + 1:
        raise Mistake(
            "underfull",
            f"{len(batches)} batches where {len(best)} are enough: yours are closed "
            f"while another pair would still fit. A batch of exactly {_BUDGET} tokens "
            "is allowed.",
        )


def _probe_exact(mine: Function) -> None:
    """A budget that is met exactly is not exceeded."""
    pairs = [([7, 7, i, EOS], [BOS, 7, i, 7]) for i in range(10, 19)]
    batches = _run_batches(mine, pairs, 24)
    if max(map(_cost, batches)) > 24 or len(batches) != 3:
        raise Mistake(
            "underfull",
            "Three pairs of 4 + 4 tokens cost exactly 24. With max_tokens=24 nine such "
            f"pairs need 3 batches; you make {len(batches)}. The limit itself is "
            "allowed: > closes a batch, not >=.",
        )


def batches_by_tokens(mine: Function) -> Result:
    """Grade how a reader fills batches up to a budget of tokens.

    Args:
        mine: a function ``mine(pairs, max_tokens)`` that gets pairs (source ids, target
            ids), special ids included, and returns a list of batches, each a list of
            pairs. B·(S + T) must not exceed ``max_tokens``. The order is free.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every pair is in one batch, every batch fits, padding counted, and little of "
        "it is padding. What is left to do: shuffle before sorting, and the batches "
        "after, so that epochs differ."
    )
    probes = [_probe_whole, _probe_budget, _probe_thrift, _probe_exact]
    return grade("batches_by_tokens", mine, probes, praise)


# --- split --------------------------------------------------------------------------

_SHARE = 0.2


def _corpus(n: int = 600) -> list[Pair]:
    """Sentences with one to four Germans, some twice but for a mark or a capital."""
    pairs: list[Pair] = []
    for i in range(n):
        pairs += [
            (f"Sentence number {i}.", f"Satz {i}, {k}.") for k in range(1 + i % 4)
        ]
        if i % 7 == 0:
            pairs.append((f"sentence number {i}!", f"Satz {i}!"))
    random.Random(0).shuffle(pairs)
    return pairs


def _run_split(mine: Function, pairs: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    given = list(pairs)
    returned = call(mine, {"pairs": given}, {"share": _SHARE})
    if given != pairs:
        raise Mistake(
            "changes-inputs",
            "Your function changes the list that it was given (shuffle and sort work "
            "in place). Take a copy: pairs = list(pairs).",
        )
    try:
        train, test = ([(str(a), str(b)) for a, b in side] for side in returned)
    except (TypeError, ValueError):
        raise Mistake(
            "not-two-lists",
            "Return two lists of pairs, train and test, in this order.",
        ) from None
    return train, test


def _english(pairs: list[Pair], key: Callable[[str], str] = str) -> set[str]:
    return {key(english) for english, _ in pairs}


def _probe_split(mine: Function) -> None:
    pairs = _corpus()
    train, test = _run_split(mine, pairs)
    together = Counter(train) + Counter(test)
    if twice := (together - Counter(pairs)).total():
        raise Mistake(
            "in-both",
            f"{twice} pairs are in train and in test. Each belongs to one of them.",
        )
    if lost := (Counter(pairs) - together).total():
        raise Mistake("pairs-lost", f"{lost} of {len(pairs)} pairs are in no split.")
    if leaked := len(_english(train) & _english(test)):
        raise Mistake(
            "by-pair",
            f"A leak: {leaked} English sentences are in both splits, with different "
            "Germans. You draw pairs; draw English sentences, and let all Germans of "
            "one go with it.",
        )
    if leaked := len(_english(train, sentence_key) & _english(test, sentence_key)):
        raise Mistake(
            "leaks-but-for-a-mark",
            f"A small leak: {leaked} sentences are in both splits, but for a capital "
            "or a mark (“Sentence number 7.”, “sentence number 7!”). Compare them "
            "without case and punctuation: data.corpus.sentence_key does it.",
        )
    share = len(test) / len(pairs)
    if abs(share - (1 - _SHARE)) < 0.06:
        raise Mistake(
            "swapped",
            f"{100 * share:.0f} % are in test, and I asked for {100 * _SHARE:.0f} %: "
            "train and test have changed places.",
        )
    if abs(share - _SHARE) > 0.06:
        raise Mistake(
            "wrong-share",
            f"{100 * share:.0f} % of the pairs are in test; about "
            f"{100 * _SHARE:.0f} % were asked for.",
        )


def _probe_stays(mine: Function) -> None:
    """The same twice, and for a corpus that grows or comes in another order."""
    asked = 0
    right = builtins.hash

    def watched(value: Any) -> int:
        nonlocal asked
        texts = value if isinstance(value, tuple) else (value,)
        asked += any(isinstance(text, str) for text in texts)
        return right(value)

    pairs = _corpus()
    builtins.hash = watched  # type: ignore[assignment]
    try:
        _, test = _run_split(mine, pairs)
    finally:
        builtins.hash = right
    if asked:
        raise Mistake(
            "salted-hash",
            "hash() of a text is salted: it differs each time Python is started, and "
            "so would your split. Take hashlib (or data.corpus.split_position).",
        )
    _, again = _run_split(mine, pairs)
    if set(again) != set(test):
        raise Mistake(
            "differs-each-time",
            "Two calls give two splits: a model trained after the first has seen test "
            "sentences of the second. Fix the seed, or better, let each sentence "
            "decide by itself, through a hash.",
        )
    more = _corpus(660)
    train, _ = _run_split(mine, more)
    if moved := len(_english(test) & _english(train)):
        raise Mistake(
            "moves-when-it-grows",
            f"I added a tenth to the corpus, and {moved} of {len(_english(test))} test "
            "sentences are training sentences now: whoever compares models across "
            "editions compares nothing. Let the place of a sentence depend on the "
            "sentence alone: a hash of it, below the share or not.",
        )


def split(mine: Function) -> Result:
    """Grade how a reader splits a corpus.

    Args:
        mine: a function ``mine(pairs, share)`` that returns two lists of pairs, train
            and test, of which the second holds about that share.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "No English sentence is on both sides, not even with another mark; nothing is "
        "lost; and a sentence stays where it is when the corpus grows."
    )
    return grade("split", mine, [_probe_split, _probe_stays], praise)
