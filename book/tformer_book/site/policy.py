"""A content-security policy in every page: what a page may load and run.

Everything comes from the site itself. A page names the few inline scripts of the theme
by their checksums, so no other one would run, wherever it came from. WebAssembly may be
compiled, which is how the model gets its speed; text may not be run as a program.
"""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from sphinx.application import Sphinx

RULES = {
    "default-src": "'none'",
    # The model's kernel is WebAssembly; and the inline scripts' checksums follow.
    "script-src": "'self' 'wasm-unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",  # charts and formulas set styles
    "img-src": "'self' data: blob:",  # blob: a chart that is saved as a picture
    "font-src": "'self'",
    "connect-src": "'self'",  # the search index, and the model when a reader asks
    "worker-src": "'self'",  # the model's thread
    "base-uri": "'none'",
    "form-action": "'self'",
}
META = '<meta http-equiv="Content-Security-Policy" content="{}">'
OLD = re.compile(META.format('[^"]*') + "\n?")
HEAD = re.compile(r"<head[^>]*>\s*(?:<meta charset=[^>]*>)?")
INLINE = re.compile(r"<script(?![^>]*\ssrc=)([^>]*)>(.*?)</script>", re.S)
# Data, which a browser does not run.
DATA = re.compile(r'type="(?!module|text/javascript)[^"]+"')


def with_policy(page: str) -> str:
    """Return a page with the policy that lets it do what it does, and no more."""
    page = OLD.sub("", page)
    hashes = {
        base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        for attributes, body in INLINE.findall(page)
        if not DATA.search(attributes)
    }
    rules = dict(RULES)
    rules["script-src"] += "".join(f" 'sha256-{each}'" for each in sorted(hashes))
    policy = "; ".join(f"{name} {values}" for name, values in rules.items())
    meta = META.format(policy)
    return HEAD.sub(lambda found: f"{found[0]}\n{meta}", page, count=1)


def write_policies(app: Sphinx, problem: Exception | None) -> None:
    """Put the policy into every page, once all else is written."""
    if problem or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        path.write_text(with_policy(page), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Run last."""
    app.connect("build-finished", write_policies, priority=999)
