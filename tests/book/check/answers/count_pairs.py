from itertools import pairwise

from answers import right, wrong


@right
def plain(words):
    counts = {}
    for symbols, n in words.items():
        for pair in pairwise(symbols):
            counts[pair] = counts.get(pair, 0) + n
    return counts


@wrong("frequency-ignored")
def once(words):
    counts = {}
    for symbols in words:
        for pair in pairwise(symbols):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


wrong("keys-are-strings")(
    lambda words: {a + b: n for (a, b), n in plain(words).items()}
)
wrong("wrong-count")(lambda words: {pair: n + 1 for pair, n in plain(words).items()})
right(lambda words: {**plain(words), ("never", "there"): 0})
