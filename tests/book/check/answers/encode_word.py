from itertools import pairwise

from answers import right, wrong


@right
def plain(word, merges):
    symbols = [*word, "</w>"]
    for left, right_ in merges:
        i = 0
        while i + 1 < len(symbols):
            if (symbols[i], symbols[i + 1]) == (left, right_):
                symbols[i : i + 2] = [left + right_]
            i += 1
    return symbols


@wrong("no-end-mark")
def no_mark(word, merges):
    return _without(word, merges)


def _without(word, merges):
    symbols = [*word]
    for left, right_ in merges:
        i = 0
        while i + 1 < len(symbols):
            if (symbols[i], symbols[i + 1]) == (left, right_):
                symbols[i : i + 2] = [left + right_]
            i += 1
    return symbols


@wrong("merges-reversed", "learned first")
def last_to_first(word, merges):
    return plain(word, merges[::-1])


@wrong("stops-too-early", "continue, not break")
def breaks_off(word, merges):
    symbols = [*word, "</w>"]
    for left, right_ in merges:
        if (left, right_) not in pairwise(symbols):
            break
        i = 0
        while i + 1 < len(symbols):
            if (symbols[i], symbols[i + 1]) == (left, right_):
                symbols[i : i + 2] = [left + right_]
            i += 1
    return symbols


@wrong("mark-glued", "symbol of its own")
def glued(word, merges):
    return _without([*word[:-1], word[-1] + "</w>"], merges)


wrong("wrong-pieces")(lambda word, merges: [word + "</w>"])
