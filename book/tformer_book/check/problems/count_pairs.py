"""The grader for `count_pairs` of chapter *Tokenization*, and known mistakes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, pairwise
from typing import Any

from tformer.tokenization.byte_pairs import END_OF_WORD
from tformer.tokenization.byte_pairs import count_pairs as right_counts
from tformer_book.check import kit

Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]


def _counted(
    pairs: Callable[[tuple[str, ...]], Iterable[Pair]],
) -> Callable[[Words], Counter[Pair]]:
    """Count what `pairs` sees in each word, as often as the word occurs."""

    def counts(words: Words) -> Counter[Pair]:
        found: Counter[Pair] = Counter()
        for symbols, n in words.items():
            for pair in pairs(symbols):
                found[pair] += n
        return found

    return counts


def _over_borders(words: Words) -> Counter[Pair]:
    found = right_counts(words)
    for word, following in pairwise(words):
        found[word[-1], following[0]] += 1
    return found


def _one_long_list(words: Words) -> Counter[Pair]:
    return Counter(pairwise(chain.from_iterable(s * n for s, n in words.items())))


SLIPS: kit.Table = {
    "frequency-ignored": (
        lambda words: right_counts(dict.fromkeys(words, 1)),
        "You count each word once. A word that occurs n times in the text holds each "
        "of its pairs n times: add n, not 1.",
    ),
    "across-words": (
        _over_borders,
        "You also count the last symbol of a word with the first of the next. A merge "
        "must not cross words: count inside each word.",
    ),
    "across-words:2": (
        _one_long_list,
        "You join all words to one long list and count there, so the end of one word "
        "and the beginning of the next make pairs. Count inside each word.",
    ),
    "last-pair-missed": (
        _counted(lambda symbols: list(pairwise(symbols))[:-1]),
        "The last pair of every word is missing, and with it the end of the word. A "
        "word of k symbols has k − 1 pairs: the last one starts at index k − 2.",
    ),
    "once-per-word": (
        _counted(lambda symbols: set(pairwise(symbols))),
        "You count a pair once per word, even where it stands there twice, as (a, n) "
        "in a n a n a. Count places, not words.",
    ),
    "order-ignored": (
        _counted(lambda symbols: ((min(p), max(p)) for p in pairwise(symbols))),
        "You count (a, b) and (b, a) as the same pair. The order matters: “in” is not "
        "“ni”.",
    ),
    "every-other-pair": (
        _counted(lambda s: zip(s[::2], s[1::2], strict=False)),
        "You step over two symbols at a time, so every other pair is missing. Pairs "
        "overlap: a b c holds (a, b) and (b, c).",
    ),
}

CASES = [
    kit.Case({"words": words})
    for words in (
        {("l", "o", "w", END_OF_WORD): 5, ("l", "o", "s", "t", END_OF_WORD): 2},
        {("a", "n", "a", "n", "a", END_OF_WORD): 3, ("n", "a", END_OF_WORD): 1},
        {("a", "a", "a"): 2, ("x",): 4},
        {("lo", "w", END_OF_WORD): 7, ("w", "lo"): 1},
    )
]


def _counts(found: Any) -> dict[Pair, int]:
    if not isinstance(found, Mapping):
        raise kit.Mistake(
            "not-a-mapping",
            f"Your function returns a {type(found).__name__}; I need a dict (or a "
            "Counter) from each pair to its number.",
        )
    if any(isinstance(key, str) for key in found):
        raise kit.Mistake(
            "keys-are-strings",
            "Your keys are strings. Then (“a”, “bc”) and (“ab”, “c”) are the same "
            "key, and nobody can tell which to merge. Use tuples: (left, right).",
        )
    return {pair: n for pair, n in found.items() if n}


def _unknown(
    found: dict[Pair, int], wanted: Counter[Pair], words: Words
) -> kit.Mistake:
    pairs = sorted({*found, *wanted}, key=str)
    pair = next(p for p in pairs if found.get(p, 0) != wanted[p])
    return kit.Mistake(
        "wrong-count",
        f"For {words} you count {pair} {found.get(pair, 0)} times; it stands "
        f"there {wanted[pair]} times.",
    )


def _probe_counts(mine: kit.Function) -> None:
    for case in CASES:
        kit.judge(mine, [case], right_counts, SLIPS, take=_counts, otherwise=_unknown)


@kit.grader(_probe_counts)
def count_pairs(mine: kit.Function) -> str:
    """Grade a reader's count of neighbouring symbols.

    ``mine`` is a function ``mine(words)``: symbols of each word -> how often the word
    occurs, to pair -> number of places, as
    `tformer.tokenization.byte_pairs.count_pairs`.
    """
    return (
        "Every place counts, as often as its word occurs, in its order, and no pair "
        "crosses from one word to the next."
    )
