"""The grader for `count_pairs` of chapter *Tokenization*, and known mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain, pairwise

from tformer.tokenization.byte_pairs import END_OF_WORD
from tformer.tokenization.byte_pairs import count_pairs as right_counts
from tformer_book.check._compare import (
    Known,
    Slip,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import call

Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]

WORDS: list[Words] = [
    {("l", "o", "w", END_OF_WORD): 5, ("l", "o", "s", "t", END_OF_WORD): 2},
    {("a", "n", "a", "n", "a", END_OF_WORD): 3, ("n", "a", END_OF_WORD): 1},
    {("a", "a", "a"): 2, ("x",): 4},
    {("lo", "w", END_OF_WORD): 7, ("w", "lo"): 1},
]


def _wrong_counts(words: Words) -> Known:
    yield Slip(
        "frequency-ignored",
        "You count each word once. A word that occurs n times in the text holds each "
        "of its pairs n times: add n, not 1.",
        right_counts(dict.fromkeys(words, 1)),
    )
    across: Counter[Pair] = Counter()
    for word, following in pairwise(words):
        across[word[-1], following[0]] += 1
    within = right_counts(words)
    yield Slip(
        "across-words",
        "You also count the last symbol of a word with the first of the next. A merge "
        "must not cross words: count inside each word.",
        within + across,
    )
    run = list(chain.from_iterable(list(symbols) * n for symbols, n in words.items()))
    yield Slip(
        "across-words",
        "You join all words to one long list and count there, so the end of one word "
        "and the beginning of the next make pairs. Count inside each word.",
        Counter(pairwise(run)),
    )
    short: Counter[Pair] = Counter()
    once: Counter[Pair] = Counter()
    sides: Counter[Pair] = Counter()
    skipping: Counter[Pair] = Counter()
    for symbols, n in words.items():
        for left, right in list(pairwise(symbols))[:-1]:
            short[left, right] += n
        for pair in set(pairwise(symbols)):
            once[pair] += n
        for left, right in pairwise(symbols):
            sides[min(left, right), max(left, right)] += n
        for i in range(0, len(symbols) - 1, 2):
            skipping[symbols[i], symbols[i + 1]] += n
    yield Slip(
        "last-pair-missed",
        "The last pair of every word is missing, and with it the end of the word. A "
        "word of k symbols has k − 1 pairs: the last one starts at index k − 2.",
        short,
    )
    yield Slip(
        "once-per-word",
        "You count a pair once per word, even where it stands there twice, as (a, n) "
        "in a n a n a. Count places, not words.",
        once,
    )
    yield Slip(
        "order-ignored",
        "You count (a, b) and (b, a) as the same pair. The order matters: “in” is not "
        "“ni”.",
        sides,
    )
    yield Slip(
        "every-other-pair",
        "You step over two symbols at a time, so every other pair is missing. Pairs "
        "overlap: a b c holds (a, b) and (b, c).",
        skipping,
    )


def _probe_counts(mine: Function) -> None:
    for words in WORDS:
        found = call(mine, {"words": words})
        if not isinstance(found, Mapping):
            raise Mistake(
                "not-a-mapping",
                f"Your function returns a {type(found).__name__}; I need a dict (or a "
                "Counter) from each pair to its number.",
            )
        if any(isinstance(key, str) for key in found):
            raise Mistake(
                "keys-are-strings",
                "Your keys are strings. Then (“a”, “bc”) and (“ab”, “c”) are the same "
                "key, and nobody can tell which to merge. Use tuples: (left, right).",
            )
        wanted = right_counts(words)
        counts = {pair: n for pair, n in found.items() if n}
        if counts == wanted:
            continue
        recognise(counts, _wrong_counts(words))
        pairs = sorted({*counts, *wanted}, key=str)
        pair = next(p for p in pairs if counts.get(p, 0) != wanted.get(p, 0))
        raise Mistake(
            "wrong-count",
            f"For {words} you count {pair} {counts.get(pair, 0)} times; it stands "
            f"there {wanted.get(pair, 0)} times.",
        )


def count_pairs(mine: Function) -> Result:
    """Grade a reader's count of neighbouring symbols.

    Args:
        mine: a function ``mine(words)``: symbols of each word -> how often the word
            occurs, to pair -> number of places, as
            `tformer.tokenization.byte_pairs.count_pairs`.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every place counts, as often as its word occurs, in its order, and no pair "
        "crosses from one word to the next."
    )
    return grade("count_pairs", mine, [_probe_counts], praise)
