"""Write what JavaScript has to know of Python's declarations: the settings of a search.

Usage: ``python tools/declared.py [--check]`` (make declared, make check).
`tformer.common.search.SearchSettings` declares them; the page reads ``declared.js``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields

from tformer.common.search import SEARCHES, SearchSettings
from tformer_book.press.chapters import ROOT

FILE = ROOT / "book/tformer_book/widgets/engine/decode/declared.js"
ELSEWHERE = (
    "search",
    "n_best",
)  # the first has names; a figure shows all that is found


def declared() -> str:
    """The module's text."""
    rows = []
    for each in fields(SearchSettings):
        if each.name in ELSEWHERE:
            continue
        row = {"name": each.name, "of": each.metadata["of"], "usual": each.default}
        if slider := each.metadata["slider"]:
            row |= {"label": slider.label, "short": slider.short}
            row |= {"min": slider.least, "max": slider.most, "step": slider.step}
            row |= {"everything": slider.everything}
        rows.append(f"  {json.dumps(row, ensure_ascii=False)},\n")
    return (
        "// Written by `make declared` from tformer/common/search.py.\n"
        f"export const SEARCHES = {json.dumps(SEARCHES)};\n"
        f"export const SETTINGS = [\n{''.join(rows)}];\n"
    )


def main() -> int:
    if "--check" not in sys.argv[1:]:
        FILE.write_text(declared(), "utf-8")
    elif FILE.read_text("utf-8") != declared():
        print("declared.js is not what Python declares: run make declared")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
