"""Build the site from the executed chapters; any warning is an error.

Usage: ``python -m tformer_book.press.build_site [--draft] [--verbose]`` after
book/tformer_book/press/execute.py. Where there is a Chromium, it also takes the
pictures of the figures (`pictures`). With ``--draft``, pages that _toc.yml names but
nobody has written yet are left out.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from typing import Any

import nbformat
import yaml
from jupyter_cache import get_cache

from tformer_book.press import pictures
from tformer_book.press.chapters import BUILD, HTML, ROOT, chapters, pages

KEY = BUILD / "built-with.txt"


def without_missing(node: Any) -> Any:
    """Return the table of contents without pages that do not exist."""
    if isinstance(node, list):
        items = [without_missing(item) for item in node]
        return [item for item in items if item]
    if isinstance(node, dict):
        name = node.get("file")
        if name and not any((ROOT / f"{name}{s}").is_file() for s in (".ipynb", ".md")):
            return None
        kept = {key: without_missing(value) for key, value in node.items()}
        return None if kept.get("chapters") == [] else kept
    return node


def not_executed() -> list[str]:
    """Return the chapters whose code is not in the cache as it stands."""
    cache = get_cache(BUILD / ".jupyter_cache")
    found = []
    for path in chapters():
        if path.is_file():
            try:
                cache.match_cache_notebook(nbformat.read(path, as_version=4))
            except KeyError:
                found.append(path.name)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draft", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    BUILD.mkdir(exist_ok=True)

    # Jupyter Book would execute them itself, one after another, and not in our way.
    if stale := not_executed():
        print(f"site: not executed as they stand: {', '.join(stale)} (make execute)")
        return 1

    # Sphinx does not notice when its extensions change: start afresh then.
    digest = hashlib.sha256((ROOT / "requirements.txt").read_bytes())
    for path in sorted((ROOT / "book/tformer_book/site").rglob("*.py")):
        digest.update(path.read_bytes())
    if not KEY.exists() or KEY.read_text() != digest.hexdigest():
        shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
        shutil.rmtree(HTML, ignore_errors=True)
    KEY.write_text(digest.hexdigest())

    jupyter_book = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", jupyter_book, "build", str(ROOT)]
    # A draft links to pages that are not there yet: warnings are shown, no more.
    command += ["-n"] if options.draft else ["-W", "-n", "--keep-going"]
    if not options.verbose:
        command.append("-q")
    missing = [str(p.relative_to(ROOT)) for p in pages() if not p.is_file()]
    if missing and options.draft:
        print(f"site: DRAFT without {', '.join(missing)}")
        toc = BUILD / "draft_toc.yml"
        whole = yaml.safe_load((ROOT / "_toc.yml").read_text())
        toc.write_text(yaml.safe_dump(without_missing(whole), sort_keys=False))
        command += ["--toc", str(toc)]
    print("site: building", flush=True)
    environment = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    # Warnings and errors come on stderr.
    talk = None if options.verbose else subprocess.DEVNULL
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=talk)
    status = done.returncode
    if status or not (HTML / "index.html").exists():
        print("site: FAILED, see the warnings above (each one counts)")
        # Sphinx does not repeat warnings about pages that it has already read.
        shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
        return status or 1
    seconds = time.perf_counter() - started
    print(f"site: built in {seconds:.0f} s: {HTML / 'index.html'}", flush=True)
    print("      make serve opens it (a browser blocks scripts in file:// pages)")
    return pictures.main()


if __name__ == "__main__":
    sys.exit(main())
