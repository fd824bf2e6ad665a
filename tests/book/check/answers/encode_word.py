from itertools import pairwise

from answers import right, wrong


def replayed(symbols, merges, breaks_off=False):
    symbols = [*symbols]
    for left, right_ in merges:
        if breaks_off and (left, right_) not in pairwise(symbols):
            break
        i = 0
        while i + 1 < len(symbols):
            if (symbols[i], symbols[i + 1]) == (left, right_):
                symbols[i : i + 2] = [left + right_]
            i += 1
    return symbols


plain = right(lambda word, merges: replayed([*word, "</w>"], merges))
wrong("no-end-mark")(replayed)
wrong("stops-too-early", "continue, not break")(
    lambda word, merges: replayed([*word, "</w>"], merges, breaks_off=True)
)


wrong("merges-reversed", "learned first")(
    lambda word, merges: plain(word, merges[::-1])
)


wrong("mark-glued", "symbol of its own")(
    lambda word, merges: replayed([*word[:-1], word[-1] + "</w>"], merges)
)
wrong("wrong-pieces")(lambda word, merges: [word + "</w>"])
