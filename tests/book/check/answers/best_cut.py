import math

from answers import right, wrong


@right
def viterbi(word, log_p):
    best = {0: (0.0, [])}
    for i in range(1, len(word) + 1):
        ways = [
            (best[j][0] + log_p[word[j:i]], [*best[j][1], word[j:i]])
            for j in range(i)
            if j in best and word[j:i] in log_p
        ]
        if ways:
            best[i] = max(ways)
    return best[len(word)][1] if len(word) in best else None


def _cuts(word, log_p):
    if not word:
        return [[]]
    return [
        [word[:i], *rest]
        for i in range(1, len(word) + 1)
        if word[:i] in log_p
        for rest in _cuts(word[i:], log_p)
    ]


@wrong("logs-multiplied", "multiply the logarithms")
def multiplied(word, log_p):
    ways = _cuts(word, log_p)
    return max(ways, key=lambda c: math.prod(log_p[p] for p in c), default=None)


wrong("fewest-pieces")(lambda *given: min(_cuts(*given), key=len, default=None))


@wrong("sum-forgotten", "best[j]")
def last_piece_only(word, log_p):
    best = {0: (0.0, [])}
    for i in range(1, len(word) + 1):
        ways = [
            (log_p[word[j:i]], [*best[j][1], word[j:i]])
            for j in range(i)
            if j in best and word[j:i] in log_p
        ]
        if ways:
            best[i] = max(ways)
    return best[len(word)][1] if len(word) in best else None


wrong("score-too")(lambda word, log_p: (0.5, viterbi(word, log_p)))
wrong("wrong-cut")(lambda word, log_p: [word, word])
wrong("stops-where-nothing-fits")(lambda word, log_p: list(viterbi(word, log_p)))
wrong("cut-where-nothing-fits")(lambda word, log_p: viterbi(word, log_p) or [])
