"""Typeset formulas when the site is built, so that a page loads no script for them.

MathJax runs here, in a JavaScript engine that comes as a Python package; pages get its
HTML and MathML, and the styles of the characters that they use. In a browser the same
work takes seconds on a slow machine, and the page jumps when it is done.
"""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

VENDOR = Path(__file__).parents[2] / "_static/vendor/mathjax"
FONTS = "_static/vendor/mathjax/output/chtml/fonts/woff-v2"
# What Sphinx writes, with TeX between \( and \) or \[ and \].
FORMULA = re.compile(
    r'(<(span|div) class="math notranslate nohighlight"[^>]*>)'
    r"\s*\\([(\[])(.*?)\\[)\]]\s*(</\2>)",
    re.S,
)
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
# MathJax asks for its parts by name; `files` has them all.
START = """
var global = globalThis, results = [], problems = [];
var MathJax = {
  loader: {
    paths: { mathjax: "" },
    load: ["adaptors/liteDOM", "input/tex", "output/chtml", "a11y/assistive-mml"],
    require: (name) => (0, eval)(files[name.replace(/^\\/+/, "")]),
    failed: (error) => problems.push(error.message),
  },
  tex: { packages: { "[-]": ["noundefined"] } },  // it would print them in red
  startup: { typeset: false },
  chtml: { matchFontHeight: false, fontURL: "FONTS" },
};
"""
TYPESET = """
results = [];
MathJax.startup.output.clearCache();
(async () => {
  for (const [tex, display] of formulas) {
    try {
      const node = await MathJax.tex2chtmlPromise(tex, { display, em: 16, ex: 8 });
      results.push(MathJax.startup.adaptor.outerHTML(node));
    } catch (error) {
      problems.push(`${tex}: ${error.message}`);
    }
  }
})();
"""
STYLES = "MathJax.startup.adaptor.textContent(MathJax.chtmlStylesheet())"


def in_a_line(tex: str) -> str:
    """A small formula as text: ``W^O``, ``√d_k``, ``β_2``."""
    for pattern, text in IN_A_LINE:
        tex = re.sub(pattern, text, tex)
    tex = re.sub(r"\\([A-Za-z]+)", lambda sign: SIGNS.get(sign[1], " "), tex)
    return re.sub(r"[{}\\]", "", tex)


class Typesetter:
    """MathJax in an engine of its own; it starts with the first formula."""

    def __init__(self) -> None:
        self._engine: Any = None

    def _start(self) -> Any:
        from py_mini_racer import MiniRacer

        files = {
            path.relative_to(VENDOR).as_posix(): path.read_text(encoding="utf-8")
            for path in VENDOR.rglob("*.js")
        }
        engine = MiniRacer()
        engine.eval(f"var files = {json.dumps(files)};")
        engine.eval(START)
        engine.eval(files["startup.js"])
        return engine

    def typeset(self, formulas: list[tuple[str, bool]]) -> tuple[list[str], str]:
        """Return the HTML of formulas (TeX, whether displayed), and their styles.

        Raises:
            ExtensionError: MathJax cannot read one of them.
        """
        self._engine = self._engine or self._start()
        self._engine.eval(f"var formulas = {json.dumps(formulas)};")
        self._engine.eval(TYPESET)
        found = json.loads(self._engine.eval("JSON.stringify([results, problems])"))
        results, problems = found
        wrong = [
            *problems,
            *(made for made in results if "<mjx-merror" in made),
        ]
        if wrong or len(results) != len(formulas):
            raise ExtensionError(f"formulas: MathJax cannot read: {wrong}")
        return results, self._engine.eval(STYLES)


def filled(page: str, made: list[str]) -> str:
    """Return a page with its formulas replaced by these, in order."""
    results = iter(made)
    return FORMULA.sub(lambda found: found[1] + next(results) + found[5], page)


def typeset_pages(app: Sphinx, problem: Exception | None) -> None:
    """Put typeset formulas in the place of TeX, in every page that was written."""
    if problem or app.builder.format != "html":
        return
    site, typesetter = Path(app.outdir), Typesetter()
    for path in sorted(site.rglob("*.html")):
        page = path.read_text(encoding="utf-8")
        formulas = [
            (html.unescape(tex), kind == "[")
            for _, _, kind, tex, _ in FORMULA.findall(page)
        ]
        if not formulas:
            continue
        made, styles = typesetter.typeset(formulas)
        page = filled(page, made)
        fonts = Path(os.path.relpath(site / FONTS, path.parent)).as_posix()
        style = f"<style>{styles.replace('FONTS', fonts)}</style>\n"
        page = page.replace("</head>", style + "</head>", 1)
        path.write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Run once the pages are written."""
    app.connect("build-finished", typeset_pages)
