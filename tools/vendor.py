"""Fetch the front-end files that the site serves itself, from their npm packages.

Usage: ``python tools/vendor.py`` (needs npm). Writes book/_static/vendor and the table
of checksums in its VENDOR.md. To move to another version, change it there and here.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

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
# Large, and not used in this book.
LEFT_OUT = ("all-packages.js", "mhchem.js", "physics.js", "bussproofs.js")


def fetch(folder: str, package: str, inside: str, names: tuple[str, ...]) -> None:
    """Unpack one package and copy the files that are wanted."""
    with tempfile.TemporaryDirectory() as scratch:
        npm = ["npm", "pack", "--silent", "--pack-destination", scratch, package]
        subprocess.run(npm, check=True)
        archive = next(Path(scratch).glob("*.tgz"))
        with tarfile.open(archive) as file:
            file.extractall(scratch, filter="data")
        root = Path(scratch) / "package"
        target = VENDOR / folder
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy(root / "LICENSE", target)
        for name in names:
            source = root / inside / name
            files = sorted(source.glob("*")) if name.endswith("/") else [source]
            for path in files:
                if path.is_file() and path.name not in LEFT_OUT:
                    place = target / path.relative_to(root / inside)
                    place.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, place)


def main() -> int:
    for folder, (package, inside, names) in PACKAGES.items():
        fetch(folder, package, inside, names)
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
