"""The grader for `encode_word` of chapter *Tokenization*, and known mistakes."""

import itertools
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from tformer.tokenization.byte_pairs import END_OF_WORD, BytePairEncoding
from tformer.tokenization.byte_pairs import merge as right_merge
from tformer_book.check import kit

HINTS = (
    "Does the order in which merges were learned matter here? Try “lowest” with the "
    "last merge first.",
    "Begin with the characters and the mark. Go through the merges once, in their "
    "order, and join each pair wherever it stands; a pair that doesn't occur changes "
    "nothing.",
    "symbols = (*word, END)",
)

Pair = tuple[str, str]
# Each pair of pieces is there before it is merged. The first merges are those of
# Sennrich et al. 2016; in the second the order of merges decides.
SUBWORDS = [("e", "s"), ("es", "t"), ("est", END_OF_WORD), ("l", "o"), ("lo", "w")]
LETTERS = [
    *[("b", "c"), ("a", "b"), ("ab", "ab"), ("bc", "d"), ("d", END_OF_WORD)],
    *[("c", "e"), ("d", "e"), ("c", "de"), ("c", "d")],
]
CASES = kit.cases(
    "word merges",
    *((word, SUBWORDS) for word in ("low", "lowest", "est", "wow", "xyz")),
    *((w, LETTERS) for w in ("abcd", "abc", "bcabc", "ababab", "a", "bce", "cde")),
)


def _spelled(word: str) -> list[str]:
    return [*word, END_OF_WORD]


def _latest_first(word: str, merges: list[Pair]) -> list[str]:
    found = _spelled(word)
    while fits := [pair for pair in merges if pair in set(pairwise(found))]:
        found = list(right_merge(found, fits[-1]))
    return found


def _longest_match(word: str, merges: list[Pair]) -> list[str]:
    pieces = {left + right for left, right in merges}
    symbols, found = _spelled(word), []
    while symbols:
        sizes = range(len(symbols), 0, -1)
        best = next(k for k in sizes if k == 1 or "".join(symbols[:k]) in pieces)
        found.append("".join(symbols[:best]))
        symbols = symbols[best:]
    return found


def _leftmost(word: str, merges: list[Pair]) -> list[str]:
    symbols, i = _spelled(word), 0
    while i + 1 < len(symbols):
        if (symbols[i], symbols[i + 1]) in merges:
            symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]
            i = 0
        else:
            i += 1
    return symbols


def _first_place(word: str, merges: list[Pair]) -> list[str]:
    found = _spelled(word)
    for left, right in merges:
        for i, each in enumerate(pairwise(found)):
            if each == (left, right):
                found = [*found[:i], left + right, *found[i + 2 :]]
                break
    return found


def _replayed(symbols: Sequence[str], merges: Sequence[Pair]) -> list[str]:
    for pair in merges:
        symbols = right_merge(symbols, pair)
    return list(symbols)


def _fits(symbols: Sequence[str]) -> Callable[[Pair], bool]:
    """Ask for each merge in turn whether it fits, where those before were applied."""

    def fits(pair: Pair) -> bool:
        nonlocal symbols
        here = pair in set(pairwise(symbols))
        symbols = right_merge(symbols, pair)
        return here

    return fits


def _until_one_does_not_fit(word: str, merges: list[Pair]) -> list[str]:
    fits = _fits(_spelled(word))
    return _replayed(_spelled(word), list(itertools.takewhile(fits, merges)))


def _one_merge(word: str, merges: list[Pair]) -> list[str]:
    pairs = set(pairwise(_spelled(word)))
    return _replayed(_spelled(word), [pair for pair in merges if pair in pairs][:1])


SLIPS: kit.Table = {
    "no-end-mark": (
        lambda word, merges: _replayed([*word], merges),
        "The mark </w> for the end of the word is missing. Start from the characters "
        "AND the mark, as in training; else no merge with </w> can ever fit, and "
        "nobody can tell where the word ended.",
    ),
    "mark-in-letters": (
        lambda word, merges: _replayed([*word, *END_OF_WORD], merges),
        "You spell the mark </w> in four characters. It is one symbol: "
        "[*word, “</w>”], not [*(word + “</w>”)].",
    ),
    "no-merges": (
        lambda word, merges: _spelled(word),
        "You return the characters; no merge was applied.",
    ),
    "latest-first": (
        _latest_first,
        "You apply the latest merge that fits. Of those that fit, the one that was "
        "learned EARLIEST comes first: the order of learning is the rule.",
    ),
    "merges-reversed": (
        lambda word, merges: _replayed(_spelled(word), merges[::-1]),
        "You apply the merges from the last to the first. They build on each other: "
        "begin with the one that was learned first.",
    ),
    "stops-too-early": (
        _until_one_does_not_fit,
        "You stop at the first merge that does not fit. A later one may fit all the "
        "same: skip it and go on to the end of the list (continue, not break).",
    ),
    "mark-glued": (
        lambda word, merges: _replayed([*word[:-1], word[-1] + END_OF_WORD], merges),
        "You begin with the mark glued to the last character. It is a symbol of its "
        "own, which a merge may join later: [*word, “</w>”].",
    ),
    "leftmost-first": (
        _leftmost,
        "You merge whatever fits first from the left. The order is that of learning, "
        "not of reading: look for the pair with the smallest place in merges.",
    ),
    "longest-match": (
        _longest_match,
        "You take the longest known piece from the left. That is a different rule (it "
        "is WordPiece's), and it spells some words differently from training. Replay "
        "the merges in their order.",
    ),
    "first-only": (
        _first_place,
        "Each merge is applied at its first place only. It joins the pair wherever it "
        "stands in the word.",
    ),
    "one-merge-only": (
        _one_merge,
        "You stop after the first merge that fits. What it made may fit a later one: "
        "go on until none fits.",
    ),
}


def _right(word: str, merges: list[Pair]) -> list[str]:
    return BytePairEncoding({*word, *"abcdelostw"}, merges).pieces(word)


def _pieces(returned: Any) -> list[str]:
    if isinstance(returned, str) or not isinstance(returned, Sequence):
        raise kit.Mistake(
            "not-pieces",
            f"Your function returns a {type(returned).__name__}; I need the "
            "list of pieces.",
        )
    return list(returned)


def _unknown(found: Any, wanted: Any, word: str, merges: list[Pair]) -> kit.Mistake:
    return kit.Mistake(
        "wrong-pieces",
        f"“{word}” becomes {' '.join(map(str, found))}; with the merges {merges} "
        f"it must be {' '.join(wanted)}.",
    )


def _probe_encode(mine: kit.Function) -> None:
    kit.judge(mine, CASES, _right, SLIPS, take=_pieces, otherwise=_unknown)


@kit.grader(_probe_encode)
def encode_word(mine: kit.Function) -> str:
    """Grade a reader's byte-pair encoding of one word.

    ``mine`` is a function ``mine(word, merges)``: a word without its mark, and pairs in
    the order in which they were learned; it returns the list of pieces, the last of
    which ends with ``</w>``.
    """
    return (
        "The word begins as characters and its mark, and the merges are replayed in "
        "the order in which they were learned, everywhere in the word."
    )
