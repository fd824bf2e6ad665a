"""The base of the figures that run a trained model on the reader's machine.

The model runs in the page, in a thread of its own (``engine/``). Its weights are never
part of a figure's state: a page of the book fetches them on demand, once for all
figures; in Colab and JupyterLab the kernel sends them. Until then a figure shows an
example that was recorded when its cell ran.

Either way a page gets the weights in eight bits. The released model is kept in eight
bits anyway. Of a model of your own, examples are recorded with the rounded weights, so
that no number jumps when the page takes over.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import torch
import traitlets
from torch import Tensor

from tformer.common.search import SearchSettings
from tformer.model import Transformer
from tformer.pretrained import load_pretrained
from tformer.translator import AttentionMaps, Translator
from tformer_book.widgets._figure import PageFigure
from tformer_book.widgets._modules import FOLDER, linked

RUNNING = "The dog did not cross the street because it was tired."
FILES = ("model.safetensors", "tokenizer.model")
PART = 1 << 20  # bytes that the kernel sends at once
ENGINE = "engine.json"


@functools.cache
def engine() -> bytes:
    """The engine's modules, for a Web Worker where no host has them (`linked`)."""
    return linked(FOLDER / "engine" / "worker.js").encode()


class PageModel(NamedTuple):
    """A model as pages have it: with weights in eight bits."""

    files: dict[str, bytes]  # what the page downloads
    translator: Translator  # the same weights in PyTorch


def page_model(translator: Translator) -> PageModel:
    """A model as a page receives it."""
    with tempfile.TemporaryDirectory(prefix="tformer-figure-") as folder:
        translator.save(folder, dtype=torch.int8)
        files = {name: (Path(folder) / name).read_bytes() for name in FILES}
        return PageModel(files, load_pretrained(folder, device=translator.device))


@functools.cache
def released_model() -> PageModel:
    """The released model, as `page_model`."""
    return page_model(load_pretrained())


@functools.cache
def released_key() -> str:
    """The name of this version of the released model in addresses and caches."""
    return hashlib.sha256(released_model().files[FILES[0]]).hexdigest()[:12]


class ModelFigure(PageFigure):
    """A figure that asks a trained model about a sentence.

    Args:
        text: the English sentence that it shows first.
        translator: whose model; the released one if omitted. A model of your own runs
            wherever there is a kernel; a page without one has only the released model.
        state: further traits of the figure.

    Attributes:
        translator: the model as the page has it, for recording.

    Raises:
        TypeError: the translator's model is not a `Transformer`.
    """

    text = traitlets.Unicode().tag(sync=True)
    example = traitlets.Dict().tag(sync=True)
    model_key = traitlets.Unicode().tag(sync=True)
    model_bytes = traitlets.Int(0).tag(sync=True)

    def __init__(
        self,
        text: str = RUNNING,
        *,
        translator: Translator | None = None,
        **state: Any,
    ) -> None:
        if translator and not isinstance(translator.model, Transformer):
            raise TypeError(
                "the figure needs a Transformer; the translator's model is a "
                f"{type(translator.model).__name__}"
            )
        own = None if translator is None or _is_released(translator) else translator
        self._files, self.translator = page_model(own) if own else released_model()
        super().__init__(
            text=text,
            example=self.record(text),
            model_key="" if own else released_key(),
            model_bytes=sum(map(len, self._files.values())),
            **state,
        )
        self.on_msg(self._answer)

    def record(self, text: str) -> dict[str, Any]:
        """What the figure shows for `text` before its model runs, as JSON values.

        A subclass defines what it needs.
        """
        raise NotImplementedError

    def _answer(self, _: Any, content: Any, buffers: Any) -> None:
        """Send a part of a file to the page that asks for it."""
        name, part = content.get("ask"), content.get("part", 0)
        if name == ENGINE:
            data = engine()
        elif name in FILES:
            data = self._files[name]
        else:
            return
        parts = -(-len(data) // PART)
        if part not in range(parts):
            return
        self.send(
            {"file": name, "part": part, "parts": parts, "bytes": len(data)},
            buffers=[data[part * PART : (part + 1) * PART]],
        )


def plain(piece: str) -> str:
    """A piece as a reader writes it."""
    return "the end" if piece == "</s>" else piece.replace("▁", "") or "␣"


def page_settings(settings: SearchSettings) -> dict[str, Any]:
    """Settings of a search by their names in the page: ``beam_size`` -> ``beamSize``.

    ``n_best`` stays here: a figure shows all that a beam found. The inverse is
    ``engine/decode/settings.js``.
    """
    return {
        re.sub("_(.)", lambda match: match[1].upper(), name): value
        for name, value in dataclasses.asdict(settings).items()
        if name != "n_best"
    }


def recorded_attention(maps: AttentionMaps) -> dict[str, Any]:
    """All attention weights as JSON: one byte for each, base64; `unpack` reads it.

    A weight w becomes round(255 w), so it is off by 1/510 at most.
    """
    return {
        "sourcePieces": maps.source_pieces,
        "targetPieces": maps.target_pieces,
        "predictedPieces": maps.predicted_pieces,
        "translation": maps.translation,
        **{
            name: {"shape": list(weights.shape), "bytes": _packed(weights)}
            for name, weights in (
                ("encoder", maps.encoder),
                ("decoder", maps.decoder),
                ("cross", maps.cross),
            )
        },
    }


def _packed(weights: Tensor) -> str:
    whole = (255 * weights).round().to(torch.uint8).cpu().contiguous()
    return base64.b64encode(whole.numpy().tobytes()).decode()


def _is_released(translator: Translator) -> bool:
    """Whether it is the released model: sizes, tokenizer and weights."""
    released = load_pretrained()
    if translator.model.config != released.model.config:
        return False
    if translator.tokenizer.fingerprint != released.tokenizer.fingerprint:
        return False
    own, others = (dict(x.model.named_parameters()) for x in (translator, released))
    return own.keys() == others.keys() and all(
        torch.equal(parameter.detach().float().cpu(), others[name])
        for name, parameter in own.items()
    )
