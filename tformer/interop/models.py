"""Which models can be exported: those fully described by a configuration."""

from tformer.model import Transformer
from tformer.parts import PAPER
from tformer.translator import Translator

# The parts that other programs have.
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "positions": ("sinusoidal", "learned"),
    "norm_kind": ("layer",),
    "attention": ("multi-head",),
    "feed_forward": ("plain",),
}


def transformer_of(
    translator: Translator, *, positions: tuple[str, ...] = ()
) -> Transformer:
    """A translator's model, if the program that it is for has its parts.

    Args:
        translator: whose model.
        positions: further ones that this program has.

    Raises:
        TypeError: it is not a `Transformer`.
        ValueError: it has parts that only this package has; the message names them.
    """
    model = getattr(translator, "model", translator)
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
        has = known + (positions if name == "positions" else ())
        if value not in has:
            raise ValueError(
                f"{name}={value!r}: the program that this is for has no such part; "
                f"what can be exported is {' or '.join(map(repr, has))}"
            )
    return model
