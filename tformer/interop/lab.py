"""A model for the live lab: your own, in the page, on your own machine.

The lab is a page of this book. Under *A model of your own* it opens the two files that
are written here, without uploading them anywhere. Weights have eight bits, like those
that pages download: a quarter of the size, and nearly always the same German. A run's
own folder can be opened as well.
"""

from pathlib import Path

import torch

from tformer.common.files import write_atomically
from tformer.interop.models import transformer_of
from tformer.translator import Translator
from tformer.translator.weights import save_model, stored_weights

NEEDS: tuple[str, ...] = ()
POSITIONS = ("rotary", "none")  # of the page, beside those that all programs have


def write(translator: Translator, folder: Path) -> None:
    """Write ``model.safetensors`` and ``tokenizer.model``.

    Raises:
        TypeError: the model is not a `Transformer`.
        ValueError: its weights are not finite, it has two tokenizers, or a part that
            no page has.
    """
    model = transformer_of(translator, positions=POSITIONS)
    tokenizer = translator.tokenizer
    weights = stored_weights(model, torch.int8)
    write_atomically(folder / "tokenizer.model", tokenizer.model_bytes)
    save_model(
        folder / "model.safetensors",
        model.config,
        weights,
        tokenizer=tokenizer.fingerprint,
    )
