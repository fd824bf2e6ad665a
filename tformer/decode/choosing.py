"""One hypothesis per sentence: take the best next piece, or sample one.

Source: Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p).
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from tformer.common.search import USUAL, SearchSettings
from tformer.common.values import whole
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
    inference,
)
from tformer.fast.transfer import fetched, sent

ROUNDING = 1e-6  # sums of probabilities that differ by less count as equal
STRIDE = 1_000_003  # between the seeds of adjacent rows

Choose = Callable[[Tensor, list[int], int], Tensor]


def greedy(
    model: Seq2Seq,
    source_ids: Tensor,
    *,
    max_len: int = USUAL.max_len,
    use_cache: bool = True,
    precision: str = "float32",
) -> list[list[int]]:
    """Take the most probable piece at every step. Deterministic; not always best.

    Args:
        model: in any mode; decoding runs without dropout.
        source_ids: (B, S) int64, pieces + eos, padded on the right.
        max_len: longest translation, in pieces; never more than fits the model.
        use_cache: keep keys and values of earlier positions. Without it, every step
            recomputes the whole prefix: slower, with the same result.
        precision: of the matrix products. "int8" rounds matrices and what they are
            multiplied with to eight bits: faster, with a few other pieces, which may
            also depend on the other rows.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        TypeError: source_ids are not int64.
        ValueError: wrong shape, ids out of range, a row without a visible token or
            padded anywhere but on the right, longer than the model's max_len,
            max_len < 1, a model whose weights are NaN, or a precision that is not
            possible here; the message says why.
    """
    max_len = check_call(model, source_ids, SearchSettings(max_len=max_len).max_len)
    found: list[list[int]] = [[] for _ in range(len(source_ids))]
    live = list(range(len(found)))  # which sentence each row belongs to
    with inference(model):
        step = Stepper(model, source_ids, use_cache, precision)
        while live and step.length < max_len:
            pieces = step.best_pieces()
            rows = [i for i, each in enumerate(pieces) if each != model.config.eos_id]
            pieces = [pieces[i] for i in rows]
            step.extend(rows, pieces, same_sources=len(rows) == len(live))
            live = [live[i] for i in rows]  # the finished leave the batch
            for row, piece in zip(live, pieces, strict=True):
                found[row].append(piece)
    return found


def greedy_steps(
    model: Seq2Seq,
    source_ids: Tensor,
    settings: SearchSettings = USUAL,
    *,
    use_cache: bool = True,
    precision: str = "float32",
) -> Steps:
    """`greedy`, step by step; the arguments are those of `beam_steps`.

    It finds the same and also reports how probable each piece is, which `greedy` need
    not know: the largest logit is the largest log-probability.
    """

    def choose(log_p: Tensor, rows: list[int], step: int) -> Tensor:
        return log_p.argmax(dim=-1)

    return grow_steps(
        model,
        source_ids,
        choose,
        max_len=settings.max_len,
        use_cache=use_cache,
        precision=precision,
    )


def sample(
    model: Seq2Seq,
    source_ids: Tensor,
    *,
    temperature: float = USUAL.temperature,
    top_k: int | None = USUAL.top_k,
    top_p: float | None = USUAL.top_p,
    seed: int | Iterable[int] = USUAL.seed,
    max_len: int = USUAL.max_len,
    use_cache: bool = True,
    precision: str = "float32",
) -> list[list[int]]:
    """Sample every next piece, with the probability that the model gives it.

    Each row has its own stream of random numbers, made on the CPU: the same seed gives
    the same sample, the caller's random state is preserved, and neither the other rows
    nor the padding affect a row's result. For several translations of one sentence,
    repeat its row.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        temperature: below 1 sharpens the distribution, above 1 flattens it.
        top_k: sample from the k most probable pieces only.
        top_p: sample from the most probable pieces that together reach this mass.
        seed: for the whole call, or one for each row (see `row_seeds`).
        max_len: as in `greedy`. A smaller one cuts the same translation short.
        use_cache: as in `greedy`.
        precision: as in `greedy`.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        ValueError: a temperature, top_k or top_p out of range, not one seed for each
            row; and as `greedy`.
    """
    settings = SearchSettings(
        search="sample",
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        max_len=max_len,
    )
    longest = check_call(model, source_ids, settings.max_len)
    chances = random_numbers(row_seeds(seed, len(source_ids)), longest)
    steps = sample_steps(
        model,
        source_ids,
        settings,
        chances=chances,
        use_cache=use_cache,
        precision=precision,
    )
    return [found.ids for [found] in drain(steps)]


def sample_steps(
    model: Seq2Seq,
    source_ids: Tensor,
    settings: SearchSettings = USUAL,
    *,
    chances: Tensor | None = None,
    use_cache: bool = True,
    precision: str = "float32",
) -> Steps:
    """`sample`, step by step; the arguments are those of `beam_steps`, and one more.

    Args:
        model: as in `beam_steps`.
        source_ids: (B, S) int64, as in `greedy`.
        settings: those of sampling.
        chances: (B, steps) float64 in [0, 1), each row's random numbers; made from the
            settings' seed if omitted.
        use_cache: as in `greedy`.
        precision: as in `greedy`.
    """
    if chances is None:
        longest = min(settings.max_len, model.config.max_len)
        chances = random_numbers(row_seeds(settings.seed, len(source_ids)), longest)
    numbers = chances

    def choose(log_p: Tensor, rows: list[int], step: int) -> Tensor:
        return draw(sharpened(log_p, settings), numbers[rows, step])

    return grow_steps(
        model,
        source_ids,
        choose,
        max_len=settings.max_len,
        use_cache=use_cache,
        precision=precision,
    )


def distribution(
    log_p: Tensor,
    *,
    temperature: float = USUAL.temperature,
    top_k: int | None = USUAL.top_k,
    top_p: float | None = USUAL.top_p,
) -> Tensor:
    """What the distribution of the next piece becomes before `sample` draws from it.

    First ``p_i ∝ exp(log p_i / temperature)``. Then only the k largest are kept. Then,
    of the remaining mass, only the smallest set of largest ones that reaches top_p.
    What is left is scaled to sum to 1. Of equal pieces the lower id counts as larger.

    Args:
        log_p: (..., V) log-probabilities (or logits); -infinity rules a piece out.
        temperature: above 0. 1 changes nothing; towards 0 only the best piece remains.
        top_k: at least 1; more than V keeps all, and so does None.
        top_p: in (0, 1]; 1 keeps all, and so does None.

    Returns:
        (..., V) probabilities, float32 or wider; what was cut is exactly 0.

    Raises:
        ValueError: a value out of range; NaN or +infinity in log_p, or a row that is
            -infinity throughout.
    """
    settings = SearchSettings(temperature=temperature, top_k=top_k, top_p=top_p)
    p = sharpened(log_p, settings)
    if bool(p.isnan().any()):
        raise ValueError(
            "no next piece can be drawn: log_p holds NaN or +infinity, or rules every "
            "piece of a row out. Are the model's weights numbers?"
        )
    return p


def sharpened(log_p: Tensor, settings: SearchSettings) -> Tensor:
    """`distribution`, for settings that are valid; it is NaN where log_p is wrong."""
    temperature, top_k, top_p = settings.temperature, settings.top_k, settings.top_p
    log_p = log_p.to(torch.promote_types(log_p.dtype, torch.float32))
    gaps = log_p - log_p.amax(dim=-1, keepdim=True)  # the best piece has 0: no overflow
    p = (gaps / temperature).softmax(dim=-1)
    if top_k is None and top_p is None:
        return p
    p, order = p.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        p[..., top_k:].zero_()
    if top_p is not None and top_p < 1:
        p = p / p.sum(dim=-1, keepdim=True)
        before = p.cumsum(dim=-1) - p  # mass of all that are more probable
        p = p.masked_fill(before >= top_p * (1 - ROUNDING), 0)
    p = torch.zeros_like(p).scatter(-1, order, p)
    return p / p.sum(dim=-1, keepdim=True)


def row_seeds(seed: int | Iterable[int], n_rows: int) -> list[int]:
    """The seeds of a batch's rows in `sample`: ``seed + 1_000_003 * row``.

    So a row can be sampled again by itself, and seeds below a million share no row.

    Args:
        seed: for the whole batch; or one for each row, used as they are.
        n_rows: how many rows there are.

    Raises:
        TypeError: a seed that is not a whole number.
        ValueError: not one seed for each row.
    """
    if not isinstance(seed, Iterable) or getattr(seed, "ndim", 1) == 0:
        seed = whole("seed", seed)
        return [seed + STRIDE * row for row in range(n_rows)]
    seeds = [whole("seed", each) for each in seed]
    if len(seeds) != n_rows:
        raise ValueError(f"{len(seeds)} seeds for {n_rows} rows: give one for each")
    return seeds


def random_numbers(seeds: Sequence[int], n_steps: int) -> Tensor:
    """(rows, steps) float64 in [0, 1): a separate stream for each seed."""
    streams = [torch.Generator().manual_seed(each % 2**63) for each in seeds]
    return torch.stack(
        [torch.rand(n_steps, generator=each, dtype=torch.float64) for each in streams]
    )


def grow(
    model: Seq2Seq,
    source_ids: Tensor,
    choose: Choose,
    *,
    max_len: int = USUAL.max_len,
    use_cache: bool = True,
    precision: str = "float32",
) -> list[list[int]]:
    """Grow one hypothesis per sentence; ``choose`` picks each next piece.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        choose: called as ``choose(log_p, rows, step)`` with log p of each next piece
            (n, V), the rows of source_ids that are still growing, and the number of
            pieces they have; returns the next piece of each, (n,) int64.
        max_len: as in `greedy`.
        use_cache: as in `greedy`.
        precision: as in `greedy`.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        TypeError, ValueError: as `greedy`; also if ``choose`` returns something else.
    """
    steps = grow_steps(
        model,
        source_ids,
        choose,
        max_len=max_len,
        use_cache=use_cache,
        precision=precision,
    )
    return [found.ids for [found] in drain(steps)]


@torch.inference_mode()
def grow_steps(
    model: Seq2Seq,
    source_ids: Tensor,
    choose: Choose,
    *,
    max_len: int = USUAL.max_len,
    use_cache: bool = True,
    precision: str = "float32",
) -> Steps:
    """`grow`, step by step; yields and returns what `beam_steps` does.

    What it returns for a row is one hypothesis, which max_len may have cut short.
    """
    eos_id = model.config.eos_id
    max_len = check_call(model, source_ids, SearchSettings(max_len=max_len).max_len)
    found = [Hypothesis([], 0.0, 0.0, ended=False) for _ in range(source_ids.size(0))]
    live = list(range(len(found)))  # which sentence each row belongs to
    with evaluating(model):
        step = Stepper(model, source_ids, use_cache, precision)
        while live and step.length < max_len:
            log_p = step.log_probabilities()
            chosen = _checked(choose(log_p, live, step.length), log_p)
            added = log_p.gather(1, chosen[:, None]).squeeze(1)
            on_cpu = fetched(chosen, added, log_p.amax(dim=-1))
            pieces, values, best = (each.tolist() for each in on_cpu)
            before = [[found[row].log_probability] for row in live]
            told: list[list[Continuation]] = []
            for row, piece, value, most in zip(live, pieces, values, best, strict=True):
                check_number(most)
                _check_possible(piece, value)
                ids, total = found[row].ids, found[row].log_probability + value
                ended = piece == eos_id
                if not ended:
                    ids = [*ids, piece]
                found[row] = Hypothesis(ids, total, total, ended)
                fate = "finished" if ended else "grown"
                told.append([Continuation(0, piece, total, fate)])
            finished = [[found[row]] if found[row].ended else [] for row in live]
            yield Step(
                live, step.tokens[:, None], before, log_p[:, None], told, finished
            )
            rows = [i for i, row in enumerate(live) if not found[row].ended]
            step.extend(
                rows, [pieces[i] for i in rows], same_sources=len(rows) == len(live)
            )
            live = [live[i] for i in rows]  # the finished leave the batch
    return [[each] for each in found]


def _checked(chosen: Tensor, log_p: Tensor) -> Tensor:
    """What `choose` returned, if it is one piece for each row; reads no values."""
    if not isinstance(chosen, Tensor) or chosen.dtype != torch.int64:
        kind = chosen.dtype if isinstance(chosen, Tensor) else type(chosen).__name__
        raise TypeError(f"choose must return an int64 tensor of pieces, got {kind}")
    if chosen.shape != log_p.shape[:1]:
        raise ValueError(
            f"choose must return one piece for each of {len(log_p)} rows, got the "
            f"shape {tuple(chosen.shape)}"
        )
    return chosen.to(log_p.device)


def _check_possible(piece: int, log_probability: float) -> None:
    """Raise unless each chosen piece has some probability."""
    if log_probability == -math.inf:
        raise ValueError(
            f"choose returned piece {piece}, which has probability 0: pad, bos and unk "
            "are never written"
        )


def draw(p: Tensor, chance: Tensor) -> Tensor:
    """The piece at which the running sum of p passes chance: (n, V), (n,) -> (n,).

    In float64, so that rounding can neither pass the end nor stop at p = 0.
    """
    p = p.cpu() if p.device.type == "mps" else p  # which has no float64
    reached, chance = p.double().cumsum(dim=-1), sent(chance, p.device)
    end = reached[:, -1]
    wanted = (chance * end).minimum(end.nextafter(torch.zeros_like(end)))
    return (reached <= wanted[:, None]).sum(dim=-1)
