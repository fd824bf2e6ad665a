"""Write the book as PDF or EPUB: see `editions`. Use `make pdf`, `make epub`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tformer_book.editions import epub, pdf
from tformer_book.editions.contents import NotAPage, chosen
from tformer_book.press.browser import NoBrowserError, chromium, served
from tformer_book.press.chapters import BUILD, HTML

NAME = "transformer-piece-by-piece"
FLAGS = ("--font-render-hinting=none",)  # else letters keep the widths of a screen
WRITERS = {"pdf": pdf.write, "epub": epub.write}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="editions", description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=WRITERS, metavar="pdf|epub")
    parser.add_argument(
        "--only", nargs="*", default=(), help="keys of pages, such as attention"
    )
    parser.add_argument("--out", type=Path, default=BUILD, help="folder")
    options = parser.parse_args(arguments)
    try:
        if not (HTML / "index.html").exists():
            raise NotAPage("nothing is built yet; run: make book")
        parts = chosen(HTML, options.only)
        options.out.mkdir(parents=True, exist_ok=True)
        with served(HTML) as site, chromium(*FLAGS) as browser:
            for kind in options.kinds:
                file = options.out / f"{NAME}.{kind}"
                said = WRITERS[kind](browser, site, parts, file)
                size = file.stat().st_size / 1e6
                print(f"{kind}: {said}, {size:.1f} MB: {file}", flush=True)
    except (NotAPage, NoBrowserError) as problem:
        print(f"editions: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
