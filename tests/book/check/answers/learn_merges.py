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


def learned(
    choose=lambda counts: min(counts, key=lambda pair: (-counts[pair], pair)),
    mark=("</w>",),
    checks=True,
):
    """Merges learned with one step exchanged."""

    def mine(words, n_merges):
        state = {(*word, *mark): n for word, n in words.items()}
        merges = []
        while len(merges) < n_merges:
            counts = Counter()
            for symbols, n in state.items():
                for pair in pairwise(symbols):
                    counts[pair] += n
            if checks and not counts:
                break
            best = choose(counts)
            merges.append(best)
            state = {merged(symbols, best): n for symbols, n in state.items()}
        return merges

    return mine


plain = right(learned())
wrong("stops-where-nothing-is-left")(learned(checks=False))
wrong("ties")(learned(lambda counts: counts.most_common(1)[0][0]))
wrong("no-end-mark")(learned(mark=()))


@wrong("not-counted-again")
def once(words, n_merges):
    counts = Counter()
    for word, n in words.items():
        for pair in pairwise((*word, "</w>")):
            counts[pair] += n
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


wrong("strings-not-pairs")(lambda *given: ["".join(pair) for pair in plain(*given)])


@wrong("endless")
def waits(words, n_merges):
    merges = []
    while len(merges) < n_merges:
        pass
    return merges
