"""Forced decoding: how probable does the model find a given translation?

Source: Vaswani et al. 2017, section 3.1 (all positions at once, masked).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tformer import masks
from tformer.common.values import whole
from tformer.decode.stepping import Seq2Seq, check_call, inference


@dataclass(frozen=True)
class Scored:
    """How probable a model finds one translation.

    Attributes:
        ids: its pieces, without special ids.
        log_probabilities: log p of each piece given all before it, then that of eos.
    """

    ids: list[int]
    log_probabilities: list[float]

    @property
    def log_probability(self) -> float:
        """Log p of the whole translation including its end: the sum."""
        return sum(self.log_probabilities)


def score(
    model: Seq2Seq,
    source_ids: Tensor,
    target_ids: Tensor | Sequence[Sequence[int]],
) -> list[Scored]:
    """Compute how probable given translations are, in one masked pass.

    ``log p(y) = Σ_t log p(y_t | y_<t, x)``, its last term being eos. It is the plain
    log-softmax of the model's logits, and what `n_best` reports for what it finds.

    Args:
        model: in any mode; scoring runs without dropout.
        source_ids: (B, S) int64, pieces + eos, padded on the right.
        target_ids: the translations, either as searches return them, one list of
            pieces per row, or as the model reads them: (B, T) int64, bos + pieces,
            padded on the right.

    Returns:
        One `Scored` per row.

    Raises:
        TypeError: ids are not int64.
        ValueError: wrong shape, unequal batch sizes, ids out of range, special ids in
            place of pieces, longer than the model's max_len.
    """
    config = model.config
    check_call(model, source_ids, config.max_len)
    if not isinstance(target_ids, Tensor):
        target_ids = _batch(target_ids, config, source_ids.device)
    _check_targets(target_ids, config, n_rows=source_ids.size(0))
    lengths = (target_ids != config.pad_id).sum(dim=-1)  # bos + pieces = pieces + eos
    labels = torch.nn.functional.pad(target_ids[:, 1:], (0, 1), value=config.pad_id)
    labels = labels.scatter(1, lengths[:, None] - 1, config.eos_id)  # (B, T)
    with inference(model):
        memory = model.encode(source_ids)
        source_mask = masks.source_mask(source_ids, config.pad_id)
        logits = model.unembed(model.decode(target_ids, memory, source_mask)).float()
        chosen = logits.log_softmax(dim=-1).gather(-1, labels[:, :, None])  # (B, T, 1)
    rows = zip(
        labels.tolist(), chosen.squeeze(-1).tolist(), lengths.tolist(), strict=True
    )
    return [Scored(ids[: n - 1], log_p[:n]) for ids, log_p, n in rows]


def _batch(
    translations: Sequence[Sequence[int]], config: Any, device: torch.device
) -> Tensor:
    """Lists of pieces -> (B, T) bos + pieces, padded on the right."""
    rows = [
        [config.bos_id, *(_checked(piece, row, config) for piece in pieces)]
        for row, pieces in enumerate(translations)
    ]
    width = max(map(len, rows), default=0)
    filled = [row + [config.pad_id] * (width - len(row)) for row in rows]
    return torch.tensor(filled, dtype=torch.int64, device=device)


def _checked(piece: int, row: int, config: Any) -> int:
    """A piece from a list, if a translation can contain it."""
    piece = whole(f"a piece of translation {row}", piece)
    if piece in (config.pad_id, config.bos_id, config.eos_id):
        raise ValueError(
            f"translation {row} holds the special id {piece}: give only its pieces, "
            "without bos, eos and padding"
        )
    return piece


def _check_targets(target_ids: Tensor, config: Any, *, n_rows: int) -> None:
    """Raise unless target_ids are bos + pieces, padded on the right, one row each."""
    masks.check_ids(target_ids, vocab_size=config.vocab_size, pad_id=config.pad_id)
    if target_ids.size(0) != n_rows:
        raise ValueError(
            f"{n_rows} sources and {target_ids.size(0)} translations: give one "
            "translation for each source"
        )
    if target_ids.size(1) > config.max_len:
        raise ValueError(
            f"a translation of {target_ids.size(1) - 1} pieces is too long: the model "
            f"takes {config.max_len - 1}"
        )
    pieces = target_ids[:, 1:]
    special = (pieces == config.bos_id) | (pieces == config.eos_id)
    gap = (pieces[:, 1:] != config.pad_id) & (pieces[:, :-1] == config.pad_id)
    wrong = (target_ids[:, 0] != config.bos_id) | special.any(1) | gap.any(1)
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0, 0])
        raise ValueError(
            f"row {row} of the translations is {target_ids[row].tolist()}: give bos "
            f"({config.bos_id}) + pieces, padded on the right, without eos "
            f"({config.eos_id}), or lists of pieces alone"
        )
