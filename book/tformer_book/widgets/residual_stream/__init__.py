"""The residual stream of the trained model, at one position, part by part.

Chapter *The encoder* shows it. ``view.js`` draws; the browser engine
computes. What it shows first was recorded from PyTorch by `tformer.analysis.trace`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from tformer import decode
from tformer.analysis import trace
from tformer.translator import Translator
from tformer_book.widgets._model import RUNNING, ModelFigure

SHOWN = 5  # pieces shown for a state of the stream


class ResidualStream(ModelFigure):
    """What each sub-layer adds to the stream, and what the model would already say.

    The reader picks the encoder or the decoder, a position and a part. `way` gives the
    numbers on screen, computed by PyTorch.

    In the decoder a state of the stream is read as if the model ended there: final
    norm, table, softmax. In the encoder, which never has to name a piece, the pieces
    are those whose table rows have the smallest angle with the stream.

    Args:
        text: the English sentence that it shows first.
        side: "encoder" or "decoder".
        position: counted from 0, of the source or of what the decoder reads.
        step: the part shown enlarged, counted from 0; -1 is the last.
        translator: whose model; the released one if omitted.

    Raises:
        traitlets.TraitError: no such side, or a position below 0.
        TypeError, ValueError: as `ModelFigure` and `Translator.translate`.

    Source: reading intermediate states this way is known as the “logit lens”.
    """

    side = traitlets.Enum(("encoder", "decoder"), "decoder").tag(sync=True)
    position = traitlets.Int(1, min=0).tag(sync=True)
    step = traitlets.Int(-1, min=-1).tag(sync=True)

    def __init__(
        self,
        text: str = RUNNING,
        *,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        super().__init__(text, translator=translator, **state)

    def record(self, text: str) -> dict[str, Any]:
        """The whole path at every position, as the page's engine reports it."""
        return stream_states(self.translator, text)

    @property
    def way(self) -> list[dict[str, Any]]:
        """Part by part, at the position on screen: name, length, added, …, next."""
        states: list[dict[str, Any]] = stream_states(self.translator, self.text)[
            self.side
        ]
        at = min(self.position, len(states[0]["length"]) - 1)
        columns = ("length", "added", "cosine", "next", "followed")
        return [
            {"name": each["name"], **{key: each[key][at] for key in columns}}
            for each in states
        ]

    def __repr__(self) -> str:
        first, *_, last = way = self.way
        piece, number = last["next"][0]
        return (
            f"The {self.side}'s stream at position {self.position} of “{self.text}”: "
            f"{len(way)} parts, length {first['length']:.1f} to {last['length']:.1f}, "
            f"in the end “{piece}” ({number:.3f})."
        )


def stream_states(
    translator: Translator, text: str, translation: str | None = None
) -> dict[str, Any]:
    """The residual stream of one sentence, as the engine's ``stream`` reports it.

    Args:
        translator: whose model.
        text: one English sentence.
        translation: the German that the decoder reads; the model's own (beam 4) if
            omitted.

    Raises:
        TypeError, ValueError: as `Translator.translate`.
    """
    model, tokenizer = translator.model, translator.tokenizer
    config = model.config
    source = translator.encode(text)
    source_ids = torch.tensor([source], device=translator.device)
    if translation is None:
        target = decode.beam_search(model, source_ids, max_len=128)[0]
        translation = tokenizer.decode(target)
    else:
        target = translator.encode(translation)[:-1]
    read = [config.bos_id, *target]
    target_ids = torch.tensor([read], device=translator.device)
    encoder, decoder = trace.residual_stream(model, source_ids, target_ids)

    def pieces(ids: list[int]) -> list[str]:
        return [tokenizer.id_to_piece(i) for i in ids]

    def told(
        writes: list[trace.Write], numbers: list[Tensor], followed: Tensor
    ) -> list[dict[str, Any]]:
        return [
            {
                "name": write.name,
                "length": _short(write.after[0].norm(dim=-1)),
                "added": _short(write.added[0].norm(dim=-1)),
                "cosine": _short(write.cosine[0]),
                "next": _best(translator, each),
                "followed": _short(each.gather(-1, followed[:, None])[:, 0]),
            }
            for write, each in zip(writes, numbers, strict=True)
        ]

    with torch.no_grad():
        said = [
            model.unembed(model.decoder.final_norm(each.after[0])).softmax(-1)
            for each in decoder
        ]
        rows = F.normalize(model.source_embedding.weight, dim=-1)
        near = [F.normalize(each.after[0], dim=-1) @ rows.T for each in encoder]
    return {
        "sourcePieces": pieces(source),
        "targetPieces": pieces(read),
        "predictedPieces": pieces([*target, config.eos_id]),
        "translation": translation,
        "norm": config.norm,
        "encoder": told(encoder, near, source_ids[0]),
        "decoder": told(decoder, said, said[-1].argmax(-1)),
    }


def _best(translator: Translator, numbers: Tensor) -> list[list[list[Any]]]:
    """For each position: the pieces with the largest numbers."""
    values, ids = numbers.sort(dim=-1, descending=True, stable=True)
    return [
        [
            [translator.tokenizer.id_to_piece(i), value]
            for i, value in zip(row, _short(column), strict=True)
        ]
        for row, column in zip(ids[:, :SHOWN].tolist(), values[:, :SHOWN], strict=True)
    ]


def _short(values: Tensor) -> list[float]:
    """Five digits: more than a screen shows, and few enough for a page."""
    return [float(f"{value:.5g}") for value in values.tolist()]
