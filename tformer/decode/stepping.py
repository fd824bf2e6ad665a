"""What all decoding has in common: a batch of hypotheses that grow step by step.

A search is a generator. It yields a `Step` after each call of the model, and returns
what it found: for each row of the source its hypotheses, the best first. `drain` runs
one to its end; a figure may follow it instead.
"""

import math
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from tformer import masks
from tformer.common.search import PRECISIONS
from tformer.common.values import one_of
from tformer.fast.compiled import flat_form, parts_of
from tformer.fast.transfer import fetched, sent

FEW = 4  # rows


class Seq2Seq(Protocol):
    """What decoding needs of a model, be it `tformer.Transformer` or your own."""

    training: bool

    @property
    def config(self) -> Any:
        """Used are vocab_size, max_len, pad_id, bos_id, eos_id and unk_id."""

    def encode(self, source_ids: Tensor) -> Tensor:
        """Read the source once: (B, S) ids -> memory, its first axis B."""

    def decode(
        self,
        target_ids: Tensor,
        memory: Tensor,
        source_mask: Tensor,
        cache: Any | None = None,
    ) -> Tensor:
        """(B, T) bos + pieces -> (B, T, D); with a cache, the one newest column."""

    def unembed(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., V) logits."""

    def new_cache(self) -> Any:
        """What `decode` extends; it has ``select(rows, same_sources=…)``."""

    def modules(self) -> Iterator[Any]:
        """As every PyTorch module."""

    def eval(self) -> Any:
        """As every PyTorch module."""


@dataclass(frozen=True)
class Hypothesis:
    """A translation that a search found.

    Attributes:
        ids: its pieces, without special ids.
        log_probability: log p of the pieces, and of eos if it has ended.
        score: what ranks it: the log-probability divided by the length penalty.
        ended: whether it reached eos; if not, max_len cut it short.
    """

    ids: list[int]
    log_probability: float
    score: float
    ended: bool = True


@dataclass(slots=True)
class Continuation:
    """A hypothesis with one more piece, as considered in a step.

    Attributes:
        parent: which hypothesis of its sentence it continues.
        piece: the piece that is added.
        log_probability: log p of the whole so far.
        fate: "grown" (it continues), "finished" (the piece is eos), or "dropped".
    """

    parent: int
    piece: int
    log_probability: float
    fate: str


@dataclass(frozen=True)
class Step:
    """One step of a search: the model's output, and what the search made of it.

    Attributes:
        rows: the unfinished rows of the source; the lists below have an entry for
            each of them.
        tokens: (n, width, 1 + length) bos and the pieces of each live hypothesis.
        totals: log p of each live hypothesis so far; -infinity marks filler.
        log_p: (n, width, V) log p of each next piece.
        continuations: the best continuations of all hypotheses, the best first.
        finished: what has ended so far, the best first.
    """

    rows: list[int]
    tokens: Tensor
    totals: list[list[float]]
    log_p: Tensor
    continuations: list[list[Continuation]]
    finished: list[list[Hypothesis]]


Steps = Generator[Step, None, list[list[Hypothesis]]]


def drain(steps: Steps) -> list[list[Hypothesis]]:
    """Run a search to its end; return what it found for each row, the best first."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class Stepper:
    """A batch of growing hypotheses and the model's view of what comes next.

    Args:
        model: any `Seq2Seq`.
        source_ids: (B, S) int64, pieces + eos, padded on the right.
        use_cache: whether the model keeps what it computed for earlier positions; then
            its flat form may take its place (`tformer.fast.compiled`).
        precision: of the products, one of `tformer.common.search.PRECISIONS`.

    Attributes:
        tokens: (rows, 1 + length) bos and the pieces so far.

    Raises:
        ValueError: a precision that the model can't be decoded in; see `flat_form`.
    """

    def __init__(
        self,
        model: Seq2Seq,
        source_ids: Tensor,
        use_cache: bool,
        precision: str = "float32",
    ) -> None:
        config = model.config
        one_of("precision", precision, PRECISIONS)
        flat = flat_form(model, precision) if use_cache else None
        if flat is not None:
            sizes = {"vocab_size": config.vocab_size, "max_len": config.max_len}
            masks.check_fit(source_ids, **sizes)
        elif precision != "float32":
            raise ValueError(f"precision={precision!r} needs use_cache=True")
        self.model: Any = flat or model
        self.memory = self.model.encode(source_ids)
        self.source_mask = masks.source_mask(source_ids, config.pad_id)
        self.cache = self.model.new_cache() if use_cache else None
        self.tokens = torch.full_like(source_ids[:, :1], config.bos_id)
        never = torch.tensor([config.pad_id, config.bos_id, config.unk_id])
        self.never = sent(never, source_ids.device)

    @property
    def length(self) -> int:
        """Pieces in each hypothesis."""
        return self.tokens.size(1) - 1

    def log_probabilities(self) -> Tensor:
        """(rows, V) log p of each next piece; -infinity for what is never chosen."""
        log_p = self._logits().log_softmax(dim=-1)
        return log_p.index_fill_(1, self.never, -torch.inf)

    def best_pieces(self) -> list[int]:
        """The most probable next piece of each row.

        Raises:
            ValueError: the model's logits are not numbers.
        """
        logits = self._logits().index_fill(1, self.never, -torch.inf)
        best, pieces = fetched(*largest(logits, 1))
        check_number(best.max().item())
        return pieces.squeeze(1).tolist()

    def _logits(self) -> Tensor:
        """(rows, V) float32 logits of the newest position."""
        tokens = self.tokens if self.cache is None else self.tokens[:, -1:]
        hidden = self.model.decode(tokens, self.memory, self.source_mask, self.cache)
        return self.model.unembed(hidden[:, -1]).float()

    def extend(self, rows: list[int], pieces: list[int], *, same_sources: bool) -> None:
        """Keep these rows, in this order, each with one more piece.

        Args:
            rows: which old row each new row continues.
            pieces: its next piece.
            same_sources: whether row i still translates the same sentence as before,
                which saves a copy of the memory.
        """
        device = self.tokens.device
        if rows != [*range(len(self.tokens))]:  # else all stay where they are
            kept = sent(torch.tensor(rows, dtype=torch.int64), device)
            self.tokens = self.tokens[kept]
            if not same_sources:
                self.memory = self.memory[kept]
                self.source_mask = self.source_mask[kept]
            if self.cache is not None:
                self.cache.select(kept, same_sources=same_sources)
        column = sent(torch.tensor(pieces, dtype=torch.int64), device)
        self.tokens = torch.cat([self.tokens, column[:, None]], dim=1)


