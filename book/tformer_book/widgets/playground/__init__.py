"""Train a small Transformer in the page: choose a task, break a part, watch it learn.

``../training/`` does the training, in a worker of the page; no kernel is needed.
"""

from __future__ import annotations

import math
from typing import Any

import traitlets

from tformer_book.widgets._figure import PageFigure

Value = str | int | float | bool


class Playground(PageFigure):
    """A Transformer of some twenty thousand parameters that trains while you watch.

    Args:
        text: a sequence of the reader's; while it trains, the model writes for it.
        settings: how the first run differs from the default, by the names in
            ``training/settings.js``: ``Playground(task="sort", causal=False)``.

    Raises:
        ValueError: a setting is neither text, nor a number, nor True or False.
    """

    settings = traitlets.Dict().tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)

    def __init__(self, text: str = "", **settings: Any) -> None:
        for name, value in settings.items():
            is_number = isinstance(value, int | float) and math.isfinite(value)
            if not is_number and not isinstance(value, str):
                raise ValueError(
                    f"{name}={value!r}: give text, a number, True or False"
                )
        super().__init__(text=text, settings=settings)

    def __repr__(self) -> str:
        changed = ", ".join(
            f"{name}={value!r}" for name, value in self.settings.items()
        )
        return f"A model that trains in the page{': ' + changed if changed else ''}."
