"""The grader for `encode_word` of chapter *Tokenization*, and known mistakes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from itertools import pairwise

from tformer.tokenization.byte_pairs import END_OF_WORD, BytePairEncoding
from tformer.tokenization.byte_pairs import merge as right_merge
from tformer_book.check._compare import (
    Known,
    Slip,
)
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._run import call

Pair = tuple[str, str]

# (words, merges): each pair of pieces is there before it is merged. The first is the
# dictionary of Sennrich et al. 2016; in the second the order of merges decides.
ENCODINGS: list[tuple[list[str], list[Pair]]] = [
    (
        ["low", "lowest", "est", "wow", "xyz"],
        [("e", "s"), ("es", "t"), ("est", END_OF_WORD), ("l", "o"), ("lo", "w")],
    ),
    (
        ["abcd", "abc", "bcabc", "ababab", "a", "bce", "cde"],
        [
            *[("b", "c"), ("a", "b"), ("ab", "ab"), ("bc", "d"), ("d", END_OF_WORD)],
            *[("c", "e"), ("d", "e"), ("c", "de"), ("c", "d")],
        ],
    ),
]


def _greedy(symbols: list[str], pieces: set[str]) -> list[str]:
    found: list[str] = []
    while symbols:
        sizes = range(len(symbols), 0, -1)
        best = next(k for k in sizes if k == 1 or "".join(symbols[:k]) in pieces)
        found.append("".join(symbols[:best]))
        symbols = symbols[best:]
    return found


def _leftmost(symbols: list[str], merges: list[Pair]) -> list[str]:
    i = 0
    while i + 1 < len(symbols):
        if (symbols[i], symbols[i + 1]) in merges:
            symbols = [*symbols[:i], symbols[i] + symbols[i + 1], *symbols[i + 2 :]]
            i = 0
        else:
            i += 1
    return symbols


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


def _wrong_encodings(word: str, merges: list[Pair]) -> Known:
    spelled = [*word, END_OF_WORD]
    yield Slip(
        "no-end-mark",
        "The mark </w> for the end of the word is missing. Start from the characters "
        "AND the mark, as in training; else no merge with </w> can ever fit, and "
        "nobody can tell where the word ended.",
        _replayed([*word], merges),
    )
    yield Slip(
        "mark-in-letters",
        "You spell the mark </w> in four characters. It is one symbol: "
        "[*word, “</w>”], not [*(word + “</w>”)].",
        _replayed([*word, *END_OF_WORD], merges),
    )
    yield Slip("no-merges", "You return the characters; no merge was applied.", spelled)
    latest = spelled
    while True:
        fits = [pair for pair in merges if pair in set(pairwise(latest))]
        if not fits:
            break
        latest = list(right_merge(latest, fits[-1]))
    yield Slip(
        "latest-first",
        "You apply the latest merge that fits. Of those that fit, the one that was "
        "learned EARLIEST comes first: the order of learning is the rule.",
        latest,
    )
    yield Slip(
        "merges-reversed",
        "You apply the merges from the last to the first. They build on each other: "
        "begin with the one that was learned first.",
        _replayed(spelled, merges[::-1]),
    )
    yield Slip(
        "stops-too-early",
        "You stop at the first merge that does not fit. A later one may fit all the "
        "same: skip it and go on to the end of the list (continue, not break).",
        _replayed(spelled, list(itertools.takewhile(_fits(spelled), merges))),
    )
    yield Slip(
        "mark-glued",
        "You begin with the mark glued to the last character. It is a symbol of its "
        "own, which a merge may join later: [*word, “</w>”].",
        _replayed([*word[:-1], word[-1] + END_OF_WORD], merges),
    )
    yield Slip(
        "leftmost-first",
        "You merge whatever fits first from the left. The order is that of learning, "
        "not of reading: look for the pair with the smallest place in merges.",
        _leftmost(spelled, merges),
    )
    pieces = {left + right for left, right in merges}
    yield Slip(
        "longest-match",
        "You take the longest known piece from the left. That is a different rule (it "
        "is WordPiece's), and it spells some words differently from training. Replay "
        "the merges in their order.",
        _greedy(spelled, pieces),
    )
    first = spelled
    for left, right in merges:
        for i, each in enumerate(pairwise(first)):
            if each == (left, right):
                first = [*first[:i], left + right, *first[i + 2 :]]
                break
    yield Slip(
        "first-only",
        "Each merge is applied at its first place only. It joins the pair wherever it "
        "stands in the word.",
        first,
    )
    yield Slip(
        "one-merge-only",
        "You stop after the first merge that fits. What it made may fit a later one: "
        "go on until none fits.",
        _replayed(spelled, [p for p in merges if p in set(pairwise(spelled))][:1]),
    )


def _probe_encode(mine: Function) -> None:
    found, wanted, known = [], [], []
    for words, merges in ENCODINGS:
        right = BytePairEncoding({*"".join(words), *"abcdelostw"}, merges)
        for word in words:
            returned = call(mine, {"word": word, "merges": merges})
            if isinstance(returned, str) or not isinstance(returned, Sequence):
                raise Mistake(
                    "not-pieces",
                    f"Your function returns a {type(returned).__name__}; I need the "
                    "list of pieces.",
                )
            found.append(list(returned))
            wanted.append(right.pieces(word))
            known.append(list(_wrong_encodings(word, merges)))
    if found == wanted:
        return
    for mistake in zip(*known, strict=True):  # the same one, on every word
        if found == [wrong for _, _, wrong in mistake]:
            raise Mistake(*mistake[0][:2])
    tasks = [(word, merges) for words, merges in ENCODINGS for word in words]
    i = next(i for i, pieces in enumerate(found) if pieces != wanted[i])
    word, merges = tasks[i]
    raise Mistake(
        "wrong-pieces",
        f"“{word}” becomes {' '.join(map(str, found[i]))}; with the merges {merges} it "
        f"must be {' '.join(wanted[i])}.",
    )


def encode_word(mine: Function) -> Result:
    """Grade a reader's byte-pair encoding of one word.

    Args:
        mine: a function ``mine(word, merges)``: a word without its mark, and pairs in
            the order in which they were learned; it returns the list of pieces, the
            last of which ends with ``</w>``.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "The word begins as characters and its mark, and the merges are replayed in "
        "the order in which they were learned, everywhere in the word."
    )
    return grade("encode_word", mine, [_probe_encode], praise)
