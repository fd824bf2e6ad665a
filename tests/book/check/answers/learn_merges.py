from collections import Counter
from itertools import pairwise

from answers import right, wrong


def merged(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == pair:
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return tuple(out)


@right
def plain(words, n_merges):
    state = {(*word, "</w>"): n for word, n in words.items()}
    merges = []
    while len(merges) < n_merges:
        counts = Counter()
        for symbols, n in state.items():
            for pair in pairwise(symbols):
                counts[pair] += n
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        state = {merged(symbols, best): n for symbols, n in state.items()}
    return merges


@wrong("stops-where-nothing-is-left")
def never_checks(words, n_merges):
    state = {(*word, "</w>"): n for word, n in words.items()}
    merges = []
    for _ in range(n_merges):
        counts = Counter()
        for symbols, n in state.items():
            for pair in pairwise(symbols):
                counts[pair] += n
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        state = {merged(symbols, best): n for symbols, n in state.items()}
    return merges


@wrong("ties")
def most_common(words, n_merges):
    state = {(*word, "</w>"): n for word, n in words.items()}
    merges = []
    for _ in range(n_merges):
        counts = Counter()
        for symbols, n in state.items():
            for pair in pairwise(symbols):
                counts[pair] += n
        if not counts:
            break
        best = counts.most_common(1)[0][0]
        merges.append(best)
        state = {merged(symbols, best): n for symbols, n in state.items()}
    return merges


@wrong("not-counted-again")
def once(words, n_merges):
    counts = Counter()
    for word, n in words.items():
        for pair in pairwise((*word, "</w>")):
            counts[pair] += n
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


@wrong("strings-not-pairs")
def strings(words, n_merges):
    return ["".join(pair) for pair in plain(words, n_merges)]


@wrong("no-end-mark")
def without_mark(words, n_merges):
    state = {tuple(word): n for word, n in words.items()}
    merges = []
    while len(merges) < n_merges:
        counts = Counter()
        for symbols, n in state.items():
            for pair in pairwise(symbols):
                counts[pair] += n
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        merges.append(best)
        state = {merged(symbols, best): n for symbols, n in state.items()}
    return merges


@wrong("endless")
def waits(words, n_merges):
    merges = []
    while len(merges) < n_merges:
        pass
    return merges
