"""The script of the list of claims, on the page that has one."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: Any, doctree: Any
) -> None:
    """Load ``_static/tf-claims.js`` where there is a list to filter."""
    if 'class="tf-claims"' in context.get("body", ""):
        app.add_js_file("tf-claims.js", defer="defer")


def setup(app: Sphinx) -> None:
    """Look at each page as it is written."""
    app.connect("html-page-context", add_script)
