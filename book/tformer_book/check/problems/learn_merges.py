"""The grader for `learn_merges` of chapter *Tokenization*, and the slips it knows."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tformer.tokenization.byte_pairs import END_OF_WORD, BytePairEncoding, merge
from tformer_book.check import kit

HINTS = (
    "What changes from one merge to the next: the words, how often they occur, or how"
    " they are spelled?",
    "Keep a dictionary from a word's symbols (a tuple that ends in the mark) to its "
    "count. In each round count all neighbours, weighted by the word's count, and "
    "take the most frequent, the first in the alphabet if several are equal.",
    "spelled = {(*word, END): n for word, n in words.items()}",
)

Pair = tuple[str, str]


def built(
    words: dict[str, int],
    n_merges: int,
    *,
    mark: tuple[str, ...] = (END_OF_WORD,),
    weighted: bool = True,
    best: str = "first",
    again: bool = True,
    forgets: bool = True,
    used_up: bool = True,
    everywhere: bool = True,
    in_strings: bool = False,
    extra: int = 0,
    across: bool = False,
    once: int = 1,
) -> list[Pair]:
    """Learn merges; other settings make a known mistake."""
    spelled = [([*word, *mark], n if weighted else 1) for word, n in words.items()]
    if across:
        whole = [s for symbols, n in spelled for s in symbols * n]
        spelled = [(whole, 1)]
    merges: list[Pair] = []
    counts: Counter[Pair] = Counter()
    for _ in range(n_merges + extra):
        if again or not merges:
            counts = Counter() if forgets else counts
            for symbols, n in spelled:
                for pair in pairwise(symbols):
                    counts[pair] += n
        counts = Counter({pair: n for pair, n in counts.items() if n >= once})
        if not counts:
            break
        top = _choose(counts, best)
        merges.append(top)
        if not again and used_up:
            del counts[top]
        for i, (symbols, n) in enumerate(spelled):
            if in_strings:
                text = " ".join(symbols).replace(" ".join(top), "".join(top))
                spelled[i] = (text.split(), n)
            elif everywhere:
                spelled[i] = (list(merge(symbols, top)), n)
            else:
                spelled[i] = (_first_place(symbols, top), n)
    return merges


def _choose(counts: Counter[Pair], best: str) -> Pair:
    if best == "last":
        return max(counts, key=lambda pair: (counts[pair], pair))
    if best == "seen":
        return max(counts, key=lambda pair: counts[pair])
    if best == "least":
        return min(counts, key=lambda pair: (counts[pair], pair))
    return min(counts, key=lambda pair: (-counts[pair], pair))


def _first_place(symbols: list[str], pair: Pair) -> list[str]:
    for i, each in enumerate(pairwise(symbols)):
        if each == pair:
            return [*symbols[:i], "".join(pair), *symbols[i + 2 :]]
    return symbols


SLIPS: kit.Table = {
    "no-end-mark": (
        {"mark": ()},
        "The mark </w> for the end of a word is missing: a word is its characters and "
        "the mark, (*word, “</w>”).",
    ),
    "mark-in-letters": (
        {"mark": tuple(END_OF_WORD)},
        "You spell the mark </w> in four characters. It is one symbol.",
    ),
    "words-counted-once": (
        {"weighted": False},
        "Each word counts once, however often it occurs. A pair counts as often as its "
        "word: counts[pair] += n.",
    ),
    "not-counted-again": (
        [{"again": False}, {"again": False, "used_up": False}],
        "You count once and take the most frequent pairs of that count. Each merge "
        "changes what stands beside what: merge it in all words, then count again.",
    ),
    "counts-added-up": (
        {"forgets": False},
        "You count again after each merge, but on top of the counts from before, in "
        "which pairs stand that have long been merged. Begin with an empty Counter "
        "each time.",
    ),
    "ties": (
        [{"best": "last"}, {"best": "seen"}],
        "Where two pairs are equally frequent you take the last in the alphabet, or "
        "the first that you met. Take the first in the alphabet, so that the order of "
        "the words does not matter: min(counts, key=lambda pair: (-counts[pair], "
        "pair)).",
    ),
    "least-frequent": (
        {"best": "least"},
        "You merge the rarest pair. It is the most frequent one that becomes a piece.",
    ),
    "first-place-only": (
        {"everywhere": False},
        "You merge a pair at its first place in a word only. It is joined wherever it "
        "stands.",
    ),
    "merged-in-strings": (
        {"in_strings": True},
        "You merge in a string of symbols and blanks. Then a pair is also found where "
        "one symbol only ends with its first letter. Compare symbol with symbol.",
    ),
    "one-too-many": ({"extra": 1}, "One merge too many: n_merges at most."),
    "one-too-few": ({"extra": -1}, "One merge too few."),
    "across-words": (
        {"across": True},
        "You count pairs across the border of two words. A piece never holds the end "
        "of one word and the beginning of the next.",
    ),
    "stops-at-one": (
        {"once": 2},
        "You stop when no pair occurs twice. Go on until there are n_merges, or no "
        "pair at all.",
    ),
}


class Words(kit.Case):
    """How often each word occurs, and how many merges to learn."""

    def ask(self, mine: kit.Function, take: kit.Function = kit.as_tensor) -> Any:
        """What the reader's function gives."""
        try:
            return super().ask(mine, take)
        except kit.Stopped as stopped:
            if "empty" in stopped.message:
                words, n = self.inputs.values()
                raise kit.Mistake(
                    "stops-where-nothing-is-left",
                    f"With {words} there are fewer than {n} merges: at the end every "
                    "word is one piece, and no pair is left to choose from. Stop "
                    f"there. {stopped.message}",
                ) from None
            raise


