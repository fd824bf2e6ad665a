"""The graders for chapter 02: the parts of byte-pair encoding."""

from __future__ import annotations

import copy
import math
import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from tformer.byte_pairs import END_OF_WORD, BytePairEncoding
from tformer.byte_pairs import count_pairs as right_counts
from tformer.byte_pairs import merge as right_merge
from tformer.check._grade import Function, Mistake, Result, call, grade, recognise

Pair = tuple[str, str]
Words = dict[tuple[str, ...], int]


def _run(mine: Function, **inputs: Any) -> Any:
    """Call the reader's function on copies; raise if it changes one of them."""
    copies = copy.deepcopy(inputs)
    returned = call(mine, copies, {})
    for name, given in inputs.items():
        if copies[name] != given:
            raise Mistake(
                "changes-inputs",
                f"Your function changes the {name} that it was given. Whoever calls it "
                "still needs them: build a new list and return that.",
            )
    return returned


# --- counting pairs ---------------------------------------------------------------

WORDS: list[Words] = [
    {("l", "o", "w", END_OF_WORD): 5, ("l", "o", "s", "t", END_OF_WORD): 2},
    {("a", "n", "a", "n", "a", END_OF_WORD): 3, ("n", "a", END_OF_WORD): 1},
    {("a", "a", "a"): 2, ("x",): 4},
    {("lo", "w", END_OF_WORD): 7, ("w", "lo"): 1},
]


def _wrong_counts(words: Words) -> Iterator[tuple[str, str, Counter[Pair]]]:
    yield (
        "frequency-ignored",
        "You count each word once. A word that occurs n times in the text holds each "
        "of its pairs n times: add n, not 1.",
        right_counts(dict.fromkeys(words, 1)),
    )
    across: Counter[Pair] = Counter()
    for word, following in pairwise(words):
        across[word[-1], following[0]] += 1
    within = right_counts(words)
    yield (
        "across-words",
        "You also count the last symbol of a word with the first of the next. A merge "
        "must not cross words: count inside each word.",
        within + across,
    )
    run = list(chain.from_iterable(list(symbols) * n for symbols, n in words.items()))
    yield (
        "across-words",
        "You join all words to one long list and count there, so the end of one word "
        "and the beginning of the next make pairs. Count inside each word.",
        Counter(pairwise(run)),
    )
    short: Counter[Pair] = Counter()
    once: Counter[Pair] = Counter()
    sides: Counter[Pair] = Counter()
    skipping: Counter[Pair] = Counter()
    for symbols, n in words.items():
        for left, right in list(pairwise(symbols))[:-1]:
            short[left, right] += n
        for pair in set(pairwise(symbols)):
            once[pair] += n
        for left, right in pairwise(symbols):
            sides[min(left, right), max(left, right)] += n
        for i in range(0, len(symbols) - 1, 2):
            skipping[symbols[i], symbols[i + 1]] += n
    yield (
        "last-pair-missed",
        "The last pair of every word is missing, and with it the end of the word. A "
        "word of k symbols has k − 1 pairs: the last one starts at index k − 2.",
        short,
    )
    yield (
        "once-per-word",
        "You count a pair once per word, even where it stands there twice, as (a, n) "
        "in a n a n a. Count places, not words.",
        once,
    )
    yield (
        "order-ignored",
        "You count (a, b) and (b, a) as the same pair. The order matters: “in” is not "
        "“ni”.",
        sides,
    )
    yield (
        "every-other-pair",
        "You step over two symbols at a time, so every other pair is missing. Pairs "
        "overlap: a b c holds (a, b) and (b, c).",
        skipping,
    )


def _probe_counts(mine: Function) -> None:
    for words in WORDS:
        found = _run(mine, words=words)
        if not isinstance(found, Mapping):
            raise Mistake(
                "not-a-mapping",
                f"Your function returns a {type(found).__name__}; I need a dict (or a "
                "Counter) from each pair to its number.",
            )
        if any(isinstance(key, str) for key in found):
            raise Mistake(
                "keys-are-strings",
                "Your keys are strings. Then (“a”, “bc”) and (“ab”, “c”) are the same "
                "key, and nobody can tell which to merge. Use tuples: (left, right).",
            )
        wanted = right_counts(words)
        counts = {pair: n for pair, n in found.items() if n}
        if counts == wanted:
            continue
        for name, message, wrong in _wrong_counts(words):
            if counts == wrong != wanted:
                raise Mistake(name, message)
        pairs = sorted({*counts, *wanted}, key=str)
        pair = next(p for p in pairs if counts.get(p, 0) != wanted.get(p, 0))
        raise Mistake(
            "wrong-count",
            f"For {words} you count {pair} {counts.get(pair, 0)} times; it stands "
            f"there {wanted.get(pair, 0)} times.",
        )


