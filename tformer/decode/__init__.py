"""Decoding: from a trained model to sentences, one piece at a time.

A hypothesis grows from bos; pad, bos and unk are never chosen. All of it is batched,
and the vocabulary projection runs for the newest position only.

- `greedy`: the best piece at every step. `sample`: a piece by chance, out of what
  `distribution` leaves. `grow`: your own way to choose.
- `beam_search`, `n_best`: several hypotheses at once.
- `score`: how probable is a translation that is given?

Source: Vaswani et al. 2017, section 6.1; Wu et al. 2016, equation 14. Chapter 13.
"""

from tformer.decode.beam import Hypothesis, beam_search, length_penalty_of, n_best
from tformer.decode.choosing import distribution, greedy, grow, row_seeds, sample
from tformer.decode.forced import Scored, score
from tformer.decode.stepping import Seq2Seq

__all__ = [
    "Hypothesis",
    "Scored",
    "Seq2Seq",
    "beam_search",
    "distribution",
    "greedy",
    "grow",
    "length_penalty_of",
    "n_best",
    "row_seeds",
    "sample",
    "score",
]
