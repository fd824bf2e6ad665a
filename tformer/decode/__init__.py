"""Decoding: from a trained model to sentences, one piece at a time.

A hypothesis grows from bos; pad, bos and unk are never chosen. Everything is batched,
and the vocabulary projection runs for the newest position only.

- `greedy`: the best piece at every step. `sample`: a random piece from what
  `distribution` leaves. `grow`: your own rule for choosing.
- `beam_search`, `n_best`: several hypotheses at once.
- `score`: how probable is a given translation?

Each search is written once, as a generator of its steps (`STEPS`, by their names in
`tformer.common.search.SearchSettings`); the functions above run it to the end, and the
figures follow it step by step.

Source: Vaswani et al. 2017, section 6.1; Wu et al. 2016, equation 14.
"""

from collections.abc import Callable

from tformer.decode.beam import beam_search, beam_steps, length_penalty_of, n_best
from tformer.decode.choosing import (
    distribution,
    draw,
    greedy,
    greedy_steps,
    grow,
    grow_steps,
    random_numbers,
    row_seeds,
    sample,
    sample_steps,
    sharpened,
)
from tformer.decode.forced import Scored, score
from tformer.decode.stepping import (
    Continuation,
    Hypothesis,
    Seq2Seq,
    Step,
    Steps,
    drain,
)

STEPS: dict[str, Callable[..., Steps]] = {
    "beam": beam_steps,
    "greedy": greedy_steps,
    "sample": sample_steps,
}

__all__ = [
    "STEPS",
    "Continuation",
    "Hypothesis",
    "Scored",
    "Seq2Seq",
    "Step",
    "Steps",
    "beam_search",
    "beam_steps",
    "distribution",
    "drain",
    "draw",
    "greedy",
    "greedy_steps",
    "grow",
    "grow_steps",
    "length_penalty_of",
    "n_best",
    "random_numbers",
    "row_seeds",
    "sample",
    "sample_steps",
    "score",
    "sharpened",
]
