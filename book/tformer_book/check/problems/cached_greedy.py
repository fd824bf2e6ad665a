"""The grader for `cached_greedy` of chapter *Decoding and scoring*, and known slips."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tformer_book.check import kit

HINTS = (
    "The cache remembers the past. So what does each step have to be given?",
    "Only the newest piece, and the cache of the step before. Take the best piece, "
    "stop at ⟨eos⟩, and count what has been said, so that it never gets longer than "
    "`max_len`.",
    "piece, cache, said = bos_id, None, []",
)

BOS, EOS, SIZE = 1, 2, 12
PATH = (7, 5, 7, 9, 4, 11)  # what the hidden model says; 7 comes twice
LIMITS = (20, 4, 6)


class Stepwise:
    """A stand-in for a model with a cache: it knows what it has read only from that."""

    def __init__(self) -> None:
        self.read: list[tuple[int, ...]] = []

    def __call__(
        self, piece: int, cache: tuple[int, ...] | None
    ) -> tuple[Tensor, tuple[int, ...]]:
        """The newest piece and what was kept -> (V,) logits, what to keep."""
        if cache is not None and not isinstance(cache, tuple):
            raise kit.Mistake(
                "not-the-cache",
                "The second argument of step is the cache that the step before "
                f"returned, or None at first; I got a {type(cache).__name__}.",
            )
        piece = kit.as_whole(piece, "the newest piece, one id")
        kept = (*(cache or ()), piece)
        self.read.append(kept)
        if len(self.read) > kit.ENDLESS:
            raise kit.Endless
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


def built(
    step: kit.Function,
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    keeps: bool = True,
    reads: str = "newest",
    ends: bool = True,
    keep_eos: bool = False,
    keep_bos: bool = False,
    extra: int = 0,
) -> list[int]:
    """Cached greedy search, or a known mistake."""
    ids, cache = [bos_id], None
    for _ in range(max_len + extra):
        logits, new = step(ids[-1] if reads == "newest" else bos_id, cache)
        cache = new if keeps else None
        best = int(logits.argmax())
        if best == eos_id and ends:
            ids += [eos_id] * keep_eos
            break
        ids.append(best)
    return ids if keep_bos else ids[1:]


SLIPS: kit.Table = {
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


def _run(function: kit.Function) -> list[list[int]]:
    return [
        function(Stepwise(), bos_id=BOS, eos_id=EOS, max_len=limit) for limit in LIMITS
    ]


def _probe(mine: kit.Function) -> None:
    steps = [Stepwise() for _ in LIMITS]
    try:
        found = [
            kit.generated(
                mine,
                {"step": step},
                {"bos_id": BOS, "eos_id": EOS, "max_len": limit},
                len(PATH),
            )
            for step, limit in zip(steps, LIMITS, strict=True)
        ]
    except kit.Mistake as mistake:
        read = steps[0].read[-1] if steps[0].read else ()
        again = [read[i : i + 2] for i in range(1, len(read))]
        if mistake.diagnosis == "endless" and (BOS, PATH[0]) in again:
            raise kit.Mistake(
                "prefix-read-again",
                "You give the model all pieces from bos on at every step, and the "
                "cache of the step before as well: so it reads one beginning after "
                "the other, as one long sentence. Give it the newest piece alone.",
            ) from None
        raise
    wanted = [list(PATH[:limit]) for limit in LIMITS]
    if kit.matches(found, wanted):
        needed, calls = len(PATH) + 1, len(steps[0].read)
        if calls > needed:
            raise kit.Mistake(
                "reads-twice",
                f"The right pieces, but {calls} steps for {needed} pieces (eos "
                "counted): you read some of them again. The cache is there to make "
                "that needless; read each piece once.",
            )
        return
    kit.recognise(found, kit.slips(SLIPS, _run, built))
    i = next(i for i in range(len(LIMITS)) if found[i] != wanted[i])
    raise kit.Mistake(
        "wrong-pieces",
        f"With max_len={LIMITS[i]} you say {found[i]} and should say {wanted[i]}. I do "
        "not know this mistake.",
    )


@kit.grader(_probe)
def cached_greedy(mine: kit.Function) -> str:
    """Grade ``mine(step, *, bos_id, eos_id, max_len)``, greedy search with a cache.

    ``step(piece, cache)`` reads one piece and returns the logits (V,) of the next
    and the cache for the next step; the first cache is None. `mine` returns the
    list of pieces, at most ``max_len``, without bos and eos.
    """
    return "Each piece is read once, and the cache remembers the rest."
