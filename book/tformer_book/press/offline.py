"""Pack the built site into one zip file, to be read without a network.

Usage: ``python -m tformer_book.press.offline [--out FILE]`` (make offline), after make
book. Pages opened straight from the disk can be read, but a browser runs no modules
there, so figures, search and the model need a server on the reader's own machine.
Python brings one, and the README in the file has the line that starts it.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path

from tformer_book.press.chapters import BUILD, HTML

FOLDER = "transformer-piece-by-piece"
COMMAND = "python -m http.server 8000 --bind 127.0.0.1"
README = f"""\
The Transformer, Piece by Piece: the whole site, to read without a network.

To read, open index.html. To use the figures, the search and the model as well, open a
terminal in this folder, start the server that comes with Python, and leave it running:

    {COMMAND}

Then open http://localhost:8000 in a browser. (On Windows, write py for python; on some
systems it is python3.) The detour is needed because browsers run no modules and read no
data in pages that are opened straight from the disk.
"""
# Sphinx's own notes about the build, and what only a host on the web needs.
LEFT_OUT = {".buildinfo", "objects.inv", "404.html", "llms.txt", "sitemap.xml"}
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the same site makes the same file


def pack(site: Path, out: Path) -> int:
    """Write a site and its README to a zip file; return how many files it has."""
    files = {
        path.relative_to(site).as_posix(): path.read_bytes()
        for path in sorted(site.rglob("*"))
        if path.is_file()
        and path.name not in LEFT_OUT
        and path.suffix != ".map"  # for debugging the theme
    }
    files["README.txt"] = README.encode()
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"{FOLDER}/{name}", EARLIEST)
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return len(files)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=BUILD / f"{FOLDER}.zip")
    options = parser.parse_args(arguments)
    if not (HTML / "index.html").exists():
        print("offline: nothing is built yet; run: make book", file=sys.stderr)
        return 2
    count = pack(HTML, options.out)
    megabytes = options.out.stat().st_size / 1e6
    print(f"offline: {count} files, {megabytes:.1f} MB: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
