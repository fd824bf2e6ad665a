"""Beam search: several hypotheses at once, and the best of those that finish.

Source: Vaswani et al. 2017, section 6.1; Wu et al. 2016, equation 14.
"""

import math
from bisect import insort
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from tformer.common.search import USUAL, SearchSettings
from tformer.decode.stepping import (
    Continuation,
    Hypothesis,
    Seq2Seq,
    Step,
    Stepper,
    Steps,
    check_call,
    check_number,
    drain,
    evaluating,
    largest,
)
from tformer.fast.transfer import fetched, sent


def beam_search(
    model: Seq2Seq,
    source_ids: Tensor,
    *,
    beam_size: int = USUAL.beam_size,
    length_penalty: float = USUAL.length_penalty,
    max_len: int = USUAL.max_len,
    use_cache: bool = True,
    precision: str = "float32",
) -> list[list[int]]:
    """Follow several hypotheses at once and return the best finished one.

    It is the first entry of `n_best`; `beam_steps` is the search itself.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        beam_size: hypotheses kept alive; 1 is greedy search. The paper uses 4.
        length_penalty: alpha; 0 compares plain log-probabilities. The paper uses 0.6.
        max_len: as in `greedy`. A hypothesis of max_len pieces is ended with eos, at
            eos's own probability.
        use_cache: as in `greedy`.
        precision: as in `greedy`.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        ValueError: beam_size < 1, negative length_penalty, and as `greedy`.

    Source: section 6.1; Wu et al. 2016, equation 14.
    """
    settings = SearchSettings(
        beam_size=beam_size, length_penalty=length_penalty, max_len=max_len
    )
    steps = beam_steps(
        model, source_ids, settings, use_cache=use_cache, precision=precision
    )
    found = drain(steps)
    return [best[0].ids if best else [] for best in found]


def n_best(
    model: Seq2Seq,
    source_ids: Tensor,
    *,
    n: int = 4,
    beam_size: int = USUAL.beam_size,
    length_penalty: float = USUAL.length_penalty,
    max_len: int = USUAL.max_len,
    use_cache: bool = True,
    precision: str = "float32",
) -> list[list[Hypothesis]]:
    """Follow several hypotheses at once and return the n best finished ones.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        n: number of hypotheses, at most beam_size.
        beam_size: as in `beam_search`, like the other options.
        length_penalty: as in `beam_search`.
        max_len: as in `beam_search`.
        use_cache: as in `greedy`.
        precision: as in `greedy`.

    Returns:
        For each row n distinct hypotheses, the best first; fewer only if there are no
        more (with a vocabulary of a few pieces).

    Raises:
        ValueError: n < 1 or n > beam_size, and as `beam_search`.

    Source: section 6.1; Wu et al. 2016, equation 14.
    """
    settings = SearchSettings(
        n_best=n, beam_size=beam_size, length_penalty=length_penalty, max_len=max_len
    )
    steps = beam_steps(
        model, source_ids, settings, use_cache=use_cache, precision=precision
    )
    return drain(steps)


@torch.inference_mode()
def beam_steps(
    model: Seq2Seq,
    source_ids: Tensor,
    settings: SearchSettings = USUAL,
    *,
    use_cache: bool = True,
    precision: str = "float32",
) -> Steps:
    """Beam search, step by step.

    A hypothesis Y (including eos) is ranked by ``log p(Y) / lp(|Y|)`` with
    ``lp(n) = ((5 + n) / 6)^length_penalty``. A sentence is done when beam_size
    hypotheses have ended, or when no live one can still overtake the n-th of those.

    Args:
        model: as in `greedy`; in eval mode until the search ends or is closed.
        source_ids: (B, S) int64, as in `greedy`.
        settings: those of beam search.
        use_cache: as in `greedy`.
        precision: as in `greedy`.

    Yields:
        A `Step` each time the model has spoken.

    Returns:
        For each row the n_best hypotheses, as `n_best`.

    Raises:
        TypeError, ValueError: as `greedy`.

    Source: section 6.1; Wu et al. 2016, equation 14.
    """
    beam_size = settings.beam_size
    eos_id, vocab_size = model.config.eos_id, model.config.vocab_size
    max_len = check_call(model, source_ids, settings.max_len)
    beams = [_Beam(settings, max_len) for _ in range(source_ids.size(0))]
    live = list(range(source_ids.size(0)))  # unfinished sentences
    totals = [[0.0] for _ in live]  # log p so far: of bos, then of beam_size each
    with evaluating(model):
        step = Stepper(model, source_ids, use_cache, precision)
        while live:
            width = len(totals[0])
            log_p = step.log_probabilities().view(len(live), width, vocab_size)
            allowed = _only(log_p, eos_id) if step.length == max_len else log_p
            *best, tokens = fetched(*_best(allowed, totals, beam_size), step.tokens)
            history = tokens[:, 1:].tolist()
            told: list[list[Continuation]] = []
            survivors: list[tuple[int, list[Continuation]]] = []  # by place in `live`
            for place, ranked in enumerate(_ranked(*best)):
                beam, own = beams[live[place]], history[place * width :]
                weighed, grown = beam.weigh(ranked, own, eos_id)
                told.append(weighed)
                if grown:
                    survivors.append((place, grown))
            tokens = step.tokens.view(len(live), width, -1)
            finished = [list(beams[row].finished) for row in live]
            yield Step(live, tokens, totals, log_p, told, finished)
            step.extend(
                [place * width + x.parent for place, grown in survivors for x in grown],
                [each.piece for _, grown in survivors for each in grown],
                same_sources=len(survivors) == len(live) and width == beam_size,
            )
            live = [live[place] for place, _ in survivors]
            totals = [[x.log_probability for x in grown] for _, grown in survivors]
    return [beam.finished[: settings.n_best] for beam in beams]


