"""Decoding: from a trained model to sentences, one piece at a time.

A hypothesis grows from bos; pad, bos and unk are never chosen. All searches are
batched, and the vocabulary projection runs for the newest position only.

Source: Vaswani et al. 2017, section 6.1; Wu et al. 2016, equation 14. Chapter 13.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from tformer import masks
from tformer.model import Transformer


def greedy(
    model: Transformer,
    source_ids: Tensor,
    *,
    max_len: int = 64,
    use_cache: bool = True,
) -> list[list[int]]:
    """Take the most probable piece at every step. Deterministic; not always best.

    Args:
        model: in any mode; decoding runs without dropout.
        source_ids: (B, S) int64, pieces + eos, padded on the right.
        max_len: longest translation, in pieces; never more than fits the model.
        use_cache: keep keys and values of earlier positions. Off, every step runs the
            whole prefix again: slower, and equal.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        TypeError: source_ids are not int64.
        ValueError: wrong shape, ids out of range, a row without a visible token,
            longer than the model's max_len, or max_len < 1.
    """
    eos_id = model.config.eos_id
    max_len = _check_call(model, source_ids, max_len)
    results: list[list[int]] = [[] for _ in range(source_ids.size(0))]
    live = list(range(source_ids.size(0)))  # which sentence each row belongs to
    with _inference(model):
        step = _Stepper(model, source_ids, use_cache)
        while live and step.length < max_len:
            best = step.log_probabilities().argmax(dim=-1).tolist()
            rows = [row for row, piece in enumerate(best) if piece != eos_id]
            for row in rows:
                results[live[row]].append(best[row])
            step.extend(
                rows, [best[row] for row in rows], same_sources=len(rows) == len(live)
            )
            live = [live[row] for row in rows]  # the finished leave the batch
    return results


def beam_search(
    model: Transformer,
    source_ids: Tensor,
    *,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    max_len: int = 64,
    use_cache: bool = True,
) -> list[list[int]]:
    """Follow several hypotheses at once and return the best finished one.

    A hypothesis Y (its eos counted) is ranked by ``log p(Y) / lp(|Y|)`` with
    ``lp(n) = ((5 + n) / 6)^length_penalty``. A sentence is done when beam_size
    hypotheses have ended, or when no live one could still overtake the best of those.

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
    if beam_size < 1:
        raise ValueError(f"beam_size={beam_size} must be at least 1")
    if not length_penalty >= 0:
        raise ValueError(f"length_penalty={length_penalty} must not be negative")
    eos_id, vocab_size = model.config.eos_id, model.config.vocab_size
    max_len = _check_call(model, source_ids, max_len)
    beams = [
        _Beam(beam_size, length_penalty, max_len) for _ in range(source_ids.size(0))
    ]
    live = list(range(source_ids.size(0)))  # sentences not done
    width = 1  # rows of each live sentence: 1 (bos), then beam_size
    totals = torch.zeros(len(live), width, device=source_ids.device)  # log p so far
    with _inference(model):
        step = _Stepper(model, source_ids, use_cache)
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
    return [beam.best for beam in beams]


def length_penalty_of(length: int, alpha: float) -> float:
    """``lp(n) = ((5 + n) / 6)^alpha``: what a log-probability is divided by.

    Args:
        length: number of tokens, eos included.
        alpha: 0 for none.

    Source: Wu et al. 2016, equation 14.
    """
    return ((5 + length) / 6) ** alpha


class _Beam:
    """The finished hypotheses of one sentence: how many, and the best of them."""

    def __init__(self, size: int, alpha: float, max_len: int) -> None:
        self.size, self.alpha = size, alpha
        self.best: list[int] = []
        self.best_score = -math.inf
        self.n_finished = 0
        self.longest_penalty = length_penalty_of(max_len + 1, alpha)

    def finish(self, pieces: list[int], total: float) -> None:
        """Enter a hypothesis that ended: its pieces without eos, its log p with it."""
        self.n_finished += 1
        score = total / length_penalty_of(len(pieces) + 1, self.alpha)
        if score > self.best_score:
            self.best, self.best_score = pieces, score

    def is_done(self, best_live: float) -> bool:
        """Enough have ended, or none alive could win even if all to come were sure."""
        reachable = best_live / self.longest_penalty
        return self.n_finished >= self.size or self.best_score >= reachable


class _Stepper:
    """A batch of growing hypotheses and the model's view of what comes next.

    Attributes:
        tokens: (rows, 1 + length) bos and the pieces so far.
    """

    def __init__(self, model: Transformer, source_ids: Tensor, use_cache: bool) -> None:
        config = model.config
        self.model = model
        self.memory = model.encode(source_ids)
        self.source_mask = masks.source_mask(source_ids, config.pad_id)
        self.cache = model.new_cache() if use_cache else None
        self.tokens = torch.full_like(source_ids[:, :1], config.bos_id)
        self.never = torch.tensor(
            [config.pad_id, config.bos_id, config.unk_id], device=source_ids.device
        )

    @property
    def length(self) -> int:
        """Pieces in each hypothesis."""
        return self.tokens.size(1) - 1

    def log_probabilities(self) -> Tensor:
        """(rows, V) log p of each next piece; -infinity for what is never chosen."""
        tokens = self.tokens if self.cache is None else self.tokens[:, -1:]
        hidden = self.model.decode(tokens, self.memory, self.source_mask, self.cache)
        logits = self.model.unembed(hidden[:, -1]).float()
        return logits.log_softmax(dim=-1).index_fill(1, self.never, -math.inf)

    def extend(self, rows: list[int], pieces: list[int], *, same_sources: bool) -> None:
        """Keep these rows, in this order, each with one more piece.

        Args:
            rows: which old row each new row continues.
            pieces: its next piece.
            same_sources: whether row i still translates what row i did before, which
                spares a copy of the memory.
        """
        device = self.tokens.device
        kept = torch.tensor(rows, dtype=torch.int64, device=device)
        column = torch.tensor(pieces, dtype=torch.int64, device=device)[:, None]
        self.tokens = torch.cat([self.tokens[kept], column], dim=1)
        if not same_sources:
            self.memory, self.source_mask = self.memory[kept], self.source_mask[kept]
        if self.cache is not None:
            self.cache.select(kept, same_sources=same_sources)


def _only(log_p: Tensor, piece: int) -> Tensor:
    """The same log-probabilities with every piece but one ruled out."""
    alone = torch.full_like(log_p, -math.inf)
    alone[:, piece] = log_p[:, piece]
    return alone


def _check_call(model: Transformer, source_ids: Tensor, max_len: int) -> int:
    """Check what came in; return the longest translation that also fits the model."""
    config = model.config
    masks.check_ids(source_ids, vocab_size=config.vocab_size, pad_id=config.pad_id)
    if max_len < 1:
        raise ValueError(f"max_len={max_len} must be at least 1")
    return min(max_len, config.max_len - 1)


@contextmanager
def _inference(model: Transformer) -> Iterator[None]:
    """No gradients and no dropout, whatever mode the model is in; then as before."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)
