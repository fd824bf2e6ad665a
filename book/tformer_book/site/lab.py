"""A link to the live lab at the top of every page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

TEMPLATES = Path(__file__).with_name("templates")
LINK = "lab-link.html"


def add_link(app: Sphinx, config: Any) -> None:
    """Put the link beside the button of the table of contents."""
    config.templates_path.append(str(TEMPLATES))
    options = config.html_theme_options
    options["article_header_start"] = ["toggle-primary-sidebar.html", LINK]


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("config-inited", add_link)
