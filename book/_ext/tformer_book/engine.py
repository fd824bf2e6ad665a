"""Puts the released model among the static files.

``widgets.js`` tells the figures where it is; nothing is fetched before a reader asks.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from sphinx.application import Sphinx

from tformer.pretrained import RELEASED
from tformer.widgets._model import FILES


def copy_model(app: Sphinx, problem: Exception | None) -> None:
    """Copy weights and tokenizer."""
    if problem or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "model"
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        shutil.copyfile(RELEASED / name, folder / name)


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("build-finished", copy_model)
