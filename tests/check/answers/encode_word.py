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
