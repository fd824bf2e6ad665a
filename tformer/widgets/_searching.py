"""Searches told step by step, for figures: what the page's engine tells, from PyTorch.

Each function follows one sentence and yields a step whenever the model has spoken, in
the shape of the engine's `Translator.steps` (``engine/pretrained.js``): the hypotheses
with their likeliest next pieces, what became of the best continuations, and all that
have ended. The tests hold their results to those of `tformer.decode`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from tformer import decode
from tformer.decode.stepping import Stepper, check_call, inference
from tformer.pretrained import Translator

SHOWN = 8  # next pieces that a step tells of
LONGEST = 128  # pieces

Step = dict[str, Any]
Settings = dict[str, Any]


def search_steps(translator: Translator, text: str, settings: Settings) -> list[Step]:
    """All steps of one search.

    Args:
        translator: whose model.
        text: one English sentence.
        settings: ``search`` ("greedy", "sample" or "beam") and its options, by their
            names in the page: ``beamSize``, ``lengthPenalty``, ``temperature``,
            ``topK``, ``topP`` (None: all), ``seed``.

    Raises:
        ValueError: there is no such search, or a value is out of range.
    """
    options = {name: value for name, value in settings.items() if name != "search"}
    source_ids = torch.tensor([translator.encode(text)], device=translator.device)
    if settings["search"] == "beam":
        steps = _beam_steps(
            translator, source_ids, options["beamSize"], options["lengthPenalty"]
        )
    elif settings["search"] == "greedy":
        steps = _line_steps(translator, source_ids, None)
    elif settings["search"] == "sample":
        steps = _line_steps(translator, source_ids, options)
    else:
        raise ValueError(
            f"search {settings['search']!r} must be 'greedy', 'sample' or 'beam'"
        )
    with inference(translator.model):
        return list(steps)


def score_positions(
    translator: Translator, text: str, translation: str
) -> dict[str, Any]:
    """A given translation, all positions in one pass, as the engine's ``score`` tells.

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


def _beam_steps(
    translator: Translator, source_ids: Tensor, beam_size: int, alpha: float
) -> Iterator[Step]:
    """`decode.n_best` with n = beam_size, for one sentence."""
    eos_id = translator.model.config.eos_id
    longest = check_call(translator.model, source_ids, LONGEST)
    step = Stepper(translator.model, source_ids, use_cache=True)
    totals = torch.zeros(1)  # log p so far
    finished: list[dict[str, Any]] = []
    while True:
        log_p = step.log_probabilities().cpu()
        rows = step.tokens[:, 1:].tolist()
        hypotheses = [
            {
                **_spelled(translator, ids),
                "logProbability": _short(total),
                "next": _next(translator, each),
            }
            for ids, total, each in zip(rows, totals.tolist(), log_p, strict=True)
        ]
        sums = totals[:, None] + log_p
        if step.length == longest:  # nothing but the end is left
            alone = torch.full_like(sums, -math.inf)
            alone[:, eos_id] = sums[:, eos_id]
            sums = alone
        best, where = sums.flatten().topk(min(2 * beam_size, sums.numel()))
        candidates = [
            {
                "parent": place // log_p.size(1),
                "id": place % log_p.size(1),
                "piece": translator.tokenizer.id_to_piece(place % log_p.size(1)),
                "logProbability": total,
                "fate": "dropped",
            }
            for total, place in zip(best.tolist(), where.tolist(), strict=True)
            if total > -math.inf
        ]
        for each in candidates[:beam_size]:
            if each["id"] == eos_id:
                each["fate"] = "finished"
                ids, total = rows[each["parent"]], each["logProbability"]
                score = total / decode.length_penalty_of(len(ids) + 1, alpha)
                finished.append(
                    {
                        **_spelled(translator, ids),
                        "logProbability": _short(total),
                        "score": _short(score),
                    }
                )
        finished.sort(key=lambda each: -each["score"])
        grown = [each for each in candidates if each["id"] != eos_id][:beam_size]
        is_done = not grown or len(finished) >= beam_size
        for each in [] if is_done else grown:
            each["fate"] = "grown"
        totals = torch.tensor([each["logProbability"] for each in grown])
        for each in candidates:
            each["logProbability"] = _short(each["logProbability"])
        yield {
            "hypotheses": hypotheses,
            "candidates": candidates,
            "finished": list(finished),
        }
        if is_done:
            return
        parents = [each["parent"] for each in grown]
        step.extend(parents, [each["id"] for each in grown], same_sources=False)


def _line_steps(
    translator: Translator, source_ids: Tensor, options: Settings | None
) -> Iterator[Step]:
    """`decode.greedy`, or with options a sample, drawn as the page draws it."""
    eos_id = translator.model.config.eos_id
    longest = check_call(translator.model, source_ids, LONGEST)
    step = Stepper(translator.model, source_ids, use_cache=True)
    chances = page_chances(options["seed"]) if options else iter(())
    ids: list[int] = []
    total = 0.0
    while step.length < longest:
        (log_p,) = step.log_probabilities().cpu()
        drawn = None
        if options is None:
            piece = int(log_p.argmax())
        else:
            drawn = decode.distribution(
                log_p.double(),
                temperature=options["temperature"],
                top_k=options["topK"],
                top_p=options["topP"],
            )
            reached = drawn.cumsum(0)
            piece = int((reached <= next(chances) * reached[-1]).sum())
        before = {
            **_spelled(translator, ids),
            "logProbability": _short(total),
            "next": _next(translator, log_p, drawn),
        }
        total += float(log_p[piece])
        ended = piece == eos_id
        if not ended:
            ids = [*ids, piece]
        found = {
            **_spelled(translator, ids),
            "logProbability": _short(total),
            "score": _short(total),
            "ended": True,
        }
        yield {
            "hypotheses": [before],
            "candidates": [
                {
                    "parent": 0,
                    "id": piece,
                    "piece": translator.tokenizer.id_to_piece(piece),
                    "logProbability": _short(total),
                    "fate": "finished" if ended else "grown",
                }
            ],
            "finished": [found] if ended else [],
        }
        if ended:
            return
        step.extend([0], [piece], same_sources=True)


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
    """Seven digits: what a float32 holds."""
    return float(f"{x:.7g}")
