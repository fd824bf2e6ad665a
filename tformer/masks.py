"""Masks: who may attend to whom.

One rule everywhere: a mask is a bool tensor, **True means "may attend"**, it broadcasts
to (B, H, Tq, Tk), masks are combined with ``&``, and what may not be attended to gets a
score of minus infinity. ``torch.nn.MultiheadAttention`` has the opposite polarity.

Source: Vaswani et al. 2017, section 3.2.3. Chapter *Masks*.
"""

import torch
from torch import Tensor


def causal_mask(length: int, *, device: torch.device | str | None = None) -> Tensor:
    """Let every position see itself and what comes before it.

    ``mask[i, j] = (j <= i)``

    Args:
        length: number of positions T, at least 1.
        device: where to create the mask.

    Returns:
        (T, T) bool, lower triangular; broadcasts over batch and heads.

    Raises:
        ValueError: length < 1.

    Source: section 3.2.3, third point.
    """
    if length < 1:
        raise ValueError(f"a causal mask needs length >= 1, got {length}")
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Hide padded *keys*; queries are never hidden, so no row is ever empty.

    ``mask[b, 0, 0, j] = (ids[b, j] != pad_id)``

    Args:
        ids: (B, Tk) int64 token ids.
        pad_id: the id that pads batches.

    Returns:
        (B, 1, 1, Tk) bool; broadcasts over heads and queries.

    Raises:
        TypeError: ids is not int64.
        ValueError: ids is not (B, Tk), or a row has no visible token. (The values of
            a GPU tensor are not read, since that would stall the GPU; `check_ids`
            reads them where ids enter.)
    """
    check_id_shape(ids)
    if ids.device.type == "cpu":
        _check_visible(ids, pad_id)
    return (ids != pad_id)[:, None, None, :]


def source_mask(source_ids: Tensor, pad_id: int) -> Tensor:
    """Mask for the encoder and for cross-attention: all but padding may be seen.

    Args:
        source_ids: (B, S) int64.
        pad_id: the padding id.

    Returns:
        (B, 1, 1, S) bool.
    """
    return padding_mask(source_ids, pad_id)


def target_mask(target_ids: Tensor, pad_id: int) -> Tensor:
    """Mask for the decoder's self-attention: no future, no padding.

    ``mask[b, 0, i, j] = (j <= i) & (ids[b, j] != pad_id)``

    It is built from the *target* ids: the source's padding has no place in it.

    Args:
        target_ids: (B, T) int64, padded on the right.
        pad_id: the padding id.

    Returns:
        (B, 1, T, T) bool.

    Raises:
        TypeError, ValueError: as `padding_mask`; also padding on the left, since the
            first position would see nothing.
    """
    padding = padding_mask(target_ids, pad_id)
    if target_ids.device.type == "cpu" and bool((target_ids[:, 0] == pad_id).any()):
        row = int((target_ids[:, 0] == pad_id).nonzero()[0, 0])
        raise ValueError(
            f"row {row} of the target begins with pad_id={pad_id}: its first position "
            "would see nothing; pad on the right"
        )
    causal = causal_mask(target_ids.size(-1), device=target_ids.device)
    return causal & padding


def check_id_shape(ids: Tensor) -> None:
    """Raise unless ``ids`` is a non-empty (B, T) int64 tensor; reads no values."""
    if not isinstance(ids, Tensor):
        raise TypeError(f"expected token ids as a tensor, got {type(ids).__name__}")
    if ids.dtype != torch.int64:
        raise TypeError(f"token ids must be int64, got {ids.dtype}: use ids.long()")
    if ids.dim() != 2 or ids.numel() == 0:
        raise ValueError(
            f"token ids must have shape (batch, length), both at least 1, got "
            f"{tuple(ids.shape)}: pad sentences to the same length and stack them"
        )


def check_ids(ids: Tensor, *, vocab_size: int, pad_id: int) -> None:
    """Raise unless ids are valid: (B, T) int64, in range, a visible token in each row.

    Called where ids enter a search.

    Raises:
        TypeError: not an int64 tensor.
        ValueError: wrong shape, an id outside ``0 … vocab_size-1``, an all-padding row.
    """
    check_id_shape(ids)
    check_range(ids, vocab_size)
    _check_visible(ids, pad_id)


def check_fit(ids: Tensor, *, vocab_size: int, max_len: int) -> None:
    """Raise a ValueError unless a model of these sizes can read ids (B, T) int64.

    Values are checked on the CPU only, since reading them would stall a GPU.
    """
    if ids.size(1) > max_len:
        raise ValueError(
            f"{ids.size(1)} tokens are more than max_len={max_len}: "
            "split the text, or build the model with a larger max_len"
        )
    if ids.device.type == "cpu":
        check_range(ids, vocab_size)


def check_pairs(target_ids: Tensor, memory: Tensor) -> None:
    """Raise a ValueError unless (B, T) ids and (B, S, D) memory have equal B."""
    if len(target_ids) != len(memory):
        raise ValueError(
            "source and target must have the same batch size, got "
            f"{tuple(memory.shape[:2])} and {tuple(target_ids.shape)}"
        )


def check_range(ids: Tensor, vocab_size: int) -> None:
    """Raise a ValueError unless all ids are in ``0 … vocab_size-1``."""
    low, high = (int(each) for each in ids.aminmax())
    if low < 0 or high >= vocab_size:
        wrong = low if low < 0 else high
        raise ValueError(
            f"token id {wrong} is outside the vocabulary 0…{vocab_size - 1}: "
            "was the text encoded by a different tokenizer?"
        )


def check_padded_right(ids: Tensor, *, pad_id: int) -> None:
    """Raise unless all padding is at the end of its row.

    Called where ids enter a search: positions count from the left, so padding there
    would shift a sentence to positions where no training sentence was.

    Raises:
        ValueError: a row is padded on the left or inside; the message names it.
    """
    is_pad = ids == pad_id
    wrong = (is_pad[:, :-1] & ~is_pad[:, 1:]).any(dim=-1)
    if bool(wrong.any()):
        row = int(wrong.nonzero()[0, 0])
        raise ValueError(
            f"row {row} has pad_id={pad_id} before its last token: pad on the right"
        )


def _check_visible(ids: Tensor, pad_id: int) -> None:
    empty = (ids == pad_id).all(dim=-1)
    if bool(empty.any()):
        row = int(empty.nonzero()[0, 0])
        raise ValueError(
            f"row {row} has no visible token: all its ids are pad_id={pad_id}. "
            "Attention over nothing is undefined; remove the row"
        )
