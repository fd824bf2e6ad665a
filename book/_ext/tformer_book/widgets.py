"""A box for every widget, as high as the widget will be, so that nothing moves.

A widget may say its height in CSS pixels in traits named ``page_height`` and, for
screens narrower than 600 pixels, ``page_height_narrow`` (both synchronised).

A widget's module travels in its state. Here it becomes a file beside the site's other
scripts, so that pages run no code but the site's own files, and share them.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.core.render import sanitize_script_content
from sphinx.application import Sphinx

from . import mime

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
STATES = re.compile(rf'(<script type="{re.escape(STATE)}">)(.*?)(</script>)', re.S)
FOLDER = "figures"  # in _static


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


def take_out_modules(page: str, static: Path) -> str:
    """Write the modules in a page's widget state to files; the state names them."""

    def taken(found: re.Match[str]) -> str:
        content = json.loads(found[2])
        for model in content.get("state", {}).values():
            state = model.get("state", {})
            module = state.get("_esm", "")
            if "\n" not in module:
                continue  # none, or taken out before
            digest = hashlib.sha256(module.encode()).hexdigest()[:12]
            state["_esm"] = f"{FOLDER}/{digest}.js"
            (static / FOLDER).mkdir(exist_ok=True)
            (static / state["_esm"]).write_text(module, encoding="utf-8")
        return found[1] + sanitize_script_content(json.dumps(content)) + found[3]

    return STATES.sub(taken, page)


def write_modules(app: Sphinx, problem: Exception | None) -> None:
    """Take the modules out of every page that was written."""
    if problem or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        taken = take_out_modules(page, static) if STATE in page else page
        if taken != page:
            path.write_text(taken, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the renderer, and what comes after the build."""
    mime.add_renderer(WidgetRenderer)
    app.connect("build-finished", write_modules)
