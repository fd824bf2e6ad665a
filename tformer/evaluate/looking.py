"""Measure what attention heads look at, and what a single weight is worth.

``head_shares`` averages over many sentences how much of a head's weight goes to the
previous piece, to the aligned word and so on; ``hide_pieces`` takes the weights on one
word out of a row's sums and asks what the next piece loses by it.

Source: Clark et al. 2019, section 3 (shares of weight); Voita et al. 2019 (kinds of
heads). Chapter *Inside the trained model*.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer import masks
from tformer.analysis import trace
from tformer.data.alignment import AlignedPair, piece_links
from tformer.translator import AttentionMaps, Translator

SPECIAL = ("<s>", "</s>")


def head_shares(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    gold: Sequence[AlignedPair] | None = None,
) -> dict[str, dict[str, Tensor]]:
    """How much of its weight each head gives to a few kinds of places, on average.

    The mean is over all rows that have such a place. The model reads the given German
    (teacher forcing).

    - "previous", "same", "next": the piece before the query, itself, the one after
      (encoder and decoder; the decoder's first row, which has no choice, is left out).
    - "separator": the beginning and end of the sentence, and pieces without a letter
      or digit.
    - "about to say", "just read" (cross-attention, with ``gold``): the pieces of the
      English words that are aligned with the German piece that the row predicts, or
      reads.

    Args:
        translator: whose attention.
        pairs: (English, German) sentences.
        gold: their true alignments, such as ``corpus.alignments["valid"]``; only sure
            links count.

    Returns:
        site ("encoder", "decoder", "cross") → kind of place → (layers, heads).

    Raises:
        ValueError: no pairs, or not one alignment for each.
    """
    if not pairs or (gold is not None and len(gold) != len(pairs)):
        raise ValueError(
            f"{len(pairs)} pairs and {'no' if gold is None else len(gold)} true "
            "alignments: give at least one pair and, if any, an alignment for each"
        )
    shares: dict[tuple[str, str], list[Tensor]] = defaultdict(list)
    for i, pair in enumerate(pairs):
        maps = translator.attention(*pair)
        for site, kind, rows in _rows(maps):
            shares[site, kind].append(rows)
        if gold is not None:
            links, _ = piece_links(pair, gold[i], translator.tokenizer)
            for shift, kind in enumerate(("about to say", "just read")):
                aligned = torch.zeros_like(maps.cross[0, 0])  # (T, S)
                for source, target in links:
                    aligned[target + shift, source] = 1
                rows = (maps.cross * aligned).sum(-1)[..., aligned.any(dim=1)]
                shares["cross", kind].append(rows)
    found: dict[str, dict[str, Tensor]] = {site: {} for site in trace.SITES}
    for (site, kind), each in shares.items():
        found[site][kind] = torch.cat(each, dim=-1).mean(dim=-1)
    return found


def _rows(maps: AttentionMaps) -> Iterator[tuple[str, str, Tensor]]:
    """(layers, heads, rows): each row's weight on each kind of place."""
    keys = {
        "encoder": maps.source_pieces,
        "decoder": maps.target_pieces,
        "cross": maps.source_pieces,
    }
    for site, pieces in keys.items():
        weights = getattr(maps, site)
        first = 1 if site == "decoder" else 0  # its row 0 sees only itself
        separates = torch.tensor([_is_separator(piece) for piece in pieces])
        yield site, "separator", weights[..., first:, separates].sum(-1)
        if site == "cross":
            continue
        diagonals = {"previous": -1, "same": 0, "next": 1}
        for kind, offset in diagonals.items():
            if kind == "next" and site == "decoder":
                continue  # it can't
            diagonal = weights.diagonal(offset, dim1=-2, dim2=-1)
            yield site, kind, diagonal[..., first if offset == 0 else 0 :]


def _is_separator(piece: str) -> bool:
    return piece in SPECIAL or not any(letter.isalnum() for letter in piece)


@dataclass(frozen=True)
class HiddenPieces:
    """What each piece of the source is worth to each row of the decoder.

    Attributes:
        source_pieces: pieces + ``</s>``: the keys.
        predicted_pieces: pieces + ``</s>``: what each row predicts.
        translation: the German text.
        weights: (T, S) cross-attention, the mean of all heads of all layers.
        lost: (T, S) nats of log-probability that the predicted piece loses when the
            row cannot look at the source piece; negative where it gains.
        becomes: (T, S) the id that is most probable then.
        best: (T,) the id that is most probable when nothing is hidden.
    """

    source_pieces: list[str]
    predicted_pieces: list[str]
    translation: str
    weights: Tensor
    lost: Tensor
    becomes: Tensor
    best: Tensor


def hide_pieces(
    translator: Translator, text: str, translation: str | None = None
) -> HiddenPieces:
    """Hide each piece of the source from each row, and see what the row loses.

    In all heads of cross-attention the row's weight on that piece is set to 0, which
    takes ``weight · value`` out of the sum; the other weights stay as they are. Other
    rows, and the encoder, still see the piece.

    Args:
        translator: whose model.
        text: one English sentence.
        translation: the German that the model reads; its own (beam 4) if omitted.

    Raises:
        TypeError, ValueError: as `Translator.attention`.
    """
    maps = translator.attention(text, translation)
    model, config = translator.model, translator.model.config
    target = translator.encode(maps.translation)[:-1]
    source_ids = torch.tensor([translator.encode(text)], device=translator.device)
    width = source_ids.size(1)
    gains = torch.cat([1 - torch.eye(width), torch.ones(1, width)])  # (S + 1, S)
    lost, best = [], []
    with torch.inference_mode(), ExitStack() as hooks:
        memory = model.encode(source_ids)
        mask = masks.source_mask(source_ids, config.pad_id)
        for layer in range(config.n_decoder_layers):
            hooks.enter_context(trace.weight_gains(model, ("cross", layer), gains))
        cache = model.new_cache()
        copies = torch.zeros(width + 1, dtype=torch.long, device=memory.device)
        labels = [*target, config.eos_id]
        for reads, says in zip([config.bos_id, *target], labels, strict=True):
            cache.select(copies)  # the same past for all; the last sees everything
            row = torch.full_like(copies, reads)[:, None]
            logits = model.unembed(model.decode(row, memory, mask, cache))[:, 0]
            left = logits.log_softmax(-1)[:, says].cpu()
            lost.append(left[-1] - left[:-1])
            best.append(logits.argmax(-1).cpu())
            cache.select(copies[:1] + width)
    found = torch.stack(best)  # (T, S + 1)
    return HiddenPieces(
        maps.source_pieces,
        maps.predicted_pieces,
        maps.translation,
        weights=maps.cross.mean(dim=(0, 1)),
        lost=torch.stack(lost),
        becomes=found[:, :-1],
        best=found[:, -1],
    )
