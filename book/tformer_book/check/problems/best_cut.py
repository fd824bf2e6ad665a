"""The grader for `best_cut` of chapter *Tokenization*, and known mistakes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tformer_book.check._compare import (
    Known,
    Slip,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import Stopped, call

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


def _one_after_the_other(
    word: str, log_p: Mapping[str, float], value: Function
) -> list[str] | None:
    found: list[str] = []
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


def _wrong_cuts(word: str, log_p: Mapping[str, float]) -> Known:
    cuts = _all_cuts(word, log_p)

    def total(cut: list[str]) -> float:
        return sum(log_p[piece] for piece in cut)

    yield Slip(
        "longest-first",
        "You take the longest piece that fits, from the left. It may leave a rest that "
        "is improbable, or that nothing fits: compare whole cuts.",
        _one_after_the_other(word, log_p, len),
    )
    yield Slip(
        "likeliest-first",
        "You take the most probable next piece, from the left. It may leave a rest "
        "that is improbable, or that nothing fits: compare whole cuts.",
        _one_after_the_other(word, log_p, log_p.__getitem__),
    )
    yield Slip(
        "fewest-pieces",
        "You look for the fewest pieces. One rare piece can cost more than two "
        "frequent ones: compare the sums of the logarithms.",
        min(cuts, key=len, default=None),
    )
    yield Slip(
        "mean",
        "You compare the mean of the logarithms. Each further piece is a further "
        "factor of the product: compare their sum.",
        max(cuts, key=lambda cut: total(cut) / len(cut), default=None),
    )
    yield Slip(
        "sum-forgotten",
        "At each place you compare the last piece's log-probability alone, and forget "
        "the sum up to where it begins. Add: best[j] + log_p[word[j:i]].",
        _by_last_piece(word, log_p),
    )
    for best in (max, min):
        yield Slip(
            "logs-multiplied",
            "You multiply the logarithms. Probabilities multiply, so their logarithms "
            "add: log(p q) = log p + log q.",
            best(
                cuts,
                key=lambda cut: math.prod(log_p[piece] for piece in cut),
                default=None,
            ),
        )
    yield Slip(
        "least-probable",
        "You take the smallest sum. Logarithms of probabilities are negative; the most "
        "probable cut has the largest sum, the one nearest to 0.",
        min(cuts, key=total, default=None),
    )


def _probe_cut(mine: Function) -> None:
    for word, p in CUTS:
        log_p = {piece: math.log(share) for piece, share in p.items()}
        cuts = _all_cuts(word, log_p)
        if not cuts:
            _refuses(mine, word, log_p)
            continue
        wanted = max(cuts, key=lambda cut: sum(log_p[piece] for piece in cut))
        wrong_ways = list(_wrong_cuts(word, log_p))
        stuck = next((way for way in wrong_ways if way[2] is None), None)
        try:
            found = call(mine, {"word": word, "log_p": log_p})
        except Mistake as mistake:
            if stuck and mistake.diagnosis in (
                "returns-nothing",
                "stops-with-an-error",
            ):
                raise Mistake(*stuck[:2]) from None
            raise
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise Mistake(
                "not-pieces",
                f"Your function returns a {type(found).__name__}; I need the list of "
                "pieces.",
            )
        if len(found) == 2 and any(isinstance(x, float) for x in found):
            raise Mistake(
                "score-too",
                "You return the sum as well. Return the list of pieces alone.",
            )
        if list(found) == wanted:
            continue
        same = [k for k, way in enumerate(wrong_ways) if way.gives == list(found)]
        if same:  # of several, the one that gives the other words' cuts, too
            best = max(same, key=lambda k: _explained(mine, k))
            raise Mistake(*wrong_ways[best][:2])
        raise Mistake(
            "wrong-cut",
            f"With {p} the best cut of “{word}” is {' '.join(wanted)}; yours is "
            f"{' '.join(map(str, found))}.",
        )


def _explained(mine: Function, mistake: int) -> int:
    """How many of the hidden words are cut as by one of the known mistakes."""
    count = 0
    for word, p in CUTS:
        log_p = {piece: math.log(share) for piece, share in p.items()}
        try:
            found = call(mine, {"word": word, "log_p": log_p}, nothing=True)
        except Mistake:
            continue
        count += found == list(_wrong_cuts(word, log_p))[mistake].gives
    return count


def _refuses(mine: Function, word: str, log_p: dict[str, float]) -> None:
    try:
        found = call(mine, {"word": word, "log_p": log_p}, nothing=True)
    except Stopped as stopped:
        raise Mistake(
            "stops-where-nothing-fits",
            f"“{word}” cannot be cut into {list(log_p)}, and your function stops with "
            f"a {type(stopped.problem).__name__}. Return None there.",
        ) from None
    if found is not None:
        raise Mistake(
            "cut-where-nothing-fits",
            f"“{word}” cannot be cut into {list(log_p)}; return None, not {found!r}.",
        )


def best_cut(mine: Function) -> Result:
    """Grade a reader's unigram cut of a word.

    Args:
        mine: a function ``mine(word, log_p)``: a word, and the log-probability of each
            piece, to the list of pieces with the largest sum, or None where no cut is
            possible.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "It finds the most probable cut where the longest piece, the likeliest piece "
        "and the fewest pieces all mislead, and says so where there is none."
    )
    return grade("best_cut", mine, [_probe_cut], praise)
