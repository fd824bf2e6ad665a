"""Write the lock: every package of the whole project at one version, with checksums.

Usage: ``make lock`` (keeps versions that still fit), ``make lock UPGRADE=1``
(takes the newest that fit the ranges in pyproject.toml).

The lock holds for Python 3.11 to 3.14 on Linux, Windows and macOS (Apple silicon, from
macOS 14). ``requirements.txt`` has the SHA-256 of every file that an index offers for a
version, so that pip installs nothing else. PyTorch stands in
``requirements-torch.txt``, by version alone: a CPU and a CUDA build of it are different
files, and which of them fits depends on the machine. What the CUDA build brings along
(nvidia-*, cuda-*, triton) is left out: pip adds it where the torch that it finds asks
for it, and the CPU build asks for none.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK, TORCH = ROOT / "requirements.txt", ROOT / "requirements-torch.txt"
WRITTEN = "Written by `make lock`\n# from the ranges in pyproject.toml"
HEADER = f"""\
# The lock: what `make book` and `make test` install, exactly. {WRITTEN}; pins stand \
nowhere else. Do not edit by hand.
"""
TORCH_HEADER = f"""\
# The rest of the lock, without checksums: they differ between builds. {WRITTEN}. \
Do not edit by hand.
"""
PACKAGE = re.compile(r"^\S+==.*?(?=^\S|\Z)", flags=re.M | re.S)  # with its checksums
LEFT_OUT = re.compile(r"^(nvidia-|cuda-|triton\b|torch==)")


def main() -> int:
    before = LOCK.read_text() if LOCK.exists() else ""
    torch = TORCH.read_text() if TORCH.exists() else ""
    pinned = re.search(r"^torch==\S+", torch, flags=re.M)
    LOCK.write_text(before + (f"{pinned[0]}\n" if pinned else ""))  # uv reads versions
    command = [sys.executable, "-m", "uv", "pip", "compile", "--universal"]
    command += ["--python-version", "3.11", "--extra", "dev", "--no-header"]
    command += ["--no-annotate", "--quiet", "--generate-hashes"]
    if "--upgrade" in sys.argv[1:]:
        command.append("--upgrade")
        # torch moves on purpose only: the CPU build that Linux machines without a
        # GPU install must exist for the same version.
        if pinned:
            command += ["--upgrade-package", pinned[0]]
    command += ["pyproject.toml", "-o", str(LOCK)]
    status = subprocess.run(command, cwd=ROOT).returncode
    if status:
        LOCK.write_text(before)
        return status
    packages = PACKAGE.findall(LOCK.read_text())
    kept = [each for each in packages if not LEFT_OUT.match(each)]
    [torch] = [each for each in packages if each.startswith("torch==")]
    LOCK.write_text(HEADER + "".join(kept))
    TORCH.write_text(TORCH_HEADER + torch.split(" \\")[0] + "\n")
    print(f"requirements.txt: {len(kept)} packages; requirements-torch.txt: 1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
