"""The API reference: the package's docstrings, made fit for Sphinx.

- ``Returns:`` becomes a field, with a list if several values have names;
- what a package exports is documented there, and not again in the file it comes from;
- names of other libraries (``Tensor``) are plain text: there is nothing to link to on a
  site that asks no other host;
- quotation marks and dots stay as they are typed, for they are code;
- a long signature is made of boxes, not of a list whose items have no terms.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PAGES = "book/api"
SECTION = re.compile(r"^( *)(Returns|Yields):$")
# A name with its signature, as Sphinx writes it: parameters are in a list of their own.
SIGNATURE = re.compile(r'<dt class="sig sig-object py".*?</dt>', re.S)
COLON = '<span class="colon">'
TAGS = {
    "<dl>": '<div class="tf-parameters">',
    "</dl>": "</div>",
    "<dd>": "<div>",
    "</dd>": "</div>",
}
NAMED = re.compile(r"^((?:\w+, )*\w+): (?=\S)")


def blocks(lines: list[str]) -> list[list[str]]:
    """Return lines in groups: one begins wherever a line is not indented further."""
    found: list[list[str]] = []
    for line in lines:
        if found and line.startswith(" "):
            found[-1].append(line.strip())
        else:
            found.append([line])
    return found


def as_field(name: str, text: list[str]) -> list[str]:
    """Return the text of a section as a field of reStructuredText."""
    groups = blocks(text)
    named = [NAMED.match(group[0]) for group in groups]
    if len(groups) == 1 or not all(named):
        words = " ".join(line.strip() for line in text)
        return [f":{name.lower()}: " + NAMED.sub(r"``\1``: ", words)]
    items = [NAMED.sub(r"``\1``: ", " ".join(group)) for group in groups]
    return [f":{name.lower()}:", *(f"    - {item}" for item in items)]


def returns_as_fields(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Replace ``Returns:`` and ``Yields:`` before Napoleon reads a type into them.

    It would also read one into the first line of a property; an empty line before it
    keeps it from that.
    """
    made: list[str] = [""] if what in ("property", "attribute") else []
    rest = list(lines)
    while rest:
        line = rest.pop(0)
        section = SECTION.match(line)
        if not section:
            made.append(line)
            continue
        margin, text = section[1] + "    ", []
        while rest and rest[0].startswith(margin):
            text.append(rest.pop(0).removeprefix(margin))
        made += [section[1] + field for field in as_field(section[2], text)]
    lines[:] = made


def skip_exported(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out of a file's entry what its package exports."""
    package = str(app.env.temp_data.get("autodoc:module", "")).rpartition(".")[0]
    module = sys.modules.get(package)
    if package in ("", "tformer") or name not in getattr(module, "__all__", ()):
        return None
    return True if getattr(module, name, None) is obj else None


class PlainQuotes(SphinxTransform):
    """Keep Sphinx (at 750) from making ``"relu"`` typographic in the reference."""

    default_priority = 740

    def apply(self, **kwargs: Any) -> None:
        """Decide for one page; the settings are shared by all."""
        wanted = not self.env.docname.startswith(PAGES)
        self.document.settings.smart_quotes = wanted


def other_name(
    app: Sphinx, env: Any, node: Any, contnode: nodes.Element
) -> nodes.Element | None:
    """Find ``tformer.Transformer`` in its module; show what is not ours as text."""
    if node.get("refdomain") != "py":
        return None
    domain, target = env.get_domain("py"), node["reftarget"]
    if target.startswith("tformer."):
        ending = "." + target.rpartition(".")[2]
        if (
            len(homes := [name for name in domain.objects if name.endswith(ending)])
            == 1
        ):
            page = node.get("refdoc", env.docname)
            there = (env, page, app.builder, "obj", homes[0], node, contnode)
            return domain.resolve_xref(*there) or contnode
    return contnode


def with_boxes(page: str) -> str:
    """Return a page whose signatures have boxes, one for each parameter.

    Sphinx also calls the attributes of a class its variables.
    """
    page = page.replace(f">Variables{COLON}", f">Attributes{COLON}")

    def boxed(found: re.Match[str]) -> str:
        return re.sub("</?d[ld]>", lambda tag: TAGS[tag[0]], found[0])

    return SIGNATURE.sub(boxed, page)


def mend_signatures(app: Sphinx, problem: Exception | None) -> None:
    """Mend the lists in signatures, on every page that was written."""
    if problem or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text(encoding="utf-8")
        if (mended := with_boxes(page)) != page:
            path.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect to autodoc, before Napoleon (at 500), and to what links names."""
    for name in ("autodoc", "autosummary", "napoleon", "viewcode"):
        app.setup_extension(f"sphinx.ext.{name}")
    app.add_transform(PlainQuotes)
    app.connect("autodoc-process-docstring", returns_as_fields, priority=400)
    app.connect("autodoc-skip-member", skip_exported)
    app.connect("missing-reference", other_name)
    app.connect("build-finished", mend_signatures)