def count_pairs(mine: Function) -> Result:
    """Grade a reader's count of neighbouring symbols.

    Args:
        mine: a function ``mine(words)``: symbols of each word -> how often the word
            occurs, to pair -> number of places, as `tformer.byte_pairs.count_pairs`.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every place counts, as often as its word occurs, in its order, and no pair "
        "crosses from one word to the next."
    )
    return grade("count_pairs", mine, [_probe_counts], praise)


# --- one merge --------------------------------------------------------------------

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
]


def _wrong_merges(
    symbols: tuple[str, ...], pair: Pair
) -> Iterator[tuple[str, str, list[str]]]:
    left, right = pair
    first: list[str] = list(symbols)
    for i, each in enumerate(pairwise(symbols)):
        if each == pair:
            first[i : i + 2] = [left + right]
            break
    yield (
        "first-only",
        "You merge the first place only. A merge joins the pair wherever it stands: "
        "go on to the end of the word.",
        first,
    )
    kept: list[str] = []
    for i, symbol in enumerate(symbols):
        kept.append(left + right if symbols[i : i + 2] == pair else symbol)
    yield (
        "right-kept",
        "After a merge the right symbol stands there once more. It is inside the new "
        "symbol: step over it, i += 2.",
        kept,
    )
    text = " ".join(symbols).replace(f"{left} {right}", left + right).split()
    yield (
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
    yield (
        "either-order",
        "You also merge the pair the other way round. (a, b) joins a with a b that "
        "stands right after it, and nothing else.",
        both,
    )
    flipped = right_merge(symbols[::-1], (right, left))[::-1]
    yield (
        "from-the-right",
        "You merge from the right: a a a becomes a aa. Both would do, if learning and "
        "encoding did the same; here it is from the left: aa a.",
        [left + right if each == right + left else each for each in flipped],
    )
    lost = list(right_merge(symbols, pair))
    if symbols[-2:] != pair:
        lost = lost[:-1]
    yield (
        "last-lost",
        "The last symbol is lost where it is not part of a merge. Your loop ends one "
        "step early: copy what is left over.",
        lost,
    )


def _probe_merge(mine: Function) -> None:
    for symbols, pair in MERGES:
        found = _run(mine, symbols=symbols, pair=pair)
        if isinstance(found, str) or not isinstance(found, Sequence):
            raise Mistake(
                "not-symbols",
                f"Your function returns a {type(found).__name__}; I need a list (or a "
                "tuple) of symbols. In one string nobody sees where a symbol ends.",
            )
        wanted = right_merge(symbols, pair)
        if tuple(found) == wanted:
            continue
        for name, message, wrong in _wrong_merges(symbols, pair):
            if list(found) == wrong and tuple(wrong) != wanted:
                raise Mistake(name, message)
        raise Mistake(
            "wrong-merge",
            f"Merging {pair} in {' '.join(symbols)} you get {' '.join(found)}; it must "
            f"be {' '.join(wanted)}.",
        )


def merge(mine: Function) -> Result:
    """Grade a reader's merge step.

    Args:
        mine: a function ``mine(symbols, pair)`` that joins every occurrence of the pair
            in a word, from the left, as `tformer.byte_pairs.merge` does; it returns a
            list or a tuple of symbols.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Every occurrence is joined, from the left, whole symbols only, and nothing "
        "is lost."
    )
    return grade("merge", mine, [_probe_merge], praise)


# --- encoding a word --------------------------------------------------------------

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


