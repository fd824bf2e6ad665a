"""Byte-pair encoding from scratch: the most frequent neighbours become one piece.

A word is its characters plus an end-of-word mark: ``low`` is ``l o w </w>``. Training
counts all neighbouring pairs in all words, merges the most frequent pair everywhere,
and repeats. Encoding replays the merges in the order in which they were learned.

Merges stay inside words, because only words are counted. Special tokens never take
part, because they are ids without a spelling; ``<s>`` in a text is three characters.
The models of this book use sentencepiece (`tformer.tokenization`), which also knows
bytes and other languages' spaces. ``studies/bpe_against_sentencepiece.py`` measures how
far they agree.

Source: Sennrich et al. 2016, section 3.2. Chapter *Tokenization*.
"""

import operator
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

END_OF_WORD = "</w>"
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")  # names of ids 0 to 3, for people only
UNKNOWN = "⁇"  # how an unknown character is written when ids become text again

Pair = tuple[str, str]
Symbols = tuple[str, ...]


def count_pairs(words: Mapping[Symbols, int]) -> Counter[Pair]:
    """Count how often each symbol directly precedes each other one, within words.

    Args:
        words: symbols of each word -> how often the word occurs.

    Returns:
        pair -> number of occurrences; ``a a a`` has the pair ``(a, a)`` twice.
    """
    counts: Counter[Pair] = Counter()
    for symbols, n in words.items():
        for pair in pairwise(symbols):
            counts[pair] += n
    return counts


def merge(symbols: Sequence[str], pair: Pair) -> Symbols:
    """Join every occurrence of a pair, from the left: ``a a a`` becomes ``aa a``."""
    left, right = pair
    merged: list[str] = []
    i, last = 0, len(symbols) - 1
    while i <= last:
        if i < last and symbols[i] == left and symbols[i + 1] == right:
            merged.append(left + right)
            i += 2
        else:
            merged.append(symbols[i])
            i += 1
    return tuple(merged)


