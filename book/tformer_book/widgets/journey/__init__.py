"""The journey of a sentence through the whole trained model, in fifteen stops.

``view.js`` draws the stops, ``stops.js`` says what happens at each; the browser engine
computes. What it shows first was recorded from PyTorch. Page: `book/journey.ipynb`.
"""

from __future__ import annotations

import base64
from typing import Any

import torch
import traitlets
from torch import Tensor

from tformer import decode
from tformer.analysis import trace
from tformer.translator import Translator
from tformer_book.widgets._model import ModelFigure

OPENING = "My parents want to sell their old house."
STOPS = 15
LONGEST = 40  # pieces of a translation
SHOWN = 5  # best next pieces
FINEST = 32767  # the largest number that is recorded


class Journey(ModelFigure):
    """Take a sentence of your own through the whole model, stop by stop.

    Args:
        text: the English sentence that it shows first.
        translator: whose model; the released one if omitted.
        state: further traits, such as ``stop=6``.

    Attributes:
        stop: which of the fifteen is shown, counted from 1.
        piece: the English piece that is followed, counted from 0; -1 for the last word.
        layer, head: of the encoder's attention, counted from 0.
        step: how many German pieces are written; -1 for all but the last word.
        across: the layer whose cross-attention is shown; -1 is the last.

    Raises:
        traitlets.TraitError: no such stop, or a number below its range.
        TypeError, ValueError: as `ModelFigure` and `Translator.encode`.
    """

    stop = traitlets.Int(1, min=1, max=STOPS).tag(sync=True)
    piece = traitlets.Int(-1, min=-1).tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    step = traitlets.Int(-1, min=-1).tag(sync=True)
    across = traitlets.Int(-1, min=-1).tag(sync=True)

    def __init__(
        self,
        text: str = OPENING,
        *,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        super().__init__(text, translator=translator, **state)

    def record(self, text: str) -> dict[str, Any]:
        """The whole journey, with each number as 16 bits."""
        packed: dict[str, Any] = _pack(journey(self.translator, text))
        return packed

    @property
    def states(self) -> dict[str, Any]:
        """The tensors of the journey on screen, by PyTorch (see `journey`)."""
        return journey(self.translator, self.text)


def journey(translator: Translator, text: str) -> dict[str, Any]:
    """Everything that a sentence passes through, as the engine's ``journey`` tells it.

    Args:
        translator: whose model.
        text: one English sentence.

    Returns:
        config, sourceIds, sourcePieces, targetPieces (bos + the greedy translation),
        translation; next: for each target position the likeliest pieces, with logit and
        probability; and tensors: word, start, memory (S, D); layers, a dictionary for
        each layer of the encoder; encoder (L, H, S, S), decoder (L, H, T, T), cross
        (L, H, T, S); said (T, D), from which the logits come.

    Raises:
        TypeError, ValueError: as `Translator.encode`.
    """
    model, tokenizer = translator.model, translator.tokenizer
    config = model.config
    source = translator.encode(text)
    source_ids = torch.tensor([source], device=translator.device)
    found = decode.greedy(model, source_ids, max_len=LONGEST - 1)[0]
    target = [config.bos_id, *found]
    parts = _layer_parts(config.norm)
    names = [
        f"encoder.layers.{layer}.{part}"
        for layer in range(config.n_encoder_layers)
        for part in parts.values()
    ]
    whole = ("source_embedding", "positions", "encoder", "decoder")
    with trace.watch(model, *whole, *names) as seen:
        maps = trace.attention_weights(
            model, source_ids, torch.tensor([target], device=translator.device)
        )
    said = seen["decoder"][0][0]
    with torch.no_grad():
        logits = model.unembed(said)
    encoder, decoder, cross = (each[0] for each in maps)
    layers: list[dict[str, Tensor]] = []
    for number, layer in enumerate(model.encoder.layers):
        states = {
            name: _flat(seen[f"encoder.layers.{number}.{part}"][0][0])
            for name, part in parts.items()
        }
        before = layers[-1]["after"] if layers else seen["positions"][0][0]
        with torch.no_grad():
            read = layer.self_attention_residual.norm(before)
            three = layer.self_attention.project(
                (read if config.norm == "pre" else before)[None]
            )
        for name, heads in zip(("query", "key", "value"), three, strict=True):
            states[name] = _flat(heads[0])
        layers.append(states)
    return {
        "config": config.to_dict(),
        "sourceIds": source,
        "sourcePieces": [tokenizer.id_to_piece(i) for i in source],
        "targetPieces": [tokenizer.id_to_piece(i) for i in target],
        "translation": tokenizer.decode(found),
        "next": [_best(translator, row) for row in logits],
        "word": seen["source_embedding"][0][0],
        "start": seen["positions"][0][0],
        "layers": layers,
        "memory": seen["encoder"][0][0],
        "encoder": encoder,
        "decoder": decoder,
        "cross": cross,
        "said": said,
    }


def _layer_parts(norm: str) -> dict[str, str]:
    """What a layer shows, by the module that says it; but for what it projects."""
    pre = norm == "pre"
    return {
        "mixed": "self_attention.heads",
        "attended": "self_attention.to_output",
        "normalised": "feed_forward_residual.norm"
        if pre
        else "self_attention_residual",
        "hidden": "feed_forward.expand",
        "fed": "feed_forward",
        "after": "feed_forward_residual",
    }


def _flat(x: Tensor) -> Tensor:
    """Heads (H, T, Dh) side by side (T, D), as in the engine; others as they are."""
    return x.transpose(0, 1).flatten(1) if x.ndim == 3 else x


def _best(translator: Translator, logits: Tensor) -> list[dict[str, Any]]:
    values, ids = logits.sort(descending=True, stable=True)
    probabilities = logits.softmax(-1)
    return [
        {
            "piece": translator.tokenizer.id_to_piece(i),
            "logit": value,
            "probability": probabilities[i].item(),
        }
        for i, value in zip(ids[:SHOWN].tolist(), values[:SHOWN].tolist(), strict=True)
    ]


def _pack(value: Any) -> Any:
    """Tensors x as whole numbers round(32767 x / max |x|), base64: see `unpack`."""
    if isinstance(value, dict):
        return {name: _pack(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_pack(each) for each in value]
    if not isinstance(value, Tensor):
        return value
    scale = max(value.abs().max().item(), 1e-9) / FINEST
    whole = (value / scale).round().to(torch.int16).cpu().contiguous()
    bytes_ = base64.b64encode(whole.numpy().astype("<i2").tobytes()).decode()
    return {"shape": list(value.shape), "scale": scale, "bytes": bytes_}
