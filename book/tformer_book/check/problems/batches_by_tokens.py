"""The grader for `batches_by_tokens` of chapter *Data*, and known mistakes."""

import itertools
from collections import Counter
from typing import Any

from tformer.data import cut
from tformer_book.check import kit

HINTS = (
    "What does a batch cost, if its rows are filled up to the longest source and the "
    "longest target?",
    "Sort the pairs by length. Keep the longest source and target of the open batch; "
    "before you add a pair, work out what rows × (longest source + longest target) "
    "would become, and close the batch first if that is too much. Don't forget the "
    "last one.",
    "batches, batch, s, t = [], [], 0, 0",
)

Pair = tuple[Any, Any]

BOS, EOS = 1, 2
_SIZES = (
    *((9, 8), (3, 4), (12, 15), (5, 5), (4, 3), (7, 9), (3, 3), (6, 6), (14, 10)),
    *((5, 7), (4, 4), (8, 8), (3, 5), (10, 12), (5, 4), (6, 5), (4, 6), (11, 9)),
    *((3, 4), (7, 6), (13, 14), (4, 5), (5, 6), (9, 10), (2, 3), (15, 12), (6, 7)),
)
_BUDGET = 60


def _pairs(*more: tuple[int, int]) -> list[Pair]:
    """Distinct pairs of lists of ids, of these sizes, each as if with eos or bos."""
    return [
        ([100 + i] * (source - 1) + [EOS], [BOS] + [100 + i] * (target - 1))
        for i, (source, target) in enumerate((*_SIZES, *more))
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
        raise kit.Mistake(
            "not-batches",
            "Return a list of batches; a batch is a list of pairs, and a pair is what "
            "it was: (source ids, target ids).",
        ) from None
    return batches


def _run_batches(
    mine: kit.Function, pairs: list[Pair], budget: int
) -> list[list[Pair]]:
    given = [(list(s), list(t)) for s, t in pairs]
    return _as_batches(kit.call(mine, {"pairs": given}, {"max_tokens": budget}))


def _probe_whole(mine: kit.Function) -> None:
    """Each pair once, and whole."""
    pairs = _pairs()
    batches = _run_batches(mine, pairs, _BUDGET)
    if any(not batch for batch in batches):
        raise kit.Mistake(
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
        raise kit.Mistake(
            "torn-apart",
            "Every source is there and every target, but not with each other: did you "
            "sort each side by itself? A pair must travel as one. There is no "
            "error, and the training loss falls all the same, by heart; only unseen "
            "pairs and a look at one translation tell.",
        )
    if found - wanted and not wanted - found:
        raise kit.Mistake(
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
        raise kit.Mistake(
            "last-batch-lost",
            f"{lost} of {len(pairs)} pairs are in no batch: the last batch, which is "
            "not full when the pairs run out, is never appended. If pairs are sorted, "
            "these are the longest, in every epoch.",
        )
    if not found - wanted:
        raise kit.Mistake(
            "pairs-lost",
            f"{lost} of {len(pairs)} pairs are in no batch. The pair that does not fit "
            "any more must begin the next batch.",
        )
    raise kit.Mistake(
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


def _is_cut_by_newest(batches: list[list[Pair]]) -> bool:
    """Whether each batch is as full as if all its pairs were like the newest one."""

    def fits(size: int, pair: Pair) -> bool:
        return size == 1 or size * (len(pair[0]) + len(pair[1])) <= _BUDGET

    inside = all(fits(i, pair) for batch in batches for i, pair in enumerate(batch, 1))
    nexts = itertools.pairwise(batches)
    return inside and not any(fits(len(a) + 1, b[0]) for a, b in nexts)


def _probe_budget(mine: kit.Function) -> None:
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
    if _is_cut_by_newest(batches):
        raise kit.Mistake(
            "forgets-the-longest",
            shape + "You count with the lengths of the pair that is about to come. A "
            "batch is as wide as its longest source and its longest target so far: "
            "s = max(s, len(source)), and the same for t.",
        )
    if all(len(batch) > 1 and _cost(batch[:-1]) <= _BUDGET for batch in over):
        raise kit.Mistake(
            "overfull",
            shape + "Without its last pair it would fit: you look at the budget after "
            "the pair is in. Look first, with the pair that is about to come.",
        )
    if all(cost <= _BUDGET for cost in real):
        raise kit.Mistake(
            "counts-real-tokens",
            shape + "You add up the pairs' own lengths. But the model computes the "
            "whole rectangle, padding too: B·(longest source + longest target).",
        )
    for side, forgotten, counted in (
        (1, "sources", "target"),
        (0, "targets", "source"),
    ):
        if _is_cut_by(side, batches):
            raise kit.Mistake(
                f"forgets-{forgotten}",
                f"{shape}You count the {counted} side only. Both rectangles cost "
                "memory.",
            )
    if len({len(batch) for batch in batches[:-1]}) == 1:
        raise kit.Mistake(
            "counts-pairs",
            shape
            + "Your batches all hold equally many pairs. With a budget of tokens, "
            "long sentences come in small batches and short ones in large.",
        )
    raise kit.Mistake("overfull", shape + "Keep B·(S + T) within the budget.")


def _probe_thrift(mine: kit.Function) -> None:
    """Few batches and little padding: sorted, and filled up."""
    pairs = _pairs()
    batches = _run_batches(mine, pairs, _BUDGET)
    best = cut(*_sorted_cut(pairs), _BUDGET)
    padded = sum(map(_cost, batches))
    real = sum(map(sum, _SIZES))
    by_rows = sum(_cost([pairs[row] for row in rows]) for rows in best)
    if len(batches) >= 0.8 * len(pairs):
        raise kit.Mistake(
            "one-by-one",
            f"Nearly every pair has a batch of its own: {len(batches)} batches for "
            f"{len(pairs)} pairs. There is no padding, but a step for each sentence. "
            "Go on filling while the next pair fits.",
        )
    if padded - real > 1.6 * (by_rows - real):
        raise kit.Mistake(
            "not-sorted",
            f"All pairs are there and every batch fits, but {padded - real} of "
            f"{padded} tokens are padding. Put pairs of like length together: sort by "
            "length before you cut.",
        )
    if len(batches) > 1.25 * len(best) + 1:
        raise kit.Mistake(
            "underfull",
            f"{len(batches)} batches where {len(best)} are enough: yours are closed "
            f"while another pair would still fit. A batch of exactly {_BUDGET} tokens "
            "is allowed.",
        )


def _never_reset(pairs: list[Pair]) -> list[list[Pair]]:
    """Filled in this order by widths that are not reset when a batch is closed."""
    batches: list[list[Pair]] = [[]]
    s = t = 0
    for source, target in pairs:
        s, t = max(s, len(source)), max(t, len(target))
        if batches[-1] and (len(batches[-1]) + 1) * (s + t) > _BUDGET:
            batches.append([])
        batches[-1].append((source, target))
    return batches


def _probe_widths(mine: kit.Function) -> None:
    batches = _run_batches(mine, _pairs((26, 2), (2, 27)), _BUDGET)
    order = [pair for batch in batches for pair in batch]
    filled: list[list[Pair]] = [[]]
    for pair in order:
        if filled[-1] and _cost([*filled[-1], pair]) > _BUDGET:
            filled.append([])
        filled[-1].append(pair)
    if batches == _never_reset(order) != filled:
        raise kit.Mistake(
            "widths-not-reset",
            f"Your widths only grow: {len(batches)} batches where, in your own order, "
            f"{len(filled)} would do. When a batch is closed, the next one begins "
            "with the widths of its first pair.",
        )


def _probe_exact(mine: kit.Function) -> None:
    """A budget that is met exactly is not exceeded."""
    pairs = [([7, 7, i, EOS], [BOS, 7, i, 7]) for i in range(10, 19)]
    batches = _run_batches(mine, pairs, 24)
    if max(map(_cost, batches)) > 24 or len(batches) != 3:
        raise kit.Mistake(
            "underfull",
            "Three pairs of 4 + 4 tokens cost exactly 24. With max_tokens=24 nine such "
            f"pairs need 3 batches; you make {len(batches)}. The limit itself is "
            "allowed: > closes a batch, not >=.",
        )


def _probe_too_long(mine: kit.Function) -> None:
    """A pair that is over the budget by itself may be refused, but not lost or cut."""
    pairs = _pairs((40, 30))
    try:
        batches = _run_batches(mine, pairs, _BUDGET)
    except kit.Stopped:
        return
    found = Counter(_frozen(pair) for batch in batches for pair in batch)
    if found == Counter(map(_frozen, pairs)):
        return
    given = f"One pair, 40 + 30 tokens, is over max_tokens = {_BUDGET} by itself"
    if found.total() == len(pairs):
        raise kit.Mistake(
            "pairs-shortened",
            f"{given}, and you shorten it. Then its translation is no translation any "
            "more. Give it a batch of its own, or refuse it with an error.",
        )
    raise kit.Mistake(
        "long-pair-lost",
        f"{given}, and in your batches it is missing, without a word. Give it a batch "
        "of its own, or refuse it with an error that says so.",
    )


@kit.grader(
    _probe_whole,
    _probe_budget,
    _probe_thrift,
    _probe_widths,
    _probe_exact,
    _probe_too_long,
)
def batches_by_tokens(mine: kit.Function) -> str:
    """Grade how a reader fills batches up to a budget of tokens.

    ``mine`` is a function ``mine(pairs, max_tokens)`` that gets pairs (source ids,
    target ids), special ids included, and returns a list of batches, each a list of
    pairs. B·(S + T) must not exceed ``max_tokens``. The order is free.
    """
    return (
        "Every pair is in one batch, every batch fits, padding counted, and little of "
        "it is padding. What is left to do: shuffle before sorting, and the batches "
        "after, so that epochs differ."
    )
