"""Make .venv hold the lock and this package. Standard library only.

Usage: ``python3 tools/setup_env.py`` (make does it). Does nothing when the virtual
environment already holds what requirements.txt and pyproject.toml ask for, so it
needs the network only once; a second time it first tries without.
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


def wanted() -> str:
    """Say what the environment must hold, as one checksum."""
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
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
    lock = ["install", "-q", "-r", str(ROOT / "requirements.txt")]
    if not pip(*lock, "--no-index", tell=False):
        print("setup: installing requirements.txt (minutes, once)", flush=True)
        if not pip(*lock):
            print("setup: the lock could not be installed (see above)", file=sys.stderr)
            return 1
    package = ["install", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
    if not pip(*package, "-e", str(ROOT)):
        print("setup: tformer could not be installed (see above)", file=sys.stderr)
        return 1
    STAMP.write_text(wanted())
    return 0


if __name__ == "__main__":
    sys.exit(main())
