"""From sentence pairs to padded tensors, within a budget of tokens.

Shapes: S is the longest source of the batch, T the longest target; both vary from
batch to batch. Source: section 5.1, "sentence pairs were batched together by
approximate sequence length". Chapter *Data*.
"""

from __future__ import annotations

import random
import warnings
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from numbers import Integral

import torch
from torch import Tensor

from tformer.fast.transfer import sent
from tformer.tokenization import Tokenizer

Encoded = tuple[list[int], list[int]]
AT_ONCE = 10_000  # sentences


@dataclass
class Batch:
    """One step's worth of sentence pairs.

    Attributes:
        source_ids: (B, S) int64, pieces + eos, padded.
        target_ids: (B, T) int64, bos + pieces, padded: what the decoder sees.
        labels: (B, T) int64, pieces + eos, padded: what it should say next.
        n_tokens: source and label tokens, not counting padding.
        n_labels: label tokens, not counting padding.
    """

    source_ids: Tensor
    target_ids: Tensor
    labels: Tensor
    n_tokens: int
    n_labels: int

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device."""
        return Batch(
            sent(self.source_ids, device),
            sent(self.target_ids, device),
            sent(self.labels, device),
            self.n_tokens,
            self.n_labels,
        )

    def twice(self) -> Batch:
        """Its pairs, and then the same pairs again."""
        sides = (self.source_ids, self.target_ids, self.labels)
        source_ids, target_ids, labels = (side.repeat(2, 1) for side in sides)
        return Batch(
            source_ids, target_ids, labels, 2 * self.n_tokens, 2 * self.n_labels
        )


class EncodedPairs(Sequence[Encoded]):
    """A sequence of (source ids with eos, target ids without specials).

    The ids are stored in compact arrays; a pair becomes lists when it is accessed.

    Attributes:
        n_too_long: how many pairs were left out because a side is too long.
    """

    def __init__(
        self, sources: list[array[int]], targets: list[array[int]], eos_id: int
    ) -> None:
        self._sources, self._targets, self._eos_id = sources, targets, eos_id
        self.n_too_long = 0

    def __len__(self) -> int:
        return len(self._sources)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        source, target = self._sources[index], self._targets[index]
        return [*source, self._eos_id], target.tolist()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def encode_pairs(
    pairs: Sequence[tuple[str, str]],
    tokenizer: Tokenizer,
    max_len: int,
    *,
    cache: dict[str, array[int]] | None = None,
) -> EncodedPairs:
    """Encode sentence pairs as ids.

    Args:
        pairs: (English, German).
        tokenizer: for both languages.
        max_len: the model's limit; pairs whose source (with eos) or target (with bos)
            is longer are left out, with a warning, and counted in ``n_too_long``.
        cache: sentence → ids, read and filled: pass the same dictionary every epoch
            (with the same tokenizer), and each sentence is encoded only once.

    Returns:
        For each remaining pair, in order: source pieces + eos; target pieces.

    Raises:
        ValueError: every pair is too long.
    """
    known = {} if cache is None else cache
    _encode_new(chain.from_iterable(pairs), tokenizer, known)
    sources, targets = [], []
    for english, german in pairs:
        source, target = known[english], known[german]
        if len(source) < max_len and len(target) < max_len:
            sources.append(source)
            targets.append(target)
    encoded = EncodedPairs(sources, targets, tokenizer.eos_id)
    encoded.n_too_long = len(pairs) - len(encoded)
    if encoded.n_too_long:
        message = (
            f"{encoded.n_too_long} of {len(pairs)} pairs are longer than "
            f"max_len={max_len} pieces"
        )
        if not encoded:
            raise ValueError(f"{message}: none is left; raise max_len.")
        warnings.warn(f"{message} and were left out.", stacklevel=2)
    return encoded


def _encode_new(
    sentences: Iterable[str], tokenizer: Tokenizer, known: dict[str, array[int]]
) -> None:
    """Encode what is not cached yet, several thousand sentences at a time."""
    kind = "H" if tokenizer.vocab_size <= 2**16 else "i"
    new = (sentence for sentence in sentences if sentence not in known)
    while some := list(islice(new, AT_ONCE)):
        for sentence, ids in zip(some, tokenizer.encode_all(some), strict=True):
            known[sentence] = array(kind, ids)


class Batches(Sequence[Batch]):
    """The batches of one epoch; each is built when it is accessed."""

    def __init__(
        self,
        encoded: Sequence[Encoded],
        rows: list[list[int]],
        pad_id: int,
        bos_id: int,
        eos_id: int,
    ) -> None:
        self._encoded, self.rows = encoded, rows
        self._pad_id, self._bos, self._eos = pad_id, [bos_id], [eos_id]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        pairs = [self._encoded[row] for row in self.rows[index]]
        sources = [source for source, _ in pairs]
        targets = [target for _, target in pairs]
        return Batch(
            source_ids=_padded(sources, self._pad_id),
            target_ids=_padded(
                [self._bos + target for target in targets], self._pad_id
            ),
            labels=_padded([target + self._eos for target in targets], self._pad_id),
            n_tokens=sum(map(len, sources)) + sum(map(len, targets)) + len(targets),
            n_labels=sum(map(len, targets)) + len(targets),
        )

    def parts(self, index: int, n: int) -> Batches:
        """One batch, dealt out row by row into n smaller ones.

        Each gets long rows and short ones. A batch of fewer than n rows gives fewer.
        """
        whole = self.rows[index]
        rows = [whole[start::n] for start in range(min(n, len(whole)))]
        return Batches(self._encoded, rows, self._pad_id, self._bos[0], self._eos[0])

    @property
    def n_labels(self) -> int:
        """Label tokens of all batches, not counting padding."""
        return sum(len(self._encoded[row][1]) + 1 for row in chain(*self.rows))

    @property
    def n_tokens(self) -> int:
        """Source and label tokens of all batches, not counting padding."""
        sources = sum(len(self._encoded[row][0]) for row in chain(*self.rows))
        return sources + self.n_labels


def batches(
    encoded: Sequence[Encoded],
    *,
    max_tokens: int,
    pad_id: int,
    bos_id: int,
    eos_id: int,
    seed: int,
    epoch: int,
) -> Batches:
    """Cut one epoch into batches of similar length, in random order.

    Pairs are shuffled, then sorted by length (so that equal lengths stay shuffled) and
    cut greedily; then the batches are shuffled. Every pair is in exactly one batch.

    Args:
        encoded: what ``encode_pairs`` gives.
        max_tokens: for each batch, B·(S + T) ≤ max_tokens, including padding: memory
            and time depend on this, not on the number of sentences.
        pad_id: pads rows.
        bos_id: begins each target.
        eos_id: ends each label.
        seed: the same seed and epoch give the same batches.
        epoch: different epochs give different batches.

    Returns:
        A sequence of ``Batch``: it has a length, can be indexed, and makes tensors
        only on access.

    Raises:
        ValueError: there are no pairs, one does not fit into ``max_tokens``, or that
            is not a whole number.

    Source: section 5.1.
    """
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, Integral):
        raise ValueError(f"max_tokens={max_tokens!r} must be a whole number.")
    if not encoded:
        raise ValueError("there are no pairs to make batches of: the corpus is empty.")
    draw = random.Random(f"batches/{seed}/{epoch}")
    sizes = [(len(source), len(target) + 1) for source, target in encoded]
    order = list(range(len(encoded)))
    draw.shuffle(order)
    order.sort(key=lambda row: sizes[row][::-1])
    rows = cut(order, sizes, max_tokens)
    draw.shuffle(rows)
    return Batches(encoded, rows, pad_id, bos_id, eos_id)


def cut(
    order: Iterable[int], sizes: Sequence[tuple[int, int]], max_tokens: int
) -> list[list[int]]:
    """Cut pairs, in the order given, into batches as full as the budget allows.

    A batch of B pairs is padded to its longest source S and its longest target T, so
    it costs B·(S + T) tokens. It is closed when one more pair would make it cost more
    than ``max_tokens``.

    Args:
        order: indices of pairs.
        sizes: for each pair its source and target tokens, including eos and bos.
        max_tokens: the budget, including padding.

    Returns:
        The indices of each batch; every index of ``order`` is in exactly one.

    Raises:
        ValueError: a single pair does not fit into ``max_tokens``.
    """
    closed: list[list[int]] = []
    batch: list[int] = []
    widest_source = widest_target = 0
    for row in order:
        source, target = sizes[row]
        if source > widest_source:
            widest_source = source
        if target > widest_target:
            widest_target = target
        if (len(batch) + 1) * (widest_source + widest_target) > max_tokens:
            if source + target > max_tokens:
                raise ValueError(
                    f"a pair of {source} source and {target} target tokens does not "
                    f"fit into max_tokens={max_tokens}; raise max_tokens or lower "
                    "max_len."
                )
            if batch:
                closed.append(batch)
            batch, widest_source, widest_target = [], source, target
        batch.append(row)
    if batch:
        closed.append(batch)
    return closed


def _padded(lists: list[list[int]], pad_id: int) -> Tensor:
    """(B, longest) int64."""
    width = max(map(len, lists))
    flat = chain.from_iterable(
        chain(ids, repeat(pad_id, width - len(ids))) for ids in lists
    )
    return torch.tensor(list(flat), dtype=torch.int64).view(len(lists), width)
