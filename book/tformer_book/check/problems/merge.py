"""The grader for `merge` of chapter *Tokenization*, and known mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tformer.tokenization.byte_pairs import END_OF_WORD
from tformer.tokenization.byte_pairs import merge as right_merge
from tformer_book.check._compare import (
    Known,
    Slip,
    recognise,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import call

Pair = tuple[str, str]

# The first is plain; each of the others catches a mistake that it lets pass.
MERGES: list[tuple[tuple[str, ...], Pair]] = [
    (("l", "o", "w", END_OF_WORD), ("l", "o")),
    (("b", "a", "n", "a", "n", "a"), ("a", "n")),
    (("lo", "w", "e", "s", "t", END_OF_WORD), ("t", END_OF_WORD)),
    (("n", "a", "an", "a"), ("a", "n")),
    (("b", "a", "n"), ("n", "a")),
    (("b", "a", "n"), ("a", "b")),
    (("s", "t", "re", "st"), ("t", "re")),
    (("ab", "c", "b", "c"), ("b", "c")),
    (("a", "a", "a"), ("a", "a")),
    (("a", "a", "a", "a"), ("a", "a")),
    (("x",), ("x", "x")),
    (("ab", "c", "a", "bc"), ("a", "bc")),
]


def _wrong_merges(symbols: tuple[str, ...], pair: Pair) -> Known:
    left, right = pair
    first: list[str] = list(symbols)
    for i, each in enumerate(pairwise(symbols)):
        if each == pair:
            first[i : i + 2] = [left + right]
            break
    yield Slip(
        "first-only",
        "You merge the first place only. A merge joins the pair wherever it stands: "
        "go on to the end of the word.",
        first,
    )
    joined: list[str] = []
    rest = list(symbols)
    while rest:
        step = 2 if "".join(rest[:2]) == left + right and len(rest) > 1 else 1
        joined.append("".join(rest[:step]))
        rest = rest[step:]
    yield Slip(
        "joined-strings",
        "You compare joined strings: “ab” + “c” and “a” + “bc” are the same text, but "
        "not the same pair. Compare symbol with symbol: (symbols[i], symbols[i + 1]) "
        "== pair.",
        joined,
    )
    kept: list[str] = []
    for i, symbol in enumerate(symbols):
        kept.append(left + right if symbols[i : i + 2] == pair else symbol)
    yield Slip(
        "right-kept",
        "After a merge the right symbol stands there once more. It is inside the new "
        "symbol: step over it, i += 2.",
        kept,
    )
    text = " ".join(symbols).replace(f"{left} {right}", left + right).split()
    yield Slip(
        "string-replace",
        "You replace in a string, and a string knows no borders of symbols: joining "
        "(b, c) also joins the end of “ab” with “c”. Compare whole symbols.",
        text,
    )
    both: list[str] = []
    i = 0
    while i < len(symbols):
        if {*symbols[i : i + 2]} == {left, right} and len(symbols) > i + 1:
            both.append("".join(symbols[i : i + 2]))
            i += 2
        else:
            both.append(symbols[i])
            i += 1
    yield Slip(
        "either-order",
        "You also merge the pair the other way round. (a, b) joins a with a b that "
        "stands right after it, and nothing else.",
        both,
    )
    flipped = right_merge(symbols[::-1], (right, left))[::-1]
    yield Slip(
        "from-the-right",
        "You merge from the right: a a a becomes a aa. Both would do, if learning and "
        "encoding did the same; here it is from the left: aa a.",
        [left + right if each == right + left else each for each in flipped],
    )
    lost = list(right_merge(symbols, pair))
    if symbols[-2:] != pair:
        lost = lost[:-1]
    yield Slip(
        "last-lost",
        "The last symbol is lost where it is not part of a merge. Your loop ends one "
        "step early: copy what is left over.",
        lost,
    )


def _probe_merge(mine: Function) -> None:
    for symbols, pair in MERGES:
        found = call(mine, {"symbols": symbols, "pair": pair})
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise Mistake(
                "not-symbols",
                f"Your function returns a {type(found).__name__}; I need a list (or a "
                "tuple) of symbols. In one string nobody sees where a symbol ends.",
            )
        wanted = right_merge(symbols, pair)
        if tuple(found) == wanted:
            continue
        recognise(list(found), _wrong_merges(symbols, pair))
        raise Mistake(
            "wrong-merge",
            f"Merging {pair} in {' '.join(symbols)} you get {' '.join(found)}; it must "
            f"be {' '.join(wanted)}.",
        )


def merge(mine: Function) -> Result:
    """Grade a reader's merge step.

    Args:
        mine: a function ``mine(symbols, pair)`` that joins every occurrence of the pair
            in a word, from the left, as `tformer.tokenization.byte_pairs.merge` does;
            it returns a list or a tuple of symbols.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every occurrence is joined, from the left, whole symbols only, and nothing "
        "is lost."
    )
    return grade("merge", mine, [_probe_merge], praise)
