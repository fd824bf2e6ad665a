"""The bar at the top of every page, and the mark: what leads elsewhere from anywhere.

At the left the pages to play with, at the right the chapter in Colab, the source, the
theme's switches. The side bar begins with the mark, which is also the site's icon.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

TEMPLATES = Path(__file__).with_name("templates")
# A font that comes late is not used on that page: so all are asked for at once.
FONTS = [
    f"_static/vendor/{name}.woff2"
    for name in ("literata/roman", "literata/italic", "inconsolata/code")
]
PRELOAD = '\n<link rel="preload" as="font" type="font/woff2" crossorigin href="{}">'


def arrange(app: Sphinx, config: Any) -> None:
    """Put the ways to play beside the button of the table of contents."""
    config.templates_path.append(str(TEMPLATES))
    options = config.html_theme_options
    options["article_header_start"] = [
        "toggle-primary-sidebar.html",
        "home.html",
        "ways.html",
    ]


def finish(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Ask for the letters early; a menu with one entry becomes that entry."""
    links = [PRELOAD.format(context["pathto"](each, 1)) for each in FONTS]
    context["metatags"] = context.get("metatags", "") + "".join(links)
    context["header_buttons"] = [plain(each) for each in context["header_buttons"]]


def plain(button: dict[str, Any]) -> dict[str, Any]:
    """Return a button of the bar; a group of one is that one, named in words."""
    inside = button.get("buttons", [])
    if len(inside) != 1:
        return button
    only = inside[0]
    return {
        "type": only["type"],
        "url": only["url"],
        "text": f"Open in {only['text']}",
        "label": "colab tf-colab",
    }


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("config-inited", arrange)
    app.connect("html-page-context", finish, priority=985)
