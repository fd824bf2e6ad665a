"""The grader for `merge` of chapter *Tokenization*, and known mistakes."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tformer.tokenization.byte_pairs import END_OF_WORD
from tformer.tokenization.byte_pairs import merge as right_merge
from tformer_book.check import kit

Symbols = tuple[str, ...]
Pair = tuple[str, str]

# The first is plain; each of the others catches a mistake that it lets pass.
CASES = kit.cases(
    "symbols pair",
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
)


def _first_only(symbols: Symbols, pair: Pair) -> list[str]:
    for i, each in enumerate(pairwise(symbols)):
        if each == pair:
            return [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
    return list(symbols)


def _where(fits: kit.Function) -> kit.Function:
    """Merge two neighbours wherever `fits` says so, from the left."""

    def merged(symbols: Symbols, pair: Pair) -> list[str]:
        found, i = [], 0
        while i < len(symbols):
            step = 2 if len(symbols) > i + 1 and fits(symbols[i : i + 2], pair) else 1
            found.append("".join(symbols[i : i + step]))
            i += step
        return found

    return merged


def _right_kept(symbols: Symbols, pair: Pair) -> list[str]:
    return [
        "".join(pair) if symbols[i : i + 2] == pair else symbol
        for i, symbol in enumerate(symbols)
    ]


def _from_the_right(symbols: Symbols, pair: Pair) -> list[str]:
    flipped = right_merge(symbols[::-1], pair[::-1])[::-1]
    turned = "".join(pair[::-1])
    return ["".join(pair) if each == turned else each for each in flipped]


def _last_lost(symbols: Symbols, pair: Pair) -> list[str]:
    found = list(right_merge(symbols, pair))
    return found if symbols[-2:] == pair else found[:-1]


SLIPS: kit.Table = {
    "first-only": (
        _first_only,
        "You merge the first place only. A merge joins the pair wherever it stands: "
        "go on to the end of the word.",
    ),
    "joined-strings": (
        _where(lambda two, pair: "".join(two) == "".join(pair)),
        "You compare joined strings: “ab” + “c” and “a” + “bc” are the same text, but "
        "not the same pair. Compare symbol with symbol: (symbols[i], symbols[i + 1]) "
        "== pair.",
    ),
    "right-kept": (
        _right_kept,
        "After a merge the right symbol stands there once more. It is inside the new "
        "symbol: step over it, i += 2.",
    ),
    "string-replace": (
        lambda s, pair: " ".join(s).replace(" ".join(pair), "".join(pair)).split(),
        "You replace in a string, and a string knows no borders of symbols: joining "
        "(b, c) also joins the end of “ab” with “c”. Compare whole symbols.",
    ),
    "either-order": (
        _where(lambda two, pair: {*two} == {*pair}),
        "You also merge the pair the other way round. (a, b) joins a with a b that "
        "stands right after it, and nothing else.",
    ),
    "from-the-right": (
        _from_the_right,
        "You merge from the right: a a a becomes a aa. Both would do, if learning and "
        "encoding did the same; here it is from the left: aa a.",
    ),
    "last-lost": (
        _last_lost,
        "The last symbol is lost where it is not part of a merge. Your loop ends one "
        "step early: copy what is left over.",
    ),
}


def _symbols(found: Any) -> list[str]:
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise kit.Mistake(
            "not-symbols",
            f"Your function returns a {type(found).__name__}; I need a list (or a "
            "tuple) of symbols. In one string nobody sees where a symbol ends.",
        )
    return list(found)


def _unknown(
    found: list[str], wanted: list[str], s: Symbols, pair: Pair
) -> kit.Mistake:
    return kit.Mistake(
        "wrong-merge",
        f"Merging {pair} in {' '.join(s)} you get {' '.join(found)}; it must "
        f"be {' '.join(wanted)}.",
    )


def _probe_merge(mine: kit.Function) -> None:
    for case in CASES:
        kit.judge(mine, [case], right_merge, SLIPS, take=_symbols, otherwise=_unknown)


@kit.grader(_probe_merge)
def merge(mine: kit.Function) -> str:
    """Grade a reader's merge step.

    ``mine`` is a function ``mine(symbols, pair)`` that joins every occurrence of the
    pair in a word, from the left, as `tformer.tokenization.byte_pairs.merge` does; it
    returns a list or a tuple of symbols.
    """
    return (
        "Every occurrence is joined, from the left, whole symbols only, and nothing is "
        "lost."
    )
