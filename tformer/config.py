"""The configuration of a model: what it is, in numbers; validated once.

Chapter 10.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from tformer.feedforward import ACTIVATIONS
from tformer.residual import NORM_PLACES


@dataclass(frozen=True)
class TransformerConfig:
    """All that determines a `tformer.Transformer`'s shape.

    The defaults are the size of the released model. The paper's base model is
    ``vocab_size=37000, d_model=512, n_heads=8, d_ff=2048``, six layers a side.

    Args:
        vocab_size: number V of pieces, special ones included.
        d_model: width D of the residual stream; even, a multiple of n_heads.
        n_heads: heads H of each attention.
        d_ff: inner width F of the feed-forward networks.
        n_encoder_layers: depth of the encoder.
        n_decoder_layers: depth of the decoder.
        dropout: on sub-layer outputs and on sums of embedding and position, in [0, 1).
        max_len: longest sequence in tokens, source or target, special ones included.
        norm: "post" as in the paper, or "pre".
        activation: "relu" as in the paper, or "gelu".
        tie_embeddings: one table for source, target and output, as in the paper.
        pad_id: fills up batches. The four special ids must differ.
        bos_id: begins every target input.
        eos_id: ends every source and every label.
        unk_id: what the tokenizer cannot spell.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value that breaks a rule; the message names both.
    """

    vocab_size: int = 6000
    d_model: int = 192
    n_heads: int = 6
    d_ff: int = 768
    n_encoder_layers: int = 3
    n_decoder_layers: int = 3
    dropout: float = 0.1
    max_len: int = 256
    norm: str = "post"
    activation: str = "relu"
    tie_embeddings: bool = True
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    unk_id: int = 3

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type is int and type(value) is not int:
                raise TypeError(f"{field.name}={value!r} must be an int")
        positive = "vocab_size d_model n_heads d_ff n_encoder_layers n_decoder_layers"
        for name in [*positive.split(), "max_len"]:
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        _require(self.d_model % 2 == 0, "d_model", self.d_model, "even (sine, cosine)")
        _require(
            self.d_model % self.n_heads == 0,
            "d_model",
            self.d_model,
            f"a multiple of n_heads={self.n_heads}",
        )
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, int | float):
            raise TypeError(f"dropout={self.dropout!r} must be a number")
        _require(0 <= self.dropout < 1, "dropout", self.dropout, "in [0, 1)")
        _require(self.norm in NORM_PLACES, "norm", self.norm, "'post' or 'pre'")
        known = " or ".join(map(repr, ACTIVATIONS))
        _require(self.activation in ACTIVATIONS, "activation", self.activation, known)
        if not isinstance(self.tie_embeddings, bool):
            raise TypeError(f"tie_embeddings={self.tie_embeddings!r} must be a bool")
        special = (self.pad_id, self.bos_id, self.eos_id, self.unk_id)
        rule = f"four different ids below vocab_size={self.vocab_size}"
        fit = len(set(special)) == 4 and all(0 <= i < self.vocab_size for i in special)
        _require(fit, "pad_id, bos_id, eos_id, unk_id", special, rule)

    def to_dict(self) -> dict[str, Any]:
        """The fields as a plain dictionary, ready for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "TransformerConfig":
        """The inverse of `to_dict`.

        Raises:
            ValueError: an unknown field, named.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(fields) - known)
        if unknown:
            raise ValueError(f"unknown configuration fields: {', '.join(unknown)}")
        return cls(**fields)


def _require(holds: bool, name: str, value: object, rule: str) -> None:
    if not holds:
        raise ValueError(f"{name}={value!r} must be {rule}")
