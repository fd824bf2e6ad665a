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
