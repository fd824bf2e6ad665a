"""One hypothesis per sentence: take the best next piece, or draw one by chance.

Source: Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p). Chapter 13.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from tformer.decode.stepping import Seq2Seq, Stepper, check_call, inference

ROUNDING = 1e-6  # two sums of probabilities that differ by less are the same
STRIDE = 1_000_003  # between the seeds of neighbouring rows


def greedy(
    model: Seq2Seq, source_ids: Tensor, *, max_len: int = 64, use_cache: bool = True
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

    def choose(log_p: Tensor, rows: list[int], step: int) -> Tensor:
        return log_p.argmax(dim=-1)

    return grow(model, source_ids, choose, max_len=max_len, use_cache=use_cache)


def sample(
    model: Seq2Seq,
    source_ids: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | Sequence[int] = 0,
    max_len: int = 64,
    use_cache: bool = True,
) -> list[list[int]]:
    """Draw every next piece by chance, as probable as the model finds it.

    Each row draws from a stream of random numbers of its own, made on the CPU: equal
    seeds repeat, the caller's random state stays as it is, and neither the other rows
    nor the padding change what a row becomes. Several translations of one sentence:
    repeat its row.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        temperature: below 1 sharpens the distribution, above 1 flattens it.
        top_k: draw from the k most probable pieces only.
        top_p: draw from the most probable pieces that together reach this mass.
        seed: of the whole call (see `row_seeds`), or one for each row.
        max_len: as in `greedy`. A smaller one cuts the same translation short.
        use_cache: as in `greedy`.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        ValueError: a temperature, top_k or top_p that makes no sense, not one seed for
            each row, logits that are not numbers; and as `greedy`.
    """
    n_rows, n_steps = len(source_ids), check_call(model, source_ids, max_len)
    seeds = row_seeds(seed, n_rows) if isinstance(seed, int) else list(seed)
    if len(seeds) != n_rows:
        raise ValueError(f"{len(seeds)} seeds for {n_rows} rows: give one for each")
    streams = [torch.Generator().manual_seed(each % 2**63) for each in seeds]
    chances = torch.stack(  # (B, steps), each in [0, 1)
        [torch.rand(n_steps, generator=each, dtype=torch.float64) for each in streams]
    )

    def choose(log_p: Tensor, rows: list[int], step: int) -> Tensor:
        p = distribution(log_p, temperature=temperature, top_k=top_k, top_p=top_p)
        return _draw(p, chances[rows, step])

    return grow(model, source_ids, choose, max_len=max_len, use_cache=use_cache)


def distribution(
    log_p: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """What the distribution of the next piece becomes before `sample` draws from it.

    First ``p_i ∝ exp(log p_i / temperature)``. Then only the k largest stay. Then, of
    the mass that is left, only the smallest set of largest ones that reaches top_p.
    The rest is scaled to sum to 1. Of equal pieces the lower id counts as larger.

    Args:
        log_p: (..., V) log-probabilities (logits do as well); -infinity rules out.
        temperature: above 0. 1 changes nothing, towards 0 only the best piece stays.
        top_k: at least 1; more than V keeps all. None does so, too.
        top_p: in (0, 1]; 1 keeps all. None does so, too.

    Returns:
        (..., V) probabilities, float32 or better; what was cut is exactly 0.

    Raises:
        ValueError: a value out of range; NaN or +infinity in log_p, or nothing but
            -infinity in a row.
    """
    if not 1e-6 <= temperature < math.inf:
        raise ValueError(
            f"temperature={temperature} must be above 0 (at least 1e-6) and finite; "
            "where the best piece should always win, use decode.greedy"
        )
    if top_k is not None and not (isinstance(top_k, int) and top_k >= 1):
        raise ValueError(f"top_k={top_k} must be a whole number, 1 or more, or None")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p={top_p} must be in (0, 1], or None")
    log_p = log_p.to(torch.promote_types(log_p.dtype, torch.float32))
    gaps = log_p - log_p.amax(dim=-1, keepdim=True)  # the best piece has 0: no overflow
    p = (gaps / temperature).softmax(dim=-1)
    if bool(p.isnan().any()):
        raise ValueError(
            "no next piece can be drawn: log_p holds NaN or +infinity, or rules every "
            "piece of a row out. Are the model's weights numbers?"
        )
    if top_k is None and top_p is None:
        return p
    p, order = p.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        p[..., top_k:] = 0
    if top_p is not None and top_p < 1:
        p = p / p.sum(dim=-1, keepdim=True)
        before = p.cumsum(dim=-1) - p  # mass of all that are more probable
        p = p.masked_fill(before >= top_p * (1 - ROUNDING), 0)
    p = torch.zeros_like(p).scatter(-1, order, p)
    return p / p.sum(dim=-1, keepdim=True)


def row_seeds(seed: int, n_rows: int) -> list[int]:
    """The seeds of a batch's rows in `sample`: ``seed + 1_000_003 * row``.

    So a row can be drawn again alone, and seeds below a million share no row.
    """
    return [seed + STRIDE * row for row in range(n_rows)]


def grow(
    model: Seq2Seq,
    source_ids: Tensor,
    choose: Callable[[Tensor, list[int], int], Tensor],
    *,
    max_len: int = 64,
    use_cache: bool = True,
) -> list[list[int]]:
    """Let one hypothesis per sentence grow; ``choose`` picks each next piece.

    Args:
        model: as in `greedy`.
        source_ids: (B, S) int64, as in `greedy`.
        choose: called as ``choose(log_p, rows, step)`` with log p of each next piece
            (n, V), the rows of source_ids that are still growing, and the number of
            pieces they have; returns the next piece of each, (n,) int64.
        max_len: as in `greedy`.
        use_cache: as in `greedy`.

    Returns:
        One list of at most max_len piece ids per row, without special ids.

    Raises:
        TypeError, ValueError: as `greedy`.
    """
    eos_id = model.config.eos_id
    max_len = check_call(model, source_ids, max_len)
    results: list[list[int]] = [[] for _ in range(source_ids.size(0))]
    live = list(range(source_ids.size(0)))  # which sentence each row belongs to
    with inference(model):
        step = Stepper(model, source_ids, use_cache)
        while live and step.length < max_len:
            pieces = choose(step.log_probabilities(), live, step.length).tolist()
            rows = [row for row, piece in enumerate(pieces) if piece != eos_id]
            for row in rows:
                results[live[row]].append(pieces[row])
            step.extend(
                rows, [pieces[row] for row in rows], same_sources=len(rows) == len(live)
            )
            live = [live[row] for row in rows]  # the finished leave the batch
    return results


def _draw(p: Tensor, chance: Tensor) -> Tensor:
    """The piece at which the running sum of p passes chance: (n, V), (n,) -> (n,).

    In float64, where rounding cannot pass the end nor stop at a piece with p = 0.
    """
    reached = p.cpu().double().cumsum(dim=-1)
    end = reached[:, -1]
    wanted = (chance * end).minimum(end.nextafter(torch.zeros_like(end)))
    return (reached <= wanted[:, None]).sum(dim=-1)