# The dictionary of Sennrich et al. 2016; ties, overlaps and symbols that end alike; a
# word of one letter; fewer pairs than merges; a symbol that ends with another's first
# letter; pairs that occur once.
CASES = [
    Words({"words": words, "n_merges": n})
    for words, n in (
        ({"low": 5, "lower": 2, "newest": 6, "widest": 3}, 8),
        ({"banana": 3, "bandana": 2, "aaaa": 4, "nab": 3, "cab": 3}, 9),
        ({"xay": 4, "bay": 3, "bxa": 3, "y": 9}, 5),
        ({"ab": 2, "b": 1}, 6),
        *(({"xyxy": 4, "yy": 5}, 4), ({"ab": 1, "xab": 1}, 9)),
    )
]


def _merges(found: Any) -> list[Pair]:
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise kit.Mistake(
            "not-a-list",
            f"Your function returns a {type(found).__name__}; I need the list of "
            "merges, in the order in which they were learned.",
        )
    if any(isinstance(pair, str) for pair in found):
        raise kit.Mistake(
            "strings-not-pairs",
            "Your merges are strings. Keep both halves, (“e”, “s”), or nobody can tell "
            "later which two symbols to join.",
        )
    return [(str(left), str(right)) for left, right in found]


def _right(words: dict[str, int], n_merges: int) -> list[Pair]:
    text = [" ".join([word] * n) for word, n in words.items()]
    return BytePairEncoding.train(text, n_merges).merges


def _unknown(found: list[Pair], wanted: list[Pair], words: Any, n: int) -> kit.Mistake:
    pairs = zip([*found, ("", "")], [*wanted, ("", "")], strict=False)
    j = next(j for j, (a, b) in enumerate(pairs) if a != b)
    return kit.Mistake(
        "wrong-merges",
        f"From {words} merge {j + 1} should be "
        f"{wanted[j] if j < len(wanted) else 'none'}; yours is "
        f"{found[j] if j < len(found) else 'nothing'}. Write the "
        "words as symbols before it, and count their pairs.",
    )


def _probe(mine: kit.Function) -> None:
    kit.judge(mine, CASES, _right, SLIPS, built, take=_merges, otherwise=_unknown)


@kit.grader(_probe)
def learn_merges(mine: kit.Function) -> str:
    """Grade a reader's whole training of byte-pair encoding.

    ``mine`` is a function ``mine(words, n_merges)``: how often each word occurs, to the
    list of merged pairs in the order of learning. Words are spelled with the mark
    ``</w>``; of equally frequent pairs the first in the alphabet counts.
    """
    return (
        "Count, take the most frequent pair, join it everywhere, count again: the same "
        "merges as tformer.tokenization.byte_pairs, ties and the end included."
    )
