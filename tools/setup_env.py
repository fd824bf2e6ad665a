"""Make .venv hold the lock and this package. Standard library only.

Usage: ``python3 tools/setup_env.py`` (make does it). Does nothing when the virtual
environment already holds what the lock and pyproject.toml ask for, so it needs the
network only once; a second time it first tries without.

Everything but PyTorch is installed from ready-made files whose SHA-256 the lock knows:
by uv, if the lock's own uv can be had, which takes seconds; by pip otherwise.
PyTorch comes by its version, from wherever pip is told to look: on Linux the ordinary
index has the CUDA build, and ``PIP_EXTRA_INDEX_URL`` or ``PIP_FIND_LINKS`` may name a
place that has the CPU build.

An environment that `uv sync` made has no pip: there uv does all of it, and finds most
of it done.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
WINDOWS = os.name == "nt"
BIN = VENV / ("Scripts" if WINDOWS else "bin")
PYTHON, UV = (BIN / (name + ".exe" * WINDOWS) for name in ("python", "uv"))
STAMP = VENV / "tformer-setup.txt"
OLDEST = (3, 11)
LOCK, TORCH = ROOT / "requirements.txt", ROOT / "requirements-torch.txt"
HASHED = ("--require-hashes", "--only-binary=:all:", "--no-deps", "-r")
LOCAL = ("--no-deps", "--no-build-isolation", "-e", str(ROOT))


def wanted() -> str:
    """Say what the environment must hold, as one checksum."""
    digest = hashlib.sha256(sys.version.encode())
    for path in (LOCK, TORCH, ROOT / "pyproject.toml", Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def made_by_uv() -> bool:
    """True if the environment is uv's, which puts no pip into it."""
    about = VENV / "pyvenv.cfg"
    return about.exists() and "\nuv = " in about.read_text()


def uv_install() -> list[str]:
    """The beginning of uv's command: the lock's own uv, else the one that is there."""
    uv = str(UV) if UV.exists() else shutil.which("uv") or "uv"
    return [uv, "pip", "install", "-q", "--python", str(PYTHON)]


def install(*what: str, tell: bool = True) -> bool:
    """Install into the virtual environment; True if it went well, else say why."""
    pip = [str(PYTHON), "-m", "pip", "--disable-pip-version-check"]
    command = uv_install() if made_by_uv() else [*pip, "install", "-q"]
    try:
        done = subprocess.run([*command, *what], capture_output=True, text=True)
    except FileNotFoundError as problem:
        print(f"setup: {problem}", file=sys.stderr)
        return False
    if done.returncode and tell:
        print(done.stdout + done.stderr, file=sys.stderr)
    return done.returncode == 0


def uv_from_the_lock() -> bool:
    """Install the lock's uv by its checksum; True if it is there. Nobody has to have
    it: pip does all that it would do, in minutes."""
    entry = re.search(r"^uv==(?:.*\\\n)*.*\n", LOCK.read_text(), re.M)
    if not entry:
        return False
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder) / "uv.txt"
        alone.write_text(entry[0])
        return install(*HASHED, str(alone), tell=False)


def install_lock() -> bool:
    """Install what the lock names; True if it went well, else say why."""
    if install("--no-index", *HASHED, str(LOCK), tell=False):
        return True
    print("setup: installing the lock (once)", flush=True)
    if not made_by_uv() and uv_from_the_lock():
        uv = [*uv_install(), *HASHED, str(LOCK)]
        with contextlib.suppress(OSError):  # it cannot be started here
            if subprocess.run(uv, capture_output=True).returncode == 0:
                return True
    return install(*HASHED, str(LOCK))


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
    if not PYTHON.exists():
        print("setup: making .venv", flush=True)
        try:
            venv.create(VENV, with_pip=True, symlinks=not WINDOWS)
        except (subprocess.CalledProcessError, SystemExit):
            print(
                "setup: this Python cannot make virtual environments; on Debian and "
                "Ubuntu: apt-get install python3-venv",
                file=sys.stderr,
            )
            return 2
    if not install_lock():
        print("setup: the lock could not be installed (see above)", file=sys.stderr)
        return 1
    for name, what in {"PyTorch": ("-r", str(TORCH)), "tformer": LOCAL}.items():
        if install("--no-index", *what, tell=False):
            continue
        print(f"setup: installing {name} (once)", flush=True)
        if not install(*what):
            print(f"setup: {name} could not be installed (see above)", file=sys.stderr)
            return 1
    STAMP.write_text(wanted())
    return 0


if __name__ == "__main__":
    sys.exit(main())
