"""BLEU of one sentence as sacreBLEU computes it, with parts that can be exchanged."""

import math
from collections import Counter
from collections.abc import Sequence

Words = Sequence[str]


def ngrams(words: Words, n: int) -> list[tuple[str, ...]]:
    """All runs of n words, in order."""
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def matches_of(
    hypothesis: Words, reference: Words, n: int, *, clipped: bool = True
) -> int:
    """How many of the hypothesis's n-grams the reference has, each as often as there.

    Args:
        hypothesis: words.
        reference: words.
        n: of the n-grams.
        clipped: False counts an n-gram as often as the hypothesis has it.
    """
    found, there = Counter(ngrams(hypothesis, n)), Counter(ngrams(reference, n))
    if clipped:
        return sum((found & there).values())
    return sum(count for each, count in found.items() if each in there)


def bleu(
    hypothesis: Words,
    reference: Words,
    *,
    clipped: bool = True,
    smooth: str = "exp",
    mean: str = "geometric",
    brevity: str = "usual",
    longest: int = 4,
) -> float:
    """BLEU from 0 to 100, or with one part exchanged.

    Args:
        hypothesis: at least four words.
        reference: words.
        clipped: whether counts are clipped.
        smooth: "exp" as sacreBLEU, "none", "half" or "add-one".
        mean: "geometric" or "arithmetic", of the precisions.
        brevity: "usual", "none", "both" (also above 1), "swapped" or "ratio".
        longest: of the n-grams.
    """
    shares, halving = [], 1.0
    for n in range(1, longest + 1):
        total = max(len(hypothesis) - n + 1, 1)
        hits: float = matches_of(hypothesis, reference, n, clipped=clipped)
        if smooth == "add-one" and n > 1:
            hits, total = hits + 1, total + 1
        if hits == 0 and smooth in {"exp", "half"}:
            halving = halving / 2 if smooth == "exp" else 0.5
            hits = halving
        shares.append(hits / total)
    if mean == "arithmetic":
        middle = sum(shares) / longest
    elif min(shares) == 0:
        middle = 0.0
    else:
        middle = math.exp(sum(map(math.log, shares)) / longest)
    ratio = len(reference) / len(hypothesis)
    if brevity == "swapped":
        ratio = 1 / ratio
    penalty = 1 / ratio if brevity == "ratio" else math.exp(1 - ratio)
    if brevity != "both":
        penalty = min(1.0, penalty)
    return 100 * middle * (1.0 if brevity == "none" else penalty)
