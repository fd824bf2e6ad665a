"""Write uv.lock, from which ``uv sync`` installs what requirements.txt names.

Usage: ``make uv-lock``, then ``uv sync``. Standard library and uv only.

uv.lock is not kept in the repository: beside each file it names the index that the file
came from, so a mirror or a machine's own index makes another one. It is made in seconds
from the lock that is kept, by giving uv every version of it as a constraint, and it is
removed again if it holds any other version, or a file that requirements.txt does not
know.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"^([\w.-]+)==([^\s;]+)(?: *; *([^\\\n]*[^\\\s]))?", re.M)
SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
# Brought along by PyTorch's CUDA build, as tools/lock.py says; and the project itself.
APART = re.compile(r"(nvidia|cuda)-|triton$|tformer$")


def locked(root: Path) -> str:
    """The whole lock."""
    names = ("requirements.txt", "requirements-torch.txt")
    return "".join((root / name).read_text("utf-8") for name in names)


def constraints(lock: str) -> list[str]:
    """The lock's packages as requirements, each with the systems that it is for."""
    return [
        f"{name}=={version}" + (f" ; {marker}" if marker else "")
        for name, version, marker in PIN.findall(lock)
    ]


def differences(uv_lock: str, lock: str) -> list[str]:
    """What only one of the two locks would install."""
    packages = [
        each
        for each in tomllib.loads(uv_lock)["package"]
        if not APART.match(each["name"])
    ]
    ours = {(name, version) for name, version, _ in PIN.findall(lock)}
    theirs = {(each["name"], each["version"].split("+")[0]) for each in packages}
    found = [f"{name} {version}: only in uv.lock" for name, version in theirs - ours]
    found += [f"{name} {version}: not in uv.lock" for name, version in ours - theirs]
    known = set(SHA256.findall(lock))
    found += [
        f"{each['name']} {each['version']}: a file that the lock does not know"
        for each in packages
        if each["name"] != "torch" and not checksums(each) <= known
    ]
    return sorted(found)


def checksums(package: dict[str, Any]) -> set[str]:
    """The checksums of the files that a package of uv.lock may be installed from."""
    files = [*package.get("wheels", []), package.get("sdist", {})]
    return {file["hash"] for file in files if "hash" in file}


def resolve(root: Path) -> bool:
    """Have uv write uv.lock with the lock's versions; True if it could."""
    there = importlib.util.find_spec("uv")
    uv = [sys.executable, "-m", "uv"] if there else [shutil.which("uv") or "uv"]
    about = (root / "pyproject.toml").read_text("utf-8")
    pins = json.dumps(constraints(locked(root)), indent=0)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        constrained = f"{about}\n[tool.uv]\nconstraint-dependencies = {pins}\n"
        (place / "pyproject.toml").write_text(constrained, "utf-8")
        if subprocess.run([*uv, "lock", "-q"], cwd=place).returncode:
            return False
        shutil.copy(place / "uv.lock", root)
    # Once more without constraints: uv keeps what its lock says.
    return subprocess.run([*uv, "lock", "-q"], cwd=root).returncode == 0


def main() -> int:
    try:
        made = resolve(ROOT)
    except FileNotFoundError:
        print("uv-lock: uv is not found (pip install uv)", file=sys.stderr)
        return 2
    if not made:
        return 1
    written = ROOT / "uv.lock"
    if found := differences(written.read_text("utf-8"), locked(ROOT)):
        written.unlink()
        print("uv-lock: uv.lock would differ from the lock:", *found, sep="\n  ")
        return 1
    print("uv.lock: what requirements.txt names; now: uv sync")
    return 0


if __name__ == "__main__":
    sys.exit(main())
