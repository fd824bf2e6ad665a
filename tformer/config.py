"""The configuration of a model: all its settings, validated once.

It doesn't import torch, so the command line can build its options from it quickly.
Chapter *The whole Transformer*.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from tformer.common.values import integer, number, one_of, require
from tformer.parts import (
    ACTIVATIONS,
    ATTENTIONS,
    FEED_FORWARDS,
    NORM_PLACES,
    NORMS,
    POSITIONS,
    Part,
)


def _choice(names: Iterable[str], **metadata: Any) -> Any:
    """A field whose value is one of a few names; the first is the default."""
    choices = tuple(names)
    metadata = {"choices": choices, **metadata}
    return dataclasses.field(default=choices[0], metadata=metadata)


@dataclass(frozen=True)
class ModelConfig:
    """What every configuration can do: check itself, convert to JSON and back."""

    def check(self, sizes: str) -> None:
        """Check what all configurations share: numbers, dropout, special ids.

        Args:
            sizes: names of the fields that must be at least 1.

        Raises:
            TypeError: a value of the wrong type.
            ValueError: a value that breaks a rule; the message names both.
        """
        values = self.to_dict()
        for field in dataclasses.fields(self):
            value = values[field.name]
            if field.type is int and type(value) is not int:
                raise TypeError(f"{field.name}={value!r} must be an int")
            if "choices" in field.metadata:
                one_of(field.name, value, field.metadata["choices"])
        for name in sizes.split():
            integer(name, values[name], least=1)
        dropout = number("dropout", values["dropout"])
        require(0 <= dropout < 1, "dropout", dropout, "in [0, 1)")
        special = tuple(values[f"{name}_id"] for name in ("pad", "bos", "eos", "unk"))
        vocab_size = values["vocab_size"]
        rule = f"four different ids below vocab_size={vocab_size}"
        fit = len(set(special)) == 4 and all(0 <= i < vocab_size for i in special)
        require(fit, "pad_id, bos_id, eos_id, unk_id", special, rule)

    @property
    def n_parameters(self) -> int:
        """How many numbers a model with these settings learns, without building one."""
        raise NotImplementedError

    @property
    def n_constants(self) -> int:
        """How many numbers in its tables are computed, not learned."""
        return 0

    @property
    def n_kept(self) -> int:
        """How many numbers per token a training step keeps for gradients, at least.

        For a Transformer, `tformer.analysis.cost.activations` counts them.
        """
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """The fields as a plain dictionary, ready for JSON."""
        return dataclasses.asdict(self)

    def stored(self) -> dict[str, Any]:
        """The fields that a file needs.

        A newer field is left out if it has its default, which is what every model was
        like before the field existed. So older programs and pages can open the file.
        """
        return {
            field.name: value
            for field, value in zip(
                dataclasses.fields(self), self.to_dict().values(), strict=True
            )
            if value != field.default or not field.metadata.get("is_newer")
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Self:
        """The inverse of `to_dict`; a field that is left out gets its default.

        Raises:
            ValueError: an unknown field, named.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(fields) - known)
        if unknown:
            raise ValueError(f"unknown configuration fields: {', '.join(unknown)}")
        return cls(**fields)


@dataclass(frozen=True)
class TransformerConfig(ModelConfig):
    """Everything that determines the shape of a `tformer.Transformer`.

    The defaults are the size of the released model. The paper's base model is
    ``vocab_size=37000, d_model=512, n_heads=8, d_ff=2048``, six layers per stack.

    Args:
        vocab_size: number V of pieces, including special ones.
        d_model: width D of the residual stream; even, a multiple of n_heads.
        n_heads: heads H of each attention.
        d_ff: inner width F of the feed-forward networks.
        n_encoder_layers: depth of the encoder.
        n_decoder_layers: depth of the decoder.
        dropout: on sub-layer outputs and on sums of embedding and position, in [0, 1).
        max_len: longest sequence in tokens, source or target, including special ones.
        positions: "sinusoidal" as in the paper, or another name from `tformer.parts`.
        norm: "post" as in the paper, or "pre".
        norm_kind: "layer" as in the paper, or another name from `tformer.parts`.
        attention: "multi-head" as in the paper, or another name from `tformer.parts`.
        n_groups: heads of keys and values in grouped attention; must divide n_heads.
        feed_forward: "plain" as in the paper, or another name from `tformer.parts`.
        activation: "relu" as in the paper, or "gelu" or "swish"; SwiGLU has its own.
        tie_embeddings: one table for source, target and output, as in the paper.
        output_bias: add a learned bias to the logit of each piece, as Marian does.
        pad_id: pads batches. The four special ids must differ.
        bos_id: begins every target input.
        eos_id: ends every source and every label.
        unk_id: stands for what the tokenizer cannot spell.

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
    positions: str = _choice(POSITIONS)
    norm: str = _choice(NORM_PLACES)
    norm_kind: str = _choice(NORMS, is_newer=True)
    attention: str = _choice(ATTENTIONS, is_newer=True)
    n_groups: int = dataclasses.field(default=1, metadata={"is_newer": True})
    feed_forward: str = _choice(FEED_FORWARDS, is_newer=True)
    activation: str = _choice(ACTIVATIONS)
    tie_embeddings: bool = True
    output_bias: bool = False
    pad_id: int = 0
    bos_id: int = 1
    eos_id: int = 2
    unk_id: int = 3

    def __post_init__(self) -> None:
        sizes = "vocab_size d_model n_heads d_ff n_encoder_layers n_decoder_layers"
        self.check(f"{sizes} max_len n_groups")
        require(self.d_model % 2 == 0, "d_model", self.d_model, "even (sine, cosine)")
        require(
            self.d_model % self.n_heads == 0,
            "d_model",
            self.d_model,
            f"a multiple of n_heads={self.n_heads}",
        )
        width, groups = self.d_model // self.n_heads, self.n_groups
        if POSITIONS[self.positions].attention:
            rule = "even (pairs of numbers are turned)"
            require(width % 2 == 0, "d_model / n_heads", width, rule)
        rule = f"a divisor of n_heads={self.n_heads}"
        require(self.n_heads % groups == 0, "n_groups", groups, rule)
        for name in ("tie_embeddings", "output_bias"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}={getattr(self, name)!r} must be a bool")

    @property
    def key_width(self) -> int:
        """Width of the keys of all heads together, and of the values."""
        if self.attention == "grouped":
            return self.d_model // self.n_heads * self.n_groups
        return self.d_model

    @property
    def n_parameters(self) -> int:
        """How many numbers a model with these settings learns, without building one."""

        def size(part: Part) -> int:
            return part.matrices(self) + part.vectors(self)

        norm = size(NORMS[self.norm_kind])
        attention = size(ATTENTIONS[self.attention])
        feed_forward = size(FEED_FORWARDS[self.feed_forward])
        encoder = self.n_encoder_layers * (attention + feed_forward + 2 * norm)
        decoder = self.n_decoder_layers * (2 * attention + feed_forward + 3 * norm)
        tables = (1 if self.tie_embeddings else 3) * self.vocab_size * self.d_model
        positions = size(POSITIONS[self.positions])
        last_norms = 2 * norm if self.norm == "pre" else 0
        bias = self.vocab_size if self.output_bias else 0
        return encoder + decoder + tables + positions + last_norms + bias

    @property
    def n_constants(self) -> int:
        """How many numbers in its tables are computed, not learned."""
        return self.max_len * self.d_model if self.positions == "sinusoidal" else 0
