"""Masked pieces: what an encoder alone learns from.

Source: Devlin et al. 2019, section 3.1. Chapter *What came after*.
"""

import torch
from torch import Tensor


def mask_pieces(
    ids: Tensor,
    chance: Tensor,
    others: Tensor,
    *,
    mask_id: int,
    pad_id: int = 0,
    n_special: int = 4,
    share: float = 0.15,
) -> tuple[Tensor, Tensor]:
    """Choose 15 % of the pieces; hide 80 % of these, exchange 10 %, keep 10 %.

    Special pieces are never chosen. The random draws come in as arguments, so that
    whoever calls can repeat them.

    Args:
        ids: (B, T) int64.
        chance: (B, T) random numbers, evenly distributed in [0, 1).
        others: (B, T) int64, random pieces to put in place of others.
        mask_id: stands where a piece is hidden.
        pad_id: the label of pieces that were not chosen: the loss leaves it out.
        n_special: ids below this one are special.
        share: of the pieces, how many are chosen.

    Returns:
        inputs: (B, T) int64, what the model reads.
        labels: (B, T) int64, the chosen pieces as they were; pad_id elsewhere.
    """
    chosen = (chance < share) & (ids >= n_special)
    inputs = torch.where(chosen & (chance < 0.9 * share), others, ids)
    inputs = torch.where(chosen & (chance < 0.8 * share), mask_id, inputs)
    return inputs, torch.where(chosen, ids, pad_id)
