"""A box for every widget, as high as the widget will be, so that nothing moves.

A widget may say its height in CSS pixels in traits named ``page_height`` and, for
screens narrower than 600 pixels, ``page_height_narrow`` (both synchronised).
"""

from __future__ import annotations

import json
from typing import Any

from docutils import nodes
from myst_nb.core.render import sanitize_script_content
from sphinx.application import Sphinx

from . import mime

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"


class WidgetRenderer:
    """Renders a widget's view as MyST-NB does, inside a box of known height."""

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list[nodes.Node] | None:
        """Return the box, or None for outputs that are no widgets."""
        if inline or data.mime_type != VIEW:
            return None
        view = data.content
        metadata = renderer.renderer.nb_client.nb_metadata
        models = metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        state = models.get(view["model_id"], {}).get("state", {})
        style = "".join(
            f"{name}:{int(state[trait])}px;"
            for name, trait in (
                ("--tf-height", "page_height"),
                ("--tf-height-narrow", "page_height_narrow"),
            )
            if state.get(trait)
        )
        content = sanitize_script_content(json.dumps(view))
        html = (
            f'<div class="tf-widget" style="{style}">'
            f'<script type="{VIEW}">{content}</script>'
            "<noscript>This figure needs JavaScript.</noscript></div>"
        )
        return [nodes.raw(text=html, format="html")]


def setup(app: Sphinx) -> None:
    """Register the renderer."""
    mime.add_renderer(WidgetRenderer)
