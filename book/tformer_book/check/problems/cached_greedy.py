"""The grader for `cached_greedy` of chapter *Decoding and scoring*, and known slips."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tformer_book.check._compare import Switches, matches, recognise, slips
from tformer_book.check._grade import Function, Mistake, Result, grade
from tformer_book.check._loops import ENDLESS, Endless, generated
from tformer_book.check._run import as_whole

BOS, EOS, SIZE = 1, 2, 12
PATH = (7, 5, 7, 9, 4, 11)  # what the hidden model says; 7 comes twice


class Stepwise:
    """A stand-in for a model with a cache: it knows what it has read only from that."""

    def __init__(self) -> None:
        self.read: list[tuple[int, ...]] = []

    def __call__(
        self, piece: int, cache: tuple[int, ...] | None
    ) -> tuple[Tensor, tuple[int, ...]]:
        """The newest piece and what was kept -> (V,) logits, what to keep."""
        if cache is not None and not isinstance(cache, tuple):
            raise Mistake(
                "not-the-cache",
                "The second argument of step is the cache that the step before "
                f"returned, or None at first; I got a {type(cache).__name__}.",
            )
        piece = as_whole(piece, "the newest piece, one id")
        kept = (*(cache or ()), piece)
        self.read.append(kept)
        if len(self.read) > ENDLESS:
            raise Endless
        return _logits(kept), kept


def _logits(prefix: Sequence[int]) -> Tensor:
    seed = sum((i + 3) * 1009 ** (i % 4) * x for i, x in enumerate(prefix))
    generator = torch.Generator().manual_seed(seed % 2**31)
    logits = torch.randn(SIZE, generator=generator, dtype=torch.float64)
    logits[[0, BOS, EOS, 3]] -= 5  # off the path nothing ends
    path = (BOS, *PATH, EOS)
    if tuple(prefix) == path[: len(prefix)] and len(prefix) < len(path):
        logits[path[len(prefix)]] = 9.0
    return logits


def _loop(
    max_len: int,
    *,
    keeps: bool = True,
    reads: str = "newest",
    ends: bool = True,
    keep_eos: bool = False,
    keep_bos: bool = False,
    extra: int = 0,
) -> list[int]:
    """Cached greedy search, or a known mistake."""
    step, cache = Stepwise(), None
    ids = [BOS]
    for _ in range(max_len + extra):
        piece = ids[-1] if reads == "newest" else BOS
        logits, new = step(piece, cache)
        cache = new if keeps else None
        best = int(logits.argmax())
        if best == EOS and ends:
            ids += [EOS] * keep_eos
            break
        ids.append(best)
    return ids if keep_bos else ids[1:]


KNOWN: Switches = {
    "cache-lost": (
        {"keeps": False},
        "The cache is lost: each step gets None, so the model believes that the newest "
        "piece is the first. Give each step the cache that the step before returned.",
    ),
    "reads-bos-again": (
        {"reads": "bos"},
        "The model reads bos at every step. Give it the piece that it has just said.",
    ),
    "never-stops": (
        {"ends": False},
        "Your loop does not stop at eos. When eos is the best piece, the translation "
        "is finished.",
    ),
    "emits-eos": (
        {"keep_eos": True},
        "Your list ends in eos. It is the sign to stop, not a piece.",
    ),
    "emits-bos": (
        {"keep_bos": True},
        "Your list begins with bos, which is not a piece of the translation.",
    ),
    "one-too-many": ({"extra": 1}, "One piece more than max_len."),
    "one-too-few": ({"extra": -1}, "Your loop ends one piece before max_len."),
}
LIMITS = (20, 4, 6)


def _ask(mine: Function, max_len: int) -> tuple[list[int], Stepwise]:
    step = Stepwise()
    ids = {"bos_id": BOS, "eos_id": EOS, "max_len": max_len}
    return generated(mine, {"step": step}, ids, len(PATH)), step


def _probe(mine: Function) -> None:
    answers = [_ask(mine, max_len) for max_len in LIMITS]
    found = [ids for ids, _ in answers]
    wanted = [list(PATH[:limit]) for limit in LIMITS]
    if matches(found, wanted):
        needed = len(PATH) + 1
        calls = len(answers[0][1].read)
        if calls > needed:
            raise Mistake(
                "reads-twice",
                f"The right pieces, but {calls} steps for {needed} pieces (eos "
                "counted): you read some of them again. The cache is there to make "
                "that needless; read each piece once.",
            )
        return

    def build(**settings: object) -> list[list[int]]:
        return [_loop(limit, **settings) for limit in LIMITS]  # type: ignore[arg-type]

    recognise(found, slips(build, KNOWN))
    i = next(i for i in range(len(LIMITS)) if found[i] != wanted[i])
    raise Mistake(
        "wrong-pieces",
        f"With max_len={LIMITS[i]} you say {found[i]} and should say {wanted[i]}. I do "
        "not know this mistake.",
    )


def cached_greedy(mine: Function) -> Result:
    """Grade ``mine(step, *, bos_id, eos_id, max_len)``, greedy search with a cache.

    Args:
        mine: ``step(piece, cache)`` reads one piece and returns the logits (V,) of the
            next and the cache for the next step; the first cache is None. `mine`
            returns the list of pieces, at most ``max_len``, without bos and eos.

    Returns:
        The verdict; the message is printed.
    """
    praise = "Each piece is read once, and the cache remembers the rest."
    return grade("cached_greedy", mine, [_probe], praise)
