"""The grader for `best_cut` of chapter *Tokenization*, and known mistakes."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tformer_book.check import kit

HINTS = (
    "Suppose you knew the best cut of every beginning of the word. How would the last"
    " piece give you the best cut of the whole?",
    "For i from 1 to the word's length: the best cut of `word[:i]` is the best cut of"
    " some `word[:j]` followed by the piece `word[j:i]`. Try all j, keep sum and "
    "pieces of the best, and remember that some beginnings can't be cut at all.",
    "best = {0: (0.0, [])}  # i -> (sum, pieces) of the best cut of word[:i]",
)

Cut = list[str]
Shares = Mapping[str, float]

# (word, probability of each piece): in the first two one rule after the other that is
# not the product goes wrong; in the third a mean does; the fourth begins with a piece
# after which nothing fits; the last cannot be cut.
CUTS: list[tuple[str, dict[str, float]]] = [
    (
        "abcde",
        {
            **{"a": 0.3, "b": 0.001, "c": 0.05, "d": 0.02, "e": 0.01},
            **{"ab": 0.1, "abc": 0.006, "cd": 0.09, "cde": 0.00005},
        },
    ),
    ("lowest", {"low": 0.06, "est": 0.04, "lowe": 0.001, "st": 0.05, "l": 0.2}),
    ("in", {"in": 0.05, "i": 0.04, "n": 0.9}),
    ("aab", {"aa": 0.3, "a": 0.2, "ab": 0.1}),
    ("xyz", {"x": 0.5, "z": 0.5}),
]


def _all_cuts(word: str, log_p: Mapping[str, float]) -> list[list[str]]:
    if not word:
        return [[]]
    return [
        [word[:i], *rest]
        for i in range(1, len(word) + 1)
        if word[:i] in log_p
        for rest in _all_cuts(word[i:], log_p)
    ]


def _one_after_the_other(word: str, log_p: Shares, value: kit.Function) -> Cut | None:
    found: Cut = []
    while word:
        heads = [word[:i] for i in range(1, len(word) + 1) if word[:i] in log_p]
        if not heads:
            return None
        found.append(max(heads, key=value))
        word = word.removeprefix(found[-1])
    return found


def _by_last_piece(word: str, log_p: Mapping[str, float]) -> list[str] | None:
    cuts: dict[int, list[str]] = {0: []}
    for i in range(1, len(word) + 1):
        starts = [j for j in range(i) if j in cuts and word[j:i] in log_p]
        if starts:
            j = max(starts, key=lambda j: log_p[word[j:i]])
            cuts[i] = [*cuts[j], word[j:i]]
    return cuts.get(len(word))


def _best(
    value: Callable[[list[float]], float], best: kit.Function = max
) -> Callable[[str, Shares], Cut | None]:
    """The best of all cuts, by what its pieces' log-probabilities are worth."""
    return lambda word, log_p: best(
        _all_cuts(word, log_p),
        key=lambda cut: value([log_p[piece] for piece in cut]),
        default=None,
    )


SLIPS: kit.Table = {
    "longest-first": (
        lambda word, log_p: _one_after_the_other(word, log_p, len),
        "You take the longest piece that fits, from the left. It may leave a rest that "
        "is improbable, or that nothing fits: compare whole cuts.",
    ),
    "likeliest-first": (
        lambda word, log_p: _one_after_the_other(word, log_p, log_p.__getitem__),
        "You take the most probable next piece, from the left. It may leave a rest "
        "that is improbable, or that nothing fits: compare whole cuts.",
    ),
    "fewest-pieces": (
        _best(len, min),
        "You look for the fewest pieces. One rare piece can cost more than two "
        "frequent ones: compare the sums of the logarithms.",
    ),
    "mean": (
        _best(lambda logs: sum(logs) / len(logs)),
        "You compare the mean of the logarithms. Each further piece is a further "
        "factor of the product: compare their sum.",
    ),
    "sum-forgotten": (
        _by_last_piece,
        "At each place you compare the last piece's log-probability alone, and forget "
        "the sum up to where it begins. Add: best[j] + log_p[word[j:i]].",
    ),
    "logs-multiplied": (
        [_best(math.prod), _best(math.prod, min)],
        "You multiply the logarithms. Probabilities multiply, so their logarithms "
        "add: log(p q) = log p + log q.",
    ),
    "least-probable": (
        _best(sum, min),
        "You take the smallest sum. Logarithms of probabilities are negative; the most "
        "probable cut has the largest sum, the one nearest to 0.",
    ),
}


def _cases() -> list[kit.Case]:
    logs = [{piece: math.log(share) for piece, share in p.items()} for _, p in CUTS]
    words = (word for word, _ in CUTS)
    return kit.cases("word log_p", *zip(words, logs, strict=True))


def _probe_cut(mine: kit.Function) -> None:
    for case, (word, p) in zip(_cases(), CUTS, strict=True):
        wanted = case.of(_best(sum))
        if wanted is None:
            _refuses(mine, word, case["log_p"])
            continue
        known = list(kit.ways(SLIPS))
        stuck = next((way for way in known if case.of(way[1]) is None), None)
        try:
            found = case.ask(mine, _pieces)
        except kit.Mistake as mistake:
            if stuck and mistake.diagnosis in (
                "returns-nothing",
                "stops-with-an-error",
            ):
                raise kit.Mistake(stuck[0], str(stuck[2])) from None
            raise
        if found == wanted:
            continue
        same = [way for way in known if case.of(way[1]) == found]
        if same:  # of several, the one that gives the other words' cuts, too
            best = max(same, key=lambda way: _explained(mine, way[1]))
            raise kit.Mistake(best[0], str(best[2]))
        raise kit.Mistake(
            "wrong-cut",
            f"With {p} the best cut of “{word}” is {' '.join(wanted)}; yours is "
            f"{' '.join(map(str, found))}.",
        )


def _pieces(found: Any) -> Cut:
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise kit.Mistake(
            "not-pieces",
            f"Your function returns a {type(found).__name__}; I need the list of "
            "pieces.",
        )
    if len(found) == 2 and any(isinstance(x, float) for x in found):
        raise kit.Mistake(
            "score-too",
            "You return the sum as well. Return the list of pieces alone.",
        )
    return list(found)


def _explained(mine: kit.Function, wrong: kit.Function) -> int:
    """How many of the hidden words are cut as by one of the known mistakes."""
    count = 0
    for case in _cases():
        try:
            found = kit.call(mine, case.inputs, nothing=True)
        except kit.Mistake:
            continue
        count += found == case.of(wrong)
    return count


def _refuses(mine: kit.Function, word: str, log_p: dict[str, float]) -> None:
    try:
        found = kit.call(mine, {"word": word, "log_p": log_p}, nothing=True)
    except kit.Stopped as stopped:
        raise kit.Mistake(
            "stops-where-nothing-fits",
            f"“{word}” cannot be cut into {list(log_p)}, and your function stops with "
            f"a {type(stopped.problem).__name__}. Return None there.",
        ) from None
    if found is not None:
        raise kit.Mistake(
            "cut-where-nothing-fits",
            f"“{word}” cannot be cut into {list(log_p)}; return None, not {found!r}.",
        )


@kit.grader(_probe_cut)
def best_cut(mine: kit.Function) -> str:
    """Grade a reader's unigram cut of a word.

    ``mine`` is a function ``mine(word, log_p)``: a word, and the log-probability of
    each piece, to the list of pieces with the largest sum, or None where no cut is
    possible.
    """
    return (
        "It finds the most probable cut where the longest piece, the likeliest piece "
        "and the fewest pieces all mislead, and says so where there is none."
    )
