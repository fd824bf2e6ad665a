"""What a model costs, on one chart: parameters, operations, memory, cache.

Chapter *Scale* shows it. ``maths.js`` does the arithmetic; tests hold it to
`tformer.analysis.cost`.
"""

from __future__ import annotations

import json
from typing import Any

import traitlets

from tformer.analysis import cost
from tformer.analysis.cost import BASE, BIG
from tformer.config import TransformerConfig
from tformer.pretrained import RELEASED
from tformer_book.widgets._figure import PageFigure

WIDTHS = (64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
LAYERS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
LENGTHS = (1, 2, 4, 8, 16, 25, 32, 64, 128, 256, 512, 1024, 2048, 4096)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 2048)


def _preset(name: str, config: TransformerConfig, batch: int) -> dict[str, Any]:
    sizes = {
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "d_head": config.d_model // config.n_heads,
        "n_layers": config.n_encoder_layers,
        "norm": config.norm,
        "length": 25,
        "batch": batch,
    }
    return {"name": name, "sizes": sizes}


def _presets() -> list[dict[str, Any]]:
    """The paper's models with its batch, the released one with about its own."""
    card = json.loads((RELEASED / "card.json").read_text("utf-8"))
    released = TransformerConfig.from_dict(card["config"])
    return [
        _preset("paper, base", BASE, 1000),  # 25,000 pieces a side (section 5.1)
        _preset("paper, big", BIG, 1000),
        _preset("ours", released, 64),
    ]


class CostChart(PageFigure):
    """Four prices of a model as bars, and what doubling each size does to them.

    The feed-forward networks are four times as wide as the model, both stacks equally
    deep, sources and targets equally long, as in the paper.

    Args:
        d_model: width d, a multiple of 64.
        n_layers: N, in each stack.
        length: T, pieces of each source and of each target.
        batch: B, sentence pairs side by side.
        vocab_size: V, pieces in the one table.

    Raises:
        ValueError: a size that the sliders do not have.
    """

    vocab_size = traitlets.Int().tag(sync=True)
    d_model = traitlets.Int().tag(sync=True)
    d_head = traitlets.Int(64).tag(sync=True)
    n_layers = traitlets.Int().tag(sync=True)
    norm = traitlets.Unicode("post").tag(sync=True)
    length = traitlets.Int().tag(sync=True)
    batch = traitlets.Int().tag(sync=True)
    presets = traitlets.List().tag(sync=True)

    def __init__(
        self,
        d_model: int = 512,
        n_layers: int = 6,
        length: int = 25,
        batch: int = 1000,
        vocab_size: int = 37_000,
    ) -> None:
        for name, value, values in (
            ("d_model", d_model, WIDTHS),
            ("n_layers", n_layers, LAYERS),
            ("length", length, LENGTHS),
            ("batch", batch, BATCHES),
        ):
            if value not in values:
                raise ValueError(f"{name}={value} must be one of {values}")
        if vocab_size < 4:
            raise ValueError(f"vocab_size={vocab_size} must be at least 4")
        super().__init__(
            d_model=d_model,
            n_layers=n_layers,
            length=length,
            batch=batch,
            vocab_size=vocab_size,
            presets=_presets(),
        )

    @property
    def config(self) -> TransformerConfig:
        """What is on screen, as a configuration."""
        return TransformerConfig(
            vocab_size=self.vocab_size,
            d_model=self.d_model,
            n_heads=self.d_model // self.d_head,
            d_ff=4 * self.d_model,
            n_encoder_layers=self.n_layers,
            n_decoder_layers=self.n_layers,
            norm=self.norm,
        )

    @property
    def prices(self) -> dict[str, int]:
        """The four totals on screen."""
        config, rows, length = self.config, self.batch, self.length
        places = rows * length
        return {
            "parameters": config.n_parameters,
            "operations": cost.training_step(config, rows, length, length, places),
            "training": cost.training_memory(config, rows, length, length).total,
            "cache": cost.cache_bytes(config, rows, length, length),
        }

    def __repr__(self) -> str:
        found = ", ".join(f"{name} {price:,}" for name, price in self.prices.items())
        return f"d={self.d_model}, N={self.n_layers}: {found}."
