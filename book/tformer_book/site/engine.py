"""Puts the released model, as a page downloads it, among the static files.

``widgets.js`` tells the figures where it is; nothing is fetched before a reader asks.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

from tformer_book.widgets._model import released_model


def write_model(app: Sphinx, problem: Exception | None) -> None:
    """Write weights and tokenizer."""
    if problem or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "model"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in released_model().files.items():
        (folder / name).write_bytes(content)


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("build-finished", write_model)
