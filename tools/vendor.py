"""Fetch the front-end files that the site serves itself, from their npm packages.

Usage: ``python tools/vendor.py`` (needs npm). Writes book/_static/vendor and the table
of checksums in its VENDOR.md. To move to another version, change it there and here.

Scripts stay as they are; fonts are cut down to the letters and weights in use.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

from tformer_book.press.chapters import ROOT

VENDOR = ROOT / "book/_static/vendor"
TABLE = "| File | Bytes | sha256 |\n| --- | --- | --- |\n"
# folder here -> (package, folder in it, what to take; "x/" takes a folder)
PACKAGES = {
    "mathjax": (
        "mathjax@3.2.2",
        "es5",
        (
            "startup.js",
            "core.js",
            "adaptors/liteDOM.js",
            "input/tex.js",
            "input/tex/extensions/",
            "output/chtml.js",
            "output/chtml/fonts/tex.js",
            "output/chtml/fonts/woff-v2/",
            "a11y/assistive-mml.js",
        ),
    ),
    "plotly": (
        "plotly.js-cartesian-dist-min@3.7.0",
        ".",
        ("plotly-cartesian.min.js",),
    ),
}
# folder here -> (package, {file here: (file there, weights, characters)})
ASCII = "".join(map(chr, range(0x20, 0x7F)))
SIGNS = "\N{NO-BREAK SPACE}–—‘’“”„…·•×÷±−°©½¼²³"  # in Literata and in Inconsolata
LETTERS = "ÄÖÜßäöüéèêëïîôóáàçñøåæœćńřıŁşź"
TEXT = ASCII + SIGNS + LETTERS
FONTS = {
    "literata": (
        "@fontsource-variable/literata@5.3.0",
        {
            "roman.woff2": ("literata-latin-wght-normal.woff2", (400, 700), TEXT),
            "italic.woff2": ("literata-latin-wght-italic.woff2", 400, TEXT),
        },
    ),
    "inconsolata": (
        "@fontsource-variable/inconsolata@5.3.0",
        {"code.woff2": ("inconsolata-latin-wght-normal.woff2", (400, 600), TEXT)},
    ),
}
# Large, and not used in this book.
LEFT_OUT = ("all-packages.js", "mhchem.js", "physics.js", "bussproofs.js")


@contextlib.contextmanager
def unpacked(package: str, folder: str) -> Iterator[tuple[Path, Path]]:
    """Unpack a package; yields where it lies, and a folder here for its files."""
    with tempfile.TemporaryDirectory() as scratch:
        npm = ["npm", "pack", "--silent", "--pack-destination", scratch, package]
        subprocess.run(npm, check=True)
        archive = next(Path(scratch).glob("*.tgz"))
        with tarfile.open(archive) as file:
            file.extractall(scratch, filter="data")
        root, target = Path(scratch) / "package", VENDOR / folder
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy(root / "LICENSE", target)
        yield root, target


def fetch(folder: str, package: str, inside: str, names: tuple[str, ...]) -> None:
    """Copy the files of a package that are wanted."""
    with unpacked(package, folder) as (root, target):
        for name in names:
            source = root / inside / name
            files = sorted(source.glob("*")) if name.endswith("/") else [source]
            for path in files:
                if path.is_file() and path.name not in LEFT_OUT:
                    place = target / path.relative_to(root / inside)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, place)


def cut(source: Path, target: Path, weights: object, characters: str) -> None:
    """Write a variable font with these weights and characters only."""
    whole = TTFont(source, recalcTimestamp=False)  # the same file every time
    lighter = instancer.instantiateVariableFont(whole, {"wght": weights})
    written = io.BytesIO()
    lighter.flavor = None
    lighter.save(written)
    options = subset.Options(flavor="woff2", hinting=False, name_IDs=[1, 2, 13, 14])
    options.layout_features = ["kern", "mark", "ccmp", "lnum", "tnum"]
    font = TTFont(written, recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(text=characters)
    cutter.subset(font)
    subset.save_font(font, str(target), options)


def main() -> int:
    for folder, (package, inside, names) in PACKAGES.items():
        fetch(folder, package, inside, names)
    for folder, (package, fonts) in FONTS.items():
        with unpacked(package, folder) as (root, target):
            for name, (source, weights, characters) in fonts.items():
                cut(root / "files" / source, target / name, weights, characters)
    rows = []
    for path in sorted(p for p in VENDOR.rglob("*") if p.is_file()):
        if path.name != "VENDOR.md":
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            name = path.relative_to(VENDOR).as_posix()
            rows.append(f"| `{name}` | {path.stat().st_size} | `{digest}` |\n")
    about = VENDOR / "VENDOR.md"
    head = about.read_text().partition(TABLE)[0]
    about.write_text(head + TABLE + "".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
