"""What every page loads and shows, apart from its own content."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

RUN_IT = "run-it"
UNWANTED = ("thebe",)
SEARCH_SCRIPT = re.compile(
    r'\s*<script src="(?:[^"]*/)?'
    r'(?:searchtools|language_data|searchindex)\.js"></script>'
)


def theme_options(app: Sphinx, config: Any) -> None:
    """Add our options to Jupyter Book's (``_config.yml`` would replace them all)."""
    options = config.html_theme_options
    # sphinx-book-theme 1.3 draws a second search field in an otherwise empty bar.
    for key in ("navbar_start", "navbar_center", "navbar_end", "navbar_persistent"):
        options[key] = []
    options["use_download_button"] = False
    options["use_fullscreen_button"] = False
    options["show_toc_level"] = 2
    # Without a default the theme's script complains on a reader's first visit.
    config.html_context["default_mode"] = "auto"
    options["pygments_light_style"] = "a11y-high-contrast-light"
    options["pygments_dark_style"] = "a11y-high-contrast-dark"
    options["extra_footer"] = (
        "<p>Text and figures: CC BY 4.0. Code: MIT. Nothing on this page is loaded "
        "from another site.</p>"
    )


def colab_link(app: Sphinx, docname: str) -> str:
    """Return the address that opens a chapter in Colab."""
    options = app.config.html_theme_options
    repository = options["repository_url"].removeprefix("https://github.com/")
    branch = options.get("repository_branch") or "main"
    base = "https://colab.research.google.com/github"
    return f"{base}/{repository}/blob/{branch}/{docname}.ipynb"


def replace_run_it_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Put a note with a link where a cell needs a running notebook."""
    cells = [
        node
        for node in doctree.findall(nodes.container)
        if node.get("nb_element") == "cell_code" and f"tag_{RUN_IT}" in node["classes"]
    ]
    for cell in cells:
        about = cell.get("cell_metadata", {}).get("tformer", {}).get("note", "")
        link = colab_link(app, app.env.docname)
        text = nodes.paragraph()
        if about:
            text += nodes.Text(about + " ")
        text += nodes.Text("This part needs a running notebook: ")
        text += nodes.reference("", "open this chapter in Colab", refuri=link)
        text += nodes.Text(", or run it on your own machine with ")
        text += nodes.literal("", "make lab")
        text += nodes.Text(".")
        note = nodes.admonition("", nodes.title("", "Run it"), text)
        note["classes"] += ["tip", "admonition-run-it"]
        cell.replace_self(note)


def prune(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop scripts and styles that the book, or this page, does not use."""
    unwanted = [*UNWANTED]
    if doctree is None or not has_maths(doctree):
        unwanted.append("mathjax")

    def wanted(asset: Any) -> bool:
        attributes = getattr(asset, "attributes", None) or {}
        name = str(getattr(asset, "filename", None) or asset)
        body = str(attributes.get("body") or "")
        return not any(word in (name + body).lower() for word in unwanted)

    for key in ("script_files", "css_files"):
        context[key] = [asset for asset in context[key] if wanted(asset)]


def has_maths(doctree: nodes.document) -> bool:
    """Say whether a page shows a formula."""
    return any(True for _ in doctree.findall(nodes.math)) or any(
        True for _ in doctree.findall(nodes.math_block)
    )


def without_search_index(app: Sphinx, problem: Exception | None) -> None:
    """Load the search index on the search page only.

    The theme loads the whole book's index with every page, for suggestions while
    typing, which are off.
    """
    if problem or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        if path.name != "search.html":
            html = path.read_text(encoding="utf-8")
            pruned = SEARCH_SCRIPT.sub("", html)
            if pruned != html:
                path.write_text(pruned, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect to the build."""
    app.connect("build-finished", without_search_index)
    app.connect("config-inited", theme_options)
    app.connect("doctree-read", replace_run_it_cells)
    app.connect("html-page-context", prune, priority=990)
