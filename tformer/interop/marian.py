"""Marian checkpoints as our models: `load_marian` reads Helsinki-NLP's.

Such a folder (opus-mt-en-de is one of a thousand) holds ``config.json``, the weights as
``model.safetensors`` or ``pytorch_model.bin``, two sentencepiece models, ``source.spm``
and ``target.spm``, and ``vocab.json``, which numbers the pieces of both. The network is
the paper's, post-norm, with swish in place of ReLU and a bias on the logits.

One thing does not fit: Marian has no bos. It begins a translation with ``pad``, which
our models must never see. So bos becomes an additional piece after their last: its row
in the table is pad's, and its logit is lowered so far that its probability is exactly
0. All other logits are theirs.

Source: Junczys-Dowmunt et al. 2018; Tiedemann and Thottingal 2020 (OPUS-MT).
"""

from __future__ import annotations

import functools
import hashlib
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch import Tensor

from tformer.common.files import read_json
from tformer.common.values import named_folder
from tformer.config import TransformerConfig
from tformer.interop.layout import in_halves, in_pairs, their_name
from tformer.model import Transformer
from tformer.positions import sinusoids
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer.translator.weights import (
    check_dtypes,
    check_size,
    load_parameters,
    plain_names,
    usable_device,
)

NEVER = -1e4  # added to a logit: its probability is 0 in float32 and in float16
_ACTIVATIONS = {"swish": "swish", "silu": "swish", "relu": "relu", "gelu": "gelu"}
# Marian's options that our model lacks, each with the only value that we support.
_FIXED: dict[str, Any] = {
    "model_type": "marian",
    "scale_embedding": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
_ASSUMED = {name: value for name, value in _FIXED.items() if name != "scale_embedding"}
_EQUAL = (
    ("encoder_attention_heads", "decoder_attention_heads"),
    ("encoder_ffn_dim", "decoder_ffn_dim"),
    ("pad_token_id", "decoder_start_token_id"),
)


def load_marian(
    folder: str | Path, *, device: str | torch.device = "cpu"
) -> Translator:
    """Read a Marian checkpoint, in the layout of Helsinki-NLP/opus-mt-en-de.

    The translator does everything that ours do, but it cannot be saved as a run, which
    has one tokenizer: keep the folder that it came from.

    Args:
        folder: with ``config.json``, ``model.safetensors`` (or a ``pytorch_model.bin``
            that holds weights and nothing else), ``source.spm``, ``target.spm`` and
            ``vocab.json``.
        device: where to put the model.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is damaged or does not fit the others, the checkpoint has an
            option that our model lacks, or opening its weights would run code; PyTorch
            sees no such device here.
    """
    device = usable_device(device)
    folder = named_folder(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: download a checkpoint")
    about = read_json(_there(folder / "config.json"))
    numbers = _numbers(_there(folder / "vocab.json"))
    try:
        config = _configuration(about, numbers["<unk>"], folder / "config.json")
    except KeyError as error:
        raise ValueError(f"{folder / 'config.json'} does not say {error}") from error
    tokenizer = _tokenizer(folder, numbers, config)
    theirs = _weights(folder)
    shapes = {name: tuple(weight.shape) for name, weight in theirs.items()}
    check_size(config, shapes, origin=str(folder))
    model = Transformer(config)
    weights = _in_our_layout(theirs, model, folder)
    load_parameters(model, weights, origin=str(folder))
    return Translator(model.to(device).eval(), tokenizer, {"from": folder.name})


class MarianTokenizer(Tokenizer):
    """Two sentencepiece models, and one numbering for the pieces of both.

    Args:
        source: the serialised model that splits the text to translate.
        target: the one that splits, and joins, translations.
        vocabulary: the number of each piece, 0 to n - 1; bos becomes n.
        pad_id: theirs.
        eos_id: theirs.
    """

    def __init__(
        self,
        source: bytes,
        target: bytes,
        vocabulary: dict[str, int],
        *,
        pad_id: int,
        eos_id: int,
    ) -> None:
        self._models = (source, target)
        self._numbers = vocabulary
        self._pieces = [*sorted(vocabulary, key=vocabulary.__getitem__), "<s>"]
        self._processor, self._joiner = _processor(source), _processor(target)
        self.vocab_size = len(self._pieces)
        self.pad_id, self.eos_id = pad_id, eos_id
        self.bos_id, self.unk_id = len(vocabulary), vocabulary["<unk>"]
        self.algorithm = "unigram"
        parts = (source, target, json.dumps(vocabulary, sort_keys=True).encode())
        self.fingerprint = hashlib.sha256(b"".join(parts)).hexdigest()

    @functools.cached_property
    def target(self) -> MarianTokenizer:
        """The tokenizer of translations: the same numbers, the other model."""
        special = {"pad_id": self.pad_id, "eos_id": self.eos_id}
        return MarianTokenizer(
            self._models[1], self._models[1], self._numbers, **special
        )

    def encode(self, text: str) -> list[int]:
        """The text as ids, without ``eos``; a piece without a number is ``unk``.

        Raises:
            TypeError, ValueError: as `Tokenizer.encode`.
        """
        return [self._numbers.get(each, self.unk_id) for each in self.pieces(text)]

    def encode_all(self, texts: Iterable[str]) -> list[list[int]]:
        """``[encode(text) for text in texts]``."""
        return [self.encode(each) for each in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; ``pad``, ``bos`` and ``eos`` are skipped.

        Raises:
            TypeError, ValueError: as `Tokenizer.decode`.
        """
        silent = (self.pad_id, self.bos_id, self.eos_id)
        checked = [self._check_id(each) for each in ids]
        pieces = [self._pieces[each] for each in checked if each not in silent]
        text: str = self._joiner.DecodePieces(pieces)
        return text.replace("\u2581", " ").strip()

    def id_to_piece(self, i: int) -> str:
        """The piece of one id."""
        return self._pieces[self._check_id(i)]

    @property
    def model_bytes(self) -> bytes:
        """Not available: these are two models and a list.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "a model that was read by load_marian has two tokenizers, with room "
            "for one here: keep the folder that it came from"
        )


def _there(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path}: a Marian checkpoint has config.json, "
            "model.safetensors, source.spm, target.spm and vocab.json"
        )
    return path


def _numbers(path: Path) -> dict[str, int]:
    """A Marian ``vocab.json``: the number of each piece."""
    numbers = read_json(path)
    if "<unk>" not in numbers or not all(type(i) is int for i in numbers.values()):
        raise ValueError(
            f"{path} does not number the pieces, <unk> among them: copy it again"
        )
    return numbers


def _configuration(about: dict[str, Any], unk_id: int, path: Path) -> TransformerConfig:
    """A Marian ``config.json`` as ours; a KeyError if it is incomplete."""
    for name, only in _FIXED.items():
        value = about.get(name, _ASSUMED.get(name))
        if value != only:
            raise ValueError(f"{path}: {name}={value!r}, only {only!r} can be read")
    for name, other in _EQUAL:
        if about[name] != about[other]:
            raise ValueError(
                f"{path}: {name}={about[name]!r} and {other}={about[other]!r} differ; "
                "our model has one number for both"
            )
    activation, n_pieces = about["activation_function"], about["vocab_size"]
    if activation not in tuple(_ACTIVATIONS):
        known = ", ".join(_ACTIVATIONS)
        raise ValueError(f"{path}: activation_function={activation!r}, not {known}")
    if about.get("decoder_vocab_size") not in (None, n_pieces):
        raise ValueError(f"{path}: two vocabularies; only a shared one can be read")
    try:
        return TransformerConfig(
            vocab_size=n_pieces + 1,
            d_model=about["d_model"],
            n_heads=about["encoder_attention_heads"],
            d_ff=about["encoder_ffn_dim"],
            n_encoder_layers=about["encoder_layers"],
            n_decoder_layers=about["decoder_layers"],
            dropout=about.get("dropout", 0.1),
            max_len=about["max_position_embeddings"],
            activation=_ACTIVATIONS[activation],
            tie_embeddings=about.get("share_encoder_decoder_embeddings", True),
            output_bias=True,
            pad_id=about["pad_token_id"],
            bos_id=n_pieces,
            eos_id=about["eos_token_id"],
            unk_id=unk_id,
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def _tokenizer(
    folder: Path, numbers: dict[str, int], config: TransformerConfig
) -> MarianTokenizer:
    n_pieces = len(numbers)
    if n_pieces != config.bos_id or {*numbers.values()} != {*range(n_pieces)}:
        raise ValueError(
            f"{folder / 'vocab.json'} must number {config.bos_id} pieces from 0, each "
            "once: it belongs to another checkpoint"
        )
    models = []
    for name in ("source.spm", "target.spm"):
        models.append(_there(folder / name).read_bytes())
        try:
            _processor(models[-1])
        except ValueError as error:
            raise ValueError(f"{folder / name}: {error}") from error
    special = {"pad_id": config.pad_id, "eos_id": config.eos_id}
    return MarianTokenizer(models[0], models[1], numbers, **special)


def _processor(model_bytes: bytes) -> Any:
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model_bytes)
    except (RuntimeError, ValueError) as error:
        raise ValueError("not a sentencepiece model: copy it again") from error
    return processor


def _weights(folder: Path) -> dict[str, Tensor]:
    """The weights by name, from whichever file holds them; runs no code from it."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    safe, pickled = folder / "model.safetensors", folder / "pytorch_model.bin"
    if safe.is_file() or not pickled.is_file():
        try:
            return dict(load(_there(safe).read_bytes()))
        except (SafetensorError, KeyError) as error:  # or a dtype it cannot hand out
            raise ValueError(
                f"{safe} is truncated or not a safetensors file ({error}): "
                "copy it again"
            ) from error
    try:
        weights = torch.load(pickled, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{pickled} holds more than weights, and opening it would run its code: "
            "convert it to model.safetensors if you trust it"
        ) from error
    except Exception as error:  # whatever its bytes lead to, when read as a pickle
        raise ValueError(f"{pickled} is damaged: copy it again") from error
    if not isinstance(weights, dict) or not all(
        isinstance(name, str) and isinstance(each, Tensor)
        for name, each in weights.items()
    ):
        raise ValueError(f"{pickled} is not a table of weights by name")
    return weights


def _in_our_layout(
    theirs: dict[str, Tensor], model: Transformer, folder: Path
) -> dict[str, Tensor]:
    """Their weights under our names, in our order, with one more row for bos."""
    config = model.config
    check_dtypes(theirs, origin=str(folder))
    theirs = {name: each.float() for name, each in plain_names(theirs).items()}
    bias = theirs.pop("final_logits_bias", torch.zeros(1, config.bos_id)).flatten()
    _check_copies(theirs, config, folder)
    ours = {}
    for name, parameter in model.named_parameters():
        if name.endswith("output_bias"):
            ours[name] = torch.cat([bias, torch.tensor([NEVER])])
            continue
        known_as = their_name(name, tied=config.tie_embeddings)
        if known_as not in theirs:
            raise ValueError(
                f"{folder} lacks the weight {known_as}: it is not Marian's"
            )
        weight = theirs.pop(known_as)
        is_table = name.endswith("embedding.table.weight")
        needed = (parameter.size(0) - is_table, *parameter.shape[1:])
        if weight.shape != needed:
            raise ValueError(
                f"{folder}: {known_as} has shape {tuple(weight.shape)}, its "
                f"configuration needs {needed}"
            )
        if is_table:
            weight = torch.cat([weight, weight[config.pad_id : config.pad_id + 1]])
        ours[name] = in_pairs(name, weight)
    if theirs:
        raise ValueError(f"{folder} has the unknown weight {min(theirs)}")
    return ours


def _check_copies(
    theirs: dict[str, Tensor], config: TransformerConfig, folder: Path
) -> None:
    """Check, and remove, copies: the shared table's other names, and the sinusoids."""
    copies: dict[str, Tensor | None] = {}
    positions = sinusoids(config.max_len, config.d_model)
    for side in ("encoder", "decoder"):
        name = f"model.{side}.embed_positions.weight"
        copies[name] = in_halves(name, positions)
    shared = theirs.get("model.shared.weight")
    if config.tie_embeddings:
        copies["model.encoder.embed_tokens.weight"] = shared
        copies["model.decoder.embed_tokens.weight"] = shared
        copies["lm_head.weight"] = shared
    elif (
        "lm_head.weight" not in theirs and "model.decoder.embed_tokens.weight" in theirs
    ):
        theirs["lm_head.weight"] = theirs["model.decoder.embed_tokens.weight"]
    for name, original in copies.items():
        found = theirs.pop(name, None)
        if found is None or original is None:
            continue
        if found.shape != original.shape or not torch.allclose(
            found, original, rtol=0, atol=1e-3
        ):
            raise ValueError(
                f"{folder}: {name} is not what our model has in its place (one shared "
                "table, sinusoids): such a checkpoint cannot be read"
            )
