"""A box for every widget; `tformer_book.press.pictures` writes how high it will be.

The modules and styles that draw the figures are files of the package. They are copied
here as they are, beside ``widgets.js``, which loads them: pages run no code but the
site's own files, and a change of these needs no page to be written anew.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.core.render import sanitize_script_content
from sphinx.application import Sphinx

from tformer_book.widgets._modules import publish

from . import mime
from .figures import figure_of

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
HOST = Path(__file__).with_name("widgets.js")
FOLDER = "tf"  # in _static
# What nb_ipywidgets_js names, as Sphinx writes it into a page; or a version of it.
SCRIPT = re.compile(
    rf'(src="[^"]*_static/){FOLDER}/(?:\w+/)?widgets\.js(?:\?v=\w+)?(")'
)


class WidgetRenderer:
    """Renders a widget's view as MyST-NB does, inside a box."""

    @staticmethod
    def handle_mime(renderer: Any, data: Any, inline: bool) -> list[nodes.Node] | None:
        """Return the box, or None for outputs that are no widgets."""
        if inline or data.mime_type != VIEW:
            return None
        view = data.content
        metadata = renderer.renderer.nb_client.nb_metadata
        models = metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        state = models.get(view["model_id"], {}).get("state", {})
        content = sanitize_script_content(json.dumps(view))
        words = ""  # to be seen at once, on the book's first screen
        if state.get("figure") == "first_translation":
            apart = re.sub(r"(?=[.,;:!?])", " ", state["text"])  # marks, as it has them
            words = f' data-words="{escape(apart)}"'
        told = data.cell_metadata.get("tformer", {})
        paper = ""  # how it stands there, where that is not how it begins
        if "paper" in told:
            paper = f' data-paper="{escape(json.dumps(told["paper"]))}"'
        html = (
            f'<div class="tf-widget"{words}{paper}><script type="{VIEW}">{content}'
            "</script></div>"
        )
        box = nodes.raw(text=html, format="html")
        if "figure" not in state:  # a control of a notebook
            return [box]
        title, about = told.get("title", ""), told.get("about", "")
        to_try = told.get("try", "")
        return [figure_of(state["figure"], title, box, about=about, to_try=to_try)]


def with_version(page: str, version: str) -> str:
    """Return a page whose script for figures is that of a version of them."""
    return SCRIPT.sub(rf"\g<1>{FOLDER}/{version}/widgets.js\g<2>", page)


def publish_figures(app: Sphinx, problem: Exception | None) -> None:
    """Write the figures' files, and their version into every page that needs it."""
    if problem or app.builder.format != "html":
        return
    site = Path(app.outdir)
    version = publish(site / "_static" / FOLDER, HOST).name
    for path in site.rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        if (made := with_version(page, version)) != page:
            path.write_text(made, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register the renderer, and what comes after the build."""
    mime.add_renderer(WidgetRenderer)
    app.connect("build-finished", publish_figures)
