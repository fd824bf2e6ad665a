"""Make .venv hold the lock and this package. Standard library only.

Usage: ``python3 tools/setup_env.py`` (make does it). Does nothing when the virtual
environment already holds what the lock and pyproject.toml ask for, so it needs the
network only once; a second time it first tries without.

Everything but PyTorch is installed from ready-made files whose SHA-256 the lock knows.
PyTorch comes by its version, from wherever pip is told to look: on Linux the ordinary
index has the CUDA build, and ``PIP_EXTRA_INDEX_URL`` or ``PIP_FIND_LINKS`` may name a
place that has the CPU build.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
STAMP = VENV / "tformer-setup.txt"
OLDEST = (3, 11)
LOCK, TORCH = ROOT / "requirements.txt", ROOT / "requirements-torch.txt"
HASHED = ("--require-hashes", "--only-binary=:all:", "--no-deps", "-r", str(LOCK))
LOCAL = ("--no-deps", "--no-index", "--no-build-isolation", "-e", str(ROOT))


def wanted() -> str:
    """Say what the environment must hold, as one checksum."""
    digest = hashlib.sha256(sys.version.encode())
    for path in (LOCK, TORCH, ROOT / "pyproject.toml", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def pip(*arguments: str, tell: bool = True) -> bool:
    """Run pip in the virtual environment; True if it went well, else say why."""
    command = [str(BIN / "python"), "-m", "pip", "--disable-pip-version-check"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True)
    if done.returncode and tell:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        print(
            f"setup: Python {found} is too old; 3.11 or newer is needed "
            "(make PYTHON=/path/to/python3.12 book)",
            file=sys.stderr,
        )
        return 2
    if STAMP.exists() and STAMP.read_text() == wanted():
        return 0
    if not (BIN / "python").exists():
        print("setup: making .venv", flush=True)
        try:
            venv.create(VENV, with_pip=True, symlinks=os.name != "nt")
        except (subprocess.CalledProcessError, SystemExit):
            print(
                "setup: this Python cannot make virtual environments; on Debian and "
                "Ubuntu: apt-get install python3-venv",
                file=sys.stderr,
            )
            return 2
    steps = {"the lock": HASHED, "PyTorch": ("-r", str(TORCH)), "tformer": LOCAL}
    for name, what in steps.items():
        if pip("install", "-q", "--no-index", *what, tell=False):
            continue
        print(f"setup: installing {name} (minutes, once)", flush=True)
        if not pip("install", "-q", *what):
            print(f"setup: {name} could not be installed (see above)", file=sys.stderr)
            return 1
    STAMP.write_text(wanted())
    return 0


if __name__ == "__main__":
    sys.exit(main())
