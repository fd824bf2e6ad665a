"""Cut the icon fonts and their style sheet down to the icons in use.

The fonts shrink from 268 KB to a few, the styles from 66 KB (gzipped) to 45.
The theme also draws its icons with 527 KB (gzipped) of JavaScript on every page,
although its style sheet and web font draw the same ones; that script is emptied.
"""

from __future__ import annotations

import logging as python_logging
import re
from pathlib import Path

from fontTools import subset
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging

LOG = logging.getLogger(__name__)
FEWEST = 5  # fewer icons than this means that the search below went blind
NAME = re.compile(r"fa-([a-z0-9-]+)")
# One icon's rule in the font's own style sheet, and its character.
RULE = re.compile(
    r'((?:\.fa-[a-z0-9-]+:{1,2}before,?)+)\{content:"(?:\\([0-9a-f]+) ?|([^"]))"\}'
)
# Characters that themes name directly: escaped, or as they are (private use).
ESCAPED = re.compile(r'"\\([ef][0-9a-f]{3})"')
PRIVATE = re.compile("[\ue000-\uf8ff]")


def used_names(site: Path) -> set[str]:
    """Return the names of the icons that pages and scripts ask for."""
    scripts = [p for p in site.glob("_static/**/*.js") if "vendor" not in p.parts]
    names: set[str] = set()
    for path in [*site.rglob("*.html"), *scripts]:
        if path.name != "fontawesome.js":
            names |= set(NAME.findall(path.read_text(errors="ignore")))
    return names


def prune_rules(css: str, names: set[str], keep: set[int]) -> str:
    """Drop the rules of icons that nobody uses; add the others' characters to keep."""

    def rule(match: re.Match[str]) -> str:
        if not set(NAME.findall(match[1])) & names:
            return ""
        keep.add(int(match[2], 16) if match[2] else ord(match[3]))
        return match[0]

    css = RULE.sub(rule, css)
    keep |= {int(code, 16) for code in ESCAPED.findall(css)}
    keep |= {ord(character) for character in PRIVATE.findall(css)}
    return css


def shrink(app: Sphinx, problem: Exception | None) -> None:
    """Subset the fonts and empty the script, once the site is written."""
    python_logging.getLogger("fontTools").setLevel(python_logging.ERROR)
    if problem or app.builder.format != "html":
        return
    site = Path(app.outdir)
    script = site / "_static/scripts/fontawesome.js"
    if script.exists():
        script.write_text("/* icons come from the web font */\n")
    names, keep = used_names(site), set[int]()
    for path in site.glob("_static/**/*.css"):
        css = path.read_text(encoding="utf-8")
        pruned = prune_rules(css, names, keep)
        if pruned != css:
            path.write_text(pruned, encoding="utf-8")
    if len(keep) < FEWEST:
        raise ExtensionError(f"only {len(keep)} icons found in use: check icons.py")
    for path in site.glob("_static/**/fa-*.woff2"):
        options = subset.Options(flavor="woff2", notdef_outline=True)
        font = subset.load_font(str(path), options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=keep | {0x20})
        cutter.subset(font)
        before = path.stat().st_size
        subset.save_font(font, str(path), options)
        LOG.info("icons: %s %d -> %d bytes", path.name, before, path.stat().st_size)


def setup(app: Sphinx) -> None:
    """Run after everything else has been written."""
    app.connect("build-finished", shrink, priority=900)
