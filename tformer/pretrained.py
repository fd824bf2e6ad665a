"""A trained model and its tokenizer: save them, load them, translate with them.

A folder holds ``model.safetensors`` (weights, with the configuration and the
tokenizer's fingerprint in its header), ``tokenizer.model``, ``card.json``, and for a
run that was kept ``history.json``.

Chapters 12 to 14.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import torch
from torch import Tensor

from tformer import decode, trace
from tformer.config import TransformerConfig
from tformer.files import load_tensors, save_tensors, write_json
from tformer.model import Transformer
from tformer.tokenization import Tokenizer

RELEASED = Path(__file__).parent / "pretrained"


@dataclass(frozen=True)
class AttentionMaps:
    """What every head attended to while the model wrote one translation.

    Attributes:
        source_pieces: pieces + ``</s>``: rows and columns of ``encoder``, columns of
            ``cross``.
        target_pieces: ``<s>`` + pieces: rows and columns of ``decoder``, rows of
            ``cross``.
        predicted_pieces: pieces + ``</s>``: what each target row predicts.
        translation: the German text.
        encoder: (layer, head, query, key) float32, S x S.
        decoder: T x T.
        cross: T x S.
    """

    source_pieces: list[str]
    target_pieces: list[str]
    predicted_pieces: list[str]
    translation: str
    encoder: Tensor
    decoder: Tensor
    cross: Tensor


class Translator:
    """A model and its tokenizer: text in, text out.

    Args:
        model: a `Transformer`.
        tokenizer: the one the model was trained with.
        card: what is known about the model: data, recipe, scores, terms.

    Raises:
        ValueError: the tokenizer's size or special ids are not the model's.
    """

    def __init__(
        self, model: Transformer, tokenizer: Tokenizer, card: dict | None = None
    ) -> None:
        config = model.config
        for name in ("vocab_size", "pad_id", "bos_id", "eos_id", "unk_id"):
            ours, theirs = getattr(config, name), getattr(tokenizer, name)
            if ours != theirs:
                raise ValueError(
                    f"the model has {name}={ours}, the tokenizer {name}={theirs}: "
                    "they were not trained together"
                )
        self.model = model
        self.tokenizer = tokenizer
        self.card: dict[str, Any] = card or {}

    @property
    def device(self) -> torch.device:
        """Where the model lies."""
        return self.model.output_embedding.weight.device

    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        text: str,
        *,
        beam_size: int = ...,
        length_penalty: float = ...,
        max_len: int = ...,
        batch_size: int = ...,
    ) -> str: ...
    @overload
    def translate(
        self,
        text: Sequence[str],
        *,
        beam_size: int = ...,
        length_penalty: float = ...,
        max_len: int = ...,
        batch_size: int = ...,
    ) -> list[str]: ...
    def translate(
        self,
        text: str | Sequence[str],
        *,
        beam_size: int = 4,
        length_penalty: float = 0.6,
        max_len: int = 128,
        batch_size: int = 64,
    ) -> str | list[str]:
        """Translate English to German.

        Args:
            text: a sentence, or several; several are translated in batches of like
                length, and come back in order.
            beam_size: hypotheses kept alive; 1 is greedy search.
            length_penalty: alpha of `tformer.decode.beam_search`.
            max_len: longest translation, in pieces.
            batch_size: sentences a batch.

        Returns:
            A string for a string, a list for a list.

        Raises:
            TypeError: not a string, or not a sequence of strings.
            ValueError: a text is empty or has more pieces than the model takes.
        """
        if isinstance(text, str):
            return self._translate([text], beam_size, length_penalty, max_len, 1)[0]
        texts = list(text)
        return self._translate(texts, beam_size, length_penalty, max_len, batch_size)

    def _translate(
        self,
        texts: list[str],
        beam_size: int,
        length_penalty: float,
        max_len: int,
        batch_size: int,
    ) -> list[str]:
        sources = [self.encode(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(sources[i]))
        translations = [""] * len(texts)
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            found = decode.beam_search(
                self.model,
                self._pad([sources[i] for i in chosen]),
                beam_size=beam_size,
                length_penalty=length_penalty,
                max_len=max_len,
            )
            for i, ids in zip(chosen, found, strict=True):
                translations[i] = self.tokenizer.decode(ids)
        return translations

    def attention(self, text: str, translation: str | None = None) -> AttentionMaps:
        """Every attention weight of the forward pass that scores a translation.

        Args:
            text: one English sentence.
            translation: the German to look at; the model's own (beam 4) if left out.

        Raises:
            TypeError, ValueError: as `translate`.
        """
        config = self.model.config
        source = self.encode(text)
        source_ids = self._pad([source])
        if translation is None:
            target = decode.beam_search(self.model, source_ids, max_len=128)[0]
            translation = self.tokenizer.decode(target)
        else:
            target = self.encode(translation)[:-1]
        target_ids = self._pad([[config.bos_id, *target]])
        encoder, decoder, cross = trace.attention_weights(
            self.model, source_ids, target_ids
        )

        def pieces(ids: list[int]) -> list[str]:
            return [self.tokenizer.id_to_piece(each) for each in ids]

        return AttentionMaps(
            source_pieces=pieces(source),
            target_pieces=pieces([config.bos_id, *target]),
            predicted_pieces=pieces([*target, config.eos_id]),
            translation=translation,
            encoder=encoder[0].float().cpu(),
            decoder=decoder[0].float().cpu(),
            cross=cross[0].float().cpu(),
        )

    def encode(self, text: str) -> list[int]:
        """Pieces + eos of one text, checked: what the encoder reads.

        Raises:
            TypeError: not a string.
            ValueError: nothing but blanks, or more pieces than the model takes.
        """
        if not isinstance(text, str):
            raise TypeError(f"expected a string to translate, got {text!r}")
        ids = self.tokenizer.encode(text)
        if not ids:
            raise ValueError(f"there is nothing to translate in {text!r}: give a text")
        longest = self.model.config.max_len - 1
        if len(ids) > longest:
            raise ValueError(
                f"the text beginning {text[:40]!r} has {len(ids)} pieces, the model "
                f"takes {longest}: split it into sentences"
            )
        return [*ids, self.model.config.eos_id]

    def _pad(self, rows: list[list[int]]) -> Tensor:
        width = max(map(len, rows))
        pad_id = self.model.config.pad_id
        filled = [row + [pad_id] * (width - len(row)) for row in rows]
        return torch.tensor(filled, device=self.device)

    def save(self, folder: str | Path, *, dtype: torch.dtype = torch.float32) -> None:
        """Write model, tokenizer and card into a folder, each file atomically.

        Args:
            folder: made if missing.
            dtype: of the stored weights; float16 halves the file.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        weights = {
            name: parameter.to(dtype)
            for name, parameter in self.model.named_parameters()
        }
        metadata = {
            "config": self.model.config.to_dict(),
            "tokenizer": self.tokenizer.fingerprint,
        }
        self.tokenizer.save(folder / "tokenizer.model")
        write_json(folder / "card.json", self.card)
        save_tensors(folder / "model.safetensors", weights, metadata)


