"""Which models can be exported: those fully described by a configuration."""

from __future__ import annotations

from tformer.model import Transformer
from tformer.parts import PAPER
from tformer.translator import Translator


def transformer_of(translator: Translator) -> Transformer:
    """A translator's model, if other programs have its parts.

    Raises:
        TypeError: it is not a `Transformer`.
        ValueError: it has parts that are not the paper's.
    """
    model = translator.model
    if not isinstance(model, Transformer):
        raise TypeError(
            f"the model is a {type(model).__name__}: only a Transformer can be exported"
        )
    if model.parts != PAPER:
        raise ValueError(
            "the model has parts of its own: only those of the paper can be exported"
        )
    return model
