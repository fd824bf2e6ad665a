"""Searches step by step, for figures: what the page's engine reports, from PyTorch.

`tformer.decode` searches and yields its steps; here each becomes what the engine's
`Translator.steps` (``engine/translator.js``) yields: the hypotheses with their
likeliest next pieces, what became of the best continuations, and all that have ended.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import islice
from typing import Any

import torch
import traitlets
from torch import Tensor

from tformer import decode
from tformer.common.search import SEARCHES, USUAL, SearchSettings, Slider
from tformer.decode.stepping import inference
from tformer.translator import Translator

SHOWN = 8  # next pieces that a step reports
FIELDS = [each for each in fields(SearchSettings) if each.metadata.get("slider")]
SLIDERS: dict[str, Slider] = {each.name: each.metadata["slider"] for each in FIELDS}


def _traits() -> dict[str, Any]:
    """A synchronised trait for each number that a reader can set, within its bounds."""
    found = {}
    for each in FIELDS:
        slider = SLIDERS[each.name]
        is_whole = each.type in (int, int | None)
        kind = traitlets.Int if is_whole else traitlets.Float
        default = slider.everything if each.default is None else each.default
        bounds = {"min": slider.least, "max": slider.most}
        found[each.name] = kind(default, **bounds).tag(sync=True)
    return found


class SearchTraits(traitlets.HasTraits):
    """The settings of a search as traits of a figure; 0 for a top_k of None, and so on.

    Attributes: those of `tformer.common.search.SearchSettings` that have a slider.
    """

    search = traitlets.Enum(SEARCHES, USUAL.search).tag(sync=True)
    locals().update(_traits())


def search_steps(
    translator: Translator, text: str, settings: SearchSettings
) -> list[dict[str, Any]]:
    """All steps of one search, down to the last that a beam could finish.

    Args:
        translator: whose model.
        text: one English sentence.
        settings: how to search; sampling uses the page's random numbers.
    """
    source_ids = torch.tensor([translator.encode(text)], device=translator.device)
    settings = replace(settings, n_best=settings.beam_size)
    options = {}
    if settings.search == "sample":
        numbers = islice(page_chances(settings.seed), settings.max_len)
        options = {"chances": torch.tensor([list(numbers)], dtype=torch.float64)}
    steps = decode.STEPS[settings.search](
        translator.model, source_ids, settings, **options
    )
    return [_told(translator, step, settings) for step in steps]


def score_positions(
    translator: Translator, text: str, translation: str
) -> dict[str, Any]:
    """A given translation, scored in one pass, as the engine's ``score`` reports it.

    Args:
        translator: whose model.
        text: one English sentence.
        translation: its German.

    Returns:
        ``positions``: for each piece and for eos its log-probability and the likeliest
        pieces at its place; ``logProbability``, their sum.

    Raises:
        TypeError, ValueError: as `Translator.score`.
    """
    config = translator.model.config
    target = translator.encode(translation)
    source_ids = torch.tensor([translator.encode(text)], device=translator.device)
    shifted = torch.tensor([[config.bos_id, *target[:-1]]], device=translator.device)
    with inference(translator.model):
        (logits,) = translator.model(source_ids, shifted).cpu()
    log_p = logits.log_softmax(-1)
    positions: list[dict[str, Any]] = [
        {
            "id": i,
            "piece": translator.tokenizer.id_to_piece(i),
            "logProbability": _short(float(row[i])),
            "next": _next(translator, row),
        }
        for i, row in zip(target, log_p, strict=True)
    ]
    total = sum(each["logProbability"] for each in positions)
    return {"positions": positions, "logProbability": _short(total)}


def _told(
    translator: Translator, step: decode.Step, settings: SearchSettings
) -> dict[str, Any]:
    """One step for the single sentence, spelled out."""
    tokens, log_p = step.tokens[0, :, 1:].tolist(), step.log_p[0].cpu()
    hypotheses = []
    for ids, total, each in zip(tokens, step.totals[0], log_p, strict=True):
        if total == -math.inf:
            continue  # filler of the beam
        drawn = None
        if settings.search == "sample":
            drawn = decode.sharpened(each, settings)
        hypotheses.append(
            {
                **_spelled(translator, ids),
                "logProbability": _short(total),
                "next": _next(translator, each, drawn),
            }
        )
    candidates = [
        {
            "parent": each.parent,
            "id": each.piece,
            "piece": translator.tokenizer.id_to_piece(each.piece),
            "logProbability": _short(each.log_probability),
            "fate": each.fate,
        }
        for each in step.continuations[0]
    ]
    finished = [
        {
            **_spelled(translator, each.ids),
            "logProbability": _short(each.log_probability),
            "score": _short(each.score),
            "ended": each.ended,
        }
        for each in step.finished[0]
    ]
    return {"hypotheses": hypotheses, "candidates": candidates, "finished": finished}


def page_chances(seed: int) -> Iterator[float]:
    """The page's random numbers in [0, 1) for a seed (Mulberry32, ``choosing.js``)."""
    word = 2**32
    state = seed % word
    while True:
        state = (state + 0x6D2B79F5) % word
        bits = (state ^ (state >> 15)) * (state | 1) % word
        bits ^= (bits + (bits ^ (bits >> 7)) * (bits | 61)) % word
        yield (bits ^ (bits >> 14)) / word


def _next(
    translator: Translator, log_p: Tensor, drawn: Tensor | None = None
) -> list[dict[str, Any]]:
    """The likeliest next pieces, and what sampling makes of their probabilities."""
    best, ids = log_p.sort(descending=True, stable=True)
    entries = []
    for value, i in zip(best[:SHOWN].tolist(), ids[:SHOWN].tolist(), strict=True):
        piece = translator.tokenizer.id_to_piece(i)
        entry = {"id": i, "piece": piece, "probability": _short(math.exp(value))}
        if drawn is not None:
            entry["drawn"] = _short(float(drawn[i]))
        entries.append(entry)
    return entries


def _spelled(translator: Translator, ids: list[int]) -> dict[str, Any]:
    tokenizer = translator.tokenizer
    pieces = [tokenizer.id_to_piece(i) for i in ids]
    return {"ids": ids, "pieces": pieces, "text": tokenizer.decode(ids)}


def _short(x: float) -> float:
    """Seven digits: the precision of float32."""
    return float(f"{x:.7g}")
