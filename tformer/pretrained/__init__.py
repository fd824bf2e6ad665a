"""Load the released model, or models of your own, from their folders.

A folder holds ``model.safetensors`` (weights, with the configuration and the
tokenizer's fingerprint in its header), ``tokenizer.model``, ``card.json`` and, if the
run was recorded, ``history.json``. `Translator.save` writes one.
"""

from pathlib import Path
from typing import Any

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
    folder = RELEASED if path is None else named_folder(path)
    if path is None and not folder.is_dir():  # it is imported from a zip
        raise FileNotFoundError(
            f"the released model is not a folder, {folder}: unpack the package, or "
            "install it with pip"
        )
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder}: train a model first")
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
        FileNotFoundError: the folder has no history.
        ValueError: it is damaged.
    """
    file = (RELEASED if path is None else Path(path)) / "history.json"
    if not file.is_file():
        raise FileNotFoundError(f"there is no {file}: this model's run was not kept")
    return read_json(file)
