"""Subword regularisation: the same sentence in different pieces each time it is seen.

"Straße" is usually one piece, but "Str", "a", "ß", "e" write it as well. A model that
meets both learns what its pieces have in common, and a small corpus seems larger.

Source: Kudo 2018. Chapter *Training*.
"""

from __future__ import annotations

import math
import random
from array import array
from bisect import bisect
from collections.abc import Iterable, Mapping
from itertools import accumulate

from tformer.tokenization import Tokenizer

N_BEST = 16  # ways to write a word among which we draw


class PieceSampler:
    """Draws a way to write each word of a sentence: ``P(way) ∝ P_unigram(way) ** α``.

    Pieces never cross the space between two words, so drawing word by word is drawing
    for the sentence as a whole.

    Args:
        tokenizer: of the unigram algorithm, which alone gives each way a probability.
        exponent: α; 1 draws as the unigram model would, which nearly always means the
            best way; towards 0, all ways become equally likely.

    Raises:
        ValueError: the tokenizer is of another algorithm.
    """

    def __init__(self, tokenizer: Tokenizer, exponent: float) -> None:
        if tokenizer.algorithm != "unigram":
            raise ValueError(
                f"sample_pieces={exponent} needs a unigram tokenizer, and this one is "
                f"{tokenizer.algorithm!r}: use another, or set sample_pieces=None"
            )
        self.tokenizer, self.exponent = tokenizer, exponent
        self._ways: dict[str, tuple[list[list[int]], list[float]]] = {}

    def encode_all(
        self,
        sentences: Iterable[str],
        best: Mapping[str, array[int]],
        *,
        longest: int,
        seed: str,
    ) -> dict[str, array[int]]:
        """Draw pieces for each of the sentences; the same for an equal seed.

        Args:
            sentences: text, each with an entry in ``best``.
            best: sentence → its most probable pieces.
            longest: where more pieces than this are drawn, the best are kept.
            seed: any text.

        Returns:
            Sentence → ids, without ``bos`` and ``eos``.
        """
        uniform = random.Random(seed).random
        drawn: dict[str, array[int]] = {}
        for sentence in sentences:
            if sentence in drawn:
                continue
            usual = best[sentence]
            ids, unchanged = array(usual.typecode), array(usual.typecode)
            for word in self.tokenizer.normalize(sentence).split(" "):
                ways, bounds = self._ways.get(word) or self._ways_to_write(word)
                ids.extend(ways[bisect(bounds, uniform()) if bounds else 0])
                unchanged.extend(ways[0])
            # Rarely a word is written differently in its sentence: then leave it.
            is_sound = unchanged == usual and len(ids) <= longest
            drawn[sentence] = ids if is_sound else usual
        return drawn

    def _ways_to_write(self, word: str) -> tuple[list[list[int]], list[float]]:
        """The best ways to write a word, and where each one's share of [0, 1) ends.

        The last share is left out: what lies beyond the others' is its own.
        """
        ways = self.tokenizer.n_best(word, N_BEST)
        highest = ways[0][1]
        weights = [math.exp(self.exponent * (score - highest)) for _, score in ways]
        bounds = [each / sum(weights) for each in accumulate(weights[:-1])]
        self._ways[word] = [ids for ids, _ in ways], bounds
        return self._ways[word]
