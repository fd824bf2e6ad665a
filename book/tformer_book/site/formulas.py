"""Typeset formulas when the site is built, so that a page loads no script for them.

MathJax runs here, in a JavaScript engine that comes as a Python package; pages get its
HTML and MathML, and the styles of the characters that they use. In a browser the same
work takes seconds on a slow machine, and the page jumps when it is done.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from tformer_book.press.typeset import Typesetter

FONTS = "_static/vendor/mathjax/output/chtml/fonts/woff-v2"
# What Sphinx writes, with TeX between \( and \) or \[ and \].
FORMULA = re.compile(
    r'(<(span|div) class="math notranslate nohighlight"[^>]*>)'
    r"\s*\\([(\[])(.*?)\\[)\]]\s*(</\2>)([,.;:?!)’”]*)",
    re.S,
)
SHORT = 30  # signs of TeX: such a formula does not begin a line without its full stop
# TeX as one would type it, for excerpts, cards and descriptions.
SIGNS = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε"},
    **{"varepsilon": "ε", "eta": "η", "theta": "θ", "lambda": "λ", "pi": "π"},
    **{"sigma": "σ", "tau": "τ", "infty": "∞", "sum": "Σ", "top": "ᵀ", "cap": "∩"},
    **{"cdot": "·", "times": "×", "le": "≤", "ge": "≥", "approx": "≈", "sqrt": "√"},
    **{"to": "→", "odot": "⊙", "dots": "…", "ldots": "…"},
    **{name: name for name in ("exp", "log", "ln", "sin", "cos", "tanh", "max", "min")},
}
IN_A_LINE = (
    (r"\\(?:text|mathrm|mathbf|operatorname)\{([^{}]*)\}", r"\1"),
    (r"\\d?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2"),
    (r"\^\{(..+?)\}", r"^(\1)"),
)


def in_a_line(tex: str) -> str:
    """A small formula as text: ``W^O``, ``√d_k``, ``β_2``."""
    for pattern, text in IN_A_LINE:
        tex = re.sub(pattern, text, tex)
    tex = re.sub(r"\\([A-Za-z]+)", lambda sign: SIGNS.get(sign[1], " "), tex)
    return re.sub(r"[{}\\]", "", tex)


def filled(page: str, made: list[str]) -> str:
    """Return a page with its formulas replaced by these, in order."""
    results = iter(made)

    def formula(found: re.Match[str]) -> str:
        whole = found[1] + next(results) + found[5]
        if not found[6] or len(found[4]) > SHORT:
            return whole + found[6]
        return f'<span class="tf-together">{whole}{found[6]}</span>'

    return FORMULA.sub(formula, page)


def typeset_pages(app: Sphinx, failed: Exception | None) -> None:
    """Put typeset formulas in the place of TeX, in every page that was written."""
    if failed or app.builder.format != "html":
        return
    site, typesetter = Path(app.outdir), Typesetter()
    for path in sorted(site.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        formulas = [
            (html.unescape(tex), kind == "[")
            for _, _, kind, tex, *_ in FORMULA.findall(page)
        ]
        if not formulas:
            continue
        try:
            made, styles = typesetter.typeset(formulas)
        except ValueError as problem:
            raise ExtensionError(f"formulas: {path.name}: {problem}") from problem
        page = filled(page, made)
        fonts = Path(os.path.relpath(site / FONTS, path.parent)).as_posix()
        style = f"<style>{styles.replace('FONTS', fonts)}</style>\n"
        page = page.replace("</head>", style + "</head>", 1)
        path.write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Run once the pages are written."""
    app.connect("build-finished", typeset_pages)