def _wrong_encodings(
    word: str, merges: list[Pair]
) -> Iterator[tuple[str, str, list[str]]]:
    spelled = [*word, END_OF_WORD]
    yield (
        "no-end-mark",
        "The mark </w> for the end of the word is missing. Start from the characters "
        "AND the mark, as in training; else no merge with </w> can ever fit, and "
        "nobody can tell where the word ended.",
        _replayed([*word], merges),
    )
    yield (
        "mark-in-letters",
        "You spell the mark </w> in four characters. It is one symbol: "
        "[*word, “</w>”], not [*(word + “</w>”)].",
        _replayed([*word, *END_OF_WORD], merges),
    )
    yield "no-merges", "You return the characters; no merge was applied.", spelled
    latest = spelled
    while True:
        fits = [pair for pair in merges if pair in set(pairwise(latest))]
        if not fits:
            break
        latest = list(right_merge(latest, fits[-1]))
    yield (
        "latest-first",
        "You apply the latest merge that fits. Of those that fit, the one that was "
        "learned EARLIEST comes first: the order of learning is the rule.",
        latest,
    )
    yield (
        "leftmost-first",
        "You merge whatever fits first from the left. The order is that of learning, "
        "not of reading: look for the pair with the smallest place in merges.",
        _leftmost(spelled, merges),
    )
    pieces = {left + right for left, right in merges}
    yield (
        "longest-match",
        "You take the longest known piece from the left. That is another rule (it is "
        "WordPiece's), and it spells some words otherwise than training did. Replay "
        "the merges in their order.",
        _greedy(spelled, pieces),
    )
    first = spelled
    for left, right in merges:
        for i, each in enumerate(pairwise(first)):
            if each == (left, right):
                first = [*first[:i], left + right, *first[i + 2 :]]
                break
    yield (
        "first-only",
        "Each merge is applied at its first place only. It joins the pair wherever it "
        "stands in the word.",
        first,
    )
    yield (
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
            returned = _run(mine, word=word, merges=merges)
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


# --- pieces to text ---------------------------------------------------------------

PIECES = [
    ["low", "est" + END_OF_WORD],
    ["the" + END_OF_WORD, "d", "og" + END_OF_WORD, ".", END_OF_WORD],
    ["a" + END_OF_WORD, "do", "g"],  # cut off within a word
    [],
]


def _wrong_texts(pieces: list[str]) -> Iterator[tuple[str, str, str]]:
    joined = "".join(pieces)
    yield (
        "marks-left",
        "The marks </w> are still in the text. They stand for a blank.",
        joined,
    )
    yield (
        "no-blanks",
        "You drop the marks </w>, and the words run together. A mark says that a word "
        "ends: a blank belongs there.",
        joined.replace(END_OF_WORD, ""),
    )
    yield (
        "blank-after-each-piece",
        "You put a blank after every piece. Blanks stand only where a piece ends with "
        "</w>; other pieces go on in the same word.",
        " ".join(pieces).replace(END_OF_WORD, "").strip(),
    )
    yield (
        "blank-after-each-piece",
        "You put a blank after every piece. Blanks stand only where a piece ends with "
        "</w>; other pieces go on in the same word.",
        " ".join(piece.removesuffix(END_OF_WORD) for piece in pieces),
    )
    yield (
        "trailing-blank",
        "Your text ends with a blank. A blank stands between words, not after the "
        "last.",
        joined.replace(END_OF_WORD, " "),
    )
    yield (
        "last-word-lost",
        "A last word without its mark is lost. A model may stop in the middle of a "
        "word: keep what is there.",
        " ".join(joined.split(END_OF_WORD)[:-1]),
    )
    yield (
        "last-letter-cut",
        "You always cut the last character off. It is a blank only if the last word "
        "ended; here it was a letter. Use rstrip(), or strip the mark from the piece.",
        joined.replace(END_OF_WORD, " ")[:-1],
    )


def _probe_join(mine: Function) -> None:
    for pieces in PIECES:
        found = _run(mine, pieces=pieces)
        if not isinstance(found, str):
            raise Mistake(
                "not-a-text",
                f"Your function returns a {type(found).__name__}; I need the text, a "
                "str.",
            )
        wanted = "".join(pieces).replace(END_OF_WORD, " ").rstrip(" ")
        if found == wanted:
            continue
        recognise(found, _wrong_texts(pieces), operator.eq)
        raise Mistake(
            "wrong-text", f"From {pieces} you make {found!r}; it must be {wanted!r}."
        )


def join_pieces(mine: Function) -> Result:
    """Grade a reader's way from pieces back to text.

    Args:
        mine: a function ``mine(pieces)``: pieces, of which some end with ``</w>``, to
            the text with a blank between words.

    Returns:
        The verdict; the message is printed.
    """
    praise = (
        "Blanks stand between words and nowhere else, no mark is left, and a word "
        "that was cut off is kept."
    )
    return grade("join_pieces", mine, [_probe_join], praise)


# --- the most probable cut --------------------------------------------------------

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


def _wrong_cuts(
    word: str, log_p: Mapping[str, float]
) -> Iterator[tuple[str, str, list[str] | None]]:
    cuts = _all_cuts(word, log_p)

    def total(cut: list[str]) -> float:
        return sum(log_p[piece] for piece in cut)

    yield (
        "longest-first",
        "You take the longest piece that fits, from the left. It may leave a rest that "
        "is improbable, or that nothing fits: compare whole cuts.",
        _one_after_the_other(word, log_p, len),
    )
    yield (
        "likeliest-first",
        "You take the most probable next piece, from the left. It may leave a rest "
        "that is improbable, or that nothing fits: compare whole cuts.",
        _one_after_the_other(word, log_p, log_p.__getitem__),
    )
    yield (
        "fewest-pieces",
        "You look for the fewest pieces. One rare piece can cost more than two "
        "frequent ones: compare the sums of the logarithms.",
        min(cuts, key=len, default=None),
    )
    yield (
        "mean",
        "You compare the mean of the logarithms. Each further piece is a further "
        "factor of the product: compare their sum.",
        max(cuts, key=lambda cut: total(cut) / len(cut), default=None),
    )
    yield (
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
            found = _run(mine, word=word, log_p=log_p)
        except Mistake as mistake:
            if stuck and mistake.diagnosis in ("stub", "stops-with-an-error"):
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
        recognise(list(found), wrong_ways, operator.eq)
        raise Mistake(
            "wrong-cut",
            f"With {p} the best cut of “{word}” is {' '.join(wanted)}; yours is "
            f"{' '.join(map(str, found))}.",
        )


def _refuses(mine: Function, word: str, log_p: dict[str, float]) -> None:
    try:
        found = mine(word, dict(log_p))
    except Exception as problem:
        raise Mistake(
            "stops-where-nothing-fits",
            f"“{word}” cannot be cut into {list(log_p)}, and your function stops with "
            f"a {type(problem).__name__}. Return None there.",
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