def largest(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row and their places, the largest first: like ``topk``.

    Sorting a whole vocabulary costs as much as a layer. The k largest are in at most k
    of the row's stretches, those with the largest maxima, so only these are sorted
    (unless the rows are so few that finding the stretches takes longer).

    Args:
        scores: (rows, V); NaN counts as the largest.
        k: at most V.

    Returns:
        values, places: each (rows, k).
    """
    n_rows, size = scores.shape
    width = next((each for each in range(64, 15, -1) if size % each == 0), size)
    n_stretches = size // width
    if n_stretches <= k or n_rows <= FEW:
        values, places = scores.topk(k)
        return values, places
    stretches = scores.view(n_rows, n_stretches, width)
    chosen = stretches.amax(dim=-1).topk(k).indices  # (rows, k)
    first = torch.arange(n_rows, device=scores.device)[:, None] * n_stretches
    few = stretches.flatten(0, 1).index_select(0, (first + chosen).flatten())
    values, places = few.view(n_rows, k * width).topk(k)
    return values, chosen.gather(1, places // width) * width + places % width


def check_call(model: Seq2Seq, source_ids: Tensor, max_len: int) -> int:
    """Check the source; return the longest translation that also fits the model.

    Raises:
        TypeError: source_ids are not int64.
        ValueError: wrong shape, ids out of range, a row without a visible token or
            padded anywhere but on the right.
    """
    config = model.config
    masks.check_ids(source_ids, vocab_size=config.vocab_size, pad_id=config.pad_id)
    masks.check_padded_right(source_ids, pad_id=config.pad_id)
    return min(max_len, config.max_len - 1)


def check_number(log_probability: float) -> None:
    """Raise a ValueError if it is NaN, as a broken model's output is."""
    if math.isnan(log_probability):
        raise ValueError(
            "the model's probabilities are NaN, so no piece can be chosen: its weights "
            "hold NaN or infinity, as after training that diverged. Load an earlier "
            "checkpoint, or train with a lower learning rate"
        )


_MODES = threading.RLock()  # a collected generator may leave while one enters
_evaluated: WeakKeyDictionary[Any, "_Guests"] = WeakKeyDictionary()


@dataclass
class _Guests:
    """Those who are evaluating one model now, and its parts that were in training."""

    count: int = 0
    training: list[Any] = field(default_factory=list)


@contextmanager
def evaluating(model: Seq2Seq) -> Iterator[None]:
    """No dropout inside, whatever mode the model is in; afterwards as before.

    The mode belongs to the model, not to a thread. So where several evaluate it at
    once, the last of them to leave restores what the first one found.
    """
    with _MODES:
        guests = _evaluated.setdefault(model, _Guests())
        guests.count += 1
        parts = parts_of(model) if isinstance(model, nn.Module) else model.modules()
        training = [each for each in parts if each.training]
        if training:
            guests.training += training
            model.eval()
    try:
        yield
    finally:
        with _MODES:
            guests.count -= 1
            if not guests.count:
                _evaluated.pop(model, None)
                for each in guests.training:
                    each.training = True


@contextmanager
def inference(model: Seq2Seq) -> Iterator[None]:
    """No gradients and no dropout inside; afterwards as before."""
    with evaluating(model), torch.inference_mode():
        yield
