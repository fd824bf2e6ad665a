"""Cut the icon fonts down to the icons in use (268 KB to a few).

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
RULE = re.compile(
    r"((?:\.fa-[a-z0-9-]+(?::{1,2}before)?,?)+)\{(?:content|--fa):\s*\"\\([0-9a-f]+)\""
)
DIRECT = (
    re.compile(r'--[a-z-]*icon[a-z-]*:\s*"\\([0-9a-f]{4})"'),
    re.compile(r'content:\s*"\\(f[0-9a-f]{3})"'),
)


def used_codepoints(site: Path) -> set[int]:
    """Return the characters that pages, scripts and styles draw icons with."""
    static = site / "_static"
    scripts = [p for p in static.rglob("*.js") if "vendor" not in p.parts]
    names: set[str] = set()
    for path in [*site.rglob("*.html"), *scripts]:
        names |= set(NAME.findall(path.read_text(errors="ignore")))
    found: set[int] = set()
    for path in static.rglob("*.css"):
        css = path.read_text(errors="ignore")
        for selectors, code in RULE.findall(css):
            if set(NAME.findall(selectors)) & names:
                found.add(int(code, 16))
        if "fontawesome" not in str(path) and "pydata" not in path.name:
            for pattern in DIRECT:
                found |= {int(code, 16) for code in pattern.findall(css)}
        else:
            found |= {int(code, 16) for code in DIRECT[0].findall(css)}
    return found


def shrink(app: Sphinx, problem: Exception | None) -> None:
    """Subset the fonts and empty the script, once the site is written."""
    python_logging.getLogger("fontTools").setLevel(python_logging.ERROR)
    if problem or app.builder.format != "html":
        return
    site = Path(app.outdir)
    script = site / "_static/scripts/fontawesome.js"
    if script.exists():
        script.write_text("/* icons come from the web font */\n")
    keep = used_codepoints(site)
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