class BytePairEncoding:
    """Encodes text as pieces that were merged from characters.

    ``decode(encode(text)) == " ".join(text.split())`` if every character is known.

    Args:
        alphabet: the characters that have a piece of their own.
        merges: pairs of pieces, in the order in which they are joined.
        counts: how often each pair occurred in the training text when it was merged;
            empty if unknown.

    Attributes:
        merges, counts: as given.
        vocabulary: the piece of each id: special tokens, the mark, the alphabet, then
            what the merges make (a piece that two merges make has one id).
        pad_id, bos_id, eos_id, unk_id: 0, 1, 2 and 3, as in `tformer.tokenization`.

    Raises:
        ValueError: an alphabet not made of single characters; a merge of pieces that
            do not exist yet, or across a word's end; not one count per merge.
    """

    pad_id, bos_id, eos_id, unk_id = 0, 1, 2, 3

    def __init__(
        self,
        alphabet: Iterable[str],
        merges: Iterable[Pair],
        counts: Iterable[int] = (),
    ) -> None:
        characters = sorted(set(alphabet))
        for each in characters:
            if len(each) != 1 or each.isspace():
                raise ValueError(f"{each!r} is not one visible character")
        pieces = dict.fromkeys([END_OF_WORD, *characters])  # a set that keeps order
        self.merges, self.counts = list(merges), list(counts)
        if self.counts and len(self.counts) != len(self.merges):
            raise ValueError(
                f"{len(self.counts)} counts for {len(self.merges)} merges: give one "
                "for each, or none"
            )
        for left, right in self.merges:
            if left not in pieces or right not in pieces:
                raise ValueError(
                    f"the merge {(left, right)} joins a piece that is neither in the "
                    "alphabet nor the result of an earlier merge"
                )
            if END_OF_WORD in (left + right).removesuffix(END_OF_WORD):
                raise ValueError(f"the merge {(left, right)} crosses a word's end")
            pieces[left + right] = None
        self.vocabulary = [*SPECIAL, *pieces]
        self._ids = {piece: i for i, piece in enumerate(pieces, start=len(SPECIAL))}
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self._known_words: dict[str, list[str]] = {}

    @classmethod
    def train(cls, sentences: Iterable[str], n_merges: int) -> "BytePairEncoding":
        """Learn merges: again and again, join the most frequent pair of neighbours.

        Ties go to the pair that sorts first, so that the same sentences, in any order,
        give the same merges. After a merge, only the words that contain the pair are
        counted again.

        Args:
            sentences: training text; words are separated by whitespace.
            n_merges: how many merges to learn; there are fewer if every word becomes a
                single piece earlier.

        Raises:
            TypeError: a sentence is not a string, or n_merges not an int.
            ValueError: no words, n_merges < 0, or the mark ``</w>`` in the text.

        Source: algorithm 1.
        """
        if isinstance(n_merges, bool) or not isinstance(n_merges, int):
            raise TypeError(f"n_merges={n_merges!r} must be an int")
        if n_merges < 0:
            raise ValueError(f"n_merges={n_merges} must be 0 or more")
        frequency = _count_words(sentences)
        spelled = {word: _spell(word) for word in frequency}  # as it stands now
        counts = count_pairs({spelled[word]: n for word, n in frequency.items()})
        holders: defaultdict[Pair, set[str]] = defaultdict(set)  # pair -> its words
        for word, symbols in spelled.items():
            for pair in pairwise(symbols):
                holders[pair].add(word)

        merges: list[Pair] = []
        learned_counts: list[int] = []
        queue = [(-n, pair) for pair, n in counts.items()]  # most frequent pair first
        heapify(queue)
        while len(merges) < n_merges and queue:
            n, best = heappop(queue)
            if counts[best] != -n:
                continue  # a merge has changed this count since it was queued
            merges.append(best)
            learned_counts.append(-n)
            changed: set[Pair] = set()
            for word in holders.pop(best):  # only these words change
                n, before = frequency[word], spelled[word]
                spelled[word] = after = merge(before, best)
                for pair in pairwise(before):
                    counts[pair] -= n
                for pair in pairwise(after):
                    counts[pair] += n
                    holders[pair].add(word)
                for pair in set(pairwise(before)).difference(pairwise(after)):
                    holders[pair].discard(word)
                changed.update(pairwise(before), pairwise(after))
            for pair in changed:
                if counts[pair]:
                    heappush(queue, (-counts[pair], pair))
        return cls(chain.from_iterable(frequency), merges, learned_counts)

    @property
    def vocab_size(self) -> int:
        """Number of ids, including the four special ones."""
        return len(self.vocabulary)

    def steps(self, text: str) -> list[list[str]]:
        """The text's pieces before the first merge, after it, …, after the last.

        Each step applies one merge, the earliest learned of those that apply, wherever
        its pair occurs.
        """
        words = [_spell(word) for word in _check_text(text).split()]
        steps = [list(chain.from_iterable(words))]
        while True:
            pairs = {pair for symbols in words for pair in pairwise(symbols)}
            known = pairs & self._ranks.keys()
            if not known:
                return steps
            first = min(known, key=self._ranks.__getitem__)
            words = [merge(symbols, first) for symbols in words]
            steps.append(list(chain.from_iterable(words)))

    def pieces(self, text: str) -> list[str]:
        """The text's pieces; each unknown character is a piece by itself."""
        found: list[str] = []
        for word in _check_text(text).split():
            if word not in self._known_words:
                self._known_words[word] = self.steps(word)[-1]
            found += self._known_words[word]
        return found

    def encode(self, text: str) -> list[int]:
        """The ids of the text's pieces; an unknown character becomes ``unk_id``.

        bos and eos are not added: they belong to the sentence, not to its spelling.

        Raises:
            TypeError: text is not a string.
        """
        return [self._ids.get(piece, self.unk_id) for piece in self.pieces(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; pad, bos and eos are skipped, unk shows as "⁇".

        Raises:
            TypeError: an id is not an integer.
            ValueError: an id lies outside the vocabulary.
        """
        if isinstance(ids, str):
            raise TypeError("decode takes ids, got a str; did you mean encode?")
        text = ""
        for i in map(self._check_id, ids):
            if i == self.unk_id:
                text += UNKNOWN
            elif i >= len(SPECIAL):
                piece = self.vocabulary[i]
                word = piece.removesuffix(END_OF_WORD)
                text += word if word == piece else word + " "
        return text.rstrip(" ")

    def _check_id(self, i: int) -> int:
        try:
            value = operator.index(i)
        except TypeError:
            raise TypeError(f"piece ids must be integers, got {i!r}") from None
        if not 0 <= value < self.vocab_size:
            raise ValueError(
                f"piece id {value} is outside the vocabulary of {self.vocab_size} "
                "(0 to vocab_size - 1): was it made by another encoding?"
            )
        return value

    def __repr__(self) -> str:
        return (
            f"BytePairEncoding({len(self.merges)} merges, vocab_size={self.vocab_size})"
        )


def _spell(word: str) -> Symbols:
    """A word's characters and the end-of-word mark."""
    return (*word, END_OF_WORD)


def _count_words(sentences: Iterable[str]) -> Counter[str]:
    """How often each word occurs; raise if there is nothing to learn from."""
    if isinstance(sentences, str):
        raise TypeError("sentences must be a list of texts, got one text (str)")
    frequency = Counter(
        word for each in sentences for word in _check_text(each).split()
    )
    if not frequency:
        raise ValueError("there are no words to learn from: every sentence is empty")
    for word in frequency:
        if END_OF_WORD in word:
            raise ValueError(
                f"the word {word!r} contains {END_OF_WORD!r}, which marks the end of a "
                "word here: remove it from the training text"
            )
    return frequency


def _check_text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"expected a text (str), got {type(text).__name__}")
    return text
