"""Load the released model, or models of your own, from their folders.

A folder holds ``model.safetensors`` (weights, with the configuration and the
tokenizer's fingerprint in its header), ``tokenizer.model``, ``card.json`` and, if the
run was recorded, ``history.json``. `Translator.save` writes one.
"""

from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import torch

from tformer.common.files import read_json
from tformer.common.together import current
from tformer.common.values import named_folder
from tformer.tokenization import Tokenizer
from tformer.translator import Translator
from tformer.translator.weights import load_model, usable_device

RELEASED = Path(__file__).parent


def load_pretrained(
    path: str | Path | None = None, *, device: str | torch.device = "cpu"
) -> Translator:
    """Load the released English–German model, or one of your own runs.

    Args:
        path: a folder written by `tformer.train.fit` or `Translator.save`; the model
            that comes with the package if omitted.
        device: where to put it.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is truncated, changed, or of a different model or vocabulary;
            PyTorch sees no such device here.
    """
    device = usable_device(device)
    folder = _folder(path)
    model, fingerprint = load_model(current(folder, "model.safetensors"))
    tokenizer = Tokenizer.load(current(folder, "tokenizer.model"))
    if tokenizer.fingerprint != fingerprint:
        raise ValueError(
            f"{folder / 'tokenizer.model'} is not the tokenizer that "
            "model.safetensors was trained with: take both from one run"
        )
    card_file = current(folder, "card.json")
    card = read_json(card_file) if card_file.is_file() else {}
    return Translator(model.to(device), tokenizer, card)


def load_history(path: str | Path | None = None) -> dict[str, list[dict[str, Any]]]:
    """How a model was trained: the recorded run in its folder.

    Args:
        path: as in `load_pretrained`.

    Returns:
        ``evaluations`` and ``curve``, with the records of `tformer.train.Run`'s
        ``history`` and ``curve`` (the released model's curve is thinned out). For the
        released model also ``replay``: at a few steps, the translations and the last
        layer's cross-attention of some fixed sentences. Device, seconds and date are
        in the model's card.

    Raises:
        FileNotFoundError: there is no such folder, or it has no history.
        ValueError: it is damaged.
    """
    file = _folder(path) / "history.json"
    if not file.is_file():
        raise FileNotFoundError(f"there is no {file}: this model's run was not kept")
    return read_json(file)


def _folder(path: str | Path | None) -> Path:
    """A model's folder: the released one if none is named.

    Raises:
        FileNotFoundError: it is not there, or in a zip.
    """
    folder = RELEASED if path is None else named_folder(path)
    if folder.is_dir():
        return folder
    which = "the released model" if path is None else str(folder)
    for file in (folder, *folder.parents):
        if file.is_file() and is_zipfile(file):
            raise FileNotFoundError(
                f"{which} cannot be read from a zip: unpack {file}"
                + (", or install the package with pip" if path is None else "")
            )
    if folder.is_file():
        raise FileNotFoundError(
            f"{folder} is a file: name the folder of the model, {folder.parent}"
        )
    if path is None:
        raise FileNotFoundError(
            f"the released model is not where it belongs, in {folder}: install the "
            "package again"
        )
    raise FileNotFoundError(f"there is no folder {folder}: train a model first")
