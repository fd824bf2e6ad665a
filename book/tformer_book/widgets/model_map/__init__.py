"""The map of the model: every part with its shape and parameters, to change.

Chapter *The whole Transformer* shows it; other chapters begin with its compact
form, in which the part that they are about is highlighted. ``maths.js`` does the
arithmetic, tests hold it to `tformer.Transformer`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
import traitlets

from tformer.analysis.cost import BASE, BIG
from tformer.config import TransformerConfig
from tformer.model import Transformer
from tformer.pretrained import RELEASED
from tformer_book.widgets._figure import PageFigure

_SIZES = (
    "vocab_size",
    "d_model",
    "n_heads",
    "d_ff",
    "n_encoder_layers",
    "n_decoder_layers",
    "norm",
    "tie_embeddings",
)

PARTS = (
    "source_ids",
    "source_embedding",
    "source_positions",
    "encoder.self_attention",
    "encoder.mask",
    "encoder.norm1",
    "encoder.feed_forward",
    "encoder.norm2",
    "encoder.final_norm",
    "target_ids",
    "target_embedding",
    "target_positions",
    "decoder.self_attention",
    "decoder.mask",
    "decoder.norm1",
    "decoder.cross_attention",
    "cross.mask",
    "decoder.norm2",
    "decoder.feed_forward",
    "decoder.norm3",
    "decoder.final_norm",
    "unembedding",
    "softmax",
)

GROUPS: dict[str, tuple[str, ...]] = {
    "tokens": ("source_ids", "target_ids"),
    "embedding": ("source_embedding", "target_embedding", "unembedding"),
    "positions": ("source_positions", "target_positions"),
    "attention": (
        "encoder.self_attention",
        "decoder.self_attention",
        "decoder.cross_attention",
    ),
    "masks": ("encoder.mask", "decoder.mask", "cross.mask"),
    "norms": tuple(part for part in PARTS if "norm" in part),
    "feed_forward": ("encoder.feed_forward", "decoder.feed_forward"),
    "encoder": tuple(part for part in PARTS if part.startswith("encoder.")),
    "decoder": (*(p for p in PARTS if p.startswith("decoder.")), "cross.mask"),
    "decoding": ("target_ids", "softmax"),
}


def _sizes(config: TransformerConfig) -> dict[str, Any]:
    learned = config.max_len if config.positions == "learned" else 0
    sizes = {name: getattr(config, name) for name in _SIZES}
    return sizes | {"learned_positions": learned}


def _presets() -> list[dict[str, Any]]:
    """The paper's two models, the released one as its card has it, and a tiny one."""
    card = json.loads((RELEASED / "card.json").read_text("utf-8"))
    tiny = TransformerConfig(
        vocab_size=14,
        d_model=4,
        n_heads=1,
        d_ff=8,
        n_encoder_layers=1,
        n_decoder_layers=1,
    )
    released = TransformerConfig.from_dict(card["config"])
    named = {"paper, base": BASE, "paper, big": BIG, "ours, released": released}
    named["tiny"] = tiny
    return [{"name": name, "sizes": _sizes(each)} for name, each in named.items()]


def _lit(highlight: str | Sequence[str]) -> list[str]:
    names = [highlight] if isinstance(highlight, str) else list(highlight)
    found: list[str] = []
    for name in names:
        if name not in GROUPS and name not in PARTS:
            raise ValueError(
                f"highlight={name!r} is not a part of the map; choose one of "
                f"{', '.join(GROUPS)}, or a single part: {', '.join(PARTS)}"
            )
        found += GROUPS.get(name, (name,))
    return found


class ModelMap(PageFigure):
    """Every part of a Transformer, in its place, with the parts at hand shaded.

    Args:
        config: the sizes at the start; the released model's if omitted.
        batch: B, sentences side by side.
        source_length: S, in pieces.
        target_length: T, in pieces.
        selected: the part selected at the start, one of `PARTS`.
        highlight: parts or groups (a name in `GROUPS`) that a compact map highlights,
            such as ``"masks"``.
        compact: a small static map with names only, for the top of a chapter.

    Raises:
        ValueError: an unknown part, or a size that is not positive.

    Source: figure 1.
    """

    vocab_size = traitlets.Int().tag(sync=True)
    d_model = traitlets.Int().tag(sync=True)
    n_heads = traitlets.Int().tag(sync=True)
    d_ff = traitlets.Int().tag(sync=True)
    n_encoder_layers = traitlets.Int().tag(sync=True)
    n_decoder_layers = traitlets.Int().tag(sync=True)
    norm = traitlets.Unicode().tag(sync=True)
    tie_embeddings = traitlets.Bool().tag(sync=True)
    learned_positions = traitlets.Int(0).tag(sync=True)  # their number; 0: sinusoids
    batch = traitlets.Int().tag(sync=True)
    source_length = traitlets.Int().tag(sync=True)
    target_length = traitlets.Int().tag(sync=True)
    selected = traitlets.Unicode().tag(sync=True)
    highlight = traitlets.List().tag(sync=True)
    compact = traitlets.Bool(False).tag(sync=True)
    presets = traitlets.List().tag(sync=True)

    def __init__(
        self,
        config: TransformerConfig | None = None,
        *,
        batch: int = 2,
        source_length: int = 14,
        target_length: int = 15,
        selected: str = "decoder.cross_attention",
        highlight: str | Sequence[str] = (),
        compact: bool = False,
    ) -> None:
        lengths = {
            "batch": batch,
            "source_length": source_length,
            "target_length": target_length,
        }
        for name, value in lengths.items():
            if value < 1:
                raise ValueError(f"{name}={value} must be at least 1")
        if selected not in PARTS:
            raise ValueError(
                f"selected={selected!r} is not a part; choose one of {', '.join(PARTS)}"
            )
        if highlight and not compact:
            raise ValueError(
                "highlight lights parts of a compact map: add compact=True, or use "
                "selected=… for the large one"
            )
        presets = _presets()
        sizes = presets[2]["sizes"] if config is None else _sizes(config)
        if compact:
            presets = []
        super().__init__(
            **sizes,
            **lengths,
            selected=selected,
            highlight=_lit(highlight),
            compact=compact,
            presets=presets,
        )

    @property
    def config(self) -> TransformerConfig:
        """What is on screen, as a configuration."""
        sizes = {name: getattr(self, name) for name in _SIZES}
        if self.learned_positions:
            sizes |= {"positions": "learned", "max_len": self.learned_positions}
        return TransformerConfig(**sizes)

    @property
    def n_parameters(self) -> int:
        """How many parameters a `tformer.Transformer` of these sizes has."""
        with torch.device("meta"):  # shapes without contents
            return Transformer(self.config).n_parameters()

    def __repr__(self) -> str:
        if self.compact:
            return f"Map of the model; lit: {', '.join(self.highlight) or 'nothing'}."
        return f"Map of a model of {self.n_parameters:,} parameters."