Ranked = list[tuple[float, int, int]]  # log p, the hypothesis it continues, next piece


def _best(
    log_p: Tensor, totals: list[list[float]], beam_size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """For each sentence its most probable continuations, the best first.

    A row can end in only one way, so 2 * beam_size leave enough to go on. They are
    among the best of each hypothesis.

    Returns:
        log p, the hypothesis it continues, next piece: each (sentences, continuations).
    """
    n, width, vocab_size = log_p.shape  # sentences, hypotheses, pieces
    few = min(2 * beam_size, vocab_size)
    best, choices = (
        each.view(n, width, few) for each in largest(log_p.flatten(0, 1), few)
    )
    best += sent(torch.tensor(totals), log_p.device)[:, :, None]
    best, where = best.flatten(1).topk(min(2 * beam_size, width * few))
    pieces = choices.flatten(1).gather(1, where)
    return best, where // few, pieces


def _ranked(best: Tensor, parents: Tensor, pieces: Tensor) -> Iterator[Ranked]:
    """What `_best` found, sentence by sentence."""
    columns = (best.tolist(), parents.tolist(), pieces.tolist())
    for row in zip(*columns, strict=True):
        check_number(row[0][0])
        yield list(zip(*row, strict=True))


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

    def __init__(self, settings: SearchSettings, max_len: int) -> None:
        self.n, self.size = settings.n_best, settings.beam_size
        self.alpha = settings.length_penalty
        self.finished: list[Hypothesis] = []
        self.longest_penalty = length_penalty_of(max_len + 1, self.alpha)

    def finish(self, pieces: list[int], total: float) -> None:
        """Enter a hypothesis that ended: its pieces without eos, its log p with it."""
        score = total / length_penalty_of(len(pieces) + 1, self.alpha)
        found = Hypothesis(pieces, total, score)
        insort(self.finished, found, key=lambda each: -each.score)  # after its equals

    def weigh(
        self, ranked: Ranked, history: list[list[int]], eos_id: int
    ) -> tuple[list[Continuation], list[Continuation]]:
        """Decide the fate of each continuation.

        Returns:
            All of them; and those that go on, beam_size of them (filled up with dead
            ones), or none if the sentence is done.
        """
        weighed: list[Continuation] = []
        grown: list[Continuation] = []
        for rank, (total, parent, piece) in enumerate(ranked):
            if total == -math.inf:
                break
            if piece == eos_id and rank < self.size:
                fate = "finished"
                self.finish(history[parent], total)
            elif piece != eos_id and len(grown) < self.size:
                fate = "grown"
            else:
                fate = "dropped"
            weighed.append(Continuation(parent, piece, total, fate))
            if fate == "grown":
                grown.append(weighed[-1])
        if not grown or self.is_done(grown[0].log_probability):
            return [_unless_finished(each) for each in weighed], []
        dead = replace(grown[0], log_probability=-math.inf)
        return weighed, grown + [dead] * (self.size - len(grown))

    def is_done(self, best_live: float) -> bool:
        """Enough have ended, or none alive could win even if the rest were certain."""
        if len(self.finished) >= self.size:
            return True
        reachable = best_live / self.longest_penalty
        return len(self.finished) >= self.n and (
            self.finished[self.n - 1].score >= reachable
        )


def _only(log_p: Tensor, piece: int) -> Tensor:
    """The same log-probabilities with every piece but one ruled out."""
    alone = torch.full_like(log_p, -math.inf)
    alone[..., piece] = log_p[..., piece]
    return alone


def _unless_finished(each: Continuation) -> Continuation:
    """The fate of a continuation once its sentence is done: nothing grows further."""
    return each if each.fate == "finished" else replace(each, fate="dropped")
