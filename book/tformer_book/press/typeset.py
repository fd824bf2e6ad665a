"""TeX as HTML, by MathJax in a JavaScript engine that comes as a Python package."""

from __future__ import annotations

import json
from typing import Any

from tformer_book.press.chapters import ROOT

VENDOR = ROOT / "book/_static/vendor/mathjax"
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
            ValueError: MathJax cannot read one of them.
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
            raise ValueError(f"MathJax cannot read: {wrong}")
        return results, self._engine.eval(STYLES)
