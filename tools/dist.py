"""Build what a release consists of: an sdist, and a wheel made from it.

Usage: ``make dist`` (writes dist/). With the lock's setuptools, without a network, from
the files that git knows: what else lies in the folder gets into neither.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = (
    "import sys; from setuptools import build_meta; build_meta.build_{}(sys.argv[1])"
)


def clean_copy(target: Path) -> None:
    """Copy the files that git knows, as they are now."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT).decode()
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():  # it may be deleted and not yet committed
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)


def build(what: str, source: Path, out: Path) -> Path:
    """Build an ``sdist`` or a ``wheel`` from a folder; return the file."""
    out.mkdir(parents=True, exist_ok=True)
    before = set(out.iterdir())
    command = [sys.executable, "-c", BUILD.format(what), str(out)]
    subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
    [made] = set(out.iterdir()) - before
    return made


def main(out: Path = ROOT / "dist") -> int:
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        copy, unpacked = Path(folder, "copy"), Path(folder, "sdist")
        clean_copy(copy)
        sdist = build("sdist", copy, out)
        with tarfile.open(sdist) as packed:
            packed.extractall(unpacked, filter="data")
        [source] = unpacked.iterdir()
        wheel = build("wheel", source, out)
    for made in (sdist, wheel):
        print(f"dist: {made.name} ({made.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
