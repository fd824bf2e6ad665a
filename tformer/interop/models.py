"""Which models can be exported: those fully described by a configuration."""

from __future__ import annotations

from tformer.model import Transformer
from tformer.parts import PAPER
from tformer.translator import Translator

# What other programs and the book's pages have; a page itself says so, too.
ELSEWHERE = {
    "positions": ("sinusoidal", "learned"),
    "norm_kind": ("layer",),
    "attention": ("multi-head",),
    "feed_forward": ("plain",),
}


def transformer_of(translator: Translator) -> Transformer:
    """A translator's model, if other programs have its parts.

    Raises:
        TypeError: it is not a `Transformer`.
        ValueError: it has parts that only this package has; the message names them.
    """
    model = translator.model
    if not isinstance(model, Transformer):
        raise TypeError(
            f"the model is a {type(model).__name__}: only a Transformer can be exported"
        )
    if model.own_parts != PAPER:
        raise ValueError(
            "the model has parts of its own: only those of the paper can be exported"
        )
    for name, known in ELSEWHERE.items():
        value = getattr(model.config, name)
        if value not in known:
            raise ValueError(
                f"{name}={value!r}: no other program, and no page of the book, has "
                f"this part; what can be exported is {' or '.join(map(repr, known))}"
            )
    return model
