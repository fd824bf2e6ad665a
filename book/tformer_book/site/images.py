"""Alternative texts for figures that a cell prints as an image.

The text is taken from the output's own metadata (``{"image/png": {"alt": …}}``), else
from the cell's (``{"mystnb": {"image": {"alt": …}}}``), which MyST-NB reads itself.
An image without either has an empty ``alt`` in the page, and a test fails.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from . import mime

KINDS = ("image/png", "image/svg+xml", "image/jpeg")


class ImageRenderer:
    """Renders images as MyST-NB does, and adds their alternative text."""

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list[nodes.Node] | None:
        """Return the image, or None for outputs that are no images."""
        if inline or data.mime_type not in KINDS:
            return None
        found = renderer.render_image(data)
        metadata = data.output_metadata
        alt = metadata.get(data.mime_type, {}).get("alt") or metadata.get("alt")
        for node in found:
            if alt:
                node["alt"] = alt
            node.setdefault("alt", "")
        return found


def setup(app: Sphinx) -> None:
    """Register the renderer."""
    mime.add_renderer(ImageRenderer)