def load_pretrained(
    path: str | Path | None = None, *, device: str | torch.device = "cpu"
) -> Translator:
    """Load the released English–German model, or one of your own runs.

    Args:
        path: a folder written by `tformer.train.fit` or `Translator.save`; the model
            that comes with the package if left out.
        device: where to put it.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is truncated, changed, of another model or vocabulary.
    """
    folder = RELEASED if path is None else Path(path)
    weights_file = folder / "model.safetensors"
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: train a model first")
    weights, metadata = load_tensors(weights_file)
    try:
        config = TransformerConfig.from_dict(metadata["config"])
        fingerprint = metadata["tokenizer"]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{weights_file} holds no tformer model: {error}") from error
    tokenizer = Tokenizer.load(folder / "tokenizer.model")
    if tokenizer.fingerprint != fingerprint:
        raise ValueError(
            f"{folder / 'tokenizer.model'} is not the tokenizer that "
            f"{weights_file.name} was trained with: take both from one run"
        )
    model = Transformer(config)
    load_parameters(model, weights, origin=str(weights_file))
    card_file = folder / "card.json"
    card = json.loads(card_file.read_text("utf-8")) if card_file.is_file() else {}
    return Translator(model.to(device).eval(), tokenizer, card)


def load_history(path: str | Path | None = None) -> dict[str, list[dict[str, Any]]]:
    """How a model came about: the recorded training run of its folder.

    Args:
        path: as in `load_pretrained`.

    Returns:
        ``evaluations`` and ``curve``, with the records of `tformer.train.Run`'s
        ``history`` and ``curve`` (the released model's curve is thinned out). Device,
        seconds and date are in the model's card.

    Raises:
        FileNotFoundError: the folder keeps no history.
    """
    file = (RELEASED if path is None else Path(path)) / "history.json"
    if not file.is_file():
        raise FileNotFoundError(f"there is no {file}: this model's run was not kept")
    return json.loads(file.read_text("utf-8"))


def load_parameters(
    model: Transformer, weights: dict[str, Tensor], *, origin: str
) -> None:
    """Copy named weights into a model, all of them or none.

    Raises:
        ValueError: a name is missing or unknown, a shape differs, a weight is not
            finite; the message names ``origin`` and the weight.
    """
    parameters = dict(model.named_parameters())
    for name in sorted(parameters.keys() ^ weights.keys()):
        what = "lacks" if name in parameters else "has the unknown weight"
        raise ValueError(f"{origin} {what} {name}: it is of another kind of model")
    for name, parameter in parameters.items():
        weight = weights[name]
        if weight.shape != parameter.shape:
            raise ValueError(
                f"{origin}: {name} has shape {tuple(weight.shape)}, the model needs "
                f"{tuple(parameter.shape)}: the configurations differ"
            )
        if not bool(weight.isfinite().all()):
            raise ValueError(f"{origin}: {name} holds NaN or infinity")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
