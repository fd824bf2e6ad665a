"""Let this extension render some outputs of notebook cells.

MyST-NB takes renderers from installed packages' entry points. Ours belongs to the book,
not to a package, so it is put in front of that list here.
"""

from __future__ import annotations

from typing import Any

from myst_nb.core import render

_OURS: list[Any] = []


def add_renderer(renderer: Any) -> None:
    """Ask ``renderer.handle_mime(nb_renderer, data, inline)`` before all others."""
    if not _OURS:
        theirs = render.load_mime_renders
        render.load_mime_renders = lambda: [*_OURS, *theirs()]
    _OURS.append(renderer)
