"""Write requirements.txt: every package of the whole project at one version.

Usage: ``make lock`` (keeps versions that still fit), ``make lock UPGRADE=1``
(takes the newest that fit the ranges in pyproject.toml).

The lock holds for Python 3.11 to 3.13 on every system. What PyTorch's CUDA build
brings along (nvidia-*, cuda-*, triton) is left out: pip adds it where the torch
that it finds asks for it, and the CPU build asks for none.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.txt"
HEADER = """\
# The lock: what `make book` and `make test` install, exactly. Written by `make lock`
# from the ranges in pyproject.toml; pins stand nowhere else. Do not edit by hand.
"""
ACCELERATOR = re.compile(r"^(nvidia-|cuda-|triton\b)")


def main() -> int:
    before = LOCK.read_text() if LOCK.exists() else ""
    command = [sys.executable, "-m", "uv", "pip", "compile", "--universal"]
    command += ["--python-version", "3.11", "--extra", "dev", "--no-header"]
    command += ["--no-annotate", "--quiet", "pyproject.toml", "-o", str(LOCK)]
    if "--upgrade" in sys.argv[1:]:
        command.append("--upgrade")
        # torch moves on purpose only: the CPU build that Linux machines without a
        # GPU install must exist for the same version.
        pinned = re.search(r"^torch==\S+", before, flags=re.M)
        if pinned:
            command += ["--upgrade-package", pinned[0]]
    status = subprocess.run(command, cwd=ROOT).returncode
    if status:
        LOCK.write_text(before)
        return status
    lines = [x for x in LOCK.read_text().splitlines() if not ACCELERATOR.match(x)]
    LOCK.write_text(HEADER + "\n".join(lines) + "\n")
    print(f"requirements.txt: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
