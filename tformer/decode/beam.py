"""Beam search: several hypotheses at once, and the best of those that ended.

Source: Vaswani et al. 2017, section 6.1; Wu et al. 2016, equation 14. Chapter 13.
"""

import math
from bisect import insort
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer.decode.stepping import Seq2Seq, Stepper, check_call, inference


@dataclass(frozen=True)
class Hypothesis:
    """A translation that a search found.

    Attributes:
        ids: its pieces, without special ids.
        log_probability: log p of the pieces and eos.
        score: what ranks it: the log-probability divided by the length penalty.
    """

    ids: list[int]
    log_probability: float
    score: float


def beam_search(
    model: Seq2Seq,
    source_ids: Tensor,
    *,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    max_len: int = 64,
    use_cache: bool = True,
) -> list[list[int]]:
    """Follow several hypotheses at once and return the best finished one.

    It is the first entry of `n_best`, where the search is written down.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        beam_size: hypotheses kept alive; 1 is greedy search. The paper takes 4.
        length_penalty: alpha; 0 compares plain log-probabilities. The paper takes 0.6.
        max_len: as in `greedy`. A hypothesis of max_len pieces is closed by eos, at
            eos's own probability.
        use_cache: as in `greedy`.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        ValueError: beam_size < 1, negative length_penalty, and as `greedy`.

    Source: section 6.1; Wu et al. 2016, equation 14.
    """
    found = n_best(
        model,
        source_ids,
        n=1,
        beam_size=beam_size,
        length_penalty=length_penalty,
        max_len=max_len,
        use_cache=use_cache,
    )
    return [best[0].ids if best else [] for best in found]


def n_best(
    model: Seq2Seq,
    source_ids: Tensor,
    *,
    n: int = 4,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    max_len: int = 64,
    use_cache: bool = True,
) -> list[list[Hypothesis]]:
    """Follow several hypotheses at once and return the n best finished ones.

    A hypothesis Y (its eos counted) is ranked by ``log p(Y) / lp(|Y|)`` with
    ``lp(n) = ((5 + n) / 6)^length_penalty``. A sentence is done when beam_size
    hypotheses have ended, or when no live one could still overtake the n-th of those.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        n: hypotheses wanted, at most beam_size.
        beam_size: as in `beam_search`, with its other options.
        length_penalty: as in `beam_search`.
        max_len: as in `beam_search`.
        use_cache: as in `greedy`.

    Returns:
        For each row n hypotheses, no two alike, the best first; fewer only where there
        are no more (a vocabulary of a few pieces, a model whose weights are NaN).

    Raises:
        ValueError: n < 1 or n > beam_size, and as `beam_search`.

    Source: section 6.1; Wu et al. 2016, equation 14.
    """
    if beam_size < 1:
        raise ValueError(f"beam_size={beam_size} must be at least 1")
    if not length_penalty >= 0:
        raise ValueError(f"length_penalty={length_penalty} must not be negative")
    if not 1 <= n <= beam_size:
        raise ValueError(
            f"n={n} must be at least 1 and at most beam_size={beam_size}: "
            "a wider beam finds more"
        )
    eos_id, vocab_size = model.config.eos_id, model.config.vocab_size
    max_len = check_call(model, source_ids, max_len)
    beams = [
        _Beam(n, beam_size, length_penalty, max_len) for _ in range(source_ids.size(0))
    ]
    live = list(range(source_ids.size(0)))  # sentences not done
    width = 1  # rows of each live sentence: 1 (bos), then beam_size
    totals = torch.zeros(len(live), width, device=source_ids.device)  # log p so far
    with inference(model):
        step = Stepper(model, source_ids, use_cache)
        while live:
            log_p = step.log_probabilities()  # (live * width, V)
            if step.length == max_len:
                log_p = _only(log_p, eos_id)
            candidates = totals[:, :, None] + log_p.view(len(live), width, -1)
            # A row ends in at most one way: 2 * beam_size leave enough to go on.
            best, where = candidates.flatten(1).topk(
                min(2 * beam_size, width * vocab_size)
            )
            ranked = zip(
                best.tolist(),
                (where // vocab_size).tolist(),
                (where % vocab_size).tolist(),
                strict=True,
            )
            rows: list[int] = []
            pieces: list[int] = []
            kept_totals: list[list[float]] = []
            kept: list[int] = []  # places in `live` that go on
            history = step.tokens[:, 1:].tolist()
            for place, (scores, parents, choices) in enumerate(ranked):
                beam = beams[live[place]]
                grown: list[tuple[int, int, float]] = []
                for rank, (total, parent, piece) in enumerate(
                    zip(scores, parents, choices, strict=True)
                ):
                    row = place * width + parent
                    if not total > -math.inf:  # nor NaN, of a broken model
                        break
                    if piece != eos_id:
                        grown.append((row, piece, total))
                    elif rank < beam_size:
                        beam.finish(history[row], total)
                grown = grown[:beam_size]
                if not grown or beam.is_done(best_live=grown[0][2]):
                    continue
                kept.append(place)
                dead = (grown[0][0], grown[0][1], -math.inf)  # fills a short beam
                grown += [dead] * (beam_size - len(grown))
                rows += [row for row, _, _ in grown]
                pieces += [piece for _, piece, _ in grown]
                kept_totals.append([total for _, _, total in grown])
            same_sources = len(kept) == len(live) and width == beam_size
            step.extend(rows, pieces, same_sources=same_sources)
            totals = torch.tensor(kept_totals, device=totals.device)
            live, width = [live[place] for place in kept], beam_size
    return [beam.finished[:n] for beam in beams]


def length_penalty_of(length: int, alpha: float) -> float:
    """``lp(n) = ((5 + n) / 6)^alpha``: what a log-probability is divided by.

    Args:
        length: number of tokens, eos included.
        alpha: 0 for none.

    Source: Wu et al. 2016, equation 14.
    """
    return ((5 + length) / 6) ** alpha


class _Beam:
    """The finished hypotheses of one sentence, the best first."""

    def __init__(self, n: int, size: int, alpha: float, max_len: int) -> None:
        self.n, self.size, self.alpha = n, size, alpha
        self.finished: list[Hypothesis] = []
        self.longest_penalty = length_penalty_of(max_len + 1, alpha)

    def finish(self, pieces: list[int], total: float) -> None:
        """Enter a hypothesis that ended: its pieces without eos, its log p with it."""
        score = total / length_penalty_of(len(pieces) + 1, self.alpha)
        found = Hypothesis(pieces, total, score)
        insort(self.finished, found, key=lambda each: -each.score)  # behind its equals

    def is_done(self, best_live: float) -> bool:
        """Enough have ended, or none alive could win even if all to come were sure."""
        if len(self.finished) >= self.size:
            return True
        reachable = best_live / self.longest_penalty
        return len(self.finished) >= self.n and (
            self.finished[self.n - 1].score >= reachable
        )


def _only(log_p: Tensor, piece: int) -> Tensor:
    """The same log-probabilities with every piece but one ruled out."""
    alone = torch.full_like(log_p, -math.inf)
    alone[:, piece] = log_p[:, piece]
    return alone
